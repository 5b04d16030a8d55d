/** The first requests of an end user: side by side, the server creates several of one name (server §2.1). */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory, type World } from "../../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();
const rows = join(folder, "rows.csv");
await writeFile(rows, "query\na\nb\nc\nd\n");
await write(folder, {
  "chat.yaml": `
app: chat
tests:
  - { name: one, turns: [{ query: hello }, { query: again }] }
  - { name: two, turns: [{ query: hello }, { query: again }] }
  - { name: three, turns: [{ query: hello }, { query: again }] }
`,
});
const wf = (app: string, args: readonly string[], world: World = {}) =>
  server.cli(["wf", "--app", app, ...args], { folder, ...world });
const withFaults = async <T>(faults: readonly string[], work: () => Promise<T>): Promise<T> => {
  server.sandbox.setFaults(faults.map(parseFault));
  return work().finally(() => server.sandbox.setFaults([]));
};
/** The server, with a long pause between its look-up and its insert. */
const race = "* * split-users=20s";

interface Row {
  readonly run: string;
  readonly status: string;
  readonly error: string | null;
}
const each = async (user: string, ...more: readonly string[]) => {
  const line = ["run", "--each", rows, "--user", user, "-o", "json", ...more];
  const { out, err } = await wf("echo", line);
  return { rows: JSON.parse(out || "[]") as readonly Row[], err };
};

test("the sandbox creates several end users of one name for requests side by side", async () => {
  const start = ["run", "query=a", "--user", "beside", "-o", "json", "--jq", ".id"];
  await withFaults([race], async () => {
    const runs = await Promise.all([wf("echo", start), wf("echo", start), wf("echo", start)]);
    const exits = await Promise.all(
      runs.map(
        async ({ out }) => (await wf("echo", ["events", out.trim(), "--user", "beside"])).exit,
      ),
    );
    expect(exits.toSorted()).toEqual([0, 3, 3]);
  });
});

test("runs of --each can be read by the end user that started them", async () => {
  const { rows: done, err } = await withFaults([race], () => each("new"));
  expect(
    done.map(({ status }) => status),
    err,
  ).toEqual(Array(4).fill("succeeded"));
  for (const { run } of done) {
    const ran = await wf("echo", ["events", run, "--user", "new"]);
    expect(ran.exit, ran.err).toBe(0);
  }
});

test("the second turns of wf test run continue the conversations of the first ones", async () => {
  const ran = await withFaults([race], () =>
    wf("chat", ["test", "run", join(folder, "chat.yaml"), "--user", "tester"]),
  );

  expect(ran.exit, ran.out + ran.err).toBe(0);
  const { out } = await wf("chat", ["conversation", "list", "--user", "tester", "-o", "name"]);
  expect(out.trim().split("\n")).toHaveLength(3);
});

test("a first request that the server refuses is followed by one alone", async () => {
  const { rows: done, err } = await withFaults(
    ["POST /workflows/run status=503 times=1", race],
    () => each("refused"),
  );
  expect(
    done.map(({ status }) => status),
    err,
  ).toEqual(Array(4).fill("succeeded"));
  for (const { run } of done)
    expect((await wf("echo", ["events", run, "--user", "refused"])).exit).toBe(0);
});

/** A run whose stream is lost, and whose events belong to another end user of this name. */
const hidden = ["POST /workflows/run cut-after=1", "GET */events status=404"];

test("a row whose events are not found has the end of its record", async () => {
  const { rows: done, err } = await withFaults(hidden, () => each("hidden"));
  expect(done.map(({ status, error }) => [status, error])).toEqual(
    Array(4).fill(["succeeded", null]),
  );
  expect(err).toContain(`the events of run ${done[0]?.run} are not visible; waiting for its end`);
});

test("wf run prints the outputs of a run whose events are not found, and all of its text", async () => {
  const ran = await withFaults(hidden, () => wf("echo", ["run", "query=one two", "--text"]));
  expect(ran.exit, ran.err).toBe(0);
  const whole = await wf("echo", ["run", "query=one two", "--text"]);
  expect(ran.out).toBe(whole.out);
});

test("a failed run whose events are not found exits with 9", async () => {
  const ran = await withFaults(hidden, () => wf("broken", ["run", "query=a"]));
  expect(ran.exit, ran.err).toBe(9);
});

test("wf events says that the run of another end user is not found", async () => {
  const [row] = (await each("hidden")).rows;
  const ran = await wf("echo", ["events", row?.run ?? "", "--user", "else", "--follow"]);
  expect(ran.exit).toBe(3);
  expect(ran.err).toContain("a run is visible only to the end user that started it");
});

/** Runs --each against a server whose starts have this fault; interrupts it at the start with this number. */
async function interruptedAt(count: number, fault: string) {
  let starts = 0;
  const stop = new AbortController();
  const { sandbox, cli } = await testSandbox({
    onRequest({ path }) {
      if (path === "/v1/workflows/run" && ++starts === count) stop.abort("SIGINT");
    },
  });
  sandbox.setFaults([parseFault(`POST /workflows/run ${fault}`)]);
  const line = ["wf", "--app", "echo", "run", "--each", rows, "--user", "open"];
  const { exit } = await cli(line, { folder, signal: stop.signal });
  return { exit, starts };
}

test("a stream that stays open holds up no other start", async () => {
  expect(await interruptedAt(3, "silence=1")).toEqual({ exit: 130, starts: 3 });
});

test("an interrupt ends what waits for the response to a first request", async () => {
  expect(await interruptedAt(1, "silence")).toEqual({ exit: 130, starts: 1 });
});
