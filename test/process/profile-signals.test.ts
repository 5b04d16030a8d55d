import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { shell } from "../lib/shell.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryFolder } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

const home = await temporaryFolder();
const server = await testSandbox({ speed: 1 });
await mkdir(join(home, ".config/kb"), { recursive: true });
const profile = { base_url: server.env["KB_BASE_URL"], apps: { slow: { key: "app-slow" } } };
await writeFile(
  join(home, ".config/kb/profiles.json"),
  JSON.stringify({ default: "mine", profiles: { mine: { ...profile, default_app: "slow" } } }),
  { mode: 0o600 },
);

test.concurrent.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)(
  "%s leaves a run that a stored profile led to: %d, and how to go on",
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
