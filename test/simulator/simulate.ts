import type { SandboxOptions } from "../../src/sandbox/http/backend.ts";
import { ProcessEnded } from "./process.ts";
import { World } from "./world.ts";

/** A change of a source file that makes a bug, which a scenario must find. */
export interface Guard {
  readonly name: string;
  /** Relative to the project. */
  readonly file: string;
  /** The text to replace, which must be there once. */
  readonly from: string;
  readonly to: string;
}

/** What is played against the faults. */
export interface Scenario {
  readonly name: string;
  /** Played only if it is named: a seed takes seconds. */
  readonly isLong?: true;
  /** Options of the server for a seed. */
  readonly server?: (seed: number) => Partial<SandboxOptions>;
  /** Plays it, and throws if something is not as it must be. */
  readonly play: (world: World) => Promise<void>;
  readonly guards: readonly Guard[];
}

/** A run that can be repeated: a test case to keep. */
export interface Case {
  readonly scenario: string;
  readonly seed: number;
  /** Without it, the seed draws them. */
  readonly faults?: readonly string[];
}

/** The result of a run. */
export interface Played {
  /** Why it failed; null if it did not. */
  readonly failure: string | null;
  /** The faults that happened. */
  readonly faults: readonly string[];
  readonly trace: readonly string[];
  /** Simulated ms. */
  readonly time: number;
}

/** Plays a scenario once. */
export async function simulate(
  scenario: Scenario,
  { seed, faults }: Pick<Case, "seed" | "faults">,
): Promise<Played> {
  const world = await World.open({ seed, faults, server: scenario.server?.(seed) });
  let failure: string | null = null;
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => {
    if (!(error instanceof ProcessEnded)) unhandled.push(error);
  };
  process.on("unhandledRejection", onUnhandled);
  try {
    await world.timeline.until(scenario.play(world), () => world.running());
    const [problem] = [...world.server.problems, ...unhandled];
    if (problem !== undefined) throw problem;
  } catch (error) {
    failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    world.note(`failed: ${failure}`);
  } finally {
    process.off("unhandledRejection", onUnhandled);
  }
  const { trace, timeline } = world;
  return { failure, faults: world.faults.happened, trace, time: timeline.time };
}

/** Reduces the faults of a failing run to a list in which each one is needed. */
export async function shrink(scenario: Scenario, seed: number, faults: readonly string[]) {
  const fails = async (some: readonly string[]) =>
    (await simulate(scenario, { seed, faults: some })).failure !== null;
  let list = faults;
  for (let size = Math.ceil(list.length / 2); size >= 1;) {
    let isShorter = false;
    for (let at = 0; at < list.length;) {
      const rest = [...list.slice(0, at), ...list.slice(at + size)];
      if (await fails(rest)) [list, isShorter] = [rest, true];
      else at += size;
    }
    if (size === 1 && !isShorter) break;
    size = isShorter ? Math.min(size, Math.ceil(list.length / 2)) : Math.ceil(size / 2);
    if (list.length === 0) break;
  }
  return list;
}
