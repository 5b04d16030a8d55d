import { deepEqual, equal, ok } from "node:assert/strict";
import { couldNotLock, requireHolder, requireLines, requireOneWriter } from "../claims.ts";
import type { Machine } from "../machine.ts";
import type { Ended, SimulatedProcess } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";
import { makeWork, type Work } from "./each-works.ts";

const ROWS = "/home/user/rows.csv";
const REST = "/home/user/rest.csv";

/** Codes with which a disturbed batch may end. */
const honest = [1, 7, 10, 11, 12, 130];

/** Ends of a row: it is on the server, it is not, or that is not known. */
const done = ["ok", "succeeded", "skipped"];
const open = ["failed", "not sent", "not started"];

/** A row of the output. */
interface Result {
  readonly row: number;
  readonly status: string;
}

interface Stage {
  readonly world: World;
  readonly machine: Machine;
  readonly work: Work;
  /** Was the journal, or its lock, given up because of a full disk? Then nothing remembers which rows were sent. */
  isForgetful: boolean;
  /** Was a process killed or cut off? Its last requests may still arrive. */
  hasLoose: boolean;
}

function start({ world, machine, work }: Stage, name: string): SimulatedProcess {
  const flags = ["--each", ROWS, "--errors-to", REST, "-o", "jsonl"];
  if (world.random("stop on error") < 0.2) flags.push("--stop-on-error");
  if (world.random("one at a time") < 0.2) flags.push("--concurrency", "1");
  return world.start([...work.argv, ...flags], {
    name,
    machine: world.somewhere(machine, name),
    env: work.env,
  });
}

const resultsOf = ({ out }: Ended): Result[] =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Result);

/** What the end of a batch claims agrees with the rows, the file of failed rows, and the server. */
function requireTrue(
  stage: Stage,
  end: Ended,
  before: readonly number[],
  after: readonly number[],
) {
  const { work } = stage;
  const results = resultsOf(end);
  results.forEach(({ row }, index) => equal(row, index + 1, "the results are in another order"));
  for (const { row, status } of results) {
    ok([...done, ...open, "unknown"].includes(status), `row ${row} is ${status}`);
    if (done.includes(status)) ok(after[row - 1], `row ${row} is ${status}, but it is not there`);
    if (open.includes(status) && !stage.hasLoose)
      equal(after[row - 1], before[row - 1], `row ${row} is ${status}, but it is there`);
  }
  if (end.exit === null) return;
  const isAllDone = results.every(({ status }) => done.includes(status));
  if (results.length > 0) equal(results.length, work.rows.length, "rows without a result");
  if (end.exit === 0) ok(results.length > 0 && isAllDone, "exit code 0, but not all rows are done");
  else ok(honest.includes(end.exit) || stage.isForgetful, `exit code ${end.exit}: ${end.err}`);
  if (end.exit === 10) ok(!isAllDone, "exit code 10, but all rows are done");
}

/**
 * The file of `--errors-to` has the rows that the last command did not do, and those that it may have done if they
 * can be repeated, unless it rejected all of them.
 */
function requireRest({ work, machine }: Stage, end: Ended): void {
  if (end.exit === null || end.err.includes("failed to write --errors-to")) return;
  const results = resultsOf(end);
  if (results.length === 0) return;
  const collected = work.isRepeatable ? [...open, "unknown"] : open;
  const left = results.filter(({ status }) => collected.includes(status)).map(({ row }) => row);
  const lines = [work.header, ...left.map((row) => work.rows[row - 1])];
  equal(machine.disk.text(REST).trimEnd(), lines.join("\n"), "the file of --errors-to");
}

/**
 * Did the other command do all rows before this one looked for what they name? Then nothing has the old
 * names any more, and it says so and sends nothing.
 */
function isTooLate(
  { world, work, isForgetful }: Stage,
  name: string,
  end: Ended,
  others: readonly Ended[],
): boolean {
  if (end.exit !== 3 || isForgetful) return false;
  ok(
    others.some((other) => isComplete(other, work)),
    `exit code 3, but not all rows are done: ${end.err}`,
  );
  equal(end.out, "");
  const { error } = JSON.parse(end.err.trimEnd().split("\n").at(-1) ?? "") as {
    error: { changed: string; details: { rows: readonly object[] } };
  };
  equal(error.changed, "nothing");
  equal(error.details.rows.length, work.rows.length, "names that a done row left");
  const sent = world.trace.find((line) => line.includes(` ${name}: `) && work.write.test(line));
  equal(sent, undefined, `${name} says that it changed nothing`);
  return true;
}

/** Does the output say that all rows are done? Then the same command does them again. */
const isComplete = (end: Ended, { rows }: Work): boolean =>
  resultsOf(end).filter(({ status }) => done.includes(status)).length === rows.length;

/** Runs the command, sometimes twice at once; returns whether it is done. */
async function playTurn(stage: Stage, turn: number): Promise<boolean> {
  const { world, work } = stage;
  const name = `each ${turn}`;
  const names = [name, `${name} again`] as const;
  const before = await work.counts();
  const process = start(stage, names[0]);
  const processes = [process];
  const ends: Ended[] = [];
  const isTwice = world.happens("twice", name, 0.25);
  if (isTwice) {
    await world.pause(world.random(`twice ${name}`) * 1500);
    if (process.isAlive) {
      processes.push(start(stage, names[1]));
      ends.push(...(await Promise.all(processes.slice(1).map(({ ended }) => ended))));
    }
  }
  ends.unshift(await process.ended);
  for (const one of processes) requireHolder(world, one);
  requireLines(stage.machine, "/home/user/state", /^each-.*\.jsonl$/);
  stage.isForgetful ||= ends.some(({ err }) => err.includes("it cannot resume"));
  stage.isForgetful ||= couldNotLock(world);
  if (!stage.isForgetful && ends.length > 1) requireOneWriter(world, names, work.write);
  const ran = ends.filter((end) => end.exit === null || end.out !== "");
  stage.hasLoose ||= ran.length > 1 || ran.some(({ exit }) => exit === null);
  const after = await work.counts();
  ends.forEach((end, index) => {
    const others = ends.filter((other) => other !== end);
    if (!isTooLate(stage, names[index] ?? "", end, others)) requireTrue(stage, end, before, after);
  });
  const [last, ...others] = ran;
  if (last && others.length === 0) requireRest(stage, last);
  const isDone = ends.some((end) => isComplete(end, work));
  // Of two commands, the later one may begin when the other one has done all.
  if (!isDone || ran.length === 1) requireOnce(stage, after);
  return isDone;
}

/** No row is on the server twice, unless the command said that it could not remember. */
function requireOnce({ work, isForgetful }: Stage, counts: readonly number[]): void {
  if (isForgetful && !work.isRepeatable) return;
  counts.forEach((count, index) => ok(count <= 1, `row ${index + 1} was done ${count} times`));
}

async function play(world: World): Promise<void> {
  const machine = world.containers();
  const texts = Array.from({ length: 3 + world.below(6, "rows") }, (_, row) => `row${row + 1}`);
  const work = await makeWork(world, texts);
  machine.disk.put(ROWS, `${[work.header, ...work.rows].join("\n")}\n`);
  const stage: Stage = { world, machine, work, isForgetful: false, hasLoose: false };
  const turns = 1 + world.below(3, "turns");
  let isDone = false;
  for (let turn = 0; turn < turns && !isDone; turn++) isDone = await playTurn(stage, turn);
  if (isDone) return;

  world.calm();
  await world.pause(60_000);
  const end = await start(stage, "undisturbed").ended;
  const results = resultsOf(end);
  const unknown = results.filter(({ status }) => status === "unknown");
  const counts = await work.counts();
  requireTrue(stage, end, counts, counts);
  requireRest(stage, end);
  requireOnce(stage, counts);
  if (stage.isForgetful) return;
  if (work.isRepeatable) equal(unknown.length, 0, "a row that can be repeated stays unknown");
  if (unknown.length === 0) equal(end.exit, 0, end.err);
  deepEqual(
    results.filter(({ status }) => open.includes(status)),
    [],
    "rows that an undisturbed batch did not do",
  );
}

/** Batches of `--each`, killed and repeated: each row is done once, or said to be unknown. */
export const each: Scenario = {
  name: "each",
  play,
  guards: [
    {
      name: "rows are sent before the journal has them",
      file: "src/commands/batch/batch-run.ts",
      from: "const onDisk = isSent ? this.journal.sent(each.row.number) : undefined;",
      to: "const onDisk = isSent ? Promise.resolve() : undefined;",
    },
    {
      name: "rows of an interrupted run are sent again",
      file: "src/commands/batch/batch-run.ts",
      from: 'return earlier?.kind === "sent" && input !== undefined && isRepeatable?.(input) === false;',
      to: "return false && earlier !== undefined && input !== undefined;",
    },
    {
      name: "a line cut off by a kill is joined with the next one",
      file: "src/lib/journal.ts",
      from: 'text === "" || text.endsWith("\\n") ? "" : "\\n";',
      to: '"";',
    },
    {
      name: "a living owner of a lock counts as dead",
      file: "src/host/lock.ts",
      from: "if (!self.isAlive(content.pid)) return false;",
      to: "return false;",
    },
    {
      name: "a zombie counts as alive",
      file: "src/host/lock.ts",
      from: 'if (state === "Z" || state === "X") return false;',
      to: "",
    },
    {
      name: "a lock that an earlier process with the same pid left counts as held",
      file: "src/host/lock.ts",
      from: "return self.ownTokens.has(content.token);",
      to: "return true;",
    },
    {
      name: "a lock in another container counts as left at once",
      file: "src/host/lock.ts",
      from: "if (content?.place !== currentPlace(self)) return isFresh(file, self);",
      to: "if (content?.place !== currentPlace(self)) return false;",
    },
    {
      name: "two commands send the same rows",
      file: "src/commands/task/files.ts",
      from: 'if ("release" in lock) return lock.release;',
      to: 'if ("release" in lock || "heldBy" in lock) return () => {};',
    },
    {
      name: "the last attempt of a request hides what an earlier one did",
      file: "src/api/send.ts",
      from: "return isHarmless && writes && mayHaveRun ?",
      to: "return isHarmless && writes && !mayHaveRun ?",
    },
    {
      name: "a row that fails again counts as never sent",
      file: "src/commands/batch/batch-run.ts",
      from: "if (earlier === undefined || isFollowed)",
      to: 'if (earlier === undefined || isFollowed || end === "failed")',
    },
    {
      name: "rows with an unknown end count as failed",
      file: "src/cli/batch/batch.ts",
      from: 'const end = error.info.sideEffect === "unknown" ? "unknown" : "failed";',
      to: 'const end = "failed";',
    },
  ],
};
