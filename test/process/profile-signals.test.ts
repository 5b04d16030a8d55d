import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reachingBus } from "../lib/keyring.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

// Each signal is handled once: neither a stored profile nor conf, which writes it, adds a handler.

const home = await temporaryDirectory();
const server = await testSandbox({ speed: 1 });
const url = server.env["KB_BASE_URL"] ?? "";
await mkdir(join(home, ".config/kb"), { recursive: true });
const profile = { base_url: url, apps: { slow: { key: "app-slow" } } };
await writeFile(
  join(home, ".config/kb/profiles.json"),
  JSON.stringify({ default: "mine", profiles: { mine: { ...profile, default_app: "slow" } } }),
  { mode: 0o600 },
);

const signals = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

test.concurrent.each(signals)(
  "%s stops following a run started with a stored profile: %d, and how to resume",
  async (signal, exit) => {
    const { child, ended } = shell(
      'exec "$NODE" "$WF" run --input query=x --input seconds=30 -o jsonl --record "$FILE"',
      { HOME: home, FILE: join(home, signal), WF: join(root, "bin", "wf.js") },
    );
    child.stdout?.on("data", (piece: Buffer | string) => {
      if (String(piece).includes("Wait")) child.kill(signal);
    });
    const ran = await ended;
    expect(ran.err).toMatch(/wf events [0-9a-f-]{36} --follow/);
    expect(ran.exit).toBe(exit);
    const lines = (await readFile(join(home, signal), "utf8")).split("\n");
    expect(JSON.parse(lines.at(-2) ?? "")).toMatchObject({ end: { exit } });
  },
);

/** Stores another key for a profile whose key is in a keyring that never responds. */
async function replaceKey(directory: string, address: string) {
  const work = { base_url: url, key_in: "keyring" };
  await writeFile(join(directory, "profiles.json"), JSON.stringify({ profiles: { work } }));
  return shell('exec "$NODE" "$KB" login work --key-command true --no-check', {
    HOME: directory,
    KB_CONFIG_DIR: directory,
    DBUS_SESSION_BUS_ADDRESS: address,
    KB: join(root, "bin", "kb.js"),
  });
}

test.runIf(process.platform === "linux").each(signals)(
  "%s after conf has written the profiles: %d, an error message, and no lock left",
  async (signal, exit) => {
    // The old key is deleted from the keyring after the write.
    const { child, ended, folder } = await reachingBus(replaceKey);
    child.kill(signal);
    const ran = await ended;
    expect(ran).toMatchObject({ exit, out: "" });
    expect(ran.err).toMatch(/^error: .*interrupted/);
    expect(await readFile(join(folder, "profiles.json"), "utf8")).toContain("key_command");
    expect((await readdir(folder)).sort()).toEqual(["bus", "profiles.json"]);
  },
);

test("conf adds no signal handlers", async () => {
  const directory = await temporaryDirectory();
  const [hook, listeners] = [join(directory, "hook.cjs"), join(directory, "listeners.json")];
  await writeFile(
    hook,
    `const { constants } = require("node:os");
    process.on("exit", () => {
      const names = Object.keys(constants.signals).filter((name) => process.listenerCount(name) > 0);
      require("node:fs").writeFileSync(${JSON.stringify(listeners)}, JSON.stringify([conf, names]));
    });
    const Module = require("node:module");
    const load = Module._load;
    let conf = false;
    Module._load = function (id, ...rest) {
      conf ||= /\\bconf-\\w+\\.cjs$/.test(id);
      return load.call(this, id, ...rest);
    };`,
  );
  const ran = await shell(`kb login x --base-url ${url} --key-command true --no-check`, {
    HOME: directory,
    NODE_OPTIONS: `--require=${hook}`,
  }).ended;
  expect(ran.exit, ran.err).toBe(0);
  const [confIsLoaded, names] = JSON.parse(await readFile(listeners, "utf8")) as unknown[];
  expect(confIsLoaded).toBe(true);
  expect((names as string[]).sort()).toEqual(["SIGHUP", "SIGINT", "SIGTERM"]);
});
