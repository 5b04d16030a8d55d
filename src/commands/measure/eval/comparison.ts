import { groupBy } from "../../../lib/collect.ts";
import { bootstrapInterval } from "../../../lib/statistics/intervals.ts";
import type { Interval } from "../../../lib/statistics/intervals.ts";
import { holm } from "../../../lib/statistics/multiple-tests.ts";
import {
  fewestDocuments,
  neededQuestions,
  randomizationTest,
} from "../../../lib/statistics/paired-differences.ts";
import { counted } from "../../../lib/text.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Section } from "../../../output/report-model.ts";
import { rounded, signed } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import { documentOf } from "./questions.ts";
import type { VariantResult } from "./search.ts";

/** The level of all comparisons of a report together, unless --level says otherwise. */
export const DEFAULT_LEVEL = 0.05;

/** The differences for which a report says how many questions tell them. */
const differences = [0.02, 0.05, 0.1] as const;

/** The figures of one evaluation by question. */
export interface MeasuredSettings {
  readonly label: string;
  /** Number of chunks that a search returned; undefined if it is not known. */
  readonly topK: number | undefined;
  readonly figures: ReadonlyMap<string, Metrics>;
}

/** What can be said about two settings. */
export type EvalVerdict = "better" | "worse" | "same" | "inconclusive" | "not comparable";

/** A comparison of settings by the questions that both answered, as in JSON. */
export interface SettingsComparison {
  readonly settings: string;
  readonly against: string;
  readonly measure: string;
  readonly questions: number;
  /** Those that the questions are about, and the fewest with which a verdict is possible. */
  readonly documents: number;
  readonly fewest_documents: number;
  readonly difference: number | null;
  readonly interval: Interval | null;
  /** Corrected for the number of comparisons. */
  readonly p: number | null;
  readonly verdict: EvalVerdict;
  /** Questions that tell a difference of so many points in 80 of 100 cases, whatever the other comparisons say; null if unknown. */
  readonly needed: readonly { readonly difference: number; readonly questions: number | null }[];
}

/** The figures of a result by question. */
export const measured = ({ variant, answers }: VariantResult): MeasuredSettings => ({
  label: variant.label,
  topK: variant.topK,
  figures: new Map(
    answers
      .filter(({ error }) => error === null)
      .map(({ question, figures }) => [question.key, figures]),
  ),
});

/** Compares each with the first that returns as many chunks: more chunks find more documents, in any order. */
export function compareResults(
  results: readonly VariantResult[],
  options: { readonly measure: string | undefined; readonly level: number },
): SettingsComparison[] {
  const groups = [...groupBy(results, ({ variant }) => variant.topK).values()];
  const pairs = groups.flatMap(([first, ...others]) =>
    first ? others.map((each) => [measured(first), measured(each)] as const) : [],
  );
  return comparePairs(pairs, { ...options, documentOf: documentsIn(results), sides: "both" });
}

/** The document that a question of these results is about, by the key of the question. */
export function documentsIn(results: readonly VariantResult[]): (key: string) => string {
  const questions = results.flatMap(({ answers }) => answers.map(({ question }) => question));
  const documents = new Map(questions.map((each) => [each.key, documentOf(each)]));
  return (key) => documents.get(key) ?? key;
}

/**
 * Compares pairs of settings. Of all that are equally good, one is called better or worse with a chance of at most
 * `level` (Holm); with one side, that one is called worse, and the same that one is called better.
 */
export function comparePairs(
  pairs: readonly (readonly [before: MeasuredSettings, now: MeasuredSettings])[],
  {
    measure,
    level,
    documentOf: documentOfKey,
    sides,
  }: {
    readonly measure: string | undefined;
    readonly level: number;
    readonly documentOf: (key: string) => string;
    readonly sides: "one" | "both";
  },
): SettingsComparison[] {
  const compared = pairs.map(([before, now]) => {
    const name = measure ?? usualMeasure(before, now);
    const changes = [...now.figures].flatMap(([key, figures]) => {
      const [old, own] = [before.figures.get(key)?.[name], figures[name]];
      const isBoth = typeof old === "number" && typeof own === "number";
      return isBoth ? [{ document: documentOfKey(key), change: rounded(own - old) }] : [];
    });
    const byDocument = [...groupBy(changes, ({ document }) => document).values()].map((same) =>
      same.map(({ change }) => change),
    );
    const isComparable = before.topK === now.topK && changes.length > 0;
    return { before, now, name, byDocument, isComparable, test: randomizationTest(byDocument) };
  });
  const open = compared.filter(({ isComparable }) => isComparable);
  const ownLevel = level / Math.max(1, open.length) / (sides === "both" ? 2 : 1);
  const tails =
    sides === "both"
      ? [holm(open.map(({ test }) => test.either))]
      : [holm(open.map(({ test }) => test.lower)), holm(open.map(({ test }) => test.higher))];
  return compared.map(({ before, now, name, byDocument, isComparable, test }) => {
    const place = {
      settings: now.label,
      against: before.label,
      measure: name,
      questions: byDocument.flat().length,
      documents: byDocument.length,
      fewest_documents: fewestDocuments(ownLevel),
    };
    if (!isComparable) {
      const unknown = { difference: null, interval: null, p: null, needed: [] };
      return { ...place, ...unknown, verdict: "not comparable" };
    }
    const index = open.findIndex((each) => each.test === test);
    const corrected = tails.map((values) => values[index] ?? 1);
    const p = Math.min(1, ...corrected);
    const isTold = p <= level;
    const told = test.difference < 0 ? "worse" : "better";
    const undecided = byDocument.flat().every((each) => each === 0) ? "same" : "inconclusive";
    return {
      ...place,
      difference: rounded(test.difference),
      interval: bootstrapInterval(byDocument),
      p: rounded(p),
      verdict: isTold ? told : undecided,
      needed: differences.map((difference) => ({
        difference,
        questions: neededQuestions(byDocument, difference, ownLevel),
      })),
    };
  });
}

/** nDCG at the largest k that both have, or else MRR. */
function usualMeasure(before: MeasuredSettings, now: MeasuredSettings): string {
  const namesOf = ({ figures }: MeasuredSettings) =>
    new Set([...figures.values()].flatMap((each) => Object.keys(each)));
  const known = namesOf(before);
  const common = [...namesOf(now)].filter((name) => name.startsWith("ndcg@") && known.has(name));
  return common.toSorted((a, b) => Number(a.slice(5)) - Number(b.slice(5))).at(-1) ?? "mrr";
}

/** A table of comparisons; of tunings, too. */
export const comparisonTable = (comparisons: readonly SettingsComparison[]) => ({
  columns: [
    left("settings"),
    left("against"),
    { ...left("measure"), minor: true },
    { ...right("questions"), minor: true },
    { ...right("documents"), minor: true },
    right("difference"),
    { ...left("95 % of samples"), minor: true },
    { ...right("p"), minor: true },
    left("verdict"),
  ],
  rows: comparisons.map((each): Cell[] => [
    each.settings,
    each.against,
    each.measure,
    each.questions,
    each.documents,
    each.difference === null ? null : signed(each.difference),
    each.interval ? `${signed(each.interval.low)} to ${signed(each.interval.high)}` : null,
    each.p?.toFixed(4) ?? null,
    { text: each.verdict, tone: verdictTones[each.verdict] },
  ]),
});

/** What a search and an application, or before and now, differ in more than by chance. */
export function verdictSection(
  comparisons: readonly SettingsComparison[],
  { level, baseline }: { readonly level: number; readonly baseline: unknown },
): Section[] {
  if (comparisons.length === 0) return [];
  const share = `${Number((level * 100).toPrecision(3))} %`;
  const open = comparisons.find(({ verdict }) => verdict === "inconclusive");
  const said = baseline
    ? `"worse" is wrong in at most ${share}, "better" likewise`
    : `one of the verdicts "better" and "worse" is wrong in at most ${share}`;
  const notes = open ? neededNotes(open, open.needed) : [];
  const footnotes = [`${said} (paired randomization test by document, Holm)`];
  return [{ title: "Comparison", ...comparisonTable(comparisons), notes, footnotes }];
}

/** How many documents and questions would tell more; nothing if that cannot be calculated. */
export function neededNotes(
  { questions, documents, fewest_documents: fewest }: SettingsComparison,
  needed: SettingsComparison["needed"],
): string[] {
  const known = needed.flatMap(({ difference, questions: count }) =>
    count === null ? [] : [`${difference * 100} points: ${count}`],
  );
  const each = documents < questions ? ", with as many for each document" : "";
  return [
    ...(documents < fewest
      ? [
          `${counted(documents, "document")} cannot show a difference: at least ${fewest} are needed`,
        ]
      : []),
    ...(known.length > 0
      ? [`questions needed to detect a difference of ${known.join(", ")} (4 of 5 times${each})`]
      : []),
  ];
}

const verdictTones = {
  better: "good",
  worse: "bad",
  same: "dim",
  inconclusive: "warn",
  "not comparable": "warn",
} as const;
