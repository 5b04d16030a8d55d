import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();
const broken = ["wf", "--app", "broken"];
const start = [...broken, "run", "--input", "query=x", "-q"];

/** The IDs of the runs in the log, newest first. */
const newestRun = async (app: readonly string[]) =>
  (await server.cli([...app, "logs", "-L", "1", "-o", "name"])).out.trim();

test("shows the status and the error of a failed run first, and the inputs of its application", async () => {
  await server.cli(start);
  const { exit, out } = await server.cli([...broken, "show", await newestRun(broken)]);
  expect(exit).toBe(0);
  const rows = out
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(rows.map(([name]) => name)).toEqual([
    "status",
    "error",
    "outputs",
    "elapsed",
    "tokens",
    "steps",
    "started",
    "finished",
    "inputs",
    "id",
  ]);
  expect(rows.slice(0, 2)).toEqual([
    ["status", "failed"],
    ["error", "[Errno 111] Connection refused"],
  ]);
  expect(rows.at(-2)).toEqual(["inputs", '{"query":"x"}']);
  const wide = await server.cli([...broken, "show", await newestRun(broken), "-o", "wide"]);
  expect(wide.out).toMatch(/^system_inputs +\S*sys\.files/m);
});

test("names the node of a failure that was followed on this machine", async () => {
  const folder = await temporaryDirectory();
  await server.cli(start, { folder });
  const id = await newestRun(broken);
  const here = await server.cli([...broken, "show", id], { folder });
  expect([here.exit, here.err]).toEqual([0, "node Fetch failed: [Errno 111] Connection refused\n"]);
  const elsewhere = await server.cli([...broken, "show", id]);
  expect([elsewhere.exit, elsewhere.err]).toEqual([
    0,
    "the nodes of a finished run are only known from a recording: `wf run --record FILE --app broken`\n",
  ]);
});

test("a terminal shows for how long an unfinished run has taken", async () => {
  const review = ["wf", "--app", "review"];
  await server.cli([...review, "run", "query=x", "-q"]);
  const show = [...review, "show", await newestRun(review)];
  const { out } = await server.cli([...show, "--jq", ".created_at"]);
  const now = () => new Date(Number(out) * 1000 + 65_000);
  const world = { tty: true, now, env: { NO_COLOR: "1" } };
  const [shown, raw] = await Promise.all([
    server.cli(show, world),
    server.cli([...show, "--jq", ".elapsed_time < 60"], world),
  ]);
  expect([shown.out, raw.out]).toEqual([expect.stringMatching(/^elapsed +1m 05s$/m), "true\n"]);
});

test("keeps no failures with KB_KEEP_ERRORS=0", async () => {
  const folder = await temporaryDirectory();
  const world = { folder, env: { KB_KEEP_ERRORS: "0" } };
  await server.cli(start, world);
  const { err } = await server.cli([...broken, "show", await newestRun(broken)], world);
  expect(err).not.toContain("Errno");
});

test("names a recording with a command that works", async () => {
  const folder = await temporaryDirectory();
  const file = join(folder, "run.jsonl");
  await server.cli([...start, "--record", file], { folder });
  const { err } = await server.cli([...broken, "show", await newestRun(broken)], { folder });
  const [, command = ""] = /^its nodes are on this machine: `(.*)`$/m.exec(err) ?? [];
  const { exit, out } = await server.cli(command.split(" "), { folder });
  expect([exit, out.split("\n")[1]]).toEqual([0, expect.stringMatching(/^Fetch\tfailed\t/)]);
});

test("last is also a run to compare or open, with the nodes that were recorded here", async () => {
  const folder = await temporaryDirectory();
  const record = join(folder, "run.jsonl");
  await server.done(["wf", "run", "query=hello", "--record", record, "-q"], { folder });
  const id = await newestRun(["wf"]);
  const timeline = await server.done(["wf", "timeline", id], { folder });
  expect(timeline.out).toContain(`# Run ${id} succeeded`);
  const compared = await server.done(["wf", "diff", "last", record, "--exit-code"], { folder });
  expect(compared.out).toContain("No difference in status, path and outputs.");
  const opened = await server.done(["wf", "open", "last", "--print"], { folder });
  expect(opened.out).toMatch(/\/logs$/m);
});

test("names the node that was replaced by its default value", async () => {
  const folder = await temporaryDirectory();
  const flaky = ["wf", "--app", "flaky"];
  await server.cli([...flaky, "run", "--input", "query=x", "-q"], { folder });
  const { out, err } = await server.cli([...flaky, "show", await newestRun(flaky)], { folder });
  expect(out).toContain("status\tpartial-succeeded\n");
  expect(err).toMatch(/^node Unsteady failed: \[Errno 111\] Connection refused/);
});

test("says nothing about nodes of a run that succeeded", async () => {
  await server.cli(["wf", "run", "--input", "query=x", "-q"]);
  const { err } = await server.cli(["wf", "show", await newestRun(["wf"])]);
  expect(err).toBe("");
});

test("events of an unknown run are an error, without a count before it", async () => {
  const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  const { exit, err } = await server.cli(["wf", "events", id]);
  expect(exit).toBe(3);
  expect(err).toMatch(/^error: failed to get events of run 0190f2b4-/);
});

test("a run of another application is not found, and the hint says why", async () => {
  await server.cli(start);
  const { exit, err } = await server.cli(["wf", "show", await newestRun(broken)]);
  expect(exit).toBe(3);
  expect(err).toContain(
    "hint: a run is found only with the key of its application (--app): `wf logs` shows those of this one\n",
  );
});
