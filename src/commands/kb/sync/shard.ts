import { CliError } from "../../../errors.ts";
import { sha256 } from "../snapshot/bundle.ts";

/** A share of the files, from 1. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Where systems that run a job many times say which one it is. */
const places: readonly {
  readonly index: string;
  readonly first: 0 | 1;
  readonly count?: string;
}[] = [
  { index: "CI_NODE_INDEX", first: 1, count: "CI_NODE_TOTAL" }, // GitLab
  { index: "CIRCLE_NODE_INDEX", first: 0, count: "CIRCLE_NODE_TOTAL" },
  { index: "BUILDKITE_PARALLEL_JOB", first: 0, count: "BUILDKITE_PARALLEL_JOB_COUNT" },
  { index: "JOB_COMPLETION_INDEX", first: 0 }, // indexed jobs of Kubernetes
];

/** Reads `3/8`, `auto` or `auto/8`. Throws usage for a share that there is not. */
export function shardOf(text: string | undefined, env: Env): Shard | undefined {
  if (text === undefined) return undefined;
  const wrong = (problem: string) =>
    new CliError("usage", `--shard ${JSON.stringify(text)}: ${problem}`, {
      sideEffect: "none",
      hint: "--shard 3/8 is the third of eight; auto reads CI_NODE_INDEX and the like",
    });
  const [, which = "", of] = /^(\d+|auto)(?:\/(\d+))?$/.exec(text) ?? [];
  if (which === "") throw wrong("this is no share");
  const place = places.find(({ index }) => env[index]);
  if (which === "auto" && !place) throw wrong("no variable says which share this is");
  const index =
    which === "auto" && place ? Number(env[place.index]) + 1 - place.first : Number(which);
  const count = Number(of ?? (which === "auto" && place?.count ? env[place.count] : undefined));
  if (!Number.isInteger(count)) throw wrong("of how many is not said: auto/8");
  if (!Number.isInteger(index) || index < 1 || index > count)
    throw wrong(`there is no share ${index}`);
  return { index, count };
}

/** Is this path in the share? The same on every machine, however many files there are. */
export const isInShard = (path: string, shard: Shard | undefined): boolean =>
  shard === undefined || parseInt(sha256(path).slice(0, 8), 16) % shard.count === shard.index - 1;
