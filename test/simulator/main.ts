import { scenarios } from "./scenarios/index.ts";
import { shrink, simulate, type Case, type Played } from "./simulate.ts";

/** What `scripts/simulate.mjs` asks for: a seed or a case, and whether its trace is wanted. */
interface Job extends Case {
  readonly wantsTrace: boolean;
}

/** The answer to a job. */
interface Result extends Pick<Played, "failure" | "faults" | "time"> {
  readonly seed: number;
  readonly trace: readonly string[];
  /** The shortest case that fails; null if none does. */
  readonly shortest: Case | null;
}

async function resultOf({ scenario: name, wantsTrace, ...given }: Job): Promise<Result> {
  const scenario = scenarios.find((each) => each.name === name);
  if (!scenario) throw new Error(`no scenario ${name}`);
  const { seed } = given;
  const { failure, faults, time, trace } = await simulate(scenario, given);
  const shown = { seed, failure, faults, time, trace: wantsTrace ? trace : [] };
  if (failure === null) return { ...shown, shortest: null };
  return { ...shown, shortest: { scenario: name, seed, faults: await shrink(scenario, seed, faults) } };
}

process.on("message", (job: Job | "list") => {
  if (job === "list") process.send?.(scenarios.map(({ name, guards }) => ({ name, guards })));
  else void resultOf(job).then((result) => process.send?.(result));
});
process.on("SIGINT", () => {}); // the parent ends this process
