/** The built program, killed while it runs suites of tests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { write } from "../lib/directory.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { bin } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

const { env, seen, sandbox } = await testSandbox();
const home = await temporaryDirectory();
const repeats = 6;
await write(home, {
  "echo.yaml":
    "app: echo\ntests: [{ name: a, inputs: { query: x } }, { name: b, inputs: { query: y } }]\n",
  "chat.yaml":
    "app: chat\ntests: [{ name: talk, turns: [{ query: one }, { query: two }, { query: three }] }]\n",
});

interface Line {
  readonly test: string;
  readonly repeat: number;
  readonly status: string;
}

/** Runs the suites; kills the program after this many results. */
async function runs(killAfter: number) {
  const files = ["echo.yaml", "chat.yaml"].map((name) => join(home, name));
  const args = ["test", "run", ...files, "--repeat", String(repeats), "-o", "jsonl"];
  const child = spawn(process.execPath, [bin("wf"), ...args], {
    env: { ...env, PATH: process.env["PATH"], HOME: home, KB_STATE_DIR: join(home, "state") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    if (out.split("\n").length > killAfter) child.kill("SIGKILL");
  });
  const [code] = (await once(child, "close")) as [number | null];
  const lines = out.split("\n").slice(0, -1); // a kill may cut the last line
  return { code, err, results: lines.map((line) => JSON.parse(line) as Line) };
}

/** The questions that were asked after the first `from` requests, as the names of their tests. */
const asked = (from: number): string[] =>
  seen.slice(from).flatMap(({ method, path, body }) => {
    if (method !== "POST" || !/\/(workflows\/run|chat-messages)$/.test(path)) return [];
    const { query, inputs } = JSON.parse(new TextDecoder().decode(body)) as {
      readonly query?: string;
      readonly inputs: { readonly query?: string };
    };
    return [query ?? inputs.query ?? ""];
  });

const count = (list: readonly string[], name: string) =>
  list.filter((each) => each === name).length;

test("suites that were killed twice ask nothing again whose answer is recorded", async () => {
  sandbox.setFaults([parseFault("POST /chat-messages delay=2s")]); // 40 ms of this clock
  const first = await runs(4);
  const second = await runs(9);
  expect([first.code, second.code]).toEqual([null, null]);
  const before = seen.length;
  const last = await runs(Infinity);
  sandbox.setFaults([]);
  expect(last.code, last.err).toBe(0);
  expect(last.results).toHaveLength(3 * repeats);
  expect(last.results.every(({ status }) => status === "passed")).toBe(true);

  const resumed = Number(/resuming: (\d+) of 18 runs/.exec(last.err)?.[1]);
  expect(resumed).toBeGreaterThanOrEqual(second.results.length);
  // All that is not recorded is asked once; a conversation from its first turn.
  const questions = asked(before);
  const conversations = count(questions, "one");
  expect([count(questions, "two"), count(questions, "three")]).toEqual([
    conversations,
    conversations,
  ]);
  // A workflow that was under way at the kill is followed.
  const followed = new Set(
    seen.slice(before).flatMap(({ path }) => /\/workflow\/([^/]+)\/events/.exec(path)?.[1] ?? []),
  ).size;
  const begun = count(questions, "x") + count(questions, "y") + conversations;
  expect(begun + followed).toBe(18 - resumed);
  // In all three commands: a question in flight at a kill may be asked once more.
  const all = asked(0);
  for (const name of ["x", "y", "one"])
    expect(count(all, name), name).toBeLessThanOrEqual(repeats + 2 * 3);
  expect(all.length).toBeLessThanOrEqual(5 * repeats + 2 * 3 * 3);
});
