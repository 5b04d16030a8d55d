import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { groupBy } from "../../../lib/collect.ts";
import type { Journal } from "../../../lib/journal.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { waitOnRateLimit } from "../documents/index.ts";
import { ratedAnswer, searchGroups, searchRecords } from "../eval/index.ts";
import type { FoundRecords, Question, RatingRules, SearchGroup } from "../eval/index.ts";
import type { Arm } from "./arms.ts";
import type { Trial } from "./halving.ts";

/** Characters of the first chunks that a search found, and the measure of them: for none, one, two … */
type Points = readonly (readonly [characters: number, value: number])[];

/** What a search for one question found for an arm. */
interface Measured {
  readonly points: Points;
  readonly seconds: number | null;
}

/** The knowledge base in which an arm is searched. */
export interface SearchedBase {
  readonly dataset_id: string;
  readonly expected: RatingRules["expected"];
}

/** What arms are measured with. */
export interface TrialSetup {
  readonly arms: readonly Arm[];
  readonly lists: readonly SearchGroup[];
  readonly questions: ReadonlyMap<string, Question>;
  /** Creates it when it is first needed. */
  readonly baseOf: (arm: Arm) => Promise<SearchedBase>;
  /** Name of the figure of `ratedAnswer`, and the least relevant grade. */
  readonly figure: string;
  readonly threshold: number;
  /** Time at which no further search is sent, as `host.elapsed` counts. */
  readonly until: number;
  readonly waitsForLimit: boolean;
  /** How often a search is repeated; a budget counts every one (default: that of the client). */
  readonly retries: number | undefined;
}

/** The figures of an arm within a number of characters. */
export interface ArmFigures {
  readonly questions: number;
  readonly value: number | null;
  /** Mean characters of the chunks that count. */
  readonly characters: number | null;
  /** Median seconds of a search. */
  readonly seconds: number | null;
}

/** A trial, and what it costs. */
export interface SearchTrial extends Trial<Arm> {
  /** Searches that were recorded, those of earlier commands included. */
  readonly searches: () => number;
  /** Searches that failed. */
  readonly failed: () => readonly string[];
  /** Counts only the chunks that fit into so many characters from now on. */
  limitContext(characters: number): void;
  figuresOf(arm: Arm, keys: readonly string[], characters: number): ArmFigures;
}

/** The minutes of a tuning are over. */
export class TimeOver extends Error {}

/** The number of top documents that is beyond every list. */
export const ALL = 1000;

/** The searches that serve the arms: one for all that differ in the length of the list alone. */
export const listsOf = (
  arms: readonly Arm[],
  formOf: (arm: Arm) => Pick<KnowledgeBase, "doc_form">,
): SearchGroup[] =>
  [...groupBy(arms, ({ rule }) => JSON.stringify(rule)).values()].flatMap((same) =>
    same[0] ? searchGroups(same, formOf(same[0])) : [],
  );

/**
 * Measures arms by searches, each of which is recorded once it is answered, so that no later command sends it
 * again. A record has figures alone, no text of a document.
 */
export function searchTrial(setup: TrialSetup, journal: Journal, context: Context): SearchTrial {
  const { arms, lists, questions, baseOf, figure } = setup;
  const measured = new Map<string, Measured>();
  const failed = new Map<string, string>();
  const recorded = new Set<string>();
  const keyOf = (arm: Arm, key: string) => `${arms.indexOf(arm)} ${key}`;
  const keep = (list: number, key: string, points: readonly Points[], seconds: number | null) => {
    recorded.add(`${list} ${key}`);
    for (const [index, { variant }] of (lists[list]?.members ?? []).entries())
      measured.set(keyOf(variant as Arm, key), { points: points[index] ?? [], seconds });
  };
  for (const { list, question, points, seconds } of journal.entries)
    if (typeof list === "number" && typeof question === "string" && Array.isArray(points))
      keep(list, question, points as Points[], typeof seconds === "number" ? seconds : null);
  let limit = Infinity;
  let slowest = 0;
  const send = waitOnRateLimit(setup.waitsForLimit, context);
  const api = context.api.with({ retries: setup.retries });
  const search = async ([list, key]: readonly [list: number, key: string]) => {
    const { settings, members } = lists[list] as SearchGroup;
    const question = questions.get(key) as Question;
    const arm = members[0]?.variant as Arm;
    const { elapsed } = context.host;
    if (elapsed() + slowest >= setup.until) throw new TimeOver();
    const { dataset_id, expected } = await baseOf(arm);
    const start = elapsed();
    const route = { dataset_id, send };
    const found = await searchRecords(question, settings, route, { ...context, api });
    slowest = Math.max(slowest, elapsed() - start);
    if (found.error !== null) return void failed.set(`${list} ${key}`, found.error);
    const rules = { expected, ks: [ALL], threshold: setup.threshold };
    const points = members.map(({ take }) => pointsOf(question, take(found), rules, figure));
    keep(list, key, points, found.seconds);
    await journal.append([{ list, question: key, points, seconds: found.seconds }]);
  };
  const valueAt = (arm: Arm, key: string, most: number) => {
    const points = measured.get(keyOf(arm, key))?.points ?? [];
    return points.findLast(([characters]) => characters <= most);
  };
  return {
    async measure(asked, keys) {
      const open = [...lists.keys()].filter((list) =>
        lists[list]?.members.some(({ variant }) => asked.includes(variant as Arm)),
      );
      const jobs = open
        .flatMap((list) => keys.map((key) => [list, key] as const))
        .filter(([list, key]) => !recorded.has(`${list} ${key}`) && !failed.has(`${list} ${key}`));
      let done = 0;
      for await (const _ of mapConcurrent(jobs, context.api.limitConcurrency(), search))
        context.progress({
          verb: "Searching",
          done: ++done,
          total: jobs.length,
          unit: "questions",
        });
    },
    valueOf: (arm, key) => valueAt(arm, key, limit)?.[1],
    searches: () => recorded.size + failed.size,
    failed: () => [...failed.values()],
    limitContext: (characters) => (limit = characters),
    figuresOf(arm, keys, characters) {
      const points = keys.flatMap((key) => {
        const point = valueAt(arm, key, characters);
        return point ? [point] : [];
      });
      const times = keys
        .flatMap((key) => measured.get(keyOf(arm, key))?.seconds ?? [])
        .sort((a, b) => a - b);
      return {
        questions: points.length,
        value: meanOf(points.map(([, value]) => value)),
        characters: meanOf(points.map(([length]) => length)),
        seconds: times[Math.ceil(times.length / 2) - 1] ?? null,
      };
    },
  };
}

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, each) => sum + each, 0) / values.length;

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
    return [characters, figures[figure] ?? 0] as const;
  });
}
