import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { RawHost } from "../../../src/host/host.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox();
const origin = new URL(server.env["KB_BASE_URL"] ?? "").origin;
/** The same server, not as the built-in profile of the sandbox. */
const plain = { KB_PROFILE: "", KB_APP_KEY: "app-echo" };
const run = (line: string, world: World = {}) =>
  server.cli(
    line.split(" ").map((word) => word.replace("~", " ")),
    { ...world, env: { ...plain, ...world.env } },
  );
const printed = async (line: string) => (await run(line)).out.trim();

let [kb, doc, runId, appId] = ["", "", "", ""];
beforeAll(async () => {
  kb = await printed("kb create Handbook --indexing-technique economy -o name");
  await run("kb doc add Handbook leave.md --text days");
  doc = await printed("kb doc list Handbook -o name");
  runId = await printed("wf run --input query=hello --jq .id");
  appId = await printed(`wf show ${runId} --jq .inputs|fromjson|.["sys.app_id"]`);
  expect([kb, doc, runId, appId].join()).toMatch(/^([0-9a-f-]{36},?){4}$/);
});

test.each([
  ["kb open --print", () => "/datasets"],
  ["kb open Handbook --print", () => `/datasets/${kb}/documents`],
  ["kb open Handbook leave.md --print", () => `/datasets/${kb}/documents/${doc}`],
  ["wf open --print", () => `/app/${appId}/workflow`],
  ["wf open RUN --print", () => `/app/${appId}/logs`],
  ["wf open START --print", () => `/app/${appId}/logs`],
  // Without a terminal the address is printed as well.
  ["kb open Handbook", () => `/datasets/${kb}/documents`],
])("%s prints the address of its page", async (line, path) => {
  const ran = await run(line.replace("RUN", runId).replace("START", runId.slice(0, 8)));
  expect(ran).toEqual({ exit: 0, out: `${origin}${path()}\n`, err: "" });
});

test.each(["/datasets", "/datasets/x/documents", "/apps", "/app/x/workflow"])(
  "a browser gets the page of the sandbox for %s, and a program none",
  async (path) => {
    const get = (accept: string) => fetch(`${origin}${path}`, { headers: { accept } });
    const page = await get("text/html,application/xhtml+xml");
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("Sandbox")]);
    expect((await get("*/*")).status).toBe(404);
  },
);

test.each(["chat", "review"])(
  "without a run that shows the ID of the application %s, the list of all is opened",
  async (app) => {
    const ran = await run("wf open --print", { env: { KB_APP_KEY: `app-${app}` } });
    expect(ran).toEqual({
      exit: 0,
      out: `${origin}/apps\n`,
      err: "the server does not report the application's ID; this is the list of all\n",
    });
  },
);

test("a newest run that the server has removed shows no ID; one that cannot be read is an error", async () => {
  const openedWith = async (fault: string) => {
    server.sandbox.setFaults([parseFault(`GET /workflows/run/* ${fault}`)]);
    const ran = await run("wf open --print --retries 0");
    server.sandbox.setFaults([]);
    return ran;
  };
  expect(await openedWith("status=404")).toMatchObject({ exit: 0, out: `${origin}/apps\n` });
  expect(await openedWith("status=503")).toMatchObject({ exit: 1, out: "" });
});

test("what does not exist has no page", async () => {
  expect((await run("kb open Nothing --print")).exit).toBe(3);
  expect((await run("wf open 00000000-0000-4000-8000-000000000000 --print")).exit).toBe(3);
  const nowhere = await run("kb open --print", { env: { KB_BASE_URL: "" } });
  expect(nowhere).toMatchObject({ exit: 2, out: "" });
  expect(nowhere.err).toContain("no server is set up");
});

/** The profile file of a machine whose profile work has a web console. */
async function withConsole(console_url: string) {
  const folder = await temporaryDirectory();
  await mkdir(join(folder, "config"));
  const work = { base_url: `${origin}/v1`, key: "dataset-sandbox", console_url };
  const store = JSON.stringify({ default: "work", profiles: { work } });
  await writeFile(join(folder, "config", "profiles.json"), store);
  return (line: string, env: World["env"] = {}) =>
    run(line, { folder, env: { KB_BASE_URL: "", KB_KEY: "", ...env } });
}

test("the web console is that of the profile, for the profile's own server", async () => {
  const own = await withConsole("https://console.example/at/");
  expect((await own("kb open --print")).out).toBe("https://console.example/at/datasets\n");
  const other = await own("kb open --print", { KB_BASE_URL: "https://other.example/v1" });
  expect(other.out).toBe("https://other.example/datasets\n");
  const cloud = await own("kb open --print", { KB_BASE_URL: "https://api.dify.ai/v1" });
  expect(cloud.out).toBe("https://cloud.dify.ai/datasets\n");
  const explained = await own('kb config explain --jq .[]|select(.setting=="web~console")');
  expect(JSON.parse(explained.out)).toEqual({
    setting: "web console",
    value: "https://console.example/at",
    source: "profile work",
  });
});

test("only http and https are opened", async () => {
  for (const address of ["file:///etc/passwd", "javascript:alert(1)"]) {
    const own = await withConsole(address);
    expect(await own("kb open --print")).toMatchObject({ exit: 2, out: "" });
  }
});

/** Runs `kb open` on a terminal whose programs exit with a code, and returns the started ones. */
async function opened(env: World["env"], exit = 0, platform = "v20.19.0 linux-x64") {
  const started: string[][] = [];
  const spawn: RawHost["spawn"] = (command, args, options) => {
    started.push([command, ...args, ...(options.shell ? ["(shell)"] : [])]);
    return { exit: Promise.resolve(exit), output: Promise.resolve(""), kill: () => {} };
  };
  const around = (host: RawHost): RawHost => ({ ...host, platform });
  const ran = await run("kb open", { tty: true, spawn, around, env: env ?? {} });
  return { ...ran, started };
}

test("on a terminal the browser of the system, or that of BROWSER, opens the address", async () => {
  const address = `${origin}/datasets`;
  const display = { DISPLAY: ":0" };
  const shown = { exit: 0, out: "", err: `opening ${address}\n` };
  expect(await opened(display)).toEqual({ ...shown, started: [["xdg-open", address]] });
  expect(await opened({ WAYLAND_DISPLAY: "w" })).toMatchObject(shown);
  const mac = await opened({}, 0, "v24.0.0 darwin-arm64");
  expect(mac).toEqual({ ...shown, started: [["open", address]] });
  const windows = await opened({}, 0, "v24.0.0 win32-x64");
  expect(windows.started).toEqual([["rundll32", "url.dll,FileProtocolHandler", address]]);
  const own = await opened({ ...display, BROWSER: "firefox --new-window" });
  expect(own.started).toEqual([[`firefox --new-window ${address}`, "(shell)"]]);
  const placed = await opened({ BROWSER: "see %s now" });
  expect(placed.started).toEqual([[`see ${address} now`, "(shell)"]]);
});

test("without a browser that works, the address is printed", async () => {
  const address = `${origin}/datasets\n`;
  const none = await opened({});
  const said = "no browser found; set BROWSER\n";
  expect(none).toEqual({ exit: 0, out: address, err: said, started: [] });
  const failed = await opened({ BROWSER: "false" }, 1);
  expect(failed).toMatchObject({ exit: 0, out: address });
  expect(failed.err).toContain("the browser failed (exit code 1)\n");
});
