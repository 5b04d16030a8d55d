import { usage } from "../../errors.ts";
import { sha256 } from "../../lib/sha256.ts";

/** A share of the work, such as files; the index starts at 1. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Variables with which CI systems number parallel jobs. */
const ciVariables: readonly {
  readonly index: string;
  readonly first: 0 | 1;
  readonly count?: string;
}[] = [
  { index: "CI_NODE_INDEX", first: 1, count: "CI_NODE_TOTAL" }, // GitLab
  { index: "CIRCLE_NODE_INDEX", first: 0, count: "CIRCLE_NODE_TOTAL" },
  { index: "BUILDKITE_PARALLEL_JOB", first: 0, count: "BUILDKITE_PARALLEL_JOB_COUNT" },
  { index: "JOB_COMPLETION_INDEX", first: 0 }, // indexed jobs of Kubernetes
];

/** Parses `3/8`, `auto` or `auto/8`. Throws usage. */
export function parseShard(text: string | undefined, env: Env): Shard | undefined {
  if (text === undefined) return undefined;
  const invalid = (problem: string) =>
    usage(
      `invalid --shard ${JSON.stringify(text)}: ${problem}`,
      "--shard 3/8 is the third of eight; auto reads CI_NODE_INDEX and similar variables",
    );
  const [, which = "", total] = /^(\d+|auto)(?:\/(\d+))?$/.exec(text) ?? [];
  if (which === "") throw invalid("expected INDEX/COUNT, auto or auto/COUNT");
  let index = Number(which);
  let count = Number(total);
  if (which === "auto") {
    const ci = ciVariables.find((variables) => env[variables.index]);
    if (!ci) throw invalid("no CI variable with a shard index is set");
    index = Number(env[ci.index]) + 1 - ci.first;
    if (total === undefined && ci.count) count = Number(env[ci.count]);
  }
  if (!Number.isInteger(count)) throw invalid("the number of shards is missing");
  if (!Number.isInteger(index) || index < 1 || index > count)
    throw invalid(`index ${index} is not between 1 and ${count}`);
  return { index, count };
}

/** Requests at a time at first: the other shards send at the same time, as a rule from other machines. */
export const startIn = (shard: Shard | null | undefined): number | undefined =>
  shard ? 1 : undefined;

/** Is this path in the shard? The same on every machine, however many files there are. */
export const isInShard = (path: string, shard: Shard | undefined): boolean =>
  shard === undefined || parseInt(sha256(path).slice(0, 8), 16) % shard.count === shard.index - 1;
