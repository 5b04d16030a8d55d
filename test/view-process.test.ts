import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import type { IPty } from "@lydell/node-pty";
import { afterAll, expect, test } from "vitest";
import { testSandbox } from "./sandbox.ts";
import { temporaryFolder } from "./support.ts";
import { terminalOf } from "./terminal.ts";

const root = join(import.meta.dirname, "..");
const folder = await temporaryFolder();
const sandbox = await testSandbox({ speed: 1 });
const living = new Set<IPty>();
afterAll(() => {
  for (const child of living) child.kill("SIGKILL");
});

/** The built `wf` on a terminal of its own, and what is to be seen there. */
function onTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [cols, rows] = [80, 24];
  const terminal = terminalOf(cols, rows, false);
  const child = spawn(process.execPath, [join(root, "bin", "wf.js"), ...args], {
    cols,
    rows,
    cwd: root,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      NO_COLOR: "1",
      ...sandbox.env,
      ...env,
    },
  });
  living.add(child);
  const waiting = new Set<() => void>();
  child.onData((data) => {
    terminal.write(data);
    for (const look of waiting) look();
  });
  const exit = new Promise<number>((resolve) => {
    child.onExit(({ exitCode }) => {
      living.delete(child);
      resolve(exitCode);
    });
  });
  return {
    exit,
    lines: () => terminal.lines(),
    /** Resolves when the screen shows it. */
    shows: (wanted: RegExp) =>
      new Promise<void>((resolve) => {
        const look = async () => {
          const screen = await terminal.screen();
          if (!wanted.test(screen.join("\n")) || !waiting.delete(look)) return;
          resolve();
        };
        waiting.add(look);
        void look();
      }),
    type: (text: string) => child.write(text),
    resize(columns: number, height: number) {
      terminal.resize(columns, height);
      child.resize(columns, height);
    },
  };
}

/** Times and ids that differ from run to run. */
const steady = (lines: readonly string[]) =>
  lines.map((line) =>
    line
      .replace(/ +\d+(\.\d)?(ms|s) /, " T ")
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID"),
  );

const slow = (seconds: number) =>
  ["--app", "slow", "run", "--input", "query=hello", "--input", `seconds=${seconds}`] as const;

test("a run is redrawn while it goes on, and stays as it ended, also through a resize", async () => {
  const run = onTerminal(slow(2));
  await run.shows(/running +\d+\.\ds {2}Wait\n.*running .* run [0-9a-f-]{36}\n/);
  run.resize(40, 12);
  await run.shows(/running +\d+\.\ds {2}Wait\n.*running .* run [0-9a-f-]+…\n/);
  expect(await run.exit).toBe(0);
  expect(steady(await run.lines())).toEqual([
    "✓ succeeded T  Start",
    "✓ succeeded T  Wait",
    "✓ succeeded T  End",
    "",
    "slow body",
    "",
    '  outputs  {"result":"slow body"}',
    "✓ succeeded T  run ID  0 tokens  3 steps",
  ]);
});

test("Ctrl-C leaves what was shown, and says below how to go on", async () => {
  const run = onTerminal(slow(30));
  await run.shows(/running +\d+\.\ds {2}Wait/);
  run.type("\u0003");
  expect(await run.exit).toBe(130);
  expect(steady(await run.lines())).toEqual([
    "✓ succeeded T  Start",
    "• running T  Wait",
    "error: interrupted",
    "hint: the run goes on; wf events ID --follow shows it again",
  ]);
});

test("a form stands where the run waits, with the verdict below and the error last", async () => {
  const run = onTerminal(["--app", "review", "run", "--input", "query=hello"]);
  expect(await run.exit).toBe(8);
  const lines = steady(await run.lines());
  expect(lines.slice(0, 4)).toEqual([
    "✓ succeeded T  Start",
    "‖ paused T  Review",
    "  Please review: hello",
    "",
  ]);
  expect(lines.slice(-3)).toEqual([
    "‖ paused T  run ID  0 tokens  2 steps",
    "error: run ID waits for a person",
    expect.stringMatching(/^hint: wf form submit [\w-]+ --action approve /),
  ]);
});

test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
  ["KB_ACCESSIBLE", [], { KB_ACCESSIBLE: "1" }],
  ["TERM=dumb", [], { TERM: "dumb" }],
  ["CI", [], { CI: "true" }],
  ["-o jsonl", ["-o", "jsonl"], {}],
])("%s: nothing is redrawn", async (_, args, env) => {
  const run = onTerminal(["--app", "echo", "run", "--input", "query=hello", ...args], env);
  expect(await run.exit).toBe(0);
  const text = (await run.lines()).join("\n");
  expect(text).toMatch(/node_finished/);
  expect(text).not.toContain("✓");
});
