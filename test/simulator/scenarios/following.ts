import { deepEqual, equal, ok } from "node:assert/strict";
import { appKey } from "../../../src/sandbox/protocol/ids.ts";
import {
  executionsOf,
  formsOf,
  isLost,
  runsOf,
  statusOf,
  stopRun,
  type StoredRun,
} from "../applications.ts";
import type { Ended, SimulatedProcess } from "../process.ts";
import { START } from "../server.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";
import { followApps } from "./follow-apps.ts";
import { requireEvents } from "./followed-events.ts";

const USER = "ann";

/** Codes with which a program may end that faults disturb. */
const honest = [1, 5, 7, 8, 11, 12, 13, 130];

/** ms after the end of a run until its followers know, also if the line is silent twice. */
const MAX_LATE_MS = 200_000;

/** What the scenario works with. */
interface Stage {
  readonly world: World;
  readonly app: string;
  /** Starts a program on the machine of the user; they share it. */
  readonly start: (name: string, argv: readonly string[]) => SimulatedProcess;
  /** Printed events of the run. */
  readonly followed: { readonly end: Ended; readonly isLate: boolean }[];
}

/** The run, once it is there. */
const runOf = ({ world, app }: Stage): StoredRun | undefined => runsOf(world.server, app).at(-1);

const hasEnded = (run: StoredRun | undefined) =>
  run !== undefined && (run.finished_at !== null || isLost(run));

/** What an error says about changes. */
function changedBy({ err }: Ended): string | undefined {
  const line = err.trim().split("\n").at(-1) ?? "";
  if (!line.startsWith('{"error"')) return undefined;
  return (JSON.parse(line) as { error: { changed: string } }).error.changed;
}

/** The exit code is what became of the run, or one of a disturbance. */
function requireExit(stage: Stage, { exit, err }: Ended): void {
  if (exit === null) return;
  const run = runOf(stage);
  const status = run && statusOf(run);
  const isTrue =
    (exit === 0 && status === "succeeded") ||
    (exit === 9 && (status === "failed" || status === "stopped")) ||
    (exit === 8 && stage.app === "reviewed") ||
    (![0, 8, 9].includes(exit) && honest.includes(exit));
  ok(isTrue, `exit code ${exit} for a run that is ${status}: ${err}`);
}

/** A program does not go on for long after the end of the run. */
function requireSpeed({ world, ...stage }: Stage, begin: number, { exit, err }: Ended): void {
  const run = runOf({ world, ...stage });
  if (!run?.finished_at || exit === null) return;
  const over = run.finished_at - START;
  const late = world.timeline.time - Math.max(begin, over);
  ok(late < MAX_LATE_MS, `it ends ${late} ms after the run: ${err}`);
}

/** Starts the run; the program starts it once at most, and says so. */
async function startRun(stage: Stage): Promise<void> {
  const { world, app, start } = stage;
  const words = 5 + world.below(25, "words");
  const slow = world.pick([20, 100, 400], "slow");
  const query = `query=[[words:${words}]] [[slow:${slow}]]`;
  for (let number = 0; runOf(stage) === undefined; number++) {
    if (number === 4) world.calm();
    const more = world.random("through pauses") < 0.5 ? ["--through-pauses"] : [];
    const name = `run ${number}`;
    const end = await start(name, ["run", query, "-o", "jsonl", ...more]).ended;
    const runs = runsOf(world.server, app);
    ok(runs.length <= 1, "the run was started twice");
    if (end.exit === 0 || end.exit === 9 || end.exit === 8) equal(runs.length, 1, "no run");
    if (changedBy(end) === "nothing")
      equal(runs.length, 0, `it says that nothing changed: ${end.err}`);
    requireExit(stage, end);
    if (runs.length > 0) stage.followed.push({ end, isLate: false });
    ok(number < 6, `no run is started: ${end.err}`);
  }
}

/** Follows the run until it has ended, starting again whenever the program ends before. */
async function follow(stage: Stage, name: string): Promise<void> {
  const { world, start } = stage;
  await world.pause(world.random(`start of ${name}`) * 20_000);
  for (let number = 0; number < 8; number++) {
    const run = runOf(stage);
    if (!run) {
      await world.pause(2000);
      continue;
    }
    const isWait = world.random(`${name} waits`) < 0.2;
    const more = world.random(`through pauses of ${name}`) < 0.6 ? ["--through-pauses"] : [];
    const argv = isWait
      ? ["wait", run.id, "-o", "json", ...more]
      : ["events", run.id, "--follow", "-o", "jsonl", ...more];
    const begin = world.timeline.time;
    const end = await start(`${name}.${number}`, argv).ended;
    requireExit(stage, end);
    requireSpeed(stage, begin, end);
    const after = runOf(stage) ?? run;
    if (!isWait) stage.followed.push({ end, isLate: true });
    else if (end.exit === 0 || end.exit === 9)
      equal((JSON.parse(end.out) as { status: string }).status, after.status);
    if (end.exit === 0 || end.exit === 9) return;
    await world.pause(world.random(`pause after ${name}.${number}`) * 10_000);
  }
}

/** Answers the form of the run with a program, until it is answered; at times the run is stopped. */
async function answer(stage: Stage): Promise<void> {
  const { world, start } = stage;
  const stopAt = world.happens("stop", "run", 0.15)
    ? world.random("time of the stop") * 60_000
    : Infinity;
  for (let number = 0; !hasEnded(runOf(stage)); number++) {
    await world.pause(500 + world.random(`wait ${number}`) * 8000);
    const run = runOf(stage);
    if (!run) continue;
    if (world.timeline.time > stopAt && run.status === "running")
      await stopRun(world.server, stage.app, run);
    const form = formsOf(world.server, run).find(({ status }) => status === "waiting");
    if (!form) continue;
    const argv = ["form", "submit", form.token, "--action", "approve", "-o", "json"];
    const end = await start(`answer ${number}`, [...argv, "--input", "comment=fine"]).ended;
    const isWaiting = formsOf(world.server, run).some(({ status }) => status === "waiting");
    if (end.exit === 0) equal(isWaiting, false, "the form is not answered");
    else if (end.exit !== null) ok(honest.includes(end.exit), `exit code ${end.exit}: ${end.err}`);
    if (changedBy(end) === "nothing")
      equal(isWaiting, true, `it says that nothing changed: ${end.err}`);
  }
}

async function play(world: World): Promise<void> {
  const app = world.pick(["writer", "long", "reviewed"], "application");
  const machine = world.machine();
  const env = { KB_APP_KEY: appKey(app), KB_USER: USER };
  const start = (name: string, argv: readonly string[]) =>
    world.start(["wf", ...argv], { name, machine, env });
  const stage: Stage = { world, app, start, followed: [] };
  const followers = ["one", "two"].slice(0, 1 + world.below(2, "followers"));
  await Promise.all([
    startRun(stage),
    answer(stage),
    ...followers.map((name) => follow(stage, name)),
  ]);
  world.calm();
  await world.pause(10_000);
  const run = runOf(stage);
  ok(run && hasEnded(run), "the run does not end");
  const { wasRestarted } = world.server;
  for (const each of stage.followed) requireEvents(run, { ...each, wasRestarted });
  if (isLost(run)) return;
  const expected = run.status === "succeeded" ? 0 : 9;
  const events = await start("last", ["events", run.id, "--follow", "-o", "jsonl"]).ended;
  const wait = await start("last wait", ["wait", run.id]).ended;
  deepEqual([events.exit, wait.exit], [expected, expected], `${events.err}${wait.err}`);
  deepEqual(
    executionsOf(run).filter(({ status }) => status === "paused"),
    [],
  );
}

/** Runs that are followed by several programs, answered and stopped, on lines that break or hold events back. */
export const following: Scenario = {
  name: "follow",
  server: (seed) => ({
    models: true,
    applications: followApps,
    server: seed % 3 === 0 ? "1.15.0" : "1.14.2",
  }),
  play,
  guards: [
    {
      name: "events come again after a reconnect",
      file: "src/follow/event-filter.ts",
      from: "if (!this.deduplicator.isNew(event)) {",
      to: "if (!this.deduplicator.isNew(event) && !this.hasReconnected) {",
    },
    {
      name: "the place of a gap is not remembered",
      file: "src/follow/event-filter.ts",
      from: "this.text.markGap();",
      to: "",
    },
    {
      name: "a run is started again without an answer",
      file: "src/api/send.ts",
      from: 'const retryable = notStarted || (retry !== "never" && unclear);',
      to: "const retryable = notStarted || unclear;",
    },
    {
      name: "a silent line is trusted",
      file: "src/follow/open-stream.ts",
      from: "return leave(status);",
      to: "return;",
    },
    {
      name: "an event that a proxy has cut in two is lost",
      file: "src/api/sse.ts",
      from: "parser.feed(text);",
      to: "parser.reset(); parser.feed(text);",
    },
    {
      name: "text from before the first event is not told",
      file: "src/follow/text-gaps.ts",
      from: "|| (this.late && this.hasFollowed)",
      to: "",
    },
  ],
};
