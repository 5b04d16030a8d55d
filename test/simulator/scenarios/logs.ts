import { deepEqual, equal, ok } from "node:assert/strict";
import { parse } from "csv-parse/sync";
import { appKey } from "../../../src/sandbox/protocol/ids.ts";
import { requireHolder } from "../claims.ts";
import { runsOf, startRun, stopRun } from "../applications.ts";
import type { Machine } from "../machine.ts";
import type { Ended, SimulatedProcess } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

const APP = "slow";
const HOME = "/home/user";
const STATE = `${HOME}/runs.state`;

/** Codes with which an export may end that faults disturb. */
const honest = [1, 5, 7, 11, 12, 130];

/** What the scenario works with. */
interface Stage {
  readonly world: World;
  readonly machine: Machine;
  /** Path of the target: a file, or a directory that gets one file per export. */
  readonly target: string;
  readonly hasState: boolean;
  readonly hasDetails: boolean;
  /** Only runs with this status. */
  readonly status: string | undefined;
  /** When the first export starts, in ms. */
  readonly begin: number;
  /** Rows that exports said to be missing. */
  told: number;
}

/** A row of an exported file. */
interface Row {
  readonly log: string;
  readonly run: string;
  readonly status: string;
}

/** What an export prints at its end. */
interface Summary {
  readonly rows: number;
  readonly missing: number;
  readonly waiting: number;
  readonly file: string | null;
  readonly until: string;
}

/** Starts some runs, at times more in a second than a page of the log has. */
async function startRuns({ world }: Stage, turn: string): Promise<void> {
  const isBurst = world.happens("burst", turn, 0.1);
  const count = isBurst
    ? 101 + world.below(10, `burst ${turn}`)
    : 1 + world.below(12, `runs ${turn}`);
  for (let number = 0; number < count; number++) {
    const place = `run ${turn}.${number}`;
    // Most have ended by the next second; a few run on for minutes.
    const isLong = !isBurst && world.random(`length of ${place}`) < 0.3;
    const seconds = isLong ? 1 + world.below(90, `seconds of ${place}`) : 0;
    await startRun(world.server, APP, { query: place, seconds });
    if (!isBurst && world.random(`pause after ${place}`) < 0.2)
      await world.pause(world.random(`ms after ${place}`) * 1500);
  }
  for (const run of runsOf(world.server, APP)) {
    if (run.status !== "running" || !world.happens("stop", `${run.inputs} ${turn}`, 0.1)) continue;
    await stopRun(world.server, APP, run);
  }
}

const journalOf = (stage: Stage) => `${stage.target}${isFile(stage) ? "" : "/export"}.part.journal`;

const isFile = ({ target }: Stage) => /\.(jsonl|csv)$/.test(target);

/** Paths of the finished files of the target. */
function filesOf(stage: Stage): string[] {
  const { target, machine } = stage;
  if (!machine.disk.has(target)) return [];
  if (isFile(stage)) return [target];
  const names = machine.disk.list(target).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => `${target}/${name}`);
}

function rowsIn({ machine, hasDetails }: Stage, path: string): Row[] {
  const text = machine.disk.text(path);
  if (path.endsWith(".csv")) return parse<Row>(text, { columns: true });
  ok(text === "" || text.endsWith("\n"), `${path} ends in the middle of a line`);
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const { id, workflow_run, run_detail } = JSON.parse(line) as {
        id: string;
        workflow_run: { id: string; status: string };
        run_detail?: { id: string };
      };
      equal(run_detail?.id, hasDetails ? workflow_run.id : undefined, "details of another run");
      return { log: id, run: workflow_run.id, status: workflow_run.status };
    });
}

const rowsOf = (stage: Stage): Row[] => filesOf(stage).flatMap((path) => rowsIn(stage, path));

/** IDs of the log rows that the state file leaves for a later export. */
function waitingIn({ machine, hasState }: Stage): string[] {
  if (!hasState || !machine.disk.has(STATE)) return [];
  const { waiting } = JSON.parse(machine.disk.text(STATE)) as { waiting: { id: string }[] };
  return waiting.map(({ id }) => id);
}

/** Each row is a run of the server, once; with a state also with its result. */
function requireRows(stage: Stage): void {
  const runs = new Map(runsOf(stage.world.server, APP).map((run) => [run.log_id, run]));
  const rows = rowsOf(stage);
  equal(new Set(rows.map(({ log }) => log)).size, rows.length, "a run is exported twice");
  for (const { log, run, status } of rows) {
    equal(runs.get(log)?.id, run, "a row of no run");
    if (stage.hasState) equal(status, runs.get(log)?.status, `the status of ${run}`);
  }
}

/** What an export claims with its summary is true. */
function requireSummary(stage: Stage, { exit, out, err }: Ended): void {
  const summary = JSON.parse(out) as Summary;
  equal(summary.missing > 0, exit === 10, `exit code ${exit}, ${summary.missing} missing: ${err}`);
  stage.told += summary.missing;
  const isWhole = summary.file !== null && !(stage.hasState && isFile(stage));
  if (isWhole) equal(summary.rows, rowsIn(stage, summary.file ?? "").length, "rows of the summary");
  requireAll(stage, Date.parse(summary.until));
}

/** The files have all runs that started before the second of `until`, or the state waits for them. */
function requireAll(stage: Stage, until: number): void {
  const { world, status, hasState, begin } = stage;
  const found = new Set([...rowsOf(stage).map(({ log }) => log), ...waitingIn(stage)]);
  const absent = runsOf(world.server, APP).filter((run) => {
    if (second(run.created_at) >= second(until) || found.has(run.log_id)) return false;
    // Without a state, a run that had not ended when its row was read did not match.
    const hadEnded = hasState || (run.finished_at ?? Infinity) < begin;
    return status === undefined || (run.status === status && hadEnded);
  });
  ok(absent.length <= stage.told, `${absent.length} runs are missing: ${absent[0]?.inputs}`);
}

const second = (ms: number) => Math.floor(ms / 1000);

function start(stage: Stage, name: string): SimulatedProcess {
  const { world, machine, target, hasState, hasDetails, status } = stage;
  const options = [
    ...(hasState ? ["--state", STATE] : []),
    ...(hasDetails ? ["--with-detail"] : []),
    ...(status === undefined ? [] : ["--status", status]),
  ];
  const argv = ["wf", "logs", "export", target, "-o", "json"].concat(options);
  const place = world.somewhere(machine, name);
  return world.start(argv, { name, machine: place, env: { KB_APP_KEY: appKey(APP) } });
}

/** One export, or two at once, while more runs start. */
async function playTurn(stage: Stage, turn: string): Promise<void> {
  const { world, machine } = stage;
  if (world.happens("runs before", turn, 0.6)) await startRuns(stage, `${turn} before`);
  const before = rowsOf(stage).length;
  const isAnew = !machine.disk.has(journalOf(stage));
  const processes = [start(stage, `export ${turn}`)];
  if (world.happens("twice", turn, 0.2)) {
    await world.pause(world.random(`twice ${turn}`) * 300);
    processes.push(start(stage, `export ${turn} again`));
  }
  if (world.happens("runs meanwhile", turn, 0.4)) {
    await world.pause(world.random(`meanwhile ${turn}`) * 500);
    await startRuns(stage, `${turn} meanwhile`);
  }
  const ends = await Promise.all(processes.map(({ ended }) => ended));
  requireRows(stage);
  for (const end of ends) requireHonest(stage, end);
  for (const one of processes) requireHolder(world, one);
  const [{ exit, out }] = ends as [Ended];
  if (ends.length > 1 || !isAnew || exit !== 0) return;
  equal((JSON.parse(out) as Summary).rows, rowsOf(stage).length - before, "rows of the summary");
}

function requireHonest(stage: Stage, end: Ended): void {
  const { exit, err } = end;
  if (exit === null) return;
  if (exit === 0 || exit === 10) requireSummary(stage, end);
  else if (exit === 2) ok(/another export is|runs\.\w+ already exists/.test(err), err);
  else ok(honest.includes(exit), `exit code ${exit}: ${err}`);
}

/** Exports that continue each other: in the end each run is in the files, once. */
async function playExports(stage: Stage): Promise<void> {
  const { world } = stage;
  const turns = 1 + world.below(4, "turns");
  for (let turn = 0; turn < turns; turn++) {
    await playTurn(stage, `${turn}`);
    await world.pause(world.random(`after turn ${turn}`) * 100_000);
  }
  world.calm();
  await world.pause(200_000);
  // The first one may only complete an interrupted one.
  for (const name of ["undisturbed export", "last export"]) {
    const end = await start(stage, name).ended;
    equal(end.exit, 0, `${name}: ${end.err}`);
    requireRows(stage);
    requireSummary(stage, end);
  }
  deepEqual(waitingIn(stage), [], "a run that ended is still waited for");
  requireAll(stage, Infinity);
}

/** The same command until its file is there, with each run that was there at the start. */
async function playExport(stage: Stage): Promise<void> {
  const { world } = stage;
  for (let turn = 0; filesOf(stage).length === 0; turn++) {
    if (turn === 4) {
      world.calm();
      await world.pause(60_000); // the lock of a killed export in another container counts for 15 s
    }
    ok(turn < 6, "an undisturbed export writes nothing");
    await playTurn(stage, `${turn}`);
    await world.pause(world.random(`after turn ${turn}`) * 20_000);
  }
  requireAll(stage, stage.begin);
}

async function play(world: World): Promise<void> {
  const hasState = world.random("state") < 0.6;
  const names = ["runs.jsonl", "runs.csv"].concat(hasState ? ["runs"] : []);
  const target = `${HOME}/${world.pick(names, "target")}`;
  const hasDetails = world.random("details") < 0.3;
  const status = world.random("status") < 0.3 ? "succeeded" : undefined;
  const stage = {
    world,
    machine: world.containers(),
    target,
    hasState,
    hasDetails,
    status,
    told: 0,
  };
  await startRuns({ ...stage, begin: 0 }, "at first");
  await world.pause(2000);
  const begin = world.server.now().getTime();
  await (hasState ? playExports : playExport)({ ...stage, begin });
}

/** Exports of a log that grows, with kills, repeats, two at once, and seconds with more than a page. */
export const logs: Scenario = {
  name: "logs",
  play,
  guards: [
    {
      name: "rows behind the last record are kept",
      file: "src/commands/wf/logs/export-journal.ts",
      from: "files.remove(part) : files.truncate(part, bytes)));",
      to: "files.remove(part) : Promise.resolve()));",
    },
    {
      name: "an export that was interrupted at its end is not completed",
      file: "src/commands/wf/logs/export.ts",
      from: "if (leftover?.ending) {",
      to: "if (leftover?.ending && input.overwrite) {",
    },
    {
      name: "two exports write at once",
      file: "src/commands/wf/logs/export-journal.ts",
      from: 'if ("release" in lock) return lock.release;',
      to: 'return "release" in lock ? lock.release : () => {};',
    },
    {
      name: "a second with more than a page is read once",
      file: "src/api/time-windows.ts",
      from: "if (window.from >= window.to) return this.fillSecond(window, total, found);",
      to: "if (window.from >= window.to) return 0;",
    },
  ],
};
