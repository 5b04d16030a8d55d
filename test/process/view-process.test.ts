import { expect, test } from "vitest";
import { commandOnPty, onPty } from "../lib/pty.ts";
import { fastClock } from "../lib/fast-clock.ts";
import { rareTest, sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { bin } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** A clock on which waits of more than a quarter of an hour last until they are ended. */
function heldClock() {
  const clock = fastClock(1);
  const waiting: (() => void)[] = [];
  const hold = (signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  return {
    now: () => clock.now(),
    sleep: (ms: number, signal?: AbortSignal) =>
      ms < 1_000_000 ? clock.sleep(ms, signal) : hold(signal),
    /** Ends the wait that began first. */
    finish: () => waiting.shift()?.(),
  };
}

/** A sandbox of its own, with commands on a terminal that use it. */
async function place() {
  const clock = heldClock();
  const sandbox = await testSandbox({ clock });
  const env = { HOME: await temporaryDirectory(), NO_COLOR: "1", ...sandbox.env };
  return {
    sandbox,
    env,
    onTerminal: (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      onPty("wf", args, { ...env, ...more }),
    /** Starts a run that lasts until `finish` is called; returns its ID. */
    start: async () => (await sandbox.done(["wf", ...slow, "--detach", "-o", "name"])).out.trim(),
    finish: clock.finish,
  };
}

/** Replaces times and IDs. */
const steady = (lines: readonly string[]) =>
  lines.map((line) =>
    line
      .replace(/ +\d+(\.\d)? (ms|s) /, " T ")
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=run )[0-9a-f]{8}\b/g, "ID"),
  );

const slow = ["--app", "slow", "run", "--input", "query=hello", "--input", "seconds=3000"] as const;

test.concurrent("a run is redrawn until it ends, and after a resize", async () => {
  const { onTerminal, finish } = await place();
  const run = onTerminal(slow);
  await run.shows(/running +\d+\.\d s {2}Wait\n.*running .* run [0-9a-f]{8}\n/);
  run.resize(40, 12);
  await run.shows(/running +\d+\.\d s {2}Wait\n.*running .* run [0-9a-f]{8}\n/);
  finish();
  expect(await run.exit).toBe(0);
  expect(steady(await run.lines())).toEqual([
    "✓ succeeded T  Start",
    "✓ succeeded T  Wait",
    "✓ succeeded T  End",
    "",
    "slow body",
    "",
    "✓ succeeded T  run ID",
    "    3 steps", // 40 columns
  ]);
});

test.concurrent("Ctrl-C keeps the printed lines and prints how to resume", async () => {
  const { onTerminal } = await place();
  const run = onTerminal(slow);
  await run.shows(/running +\d+\.\d s {2}Wait/);
  run.type("\u0003");
  expect(await run.exit).toBe(130);
  expect(steady(await run.lines())).toEqual([
    "✓ succeeded T  Start",
    "• running T  Wait",
    "error: interrupted",
    "hint: the run continues; run",
    "    `wf events ID --follow --app slow` to",
    "    resume",
  ]);
});

rareTest("Ctrl-Z and fg: the view continues below the output of the shell", async () => {
  const { env, finish } = await place();
  const shell = commandOnPty("sh", ["-i"], { ...env, PS1: "$ " }, 200);
  // Input before the prompt would be echoed above it: each step waits for the prompt.
  await shell.shows(/^\$$/m);
  shell.type(`"${process.execPath}" "${bin("wf")}" ${slow.join(" ")}\r`);
  await shell.shows(/running +\d+\.\d s {2}Wait/);
  shell.type("\u001a");
  await shell.shows(/(Stopped|Suspended).*\n\$$/m);
  // Longer than the time between two frames: one is due as soon as the program continues.
  shell.type("echo said; sleep 0.3; echo meanwhile\r");
  await shell.shows(/\nmeanwhile\n\$$/m);
  shell.type("fg\r");
  await shell.shows(/\$ fg\n.*\n.*running .*Wait/);
  finish();
  await shell.shows(/succeeded .* run .* 3 steps\n\$$/m);
  shell.type("exit\r");
  expect(await shell.exit).toBe(0);
  const lines = steady(await shell.lines()).map((line) => line.replace(/^"\/.*$/, "LINE"));
  expect(lines.slice(lines.indexOf("said"), lines.indexOf("$ exit"))).toEqual([
    "said",
    "meanwhile",
    "$ fg",
    "LINE",
    "✓ succeeded T  Wait",
    "✓ succeeded T  End",
    "",
    "slow body",
    "",
    "✓ succeeded T  run ID  3 steps",
  ]);
});

rareTest("a form is printed at the pause, followed by the run and the error", async () => {
  const { onTerminal } = await place();
  const run = onTerminal(["--app", "review", "run", "--input", "query=hello", "--no-input"]);
  expect(await run.exit).toBe(8);
  const lines = steady(await run.lines());
  expect(lines.slice(0, 4)).toEqual([
    "✓ succeeded T  Start",
    "‖ paused T  Review",
    "  Please review: hello",
    '  input    comment (paragraph, default "looks fine")',
  ]);
  expect(lines.slice(-3)).toEqual([
    "‖ paused T  run ID  2 steps",
    "paused: run ID is waiting for human input",
    expect.stringMatching(/^hint: answer it with `wf form submit [\w-]+ --action approve /),
  ]);
});

test.concurrent.each<readonly [string, readonly string[], Readonly<Record<string, string>>]>(
  sampled(6, [
    ["KB_ACCESSIBLE", [], { KB_ACCESSIBLE: "1" }],
    ["TERM=dumb", [], { TERM: "dumb" }],
    ["CI", [], { CI: "true" }],
    ["-o jsonl", ["-o", "jsonl"], {}],
  ]),
)("%s: nothing is redrawn", async (_, args, env) => {
  const { onTerminal } = await place();
  const run = onTerminal(["--app", "echo", "run", "--input", "query=hello", ...args], env);
  expect(await run.exit).toBe(0);
  const text = (await run.lines()).join("\n");
  expect(text).toMatch(/node_finished/);
  expect(text).not.toContain("✓");
});

rareTest("a list and a record are drawn as tables", async () => {
  const { sandbox, env } = await place();
  for (const name of ["draft", "文書", "e\u0301te\u0301"])
    expect((await sandbox.cli(["kb", "tag", "create", name])).exit).toBe(0);
  const listed = onPty("kb", ["tag", "list", "--columns", "name,id"], env);
  expect(await listed.exit).toBe(0);
  expect(steady((await listed.lines()).toSorted())).toEqual([
    "draft  ID",
    "e\u0301te\u0301    ID",
    "name   id",
    "─────  ────────────────────────────────────",
    "文書   ID",
  ]);
  await sandbox.cli(["kb", "create", "文書", "--indexing-technique", "economy"]);
  const shown = onPty("kb", ["show", "文書", "--columns", "name,document_count"], env);
  expect(await shown.exit).toBe(0);
  expect(await shown.lines()).toEqual(["name            文書", "document_count  0"]);
});

test.concurrent("the terminal of these tests shows all that a command prints before it ends", async () => {
  const run = commandOnPty("sh", ["-c", "seq 2000"], {});
  expect(await run.exit).toBe(0);
  expect(run.written()).toMatch(/^1\r\n2\r\n[^]*\r\n2000\r\n$/);
});
