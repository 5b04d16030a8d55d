import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { RawHost } from "../../../src/host/host.ts";
import { spawnChild } from "../../../src/host/child-process.ts";
import { actions, write } from "../../lib/directory.ts";
import { root } from "../../lib/paths.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { syncedBases, textsOf } from "../../lib/synced-base.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";

beforeEach(async () => {
  ({ kb, dir } = await newBase());
});

const run = (...argv: readonly string[]) =>
  server.cli(["kb", ...argv], { folder: home, spawn: spawnChild });
const contents = () => textsOf(server, kb);
const sample = join(root, "examples/sources/directory.mjs");
const node = `'${process.execPath}'`;
const viaExec = () => `exec:${node} '${sample}' '${dir}'`;
const tree = { "a.md": "first — ü\r\n", "people/leave.md": "30 days", "prices.csv": "a,b\n" };
const uploads = (from: number) =>
  server.seen
    .slice(from)
    .map(({ method, path }) => `${method} ${path}`)
    .filter(
      (line) => /document\/|documents\/[^/]+\/(update|$)/.test(line) && !line.startsWith("GET"),
    );

/** A program that is a source: it prints these lines, and `get` runs this code with `path`. */
async function program(lines: readonly unknown[], get = "process.stdout.write('text of ' + path)") {
  const path = join(home, `source-${kb}.mjs`);
  const printed = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  const code = `import { appendFileSync } from "node:fs";
const [call, path] = process.argv.slice(2);
appendFileSync(${JSON.stringify(`${path}.log`)}, call + "\\n");
if (call === "list") process.stdout.write(${JSON.stringify(printed.map((line) => `${line}\n`).join(""))});
else { ${get} }
`;
  await writeFile(path, code);
  await writeFile(`${path}.log`, "");
  return { address: `exec:${node} '${path}'`, calls: () => readFileSync(`${path}.log`, "utf8") };
}

const object = (path: string, fingerprint = "1", more: object = {}) => ({
  path,
  fingerprint,
  ...more,
});
const end = { end: true, complete: true };

describe("a program as a source", () => {
  test("gives the documents of its directory; what is unchanged is not read", async () => {
    await write(dir, tree);
    const first = await run("sync", kb, viaExec());
    expect(first.exit, first.err).toBe(0);
    expect(await contents()).toEqual(tree);
    await write(dir, { "a.md": "changed" });
    const second = await run("sync", kb, viaExec());
    expect(actions(second.out)).toEqual(["update a.md"]);
    expect(second.err).toContain("3 files: 1 updated, 2 unchanged");
    const none = await program([object("a.md"), object("b.md"), end]);
    await run("sync", kb, none.address, "--prefix", "p");
    expect(none.calls()).toBe("list\nget\nget\n");
    const again = await run("sync", kb, none.address, "--prefix", "p");
    expect(again.err).toContain("2 files: 2 unchanged");
    expect(none.calls()).toBe("list\nget\nget\nlist\n");
    await run("sync", kb, none.address, "--prefix", "p", "--checksum");
    expect(none.calls()).toBe("list\nget\nget\nlist\nlist\nget\nget\n");
  });

  rareTest("takes documents of a directory over with --adopt, without an upload", async () => {
    await write(dir, tree);
    await run("sync", kb, dir);
    const from = server.seen.length;
    const refused = await run("sync", kb, viaExec());
    expect(refused.exit).toBe(10);
    expect(actions(refused.out)[0]).toBe("conflict a.md");
    expect(refused.out).toContain("synced from a directory");
    const adopted = await run("sync", kb, viaExec(), "--adopt");
    expect(adopted.exit, adopted.err).toBe(0);
    expect(actions(adopted.out)).toEqual([
      "adopt a.md",
      "adopt people/leave.md",
      "adopt prices.csv",
    ]);
    expect(uploads(from)).toEqual([]);
    expect((await run("sync", kb, viaExec(), "--prune")).err).toContain("3 files: 3 unchanged");
  });

  rareTest("keeps the document and its values when a file is renamed", async () => {
    await write(dir, { ...tree, "b.md": "b", "c.md": "c", "d.md": "d" });
    await run("sync", kb, viaExec());
    await run("metadata", "create", kb, "team", "--type", "string");
    const set = await run("metadata", "set", kb, "people/leave.md", "--set", "team=hr");
    expect(set.exit, set.err).toBe(0);
    const ids = await run("doc", "list", kb, "--jq", '.[] | select(.name == "people/leave.md").id');
    await write(dir, { "people/leave.md": null, "people/time-off.md": "30 days" });
    const moved = await run("sync", kb, viaExec(), "--prune");
    expect(moved.out).toContain("renamed from people/leave.md");
    const query =
      '.[] | select(.name == "people/time-off.md") | .id, (.doc_metadata[] | select(.name == "team").value)';
    const now = await run("doc", "list", kb, "--jq", query);
    expect(now.out).toBe(`${ids.out}hr\n`);
    expect(Object.keys(await contents())).not.toContain("people/leave.md");
  });

  test("stores the address, the title and the values that the source gives", async () => {
    const more = {
      url: "https://wiki.example/a",
      title: "A",
      metadata: { space: "HR", version: 3 },
    };
    const { address } = await program([object("a.md", "1", more), end]);
    expect((await run("sync", kb, address)).exit).toBe(0);
    const query =
      '.[0].doc_metadata | map(select(.id != "built-in") | {(.name): .value}) | add | [.url, .title, .space, .version]';
    expect((await run("doc", "list", kb, "--jq", query, "-o", "json")).out.replace(/\s/g, "")).toBe(
      '["https://wiki.example/a","A","HR",3]',
    );
  });

  test("converts HTML to Markdown under a path that is sent as text", async () => {
    const page = "<html><main><h1>T</h1><p>See <a href=b>b</a></p></main></html>";
    const html = object("a", "1", {
      media_type: "text/html; charset=utf-8",
      url: "https://w.example/a",
    });
    const { address } = await program([html, end], `process.stdout.write(${JSON.stringify(page)})`);
    await run("sync", kb, address);
    expect(await contents()).toEqual({ "a.md": "# T\n\nSee [b](https://w.example/b)" });
  });

  test.each(
    sampled(6, [
      ["no JSON", ["nonsense"], "line 1: not a JSON object"],
      [
        "two equal paths",
        [object("a.md"), object("a.md", "2"), end],
        "line 2: a second object with the path a.md",
      ],
      ["no fingerprint", [{ path: "a.md" }, end], "fingerprint is not a text"],
      ["a line after the end", [end, object("a.md")], "line 2: a line after the end"],
      ["an endless line", ["x".repeat(2 ** 20 + 2), end], "line 1: longer than 1048576 bytes"],
      ["a reserved field", [object("a.md", "1", { metadata: { kb_path: "x" } }), end], "kb_path"],
      ["a wrong size", [object("a.md", "1", { size: -1 }), end], "size is not a number of bytes"],
    ]),
  )("with %s is an error, and nothing is changed", async (_, lines, message) => {
    await write(dir, tree);
    await run("sync", kb, viaExec());
    const { address } = await program(lines);
    const from = server.seen.length;
    const ran = await run("sync", kb, address, "--prune", "--adopt", "--yes");
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain(message);
    expect(server.seen.slice(from).filter(({ method }) => method !== "GET")).toEqual([]);
  });

  const gone = [object("a.md"), { ...end, complete: false }] as const;
  test.each(
    sampled(3, [
      ["says that its list is incomplete", gone, "says that its list is not complete"],
      ["prints no end", [object("a.md")], "printed no end of its list"],
      ["prints nothing", [], "printed no end of its list"],
      [
        "is unsure",
        [object("a.md"), { ...end, unsure: ["b.md", "more/"] }],
        "unsure: its source cannot tell",
      ],
    ]),
  )("that %s deletes nothing, and says so", async (_, lines, message) => {
    const all = ["a.md", "b.md", "more/c.md"].map((path) => object(path));
    const { address } = await program([...all, end]);
    expect((await run("sync", kb, address)).exit).toBe(0);
    await program(lines);
    const ran = await run("sync", kb, address, "--prune", "--yes");
    expect(ran.exit).toBe(10);
    expect(ran.out).toContain(message);
    expect(Object.keys(await contents()).sort()).toEqual(["a.md", "b.md", "more/c.md"]);
    await program([object("a.md"), end]);
    const calm = await run("sync", kb, address, "--prune", "--yes");
    expect(calm.exit, calm.err).toBe(0);
    expect(Object.keys(await contents())).toEqual(["a.md"]);
  });

  test.each(
    sampled(5, [
      [
        "ends in the middle",
        "process.stdout.write('ab'); process.exitCode = 3; console.error('no', process.env.KB_KEY)",
        "ended with exit code 3: no undefined",
      ],
      [
        "writes fewer bytes than the size",
        "process.stdout.write('ab')",
        "incomplete: 2 of 10 bytes",
      ],
    ]),
  )("whose get %s leaves the document as it is", async (_, get, message) => {
    const { address } = await program(
      [object("a.md", "1", { size: 10 }), end],
      "process.stdout.write('0123456789')",
    );
    await run("sync", kb, address);
    await program([object("a.md", "2", { size: 10 }), end], get);
    const ran = await run("sync", kb, address, "--prune");
    expect(ran.exit).toBe(10);
    expect(ran.out).toContain(message);
    expect(await contents()).toEqual({ "a.md": "0123456789" });
  });

  test("whose fingerprint stays is read if the size differs", async () => {
    const first = await program(
      [object("a.md", "1", { size: 1 }), end],
      "process.stdout.write('a')",
    );
    await run("sync", kb, first.address);
    await program([object("a.md", "1", { size: 2 }), end], "process.stdout.write('ab')");
    await run("sync", kb, first.address);
    expect(await contents()).toEqual({ "a.md": "ab" });
  });

  test("skips larger objects with --max-size, without reading them, and what patterns exclude", async () => {
    const all = [
      object("a.md"),
      object("big.md", "1", { size: 5e6 }),
      object("x/.hidden.md"),
      object("b.txt"),
      end,
    ];
    const { address, calls } = await program(all);
    const ran = await run("sync", kb, address, "--max-size", "1MB", "--exclude", "b.*");
    expect(ran.exit, ran.err).toBe(0);
    expect(actions(ran.out)).toEqual(["create a.md", "skip big.md"]);
    expect(calls()).toBe("list\nget\n");
  });

  /** The end of a program whose output is held is noticed at once. */
  const around = (host: RawHost): RawHost => ({
    ...host,
    sleep: (ms, signal) => host.sleep(ms === 3000 ? 300 : ms, signal),
  });

  test.each([
    ["stdout", '["ignore", 1, "ignore"]'],
    ["stderr", '["ignore", "ignore", 2]'],
  ])("that has ended is not waited for if what it started holds its %s", async (_, stdio) => {
    const { address } = await program([object("a.md"), end]);
    const path = join(home, `source-${kb}.mjs`);
    const start = `import { spawn } from "node:child_process";
spawn(process.execPath, ["-e", "require('net').createServer().listen(0, '127.0.0.1')"], { stdio: ${stdio} }).unref();\n`;
    await writeFile(path, start + readFileSync(path, "utf8"));
    const line = ["kb", "sync", kb, address];
    const ran = await server.cli(line, { folder: home, spawn: spawnChild, around });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain(
      "has exited; a process that it started holds its output open and is stopped",
    );
    expect(await contents()).toEqual({ "a.md": "text of a.md" });
  });

  test.each([
    ["the list", "sync", []],
    ["a dry run", "sync", ["--dry-run"]],
  ])(
    "an interrupt during %s does not say that something may be changed",
    async (_, word, flags) => {
      const path = join(home, `endless-${kb}.mjs`);
      await writeFile(
        path,
        `console.log('{"path":"a.md","fingerprint":"1"}'); (await import("node:net")).createServer().listen(0, "127.0.0.1");`,
      );
      const stop = new AbortController();
      const spawn: RawHost["spawn"] = (...given) => {
        const child = spawnChild(...given);
        const bytes = (async function* () {
          for await (const piece of child.bytes ?? []) {
            stop.abort();
            yield piece;
          }
        })();
        return { ...child, bytes };
      };
      const line = ["kb", word, kb, `exec:${node} '${path}'`, ...flags];
      const ran = await server.cli(line, { folder: home, spawn, signal: stop.signal });
      expect(ran.exit).toBe(130);
      expect(ran.err).not.toContain("may have been applied");
    },
  );

  test("that does not exist, or a password in an address, is a wrong call", async () => {
    const missing = await run("sync", kb, "exec:no-such-program x");
    expect(missing).toMatchObject({ exit: 2 });
    expect(missing.err).toContain("failed to run no-such-program: program not found");
    const secret = await run("sync", kb, "git+https://me:hunter2-secret@host.example/x.git");
    expect(secret).toMatchObject({ exit: 2 });
    expect(secret.err).not.toContain("hunter2");
  });
});

describe("a git repository", () => {
  /** A repository with hooks that would leave a trace, and a commit of each step. */
  async function repository() {
    const path = join(home, `repository-${kb}`);
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-C", path, "-c", "commit.gpgsign=false", ...args], {
        encoding: "utf8",
        env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
      });
    await mkdir(path);
    git("init", "-q", "-b", "main");
    git("config", "uploadpack.allowFilter", "true");
    const commit = async (author: string, files: Parameters<typeof write>[1]) => {
      await write(path, files);
      git("add", "-A");
      const user = ["-c", `user.name=${author}`, "-c", "user.email=a@example.com"];
      git(...user, "commit", "-q", "--date", "2026-05-01T10:00:00Z", "-m", "x");
    };
    return { path, commit, git };
  }

  rareTest(
    "gives its files with author, date and address; an unchanged commit reads nothing",
    async () => {
      const { path, commit, git } = await repository();
      await commit("Ann", {
        "docs/a.md": "a",
        "docs/x/b.md": "b",
        "docs/.hidden.md": "h",
        "other.md": "o",
      });
      await commit("Bob", { "docs/x/b.md": "b2" });
      const address = `git+file://${path}#main:docs`;
      const first = await run("sync", kb, address);
      expect(first.exit, first.err).toBe(0);
      expect(await contents()).toEqual({ "a.md": "a", "x/b.md": "b2" });
      const query =
        '.[] | select(.name == "x/b.md").doc_metadata | map(select(.id != "built-in") | {(.name): .value}) | add | [.author, .changed, .url]';
      const values = await run("doc", "list", kb, "--jq", query, "-o", "json");
      expect(JSON.parse(values.out)).toEqual([
        "Bob",
        expect.stringMatching(/^2026-05-01T10:00:00/),
        `file://${path}#main:docs/x/b.md`,
      ]);
      expect((await run("sync", kb, address, "--prune")).err).toContain("2 files: 2 unchanged");
      git("mv", "docs/a.md", "docs/c.md");
      await commit("Ann", { "docs/new.md": "n" });
      const moved = await run("sync", kb, address, "--prune");
      expect(actions(moved.out)).toEqual(["create new.md", "update c.md"]);
      expect(await contents()).toEqual({ "c.md": "a", "x/b.md": "b2", "new.md": "n" });
    },
  );

  test.each(
    sampled(5, [
      ["#nope", 2, "has no branch or tag nope"],
      ["#main:nope", 1, "nope"],
      ["#--upload-pack=x", 2, "invalid git source"],
      ["#main:../x", 2, "invalid git source"],
    ]),
  )("%s is an error", async (place, exit, message) => {
    const { path, commit } = await repository();
    await commit("Ann", { "a.md": "a" });
    const ran = await run("sync", kb, `git+file://${path}${place}`, "--prune");
    expect(ran.exit).toBe(exit);
    expect(ran.err).toContain(message);
  });

  test("without git, how to install it is said", async () => {
    const world = { folder: home, spawn: spawnChild, env: { PATH: "/nowhere" } };
    const ran = await server.cli(["kb", "sync", kb, "git+https://host.example/x.git"], world);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("hint: install git: https://git-scm.com/downloads");
  });
});

describe("rclone", () => {
  test.each([
    ["v1.65.2", 2, "rclone 1.65.2 is too old: 1.66 is needed"],
    ["beta", 2, "rclone of an unknown version is too old"],
    ["v1.66.0", 1, "rclone did not start: no server today"],
    ["v2.0.0", 1, "rclone did not start: no server today"],
  ])("%s: exit code %i, %s", async (version, exit, message) => {
    const bin = join(home, `rclone-${version}`);
    await mkdir(bin);
    const script = `#!/bin/sh\n[ $1 = version ] && echo 'rclone ${version}' && exit\necho no server today >&2; exit 1\n`;
    await writeFile(join(bin, "rclone"), script, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env["PATH"]}` };
    const world = { folder: home, spawn: spawnChild, env };
    const ran = await server.cli(["kb", "sync", kb, "rclone:remote:docs"], world);
    expect(ran.err + ran.out).toContain(message);
    expect(ran.exit).toBe(exit);
  });
});

describe("kb source check", () => {
  rareTest("passes the sample", async () => {
    await write(dir, tree);
    const ran = await run("source", "check", `${node} '${sample}' '${dir}'`);
    expect(ran.exit, ran.out).toBe(0);
    expect(ran.out.split("\n").map((line) => line.split("\t")[1])).toEqual([
      ...Array<string>(5).fill("ok"),
      undefined,
    ]);
  });

  test.each(
    sampled(5, [
      [
        [object("a.md"), object("b.md"), end],
        "process.stdout.write(path)",
        "b.md: has the fingerprint of another content",
      ],
      [
        [object("a.md", "1", { size: 9 }), end],
        "process.stdout.write(path)",
        "a.md: incomplete: 4 of 9 bytes",
      ],
      [[object("a.md", "1")], "process.stdout.write(path)", "printed no end of its list"],
      [
        [object("a.md", "1"), end],
        "process.stdout.write(String(process.pid))",
        "a.md: two reads differ",
      ],
      [
        [object("a.md", "1"), end],
        "process.stdout.write(path)",
        "get succeeds for a path that is not listed",
      ],
    ]),
  )("finds what is wrong: %#", async (lines, get, message) => {
    const { address } = await program(lines, get);
    const ran = await run("source", "check", address.slice("exec:".length));
    expect(ran.exit).toBe(14);
    expect(ran.out).toContain(message);
  });
});
