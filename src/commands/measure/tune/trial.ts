import { mapConcurrent } from "../../../api/concurrent-map.ts";
import type { Journal } from "../../../lib/journal.ts";
import { mean, median } from "../../../lib/statistics/averages.ts";
import type { Context } from "../../task/command-spec.ts";
import { waitOnRateLimit } from "../../kb/documents/index.ts";
import { documentOf, ratedAnswer, searchRecords } from "../eval/index.ts";
import type { FoundRecords, Question, RatingRules, SearchGroup } from "../eval/index.ts";
import type { Arm } from "./arms.ts";
import type { TuneInput, TunePlan } from "./plan.ts";
import { searchedBases } from "./temporary.ts";

/** Characters of the first chunks that a search found, and the measure of them. */
interface Point {
  readonly characters: number;
  readonly value: number;
}

/** Those of none of its chunks, of one, two … */
type Points = readonly Point[];

/** What a search for one question found for an arm. */
interface Measured {
  readonly points: Points;
  readonly seconds: number | null;
}

/** A trial, and what it costs. */
export type SearchTrial = ReturnType<typeof searchTrial>;

/** The minutes of a tuning are over. */
export class TimeOver extends Error {}

/** The number of top documents that is beyond every list. */
const ALL = 1000;

/** What searches found, by arm and question: what earlier commands recorded, and what is added. */
function newRecords({ arms, lists }: TunePlan, journal: Journal) {
  const measured = new Map<string, Measured>();
  const done = new Set<string>();
  const keyOf = (arm: Arm, key: string) => `${arms.indexOf(arm)} ${key}`;
  const add = (list: number, key: string, points: readonly Points[], seconds: number | null) => {
    done.add(`${list} ${key}`);
    for (const [index, { variant }] of (lists[list]?.members ?? []).entries())
      measured.set(keyOf(variant as Arm, key), { points: points[index] ?? [], seconds });
  };
  for (const { list, question, points, seconds } of journal.entries)
    if (typeof list === "number" && typeof question === "string" && Array.isArray(points))
      add(list, question, points as Points[], typeof seconds === "number" ? seconds : null);
  return { done, add, of: (arm: Arm, key: string) => measured.get(keyOf(arm, key)) };
}

/** Measures arms by searches, whose figures, no texts, are recorded, so that no later command sends them again. */
export function searchTrial(input: TuneInput, plan: TunePlan, journal: Journal, context: Context) {
  const { arms, lists, questions, parts } = plan;
  const { measure = "recall", max_requests } = input;
  const figure = measure === "map" || measure === "mrr" ? measure : `${measure}@${ALL}`;
  const { elapsed } = context.host;
  const requireTime = timeLimit(input, elapsed);
  const baseOf = searchedBases(input, plan, { journal, requireTime }, context);
  const records = newRecords(plan, journal);
  const failed = new Map<string, string>();
  const asked = new Set<string>();
  const lengths = new Map<string, number>();
  let context_chars = Infinity;
  let slowest = 0;
  const send = waitOnRateLimit(input.wait_for_limit === true, context);
  // A budget counts every search, also one that is repeated.
  const api = context.api.with({ retries: max_requests === undefined ? undefined : 0 });
  const search = async ([list, key]: readonly [list: number, key: string]) => {
    const { settings, members } = lists[list] as SearchGroup;
    const question = questions.get(key) as Question;
    requireTime(slowest);
    const { dataset_id, expected } = await baseOf(members[0]?.variant as Arm);
    requireTime(slowest); // it may have been filled for an hour
    const start = elapsed();
    const route = { dataset_id, send };
    const found = await searchRecords(question, settings, route, { ...context, api });
    slowest = Math.max(slowest, elapsed() - start);
    if (found.error !== null) return void failed.set(`${list} ${key}`, found.error);
    const rules = { expected, ks: [ALL], threshold: input.relevant_from ?? 1 };
    const points = members.map(({ take }) => pointsOf(question, take(found), rules, figure));
    records.add(list, key, points, found.seconds);
    await journal.append([{ list, question: key, points, seconds: found.seconds }]);
  };
  const pointAt = (arm: Arm, key: string, characters: number) => {
    const id = `${arms.indexOf(arm)} ${characters}`;
    // Only questions that were asked count: after a kill, more of them are recorded.
    const counted = () =>
      parts.tune
        .filter((each) => asked.has(each))
        .flatMap((each) => records.of(arm, each) ?? [])
        .map(({ points }) => points);
    const length = lengths.get(id) ?? lengthFor(counted(), characters);
    lengths.set(id, length);
    return within(records.of(arm, key)?.points ?? [], length);
  };
  return {
    async measure(which: readonly Arm[], keys: readonly string[]): Promise<void> {
      for (const key of keys) asked.add(key);
      lengths.clear();
      const jobs = [...lists.entries()]
        .filter(([, { members }]) => members.some(({ variant }) => which.includes(variant as Arm)))
        .flatMap(([list]) => keys.map((key) => [list, key] as const))
        .filter((job) => !records.done.has(job.join(" ")) && !failed.has(job.join(" ")));
      const total = jobs.length;
      let done = 0;
      for await (const _ of mapConcurrent(jobs, context.api.limitConcurrency(), search))
        context.progress({ verb: "Searching", done: ++done, total, unit: "questions" });
    },
    valueOf: (arm: Arm, key: string) => pointAt(arm, key, context_chars)?.value,
    documentOf: (key: string) => documentOf(questions.get(key) as Question),
    /** The number of searches that were recorded, those of earlier commands included. */
    searches: () => records.done.size + failed.size,
    failed: () => [...failed.values()],
    /** From now on, so many of the first chunks count that they have this number of characters on average. */
    limitContext: (characters: number) => (context_chars = characters),
    figuresOf: (arm: Arm, keys: readonly string[], characters: number) =>
      figuresFrom(
        keys.flatMap((key) => pointAt(arm, key, characters) ?? []),
        keys.flatMap((key) => records.of(arm, key)?.seconds ?? []),
      ),
  };
}

/** Throws TimeOver if less than so many milliseconds are left. */
function timeLimit({ max_minutes = Infinity }: TuneInput, elapsed: () => number) {
  const until = elapsed() + max_minutes * 60_000;
  return (ms = 0): void => {
    if (elapsed() + ms >= until) throw new TimeOver();
  };
}

/** The figures of an arm: means of its questions, with the characters that count. */
const figuresFrom = (points: readonly Point[], seconds: readonly number[]) => ({
  questions: points.length,
  value: mean(points.map(({ value }) => value)),
  characters: mean(points.map(({ characters }) => characters)),
  seconds: median(seconds),
});

/** What the chunks of a list have that are not longer together than this. */
const within = (points: Points, longest: number) =>
  points.findLast(({ characters }) => characters <= longest);

/** How long lists may be at most to have a number of characters on average; Infinity if whole lists have no more. */
function lengthFor(lists: readonly Points[], characters: number): number {
  const lengths = [...new Set(lists.flatMap((points) => points.map((each) => each.characters)))];
  lengths.sort((a, b) => a - b);
  const fits = (longest: number) =>
    (mean(lists.map((points) => within(points, longest)?.characters ?? 0)) ?? 0) <=
    characters + 1e-6;
  let [low, high] = [0, lengths.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(lengths[middle] ?? Infinity)) low = middle;
    else high = middle - 1;
  }
  return low === lengths.length - 1 ? Infinity : (lengths[low] ?? Infinity);
}

/** The measure after each chunk of a list. */
function pointsOf(
  question: Question,
  found: FoundRecords,
  rules: RatingRules,
  figure: string,
): Points {
  return Array.from({ length: found.records.length + 1 }, (_, count) => {
    const first = { ...found, records: found.records.slice(0, count) };
    const { characters, figures } = ratedAnswer(question, first, rules);
    return { characters, value: figures[figure] ?? 0 };
  });
}
