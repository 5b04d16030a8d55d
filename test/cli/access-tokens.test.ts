import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appId } from "../../src/sandbox/protocol/ids.ts";
import { memoryKeyring } from "../lib/keyring.ts";
import { connect } from "../lib/mcp.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";
import type { Ran, World } from "../lib/support.ts";
import { tokenServer } from "../lib/token-server.ts";

// Access tokens (server §2.2): keys for several applications and knowledge bases. The server in front of the
// sandbox knows no other key, and refuses a request that does not name its application.

const sandbox = await testSandbox({ models: true });
const made = async (name: string) =>
  (
    await sandbox.done(["kb", "create", name, "--indexing-technique", "economy", "-o", "name"])
  ).out.trim();
const [handbook, shut] = [await made("Handbook"), await made("Shut")];
await sandbox.done(["kb", "doc", "add", "Handbook", "a.md", "--text", "Thirty days of leave"]);

const [echo, chat, completion] = [appId("echo"), appId("chat"), appId("completion")];
const several = "sk-5e0e4b1c-0000-4000-8000-00000000aa01";
const single = "sk-5e0e4b1c-0000-4000-8000-00000000aa02";
const appsOnly = "sk-5e0e4b1c-0000-4000-8000-00000000aa03";
const revoked = "sk-5e0e4b1c-0000-4000-8000-00000000aa04";
const { base, appRequests } = await tokenServer(sandbox.sandbox.origin, {
  [several]: {
    apps: { [echo]: "app-echo", [chat]: "app-chat", [completion]: "app-completion" },
    bases: [handbook],
  },
  [single]: { apps: { [echo]: "app-echo" }, bases: [handbook] },
  [appsOnly]: { apps: { [echo]: "app-echo", [chat]: "app-chat" }, bases: [] },
});

/** A machine of its own; nothing that it prints may hold a token. */
async function machine(world: World = {}) {
  const folder = await temporaryDirectory();
  const check = (ran: Ran) => {
    for (const token of [several, single, appsOnly, revoked])
      expect(ran.out + ran.err).not.toContain(token.slice(0, -4));
    return ran;
  };
  return {
    folder,
    run: async (line: string, more: World = {}) =>
      check(
        await cli(line.split(" "), {
          folder,
          ...world,
          ...more,
          env: { ...world.env, ...more.env },
        }),
      ),
    profile: async () => {
      const text = await readFile(join(folder, "config", "profiles.json"), "utf8");
      return (JSON.parse(text) as { profiles: Record<string, unknown> }).profiles["work"];
    },
  };
}

test("one stored token serves bases and several applications", async () => {
  const keyring = memoryKeyring();
  const { run, profile } = await machine({ keyring });
  const login = `login work --base-url ${base}`;
  const first = await run(`kb ${login} --key-file -`, { stdin: several });
  expect(first.err).toContain("opens 1 of the 4 knowledge bases that it lists");
  for (const line of [`--app support=${echo}`, `--app ${chat}`, `--app texts=${completion}`])
    expect(await run(`wf ${login} ${line}`)).toMatchObject({ exit: 0 });
  expect([...keyring.entries.values()]).toEqual([several]);
  expect(await profile()).toEqual({
    base_url: base,
    access_token: { key_in: "keyring" },
    apps: { support: { app_id: echo }, chat: { app_id: chat }, texts: { app_id: completion } },
    default_app: "support",
  });
  expect((await run("kb doc list Handbook -o name")).exit).toBe(0);
  expect((await run("wf run query=hi -o json")).exit).toBe(0);
  expect((await run("wf chat send hello --app chat")).exit).toBe(0);
  const shown = JSON.parse((await run("wf profile show work -o json")).out) as object;
  expect(shown).toMatchObject({
    key: "access token in the keyring",
    apps: { support: `access token, ID ${echo}` },
  });
  expect(await run("kb profile remove work --yes")).toMatchObject({ exit: 0 });
  expect(keyring.entries.size).toBe(0);
});

const env = { KB_BASE_URL: base, KB_KEY: several, KB_APP_KEY: several };

test("an ID selects an application that is not stored", async () => {
  const { run } = await machine({ env });
  expect(await run(`wf app info --app ${echo} -o json`)).toMatchObject({ exit: 0 });
  const without = await run("wf app info");
  expect(without.exit).toBe(4);
  expect(without.err).toContain("--app ID");
  const other = await run(`wf app info --app ${appId("slow")}`);
  expect(other.exit).toBe(4);
  expect(await run("wf app info", { env: { KB_APP: chat } })).toMatchObject({ exit: 0 });
});

test("an ID with the key of one application is refused, and nothing is sent", async () => {
  const { run } = await machine({ env: { ...sandbox.env, KB_APP_KEY: "app-echo" } });
  const before = sandbox.seen.length;
  const ran = await run(`wf run --app ${chat} query=hi`);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("holds a key that opens one application");
  expect(sandbox.seen.length).toBe(before);
});

/** A line of each command group, through both programs. */
const knowledgeLines = [
  "kb show Handbook",
  "kb doc list Handbook",
  "kb doc add Handbook b.md --text Words",
  "kb chunk list Handbook a.md",
  "kb metadata list Handbook",
  "kb tag list",
  "kb search Handbook leave",
  "kb check Handbook",
  "kb export Handbook exported",
  "kb model list text-embedding",
  "kb api GET /datasets",
  "kb doctor",
];
const applicationLines: readonly (readonly [line: string, app: string])[] = [
  ["wf app info", echo],
  ["wf app parameters", echo],
  ["wf run query=hi", echo],
  ["wf run --blocking query=hi", echo],
  ["wf run query=hi --detach", echo],
  ["wf logs", echo],
  ["wf stats", echo],
  ["wf api GET /info", echo],
  ["wf doctor", echo],
  ["wf file upload NOTE", echo],
  ["wf chat send hello", chat],
  ["wf conversation list", chat],
  ["wf annotation list", chat],
  ["wf text create --query hello", completion],
];

test.each(knowledgeLines)("%s works with a token", async (line) => {
  const { run, folder } = await machine({ env: { ...env, KB_APP: echo } });
  const ran = await run(line.replace("exported", join(folder, "exported")));
  expect([0, 10], ran.err).toContain(ran.exit);
  expect(ran.err).not.toMatch(/40[013]/);
});

test.each(applicationLines)("%s names its application in every request", async (line, app) => {
  const { run } = await machine({ env });
  const from = appRequests.length;
  const ran = await run(`${line.replace("NOTE", "package.json")} --app ${app} -vv`);
  expect(ran.exit, ran.err).toBe(0);
  const sent = appRequests.slice(from);
  expect(sent.length).toBeGreaterThan(0);
  expect(new Set(sent.map((each) => each.app))).toEqual(new Set([app]));
});

test.each(["--dry-run", "--curl"])("%s shows the application of a request", async (flag) => {
  const { run } = await machine({ env });
  const ran = await run(`wf run query=hi --app ${echo} ${flag}`);
  expect(ran.out).toContain(`x-dify-app-id: ${echo}`);
});

test("the server of wf for assistants names the application, too", async () => {
  const from = appRequests.length;
  const server = await connect(["wf", "mcp"], { env: { ...env, KB_APP: echo } });
  const { tools } = await server.client.listTools();
  const tool = tools.find(({ name }) => name.startsWith("run_"));
  await server.use(tool?.name ?? "", { query: "hi" });
  await server.close();
  expect(new Set(appRequests.slice(from).map((each) => each.app))).toEqual(new Set([echo]));
});

test("the server of kb for assistants works with a token", async () => {
  const server = await connect(["kb", "mcp"], { env });
  const { text } = await server.use("search", { kb: "Handbook", query: "leave" });
  expect(text).toContain("Thirty days");
  await server.close();
});

test.each([
  ["kb list", 4, "Resource access token is invalid."],
  [`wf app info --app ${echo}`, 4, "Resource access token is invalid."],
])("%s with a revoked token", async (line, exit, text) => {
  const { run } = await machine({ env: { ...env, KB_KEY: revoked, KB_APP_KEY: revoked } });
  const ran = await run(line);
  expect(ran).toMatchObject({ exit, out: "" });
  expect(ran.err).toContain(text);
});

test("a base that is listed but not opened is named as such", async () => {
  const { run } = await machine({ env });
  const shown = await run("kb show Shut");
  expect(shown.exit).toBe(4);
  expect(shown.err).toContain("not opened by this key");
  const checked = await run("kb check --all --no-content -o json");
  const rows = JSON.parse(checked.out) as { problem: string; id: string; note: string }[];
  const ofShut = rows.filter(({ id }) => id === shut);
  expect(ofShut).toMatchObject([{ problem: "not checked" }]);
  expect(ofShut[0]?.note).toContain("not opened by this key");
  const completed = await run("kb __complete show ", { env });
  expect(completed.out).toContain("Shut\tnot opened by this key");
  expect(completed.out).not.toContain("Handbook\tnot opened");
});

test("config and doctor name what the key is", async () => {
  const { run } = await machine({ env: { ...env, KB_APP: echo } });
  const rows = JSON.parse((await run("wf config explain -o json")).out) as object[];
  expect(rows).toContainEqual({
    setting: "application key",
    value: "sk-****aa01",
    source: "KB_APP_KEY",
  });
  expect(rows).toContainEqual({ setting: "application ID", value: echo, source: "KB_APP" });
  const checks = JSON.parse((await run("kb doctor -o json")).out) as {
    check: string;
    found: string;
  }[];
  expect(checks.find(({ check }) => check === "knowledge key")?.found).toBe(
    "sk-****aa01 (KB_KEY) opens 1 of the 4 knowledge bases that it lists",
  );
});

test("a token that opens one application needs no ID", async () => {
  const { run, profile } = await machine();
  const ran = await run(`wf login work --base-url ${base} --key-file - --insecure-storage`, {
    stdin: single,
  });
  expect(ran.exit).toBe(0);
  expect(await profile()).toMatchObject({ access_token: { key: single }, apps: { echo: {} } });
  expect((await run("wf run query=hi")).exit).toBe(0);
});

test("at a prompt, the ID of one of several applications is asked for", async () => {
  const questions: string[] = [];
  const { run, profile } = await machine();
  const answers = [appsOnly, "not an ID", chat];
  const ran = await run(`wf login work --base-url ${base} --app assistant`, {
    tty: true,
    answers,
    questions,
  });
  expect(ran.exit, ran.err).toBe(0);
  expect(questions).toHaveLength(3);
  expect(questions[1]).toMatch(/^The key opens several applications. ID of one/);
  expect(await profile()).toMatchObject({ apps: { assistant: { app_id: chat } } });
});

test("at a prompt, Enter takes the stored token for one more application", async () => {
  const questions: string[] = [];
  const { run, profile } = await machine();
  const login = `login work --base-url ${base}`;
  const first = await run(`kb ${login} --key-file -`, { stdin: appsOnly });
  expect(first.err).toContain(
    "lists no knowledge bases; its applications are added with `wf login work --app NAME=ID`",
  );
  const ran = await run(`wf ${login} --app chat`, { tty: true, answers: ["", chat], questions });
  expect(ran.exit, ran.err).toBe(0);
  expect(questions[0]).toContain("Enter keeps the stored one");
  expect(await profile()).toMatchObject({
    access_token: { key: appsOnly },
    apps: { chat: { app_id: chat } },
  });
});

test("without a terminal, several applications need an ID", async () => {
  const { run } = await machine();
  const ran = await run(`wf login work --base-url ${base} --key-file -`, { stdin: several });
  expect(ran).toMatchObject({ exit: 4, out: "" });
  expect(ran.err).toContain("nothing was stored");
  const wrong = await run(`wf login work --base-url ${base} --app a=${echo} --key-file -`, {
    stdin: "app-echo",
  });
  expect(wrong).toMatchObject({ exit: 2, out: "" });
});

test("a new token replaces the knowledge key of a profile, which would be used in its place", async () => {
  const keyring = memoryKeyring();
  const { run, profile } = await machine({ keyring });
  const login = `kb login work --base-url ${base} --key-file - --no-check`;
  await run(login, { stdin: "dataset-old-0123456789" });
  await run(login, { stdin: several });
  expect(await profile()).toEqual({ base_url: base, access_token: { key_in: "keyring" } });
  expect([...keyring.entries.values()]).toEqual([several]);
});
