import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryKeyring } from "../../lib/keyring.ts";
import { http, rawServer } from "../../lib/raw-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const sandbox = await testSandbox();
const url = sandbox.env["KB_BASE_URL"] ?? "";
const { port } = new URL(url);

/** A server that accepts the keys dataset-good and app-good, and counts what it receives. */
const server = await rawServer([
  (socket, request) => {
    const known = /authorization: Bearer (dataset|app)-good-0123\r/i.exec(request)?.[1];
    const isApp = request.startsWith("GET /v1/info");
    const version = { "x-version": "1.14.2" };
    if (known !== (isApp ? "app" : "dataset")) {
      const error = { code: "unauthorized", message: "Access token is invalid", status: 401 };
      return socket.end(http(401, JSON.stringify(error), version));
    }
    const body = isApp ? { name: "Support", mode: "workflow" } : { data: [], total: 12 };
    socket.end(http(200, JSON.stringify(body), version));
  },
]);
const good = "dataset-good-0123";

/** A machine of its own, on which profiles are stored. */
async function machine(world: World = {}) {
  const folder = await temporaryDirectory();
  const run = (line: string, more: World = {}) =>
    cli(line.split(" "), { folder, ...world, ...more, env: { ...world.env, ...more.env } });
  return {
    folder,
    run,
    /** The profile file; empty if there is none. */
    file: () => readFile(join(folder, "config", "profiles.json"), "utf8").catch(() => ""),
    profiles: async () =>
      (JSON.parse(await readFile(join(folder, "config", "profiles.json"), "utf8")) as Store)
        .profiles,
  };
}

interface Store {
  readonly profiles: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const stored = (folder: string) =>
  `the keyring is not available (no keyring): the key is stored in ${folder}/config/profiles.json, readable only by you\n`;

test("without a terminal, a key is checked by one read and stored", async () => {
  const { run, folder, profiles } = await machine();
  const before = server.requests.length;
  const line = `kb login work --base-url ${server.baseUrl} --key-file - -o json`;
  const ran = await run(line, { stdin: `${good}\n` });
  expect(ran.err).toBe(
    `${stored(folder)}✓ work: server 1.14.2, this key opens 12 knowledge bases\n`,
  );
  expect(JSON.parse(ran.out)).toMatchObject({ name: "work", default: true });
  expect(ran.exit).toBe(0);
  expect(server.requests.slice(before)).toEqual(["GET /v1/datasets?page=1&limit=1 HTTP/1.1"]);
  expect(await profiles()).toEqual({ work: { base_url: server.baseUrl, key: good } });
});

test("wf stores the key of an application, and says its name and mode", async () => {
  const { run, profiles } = await machine();
  const line = `wf login work --base-url ${server.baseUrl} --app support --key-file -`;
  const ran = await run(line, { stdin: "app-good-0123" });
  expect(ran.err).toContain(
    '✓ work: server 1.14.2, this key opens "Support", mode workflow, stored as support\n',
  );
  expect(await profiles()).toMatchObject({
    work: { apps: { support: { key: "app-good-0123" } }, default_app: "support" },
  });
});

const page = await rawServer([(socket) => socket.end(http(200, "<html>"))]);
const redirect = await rawServer([
  (socket) => socket.end(http(302, "", { location: "https://example.com/" })),
]);
const failing = await rawServer([(socket) => socket.end(http(500, "{}"))]);

test.each<[string, string, string, string, number, RegExp]>([
  ["a rejected key", "kb", server.baseUrl, "dataset-bad-0123", 4, /Access token is invalid \(401/],
  [
    "a rejected key",
    "wf",
    server.baseUrl,
    "app-bad-0123",
    4,
    /under API Access or Access Point; nothing was stored; --no-check stores/,
  ],
  ["an unreachable server", "kb", "http://127.0.0.1:9", good, 11, /connection refused/],
  ["a web page", "kb", page.baseUrl, good, 6, /not an API endpoint/],
  ["a redirect", "kb", redirect.baseUrl, good, 6, /redirects to/],
  ["a failing server", "kb", failing.baseUrl, good, 1, /server/],
  ["an application key", "kb", server.baseUrl, "app-good-0123", 4, /`wf login work`/],
  ["a knowledge key", "wf", server.baseUrl, good, 4, /`kb login work`/],
])("%s for %s: nothing is stored or changed", async (_, program, base, key, exit, text) => {
  const { run, file } = await machine();
  const line = `${program} login work --base-url ${base} --key-file - --retries 0`;
  const fresh = await run(line, { stdin: key });
  expect(fresh).toMatchObject({ exit, out: "" });
  expect(fresh.err).toMatch(text);
  expect(await file()).toBe("");
  await run(`kb login work --base-url ${base} --key-file - --no-check`, {
    stdin: "dataset-old-0123",
  });
  const before = await file();
  expect(before).toContain("dataset-old-0123");
  const ran = await run(line, { stdin: key });
  expect(ran.exit).toBe(exit);
  expect(await file()).toBe(before);
  expect(ran.out + ran.err).not.toContain(key);
});

test("--no-check stores without a request", async () => {
  const { run, folder, profiles } = await machine();
  const before = server.requests.length;
  const line = `kb login work --base-url ${server.baseUrl} --key-file - --no-check`;
  const ran = await run(line, { stdin: "dataset-bad-0123" });
  expect(ran).toMatchObject({
    exit: 0,
    err: `${stored(folder)}✓ work: key saved without a check\n`,
  });
  expect(await profiles()).toMatchObject({ work: { key: "dataset-bad-0123" } });
  expect(server.requests.length).toBe(before);
});

test("a rejected key does not reach the keyring", async () => {
  const keyring = memoryKeyring();
  const { run } = await machine({ keyring });
  const line = `kb login work --base-url ${server.baseUrl} --key-file -`;
  expect((await run(line, { stdin: "dataset-bad-0123" })).exit).toBe(4);
  expect(keyring.entries.size).toBe(0);
  await run(line, { stdin: good });
  expect([...keyring.entries.values()]).toEqual([good]);
});

test("the key of a command is checked, and the command is stored", async () => {
  const { run, profiles } = await machine();
  const prints = (key: string): World => ({
    spawn: () => ({ exit: Promise.resolve(0), output: Promise.resolve(key), kill: () => {} }),
  });
  const line = `kb login work --base-url ${server.baseUrl} --key-command pass`;
  expect((await run(line, prints("dataset-bad-0123"))).exit).toBe(4);
  expect((await run(line, prints(""))).err).toContain("printed no key");
  expect((await run(line, prints("two words"))).err).toContain("--key-command contains spaces");
  const ran = await run(line, prints(good));
  expect(ran).toMatchObject({
    exit: 0,
    err: expect.stringContaining("12 knowledge bases") as unknown,
  });
  expect(await profiles()).toEqual({ work: { base_url: server.baseUrl, key_command: "pass" } });
});

test("without a key nothing new is stored; other settings change without a request", async () => {
  const { run, profiles } = await machine();
  const line = "kb login ci --no-input";
  const before = server.requests.length;
  const refused = await run(`${line} --base-url ${server.baseUrl}`);
  expect(refused).toMatchObject({ exit: 2, out: "" });
  expect(refused.err).toBe(
    "error: no key was given\nhint: pass it with --key-file FILE (- for stdin) or --key-command; --no-check stores the address alone\n",
  );
  await expect(profiles()).rejects.toThrow("ENOENT");
  const ran = await run(`${line} --base-url ${server.baseUrl} --no-check`);
  expect(ran).toMatchObject({ exit: 0, err: "✓ ci: profile saved\n" });
  // An application without a key would be none.
  const unnamed = await run(`wf --app review login ci --no-input`);
  expect(unnamed).toMatchObject({ exit: 2, out: "" });
  expect(unnamed.err).toContain("error: no key was given");
  const changed = await run(`${line} --user ann --console-url example.com/console/ --read-only`);
  expect(changed).toMatchObject({ exit: 0, err: "✓ ci: profile saved\n" });
  expect(server.requests.length).toBe(before);
  expect(await profiles()).toEqual({
    ci: {
      base_url: server.baseUrl,
      user: "ann",
      read_only: true,
      console_url: "https://example.com/console",
    },
  });
});

test("the name of the profile is that of the host, or that of -p", async () => {
  const { run, profiles } = await machine();
  const line = `kb login --base-url localhost:${port} --key-file -`;
  const ran = await run(line, { stdin: "dataset-sandbox" });
  expect(ran.err).toContain(`base URL http://localhost:${port}/v1\n`);
  expect(ran.err).toContain(`✓ local: server 1.14.2`);
  await run(`${line} -p named`, { stdin: "dataset-sandbox" });
  expect(Object.keys(await profiles())).toEqual(["local", "named"]);
});

test("without a name, the profile that has the server gets the key", async () => {
  const { run, profiles } = await machine();
  const line = `--base-url ${server.baseUrl} --key-file -`;
  for (const name of ["one", "two"]) await run(`kb login ${name} ${line}`, { stdin: good });
  await run("kb profile use two");
  const ran = await run(`wf login ${line}`, { stdin: "app-good-0123" });
  expect(ran.err).toContain('✓ two: server 1.14.2, this key opens "Support", mode workflow\n');
  // Its address is the default at the prompt, and nothing more is asked about a known server.
  const questions: string[] = [];
  const answers = ["", "app-good-0123"];
  await run("wf login --app other", { tty: true, answers, questions });
  expect(questions).toEqual([
    `Address of the server, such as dify.example.com [${server.baseUrl}]: `,
    "Application key (app-… or sk-…, hidden): ",
  ]);
  expect(await profiles()).toMatchObject({
    two: {
      key: good,
      apps: { Support: { key: "app-good-0123" }, other: { key: "app-good-0123" } },
    },
  });
  expect(Object.keys(await profiles())).toEqual(["one", "two"]);
});

test("without --app, a profile that has its key as default replaces that", async () => {
  const { run, profiles } = await machine();
  const line = `--base-url ${server.baseUrl} --key-file -`;
  await run(`wf login work ${line} --no-check`, { stdin: "app-old-01234" });
  expect(await profiles()).toMatchObject({
    work: { apps: { default: { key: "app-old-01234" } }, default_app: "default" },
  });
  const ran = await run(`wf login work ${line}`, { stdin: "app-good-0123" });
  expect(ran.err).toContain('opens "Support", mode workflow, stored as default\n');
  expect((await profiles())["work"]).toEqual({
    base_url: server.baseUrl,
    apps: { default: { key: "app-good-0123" } },
    default_app: "default",
  });
});

test("a second profile says that it is not the default", async () => {
  const { run } = await machine();
  const line = `--base-url ${server.baseUrl} --key-file -`;
  expect((await run(`kb login one ${line}`, { stdin: good })).err).not.toContain("default");
  expect((await run(`kb login two ${line}`, { stdin: good })).err).toContain(
    "another profile is the default; `kb profile use two` changes that\n",
  );
});

test("variables that take precedence over the profile are named", async () => {
  const { run } = await machine({ env: { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "k" } });
  const ran = await run(`kb login work --base-url ${server.baseUrl} --key-file -`, { stdin: good });
  expect(ran.err).toContain(
    "the environment overrides this profile (KB_BASE_URL, KB_KEY): `kb doctor -p work` selects it\n",
  );
});

test("a dry run checks and stores nothing", async () => {
  const { run, file } = await machine();
  const line = `kb login work --base-url ${server.baseUrl} --key-file - -n -o json`;
  const ran = await run(line, { stdin: good });
  expect(ran).toMatchObject({ exit: 0, out: "" });
  expect(ran.err).toBe(
    "✓ work: server 1.14.2, this key opens 12 knowledge bases (dry run: nothing was stored)\n",
  );
  expect(await file()).toBe("");
});

test("the built-in profile needs no sign-in", async () => {
  const { run } = await machine();
  const builtIn = await run("kb login sandbox");
  expect(builtIn).toMatchObject({ exit: 2 });
  expect(builtIn.err).toContain("needs no sign-in");
});

const missing = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";

test("a key that opens only some knowledge bases is stored with those named", async () => {
  const made = await sandbox.cli(
    "kb create Handbook --indexing-technique economy -o name".split(" "),
  );
  const id = made.out.trim();
  const line = `kb login work --base-url ${url} --key-file -`;
  const stdin = `dataset-bound-${id}`;
  const { run, file } = await machine();
  const none = await run(`${line} --kb Other=${missing}`, { stdin });
  expect(none).toMatchObject({ exit: 4, out: "" });
  expect(none.err).toContain("the key opens none of the knowledge bases named");
  expect(await file()).toBe("");
  const unnamed = await run(line, { stdin });
  expect(unnamed.err).toContain(
    "this key opens only some knowledge bases and cannot list them; name them with `kb login work --kb NAME=ID`\n",
  );
  const named = await run(`${line} --kb Rules=${id} --kb Other=${missing}`, { stdin });
  expect(named.err).toContain("this key opens only some knowledge bases: 1 of the 2 named\n");
  expect((await run("kb show Rules -o name", { stdin })).out).toBe(`${id}\n`);
});

test.each<[string, readonly string[], number, readonly string[]]>([
  ["no address", [""], 2, ["Address of the server, such as dify.example.com: "]],
  [
    "wrong addresses, then none",
    ["ftp://x", "http://example.com", "127.0.0.1:9", `${good}-0123456789`, ""],
    2,
    ["ftp:", "unencrypted", "connection refused", "✗ this is a key, not an address"],
  ],
  ["no key", [server.baseUrl, ""], 2, ["no key entered; nothing was stored"]],
])("on a terminal, %s: nothing is stored", async (_, answers, exit, texts) => {
  const { run, file } = await machine();
  const questions: string[] = [];
  const ran = await run("kb login", { tty: true, answers, questions });
  expect(ran).toMatchObject({ exit, out: "" });
  for (const text of texts) expect(questions.join("") + ran.err).toContain(text);
  expect(await file()).toBe("");
});

test("Enter takes the address of the environment, and keeps a stored key", async () => {
  const { run, profiles } = await machine({ tty: true });
  const questions: string[] = [];
  const answers = ["", good];
  const ran = await run("kb login work", {
    answers,
    questions,
    env: { KB_BASE_URL: server.baseUrl },
  });
  expect(ran).toMatchObject({ exit: 0, out: "" });
  expect(questions).toEqual([
    `Address of the server, such as dify.example.com [${server.baseUrl}]: `,
    "Knowledge key (dataset-… or sk-…, hidden): ",
  ]);
  const again = await run("kb login work --user ann", { answers: [""], questions });
  expect(again.err).toContain("✓ work: profile saved\n");
  expect(questions.at(-1)).toBe(
    "Knowledge key (dataset-… or sk-…, hidden; Enter keeps the stored one): ",
  );
  expect(await profiles()).toEqual({
    work: {
      base_url: server.baseUrl,
      key: good,
      user: "ann",
    },
  });
});

test("a key of the other kind is refused with the program that stores it", async () => {
  const { run, profiles } = await machine({ tty: true });
  const line = `kb login work --base-url ${server.baseUrl}`;
  const ran = await run(line, { answers: ["app-good-0123", good] });
  expect(ran.err).toContain(
    "✗ this is an application key (app-…), but kb uses a knowledge key (dataset-…)\n" +
      "  sign in with the other program: `wf login work`\n",
  );
  expect(await profiles()).toEqual({ work: { base_url: server.baseUrl, key: good } });
});

test("-v says where the requests of a sign-in go, whatever the settings are", async () => {
  const { run } = await machine();
  const line = `kb login work --base-url ${server.baseUrl} --key-file - -v`;
  const ran = await run(line, { stdin: good, env: { KB_PROFILE: "gone" } });
  expect(ran).toMatchObject({ exit: 0 });
  expect(ran.err).toContain(`* base URL ${new URL(server.baseUrl).origin}, key dataset-****0123\n`);
});

test.each([
  ["https://dify.example.com/v1", "https://dify.example.com/v1"],
  ["dify.example.com", "https://dify.example.com"],
  ["localhost:8080", "http://localhost:8080"],
  ["127.0.0.1:47311", "http://127.0.0.1:47311"],
])("the address %s in the place of a profile is told from one", async (name, address) => {
  const { run, file } = await machine();
  expect(await run(`kb login ${name}`, { tty: true, env: { NO_COLOR: "1" } })).toMatchObject({
    exit: 2,
    err: `error: ${address} is an address, not the name of a profile\nhint: sign in there: \`kb login --base-url ${address}\`\n`,
  });
  expect(await file()).toBe("");
});

test("a second application says which one is used without --app, and how to change that", async () => {
  const { run, profiles } = await machine();
  const line = `wf login work --base-url ${server.baseUrl} --key-file -`;
  await run(`${line} --app one`, { stdin: "app-good-0123" });
  const second = await run(`${line} --app two`, { stdin: "app-good-0123" });
  const use = "wf profile use work --app two";
  expect(second.err).toContain(`without --app, wf uses one; \`${use}\` changes that\n`);
  expect((await run(use)).err).toContain("and two its application without --app");
  expect(await profiles()).toMatchObject({ work: { default_app: "two" } });
  expect(await run("wf profile use work --app three")).toMatchObject({
    exit: 3,
    err: 'error: profile work has no application "three"\nhint: it has one, two; `wf login work` adds one\n',
  });
});
