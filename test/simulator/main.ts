import { cases } from "./cases.ts";
import { scenarios } from "./scenarios/index.ts";
import { shrink, simulate, type Case, type Played } from "./simulate.ts";

/** What `scripts/simulate.mjs` asks for. */
interface Job extends Case {
  readonly wantsTrace?: boolean;
  /** Play it twice: the same must happen. */
  readonly twice?: boolean;
}

/** The answer to a job. */
interface Result extends Pick<Played, "failure" | "faults" | "time"> {
  readonly seed: number;
  readonly trace: readonly string[];
  /** The shortest case that fails; null if none does. */
  readonly shortest: Case | null;
}

async function resultOf({ wantsTrace = false, twice = false, ...given }: Job): Promise<Result> {
  const { seed } = given;
  const scenario = scenarios.find(({ name }) => name === given.scenario);
  if (!scenario) throw new Error(`no scenario ${given.scenario}`);
  const { faults, time, trace, ...played } = await simulate(scenario, given);
  const difference = twice ? firstDifference(trace, (await simulate(scenario, given)).trace) : null;
  const failure = played.failure ?? difference;
  const result = { seed, failure, faults, time, trace: wantsTrace ? trace : [] };
  if (failure === null) return { ...result, shortest: null };
  const rest = played.failure === null ? faults : await shrink(scenario, seed, faults);
  return { ...result, shortest: { scenario: scenario.name, seed, faults: rest } };
}

function firstDifference(first: readonly string[], second: readonly string[]): string | null {
  const at = first.findIndex((line, index) => line !== second[index]);
  if (at < 0 && first.length === second.length) return null;
  return `two runs differ:\n${first[at]}\n${second[at]}`;
}

const list = () => ({
  scenarios: scenarios.map(({ name, isLong, guards }) => ({ name, isLong, guards })),
  cases,
});

process.on("message", (job: Job | "list") => {
  if (job === "list") process.send?.(list());
  else void resultOf(job).then((result) => process.send?.(result));
});
process.on("SIGINT", () => {}); // the parent lets it finish its seed
