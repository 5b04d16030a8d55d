import { stripVTControlCharacters } from "node:util";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";

let server: TestSandbox;
beforeAll(async () => {
  server = await testSandbox();
});

const run = (line: string, world: Parameters<typeof cli>[1] = {}) =>
  server.cli(line.split(" "), world);

/** Creates a knowledge base and returns its ID. */
async function created(name: string): Promise<string> {
  const line = ["kb", "create", name, "--indexing-technique", "economy", "-o", "name"];
  return (await server.done(line)).out.trim();
}

describe("names", () => {
  test("a tag can be renamed by its name", async () => {
    await run("kb tag create draft");
    const ran = await run("kb tag rename draft published --jq .name");
    expect(ran).toMatchObject({ exit: 0, out: "published\n" });
  });

  test("an unknown name exits with 3 and hints at the list", async () => {
    const ran = await run("kb show Nowhere");
    expect(ran.exit).toBe(3);
    expect(ran.err).toBe(
      'error: knowledge base "Nowhere" not found\nhint: names are case-sensitive; run `kb list` to see them\n',
    );
  });

  test("an ambiguous name exits with 5 and lists the matches", async () => {
    // A disabled document is not replaced by another one of the same name.
    const kb = await created("Twins");
    await server.cli(["kb", "doc", "add", kb, "a.md", "--text", "one"]);
    await run(`kb doc wait ${kb}`);
    await run(`kb doc disable ${kb} a.md`);
    await server.cli(["kb", "doc", "add", kb, "a.md", "--text", "two"]);
    const ids = (await run(`kb doc list ${kb} -o name`)).out.trim().split("\n");
    const ran = await run(`kb doc show ${kb} a.md`);
    expect(ran.exit).toBe(5);
    expect(ran.err).toContain('document name "a.md" is ambiguous (2 matches)');
    for (const id of ids) expect(ran.err).toContain(id);
    const json = await run(`kb doc show ${kb} a.md -o json`);
    expect(JSON.parse(json.err)).toMatchObject({
      error: {
        code: "ambiguous",
        exit: 5,
        details: { candidates: [{ name: "a.md" }, { name: "a.md" }] },
      },
    });
    expect((await run(`kb doc show ${kb} id:${ids[0]} -o name`)).out).toBe(`${ids[0]}\n`);
  });

  test("a name that looks like an ID is found with name:", async () => {
    const name = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
    const id = await created(name);
    expect((await run(`kb show name:${name} -o name`)).out).toBe(`${id}\n`);
    expect((await run(`kb show ${name}`)).exit).toBe(3);
  });

  test("wildcards of the server in a name match literally", async () => {
    const id = await created("100%_a\\b");
    await created("100xxa-b");
    expect((await server.cli(["kb", "show", "100%_a\\b", "-o", "name"])).out).toBe(`${id}\n`);
  });

  test("an ID needs no additional request, a name needs one", async () => {
    const id = await created("Costs");
    server.seen.length = 0;
    await run(`kb show ${id}`);
    expect(server.seen).toHaveLength(1);
    server.seen.length = 0;
    const ran = await run("kb show Costs -v");
    expect(server.seen).toHaveLength(2);
    expect(ran.err).toContain(`knowledge base "Costs" is ${id}`);
  });
});

describe("wrong input sends nothing", () => {
  test.each<[string[], string]>([
    [["kb", "delete", "..", "--yes"], 'knowledge base ".." not found'],
    [["kb", "doc", "status", "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", ".."], 'invalid batch: ".."'],
    [["kb", "create", ""], "<name> has 0 characters; 1 to 40 are allowed"],
    [["kb", "create", "x".repeat(41)], "has 41 characters; 1 to 40 are allowed"],
    [["kb", "create", "x".repeat(10_000_000)], "has 10000000 characters"],
    [["kb", "create", "A", "--indexing-technique", "econmy"], "did you mean economy?"],
    [["kb", "tag", "rename", "", "B"], "<tag> is empty"],
    [
      ["kb", "metadata", "create", "A", "team"],
      "--type is required\nhint: add --type (one of: string, number, time)",
    ],
    [["kb", "list", "--limit", "0"], '--limit "0" is not a whole number from 1'],
    [["kb", "list", "-o", "jsno"], "did you mean json?"],
    [["kb", "list", "--columns", "nmae"], 'column "nmae" not found'],
    [["kb", "tga", "list"], "did you mean `kb tag list`?"],
    [["kb", "list", "--colums", "id"], "did you mean --columns?"],
    [["kb", "-p", "list", "doc", "show"], "usage: kb doc show <kb> <doc> [flags]"],
    [["kb", "tga", "--help"], "did you mean `kb tag --help`?"],
    [["kb", "tag", "lst", "--help"], "did you mean `kb tag list --help`?"],
    [["wf", "show", "abc"], '<run> "abc" is not a UUID'],
    [["wf", "show", "latest"], "last is the newest run"],
    [["wf", "logs", "--since", "tomorrow"], '--since "tomorrow" is not a valid time'],
    [["kb", "list", "--retries", "-1"], "--retries"],
    [["wf", "file", "upload", "LICENSE", "--content-type", "png"], 'invalid media type "png"'],
  ])("%j", async (argv, message) => {
    server.seen.length = 0;
    const ran = await server.cli(argv);
    expect(ran.err).toContain(message);
    expect([2, 3]).toContain(ran.exit);
    // Lookups of names are allowed.
    expect(server.seen.filter(({ method }) => method !== "GET")).toEqual([]);
    expect(ran.out).toBe("");
  });
});

describe("writes", () => {
  test("--dry-run prints the request byte for byte and sends nothing", async () => {
    const name = 'söme/va#lue "q" 日本語';
    const line = ["kb", "create", name, "--description", "a\nb", "--indexing-technique", "economy"];
    server.seen.length = 0;
    const dry = await server.cli([...line, "--dry-run"]);
    expect(server.seen).toEqual([]);
    const sent = await server.cli(line);
    expect(sent.exit, sent.err).toBe(0);
    const [request] = server.seen;
    const [head = "", body] = dry.out.trimEnd().split("\n\n");
    expect(head.split("\n")[0]).toBe(`POST ${server.env["KB_BASE_URL"]}/datasets`);
    expect(head).toContain("authorization: Bearer dataset-****dbox");
    expect(head).not.toContain("dataset-sandbox");
    expect(body).toBe(new TextDecoder().decode(request?.body));
    expect(request?.path).toBe("/v1/datasets");
  });

  test("--curl leaves the key in its variable and quotes for a shell", async () => {
    const ran = await server.cli(["kb", "create", "it's", "--curl"]);
    expect(ran.out).toBe(
      `curl --fail-with-body -X POST ${server.env["KB_BASE_URL"]}/datasets -H "Authorization: Bearer $KB_KEY" -H 'content-type: application/json' --data-binary '{"name":"it'\\''s"}'\n`,
    );
  });

  test("a delete without a terminal needs --yes", async () => {
    const id = await created("Kept");
    const ran = await run(`kb delete ${id}`);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("pass --yes");
    expect((await run(`kb show ${id}`)).exit).toBe(0);
  });

  test("a delete on a terminal prompts with the name, and can be declined", async () => {
    const id = await created("Asked");
    const no = await run(`kb delete Asked`, { tty: true, answers: ["n"] });
    expect(no.exit).toBe(2);
    expect((await run(`kb show ${id}`)).exit).toBe(0);
    const yes = await run(`kb delete Asked`, { tty: true, answers: ["y"] });
    expect(yes.exit, yes.err).toBe(0);
    expect((await run(`kb show ${id}`)).exit).toBe(3);
  });

  test("--read-only blocks writes before they are sent and allows reads", async () => {
    server.seen.length = 0;
    expect((await run("kb create Never --read-only")).exit).toBe(2);
    expect(server.seen).toEqual([]);
    expect((await run("kb list")).exit).toBe(0);
  });

  test("--if-not-exists returns the existing object, --if-exists accepts a missing one", async () => {
    const id = await created("Once");
    const again = await run("kb create Once --if-not-exists -o name");
    expect(again).toMatchObject({ exit: 0, out: `${id}\n` });
    expect((await run("kb create Once")).exit).toBe(5);
    expect((await run("kb delete Gone --yes --if-exists")).exit).toBe(0);
    expect(
      (await run("kb delete 0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e --yes --if-exists")).exit,
    ).toBe(0);
    expect((await run("kb delete Gone --yes")).exit).toBe(3);
  });

  test("a document inherits technique and form from its knowledge base", async () => {
    const kb = await created("Forms");
    const ran = await run(`kb doc add ${kb} a.md --text hello -v -o json`);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain('indexing_technique "economy" (from the kb)');
  });

  test("built-in fields are verified after the switch", async () => {
    const kb = await created("Built-in");
    server.seen.length = 0;
    const ran = await run(`kb metadata built-in enable ${kb} -o json`);
    expect(JSON.parse(ran.out)).toEqual({ built_in_field_enabled: true });
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });
});

describe("lists", () => {
  beforeAll(async () => {
    for (let index = 0; index < 23; index++) await created(`Page ${index}`);
  });

  test("the first page has a notice with the total", async () => {
    const ran = await run("kb list -o name");
    expect(ran.out.trim().split("\n")).toHaveLength(20);
    expect(ran.err).toMatch(/^20 of \d+ shown, --all for the rest\n$/);
  });

  test("--all lists every row once, --limit that many rows", async () => {
    const all = (await run("kb list --all -o name")).out.trim().split("\n");
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(23);
    expect((await run("kb list --limit 21 -o name")).out.trim().split("\n")).toHaveLength(21);
  });

  test("an empty list is a success", async () => {
    expect(await run("kb list --keyword nothing-like-this -o json")).toMatchObject({
      exit: 0,
      out: "[]\n",
      err: "",
    });
  });
});

describe("documents", () => {
  test("failed indexing exits with 9 and the error of the server", async () => {
    const kb = await created("Broken");
    const rule =
      '{"mode":"custom","rules":{"pre_processing_rules":[],"segmentation":{"separator":"x","max_tokens":10}}}';
    await server.cli([
      "kb",
      "api",
      "POST",
      `/datasets/${kb}/document/create-by-text`,
      "-F",
      "name=a.md",
      "-f",
      "text=hello",
      "-f",
      "indexing_technique=economy",
      "-f",
      "process_rule[mode]=custom",
      "--dry-run",
    ]);
    const made = await server.cli([
      "kb",
      "doc",
      "add",
      kb,
      "a.md",
      "--text",
      "hello",
      "--body-set",
      `process_rule=${rule}`,
      "-o",
      "name",
    ]);
    expect(made.exit, made.err).toBe(0);
    const ran = await run(`kb doc wait ${kb} --timeout 2m`);
    expect(ran.exit).toBe(9);
    expect(ran.err).toContain("Custom segment length should be between 50 and 4000.");
  });

  test("search finds Chinese, Japanese and English words, best first", async () => {
    const kb = await created("Search");
    const texts = {
      "leave.md": "Parental leave is 12 weeks.",
      "zh.md": "报销流程：提交发票。",
      "ja.md": "有給休暇は二十日です。",
    };
    for (const [name, text] of Object.entries(texts))
      await server.cli(["kb", "doc", "add", kb, name, "--text", text]);
    await run(`kb doc wait ${kb}`);
    for (const [query, name] of [
      ["parental", "leave.md"],
      ["报销", "zh.md"],
      ["休暇", "ja.md"],
    ] as const) {
      const ran = await server.cli([
        "kb",
        "search",
        kb,
        query,
        "--jq",
        ".[0].segment.document.name",
      ]);
      expect(ran.out, ran.err).toBe(`${name}\n`);
    }
  });

  test("documents are downloaded byte for byte under their names, never outside the directory", async () => {
    const folder = await temporaryDirectory();
    const kb = await created("Out");
    for (const name of ["dir/sub/a.md", "../evil.txt"])
      await server.cli(["kb", "doc", "add", kb, name, "--text", `grüße ${name}`]);
    await run(`kb doc wait ${kb}`);
    const ran = await server.cli([
      "kb",
      "doc",
      "download",
      kb,
      "dir/sub/a.md",
      "../evil.txt",
      "--dir",
      folder,
    ]);
    expect(ran.exit, ran.err).toBe(0);
    expect(await readFile(join(folder, "dir/sub/a.md"), "utf8")).toBe("grüße dir/sub/a.md");
    expect(await readFile(join(folder, "%2E%2E/evil.txt"), "utf8")).toBe("grüße ../evil.txt");
  });

  test("a file is streamed as one part with its name", async () => {
    const folder = await temporaryDirectory();
    const path = join(folder, "nötes 日本.md");
    await writeFile(path, "# hello");
    const kb = await created("Files");
    const ran = await server.cli([
      "kb",
      "doc",
      "upload",
      kb,
      path,
      "--process-rule",
      '{"mode":"automatic"}',
      "--jq",
      ".document.name",
    ]);
    expect(ran).toMatchObject({ exit: 0, out: "nötes 日本.md\n" });
  });
});

describe("profiles", () => {
  test("a key from stdin is stored with mode 0600 and masked everywhere", async () => {
    const folder = await temporaryDirectory();
    const base = { KB_BASE_URL: "", KB_KEY: "", KB_PROFILE: "" };
    const world = { folder, env: base };
    const url = server.env["KB_BASE_URL"] ?? "";
    const added = await server.cli(
      ["kb", "login", "work.place", "--base-url", url, "--key-file", "-"],
      { ...world, stdin: "dataset-sandbox\n" },
    );
    expect(added.exit, added.err).toBe(0);
    await server.cli(["wf", "login", "work.place", "--app", "echo", "--key-file", "-"], {
      ...world,
      stdin: "app-echo\n",
    });
    expect((await server.cli(["kb", "list", "-o", "name"], world)).exit).toBe(0);
    expect((await server.cli(["wf", "app", "info", "--jq", ".name"], world)).out).toBe("echo\n");
    const shown = await server.cli(["kb", "profile", "show", "-o", "json"], world);
    const explained = await server.cli(["kb", "config", "explain"], world);
    for (const { out, err } of [added, shown, explained])
      expect(out + err).not.toContain("dataset-sandbox");
    expect(JSON.parse(shown.out)).toMatchObject({
      name: "work.place",
      default: true,
      key: "dataset-****dbox in the profile file",
      default_app: "echo",
    });
    const { diskFiles } = await import("../../src/host/node-files.ts");
    expect((await diskFiles.stat(join(folder, "config", "profiles.json")))?.mode).toBe(0o600);
    expect((await diskFiles.stat(join(folder, "config")))?.mode).toBe(0o700);
  });

  test("the output format of a profile applies to all commands and to errors", async () => {
    const folder = await temporaryDirectory();
    const world = { folder, env: { KB_BASE_URL: "", KB_KEY: "", KB_PROFILE: "" } };
    const url = server.env["KB_BASE_URL"] ?? "";
    const added = await server.cli(
      `wf login t --app echo --base-url ${url} --format json --key-file -`.split(" "),
      { ...world, stdin: "app-echo\n" },
    );
    expect(added.exit, added.err).toBe(0);
    const wf = (line: string) => server.cli(["wf", "-p", "t", ...line.split(" ")], world);
    const ran = await wf("run --input query=hello");
    expect(JSON.parse(ran.out), ran.err).toMatchObject({ status: "succeeded" });
    expect((await wf("run --input query=hello -o name")).out).toMatch(/^[\w-]{36}\n$/);
    // --text is not affected by the format of the profile, only by a format on the command line.
    expect((await wf("run --input query=hello --text")).out).toBe("hello\n");
    expect((await wf("run --input query=hello --text --json")).exit).toBe(2);
    const missing = await wf("show 00000000-0000-4000-8000-000000000000");
    expect(JSON.parse(missing.err)).toMatchObject({ error: { code: "not-found", exit: 3 } });
    expect((await wf("show 00000000-0000-4000-8000-000000000000 -o tsv")).err).toMatch(/^error: /);
    expect((await wf("run --blocking --detach --help")).out).toContain("Usage");
    expect((await wf("shwo")).err).toMatch(/^error: /);
  });

  test("a stored key is never sent to another base URL", async () => {
    const folder = await temporaryDirectory();
    const world = { folder, env: { KB_BASE_URL: "", KB_KEY: "", KB_PROFILE: "" } };
    await server.cli(
      "kb login a --base-url https://example.com --key-file - --no-check".split(" "),
      { ...world, stdin: "dataset-x" },
    );
    const ran = await server.cli(
      ["kb", "list", "--base-url", server.env["KB_BASE_URL"] ?? ""],
      world,
    );
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("belongs to https://example.com/v1");
  });

  test("a damaged profile file is reported with its line, not quoted and not changed", async () => {
    const folder = await temporaryDirectory();
    const { diskFiles } = await import("../../src/host/node-files.ts");
    const path = join(folder, "config", "profiles.json");
    await diskFiles.makeDirectory(join(folder, "config"));
    const text = '{\n  "profiles": {\n    "a": { "key": "dataset-secret" "x" }\n  }\n}\n';
    await writeFile(path, text);
    const ran = await server.cli(["kb", "list"], {
      folder,
      env: { KB_BASE_URL: "", KB_KEY: "", KB_PROFILE: "" },
    });
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`${path} is damaged: line 3 is not valid JSON`);
    expect(ran.err).not.toContain("secret");
    expect(await readFile(path, "utf8")).toBe(text);
  });

  test.each([
    [
      "kb list",
      { KB_KEY: "app-echo" },
      4,
      "this command needs a knowledge key (dataset-…), but KB_KEY holds an application key",
    ],
    [
      "wf logs",
      { KB_APP_KEY: "dataset-sandbox" },
      4,
      "this command needs an application key (app-…)",
    ],
    ["kb list", { KB_KEY: "dataset-wrong" }, 4, "Access token is invalid (401 unauthorized)"],
    ["kb list", { KB_BASE_URL: "http://example.com/v1" }, 2, "would send the key unencrypted"],
    ["kb list", { KB_BASE_URL: "ftp://example.com" }, 2, "unsupported scheme ftp:"],
    [
      "kb list",
      { KB_KEY: "dataset-a b" },
      2,
      "contains spaces, line breaks or characters no key has",
    ],
  ])("%s with %j is rejected before anything is sent", async (line, env, exit, message) => {
    const ran = await run(line, { env });
    expect(ran.exit).toBe(exit);
    expect(ran.err).toContain(message);
  });

  test("a field that the server requires is reported as a flag with its choices", async () => {
    expect((await run("kb create Unsaid")).exit).toBe(0);
    const ran = await run("kb doc add Unsaid a.md --text hello");
    expect(ran).toMatchObject({
      exit: 5,
      err: "error: failed to upload document a.md to knowledge base Unsaid: indexing_technique is required. (400 invalid_param)\nhint: add --indexing-technique (one of: high_quality, economy)\n",
    });
  });

  test("a command without output takes a format for its errors, which is not consent", async () => {
    expect((await run("kb create Gone")).exit).toBe(0);
    const asked = await run("kb delete Gone -o json");
    expect(asked).toMatchObject({ exit: 2, out: "" });
    expect(JSON.parse(asked.err)).toMatchObject({
      error: { hint: "pass --yes to skip the prompt, and --backup so that it can be undone" },
    });
    expect(await run("kb delete Gone --json --yes")).toMatchObject({ exit: 0, out: "", err: "" });
  });

  test("a sandbox that is not running is reported as such", async () => {
    const ran = await cli(["kb", "-p", "sandbox", "list"], {});
    expect(ran).toMatchObject({
      exit: 2,
      err: "error: no sandbox is running\nhint: start one: `kb sandbox`\n",
    });
  });

  test("on a terminal errors are text, also of lines that ask for JSON", async () => {
    const flag = await run("kb list --bogus --json name", { tty: true });
    expect(stripVTControlCharacters(flag.err)).toMatch(/^error: unknown flag: --bogus\n/);
    const filter = await run("kb list --jq .data[", { tty: true });
    expect(stripVTControlCharacters(filter.err)).toMatch(
      /^error: --jq: syntax error, unexpected end of file.* at column \d+\n$/,
    );
    expect((await run("kb list --bogus --json name")).err).toMatch(/^\{"error":/);
  });

  test("on a terminal an empty list has a notice, an empty --jq result has none", async () => {
    const none = await run("kb list --keyword nobody-has-this", { tty: true });
    expect(none).toMatchObject({ out: "", err: "no matching knowledge bases\n" });
    const length = await run("kb list --keyword nobody-has-this --jq length", { tty: true });
    expect(length).toMatchObject({ exit: 0, out: "0\n", err: "" });
  });

  test("doctor describes every key and exits with 0 if all checks pass", async () => {
    const ran = await run("kb doctor -o json");
    expect(ran.exit, ran.err).toBe(0);
    const findings = JSON.parse(ran.out) as { check: string; result: string; found: string }[];
    expect(findings.find(({ check }) => check === "server")?.found).toBe("version 1.14.2");
    expect(findings.find(({ check }) => check === "application key")?.found).toContain(
      'opens "echo", mode workflow',
    );
  });

  test.each([
    ["1.16.1", "ok", null],
    ["1.17.0", "warning", "newer than 1.16.1, the newest tested version: what it rejects,"],
    ["1.13.2", "warning", "update it: event streams, forms and document replacement need 1.14.0"],
  ])("doctor says what is known of a server of %s: %s", async (version, result, next) => {
    server.sandbox.setFaults([parseFault(`* * version=${version}`)]);
    try {
      const ran = await run("kb doctor -o json");
      const findings = JSON.parse(ran.out) as { check: string; result: string; next: string }[];
      const found = findings.find(({ check }) => check === "server");
      expect(found).toMatchObject({ found: `version ${version}`, result });
      if (next === null) expect(found?.next).toBeNull();
      else expect(found?.next).toContain(next);
    } finally {
      server.sandbox.setFaults([]);
    }
  });

  test("doctor checks a server without a key, and reports one that is down", async () => {
    const address = { KB_BASE_URL: server.env["KB_BASE_URL"] ?? "" };
    const up = await cli(["kb", "doctor", "-o", "json"], { env: address });
    expect(up.exit, up.err).toBe(0);
    const checks = (JSON.parse(up.out) as { check: string; result: string }[]).map(
      ({ check, result }) => `${check} ${result}`,
    );
    expect(checks).toEqual([
      "program ok",
      "profiles ok",
      "base URL ok",
      "remembered runs ok",
      "reached ok",
      "server ok",
      "clock ok",
      "knowledge key warning",
      "application key warning",
      "connections ok",
    ]);
    for (const env of [{}, { KB_KEY: "dataset-x" }]) {
      const down = await cli(["kb", "doctor", "--retries", "0", "-o", "json"], {
        env: { ...env, KB_BASE_URL: "http://127.0.0.1:9/v1" },
      });
      expect(down.exit).toBe(11);
      expect(JSON.parse(down.out)).toMatchObject([
        { check: "program", found: expect.stringMatching(/^kb \d/) as unknown },
        { check: "profiles" },
        { check: "base URL" },
        { check: "remembered runs" },
        { check: "reached", result: "problem" },
      ]);
    }
    const unread = await run("kb doctor -o json", { env: { KB_BASE_URL: "ftp://127.0.0.1" } });
    expect(unread.exit).toBe(2);
    expect(JSON.parse(unread.out)).toMatchObject([{}, {}, { check: "settings" }]);
  });

  test("doctor suggests the next step for a wrong key and exits like other commands", async () => {
    const ran = await run("kb doctor -o json", { env: { KB_KEY: "dataset-wrong" } });
    expect(ran.exit).toBe(4);
    const findings = JSON.parse(ran.out) as {
      check: string;
      result: string;
      next: string | null;
    }[];
    expect(findings.find(({ result }) => result === "problem")).toMatchObject({
      check: "knowledge key",
      next: expect.stringContaining("check the key") as unknown,
    });
  });
});
