// Plays the scenarios of test/simulator:
//   npm run simulate -- --seeds 1000 [--scenario NAME,…] 1 to 1000; continues where it stopped
//   npm run simulate -- --seeds 1000 --from SEED         these, whatever was played before
//   npm run simulate -- --seed 17 --scenario NAME        one seed, with its trace
//   npm run simulate -- --case '{"scenario":"sync","seed":17,"faults":[]}'
//   npm run simulate -- --guards --seeds 100             finds the bug that each guard prevents
//   npm run simulate -- --guard NAME --seeds 100         that of one guard
// --twice plays each seed twice and compares the traces; --kept begins with the kept cases.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./prepare.mjs";
import { bundle } from "./simulate/bundle.mjs";
import { Players } from "./simulate/players.mjs";
import { nothing, Progress } from "./simulate/progress.mjs";

const text = { type: "string" };
const flag = { type: "boolean", default: false };
const { values: options } = parseArgs({
  options: {
    seeds: { ...text, default: "100" },
    from: text,
    scenario: text,
    seed: text,
    case: text,
    guards: flag,
    guard: text,
    twice: flag,
    kept: flag,
  },
});

// Inside node_modules, so that the packages that the bundle imports are found.
const cache = join(root, "node_modules", ".cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "kb-wf-simulate-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

let isStopped = false;
process.on("SIGINT", () => {
  isStopped = true;
});

/** Jobs for the seeds before `end`, until the run is stopped. */
function* seedJobs(scenario, from, end) {
  for (let seed = from; seed < end && !isStopped; seed++)
    yield { scenario, seed, twice: options.twice };
}

/** Prints why a case failed; returns whether it did not. */
function report({ seed, failure, shortest }) {
  if (failure !== null)
    console.log(`\nseed ${seed}: ${failure}\n\ncase: ${JSON.stringify(shortest)}\n`);
  return failure === null;
}

/** Plays one case and prints all that happens in it. */
async function playOne(players, job) {
  const result = await players.ask({ ...job, wantsTrace: true });
  for (const line of result.trace) console.log(line);
  return report(result);
}

/** Plays cases that are kept; returns those that fail. */
async function playCases(players, cases) {
  const failures = [];
  await players.askAll(cases[Symbol.iterator](), (result) => {
    if (!report(result)) failures.push(result.shortest);
  });
  return failures;
}

/** Plays seeds of a scenario after its failures of before; returns whether none failed. */
async function playSeeds(players, scenario) {
  const isKept = options.from === undefined;
  const played = isKept ? progress.of(scenario) : nothing(Number(options.from));
  played.failures = await playCases(players, played.failures);
  const end = isKept ? Number(options.seeds) + 1 : played.next + Number(options.seeds);
  const results = new Map();
  await players.askAll(seedJobs(scenario, played.next, end), (result) => {
    report(result);
    results.set(result.seed, result);
    while (results.has(played.next)) {
      count(results.get(played.next), played);
      results.delete(played.next++);
    }
    if (isKept && played.seeds % 50 === 0) progress.save(scenario, played);
  });
  if (isKept) progress.save(scenario, played);
  print(scenario, played);
  return played.failures.length === 0;
}

function count({ faults, time, shortest }, played) {
  played.seeds++;
  played.ms += time;
  for (const fault of faults) {
    const [kind] = fault.split(" @ ", 1);
    played.kinds[kind] = (played.kinds[kind] ?? 0) + 1;
  }
  if (shortest) played.failures.push(shortest);
}

function print(scenario, { seeds, ms, kinds, failures }) {
  const hours = (ms / 3_600_000).toFixed(1);
  console.log(`${scenario}: ${seeds} seeds, ${hours} simulated hours, ${failures.length} failed`);
  const faults = Object.entries(kinds).sort(([, a], [, b]) => b - a);
  if (faults.length > 0)
    console.log(`  ${faults.map(([kind, number]) => `${kind} ${number}`).join(", ")}`);
}

/** Finds the bug of a source without a guard; returns whether it did. */
async function findBug({ name: scenario, guard }) {
  const file = await bundle(join(folder, "without"), guard);
  let found;
  const from = Number(options.from ?? 1);
  const jobs = seedJobs(scenario, from, from + Number(options.seeds));
  const players = new Players(file);
  await players.askAll(jobs, ({ shortest }) => {
    if (!shortest) return;
    found ??= shortest;
    jobs.return();
  });
  players.stop();
  console.log(`${scenario}: ${guard.name}: ${found ? JSON.stringify(found) : "not found"}`);
  return found !== undefined;
}

async function main(players) {
  if (options.case !== undefined) return playOne(players, JSON.parse(options.case));
  const { scenarios, cases } = await players.ask("list");
  const wanted = options.scenario?.split(",");
  const chosen = scenarios.filter(({ name, isLong }) => wanted?.includes(name) ?? !isLong);
  if (chosen.length === 0) throw new Error(`no scenario ${options.scenario}`);
  let isGood = !options.kept || (await playCases(players, cases)).length === 0;
  for (const { name, guards } of chosen) {
    if (options.seed !== undefined)
      isGood = (await playOne(players, { scenario: name, seed: Number(options.seed) })) && isGood;
    else if (options.guards || options.guard !== undefined)
      for (const guard of guards.filter((each) => (options.guard ?? each.name) === each.name))
        isGood = (await findBug({ name, guard })) && isGood;
    else isGood = (await playSeeds(players, name)) && isGood;
  }
  return isGood;
}

const file = await bundle(folder);
const progress = new Progress(file);
const players = new Players(file);
const isGood = await main(players);
players.stop();
process.exit(isGood ? 0 : 1);
