import { CliError, exitCodes, usage } from "../../../errors.ts";
import type { FailureKind } from "../../../errors.ts";
import { groupBy, inTurns } from "../../../lib/collect.ts";
import { isObject, stringifyJson } from "../../../lib/json.ts";
import { firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { ReportStep } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Shard } from "../../task/shard.ts";
import type { testMergeParams } from "./command.ts";
import { prepareConclusion } from "./conclude.ts";
import { haveTexts, notResults, readSavedResults } from "./saved-results.ts";
import type { SavedResults } from "./saved-results.ts";

/** A saved run of one shard; that of all tests is the only shard. */
type SavedShard = ReturnType<typeof savedShard>;

/** Merges the saved results of shards. Throws usage if one is missing, there twice or of another run. */
export async function* run(
  input: Input<typeof testMergeParams>,
  context: Context,
): AsyncGenerator<ReportStep> {
  const { conclude } = await prepareConclusion(input, context);
  const shards: SavedShard[] = [];
  for (const file of input.results)
    shards.push(savedShard(await readSavedResults("", file, context.host)));
  const inOrder = completeShards(shards);
  // Of the tests in the order of the suites, a shard has every so many.
  const tests = inTurns(inOrder.map((each) => each.tests));
  const isReused = tests.some(({ results }) => results.some(({ reused }) => reused));
  if (isReused && (input.baseline ?? input.history) !== undefined)
    throw usage(
      "reused answers are not new observations, so --baseline and --history do not take them",
    );
  for (const { results } of tests) for (const row of results) yield { row };
  const [first] = inOrder;
  if (!first) return;
  const stopped = inOrder.find((each) => each.stopped)?.stopped;
  const selection = { ...first.selection, shard: null };
  const old = first.old && inTurns(inOrder.map((each) => each.old ?? []));
  const { skipped, at, serverVersion } = first;
  const known = { skipped, stopped, at, serverVersion };
  yield* conclude({ tests, old, selection, ...known, isMerge: true });
}

/** The shards in their order. Throws usage if they are not all those of one run. */
function completeShards(shards: readonly SavedShard[]): SavedShard[] {
  const [first] = shards;
  if (!first) return [];
  const { count } = first.shard;
  for (const other of shards) {
    const difference = differenceOf(first, other);
    if (difference !== undefined)
      throw usage(
        `${first.file} and ${other.file} are not of the same run: they differ in ${difference}`,
        "merge the results of one version of the suites, run with the same flags",
      );
  }
  const byIndex = groupBy(shards, ({ shard }) => shard.index);
  for (const [index, [one, twice]] of byIndex)
    if (one && twice)
      throw usage(`shard ${index}/${count} appears twice: ${one.file} and ${twice.file}`);
  const missing = Array.from({ length: count }, (_, index) => index + 1).filter(
    (index) => !byIndex.has(index),
  );
  if (missing.length > 0)
    throw usage(
      `missing results of shard ${firstNames(missing.map((index) => `${index}/${count}`))}`,
      "each shard saves its results with --save, even if tests failed",
    );
  return shards.toSorted((a, b) => a.shard.index - b.shard.index);
}

/** What tells two saved shards to be of different runs; undefined if nothing does. */
function differenceOf(one: SavedShard, other: SavedShard): string | undefined {
  if (one.shard.count !== other.shard.count) return "the number of shards";
  const names = [one, other].map(({ selection }) => selection.suites.map(({ name }) => name));
  if (!isSame(names[0], names[1])) return "the names of the suites";
  const changed = one.selection.suites.find(
    ({ sha256 }, index) => sha256 !== other.selection.suites[index]?.sha256,
  );
  if (changed) return `the content of suite ${changed.name}`;
  const differs = ([key]: (typeof flags)[number]) =>
    !isSame(one.selection[key], other.selection[key]);
  return flags.find(differs)?.[1];
}

const flags = [
  ["only", "--only"],
  ["failed_from", "--failed-from"],
  ["first", "--first"],
  ["repeat", "--repeat"],
  ["confirm", "--confirm or --baseline"],
  ["against", "--against"],
  ["server", "the server"],
] as const;

const isSame = (one: unknown, other: unknown): boolean =>
  stringifyJson(one) === stringifyJson(other);

/** Throws usage for a file that --save has not written as it is. */
function savedShard({ file, data, selection, tests, old, at, serverVersion }: SavedResults) {
  const { suites, only, repeat, server, skipped_tests, stopped } = data;
  const isWhole =
    haveTexts(suites, "name", "sha256") &&
    Array.isArray(only) &&
    typeof repeat === "number" &&
    typeof server === "string" &&
    haveTexts(skipped_tests, "suite", "test");
  const shard = shardOf(data["shard"]);
  if (!isWhole || !shard) throw notResults(file);
  return {
    file,
    at,
    serverVersion,
    shard,
    selection: { ...selection, shard },
    skipped: skipped_tests,
    tests,
    old,
    stopped: stopOf(stopped, `shard ${shard.index}/${shard.count}`),
  };
}

/** More than anyone runs, and few enough to name those that are missing. */
const MAX_SHARDS = 100_000;

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;

function shardOf(value: unknown): Shard | undefined {
  if (value === null) return { index: 1, count: 1 };
  const { index, count } = isObject(value) ? value : {};
  const isShard = isCount(index) && isCount(count) && index <= count && count <= MAX_SHARDS;
  return isShard ? { index, count } : undefined;
}

/** The error that ended a saved run; undefined if all of its tests were run. */
function stopOf(saved: unknown, where: string): CliError | undefined {
  const { code, message } = isObject(saved) ? saved : {};
  if (typeof code !== "string" || !Object.hasOwn(exitCodes, code) || code === "ok")
    return undefined;
  return new CliError(code as FailureKind, `${where}: ${String(message)}`); // one of the codes
}
