import { groupBy } from "../../../lib/collect.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { WordDiff } from "../../../lib/word-diff.ts";
import { left, literal, right } from "../../../output/report-model.ts";
import type { Cell, Detail } from "../../../output/report-model.ts";
import type { AskedTurn, TestRun } from "./answers/index.ts";
import { isJudged } from "./runs/index.ts";
import type { TestResult } from "./runs/index.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** Different answers of a test that a page shows. */
const MAX_ANSWERS = 5;

/** What a test asked, each different answer beside the expected one, and the checks of all runs. */
export function testDetails(test: TestResult | undefined, diff: WordDiff): Detail[] {
  const asked = (test?.results ?? []).filter(({ status }) => status !== "not run");
  const [first] = asked.toSorted((one, other) => other.turns.length - one.turns.length);
  if (!first) return [];
  const turns = first.turns.flatMap((turn, index) => {
    const lead = first.turns.length > 1 ? `turn ${index + 1}: ` : "";
    return [...questionBlocks(turn, lead), ...answerBlocks(asked, { index, lead }, diff)];
  });
  const errors = timesOf(asked.flatMap(({ error }) => error ?? []));
  const cited = [...new Set(asked.flatMap((run) => run.cited))];
  return [
    ...errors.map(({ value, text }): Detail => ({ label: `error${text}`, value, tone: "bad" })),
    ...turns,
    ...(cited.length === 0 ? [] : [{ label: "cited documents", value: cited.join("\n") }]),
    ...checkTable(asked),
  ];
}

/** Each value once, the most frequent first, with how often it is there, if that differs. */
function timesOf(values: readonly string[]) {
  const groups = [...groupBy(values, (value) => value).values()];
  return groups
    .toSorted((one, other) => other.length - one.length)
    .map((same) => ({
      value: same[0] ?? "",
      text: values.length > 1 ? ` (${same.length} of ${counted(values.length, "run")})` : "",
    }));
}

function questionBlocks({ query, inputs }: AskedTurn, lead: string): Detail[] {
  const given = Object.entries(inputs);
  return [
    ...(query === null ? [] : [{ label: `${lead}question`, value: query }]),
    ...(given.length === 0
      ? []
      : [
          {
            label: `${lead}inputs`,
            columns: [literal("input"), literal("value")],
            rows: given.map(([name, value]) => [
              name,
              typeof value === "string" ? value : stringifyJson(value),
            ]),
          },
        ]),
  ];
}

/** Checks whose expected text is only a part of an answer, or a pattern. */
const isPartial = /^answer (contains|matches)/;

function answerBlocks(
  runs: readonly TestRun[],
  { index, lead }: { readonly index: number; readonly lead: string },
  diff: WordDiff,
): Detail[] {
  const answered = runs.flatMap(({ turns, checks, status }) => {
    const answer = turns[index]?.answer ?? null;
    const compared = checks.find(({ kind, turn }) => kind === "answer" && turn === index + 1);
    return answer === null ? [] : [{ answer, compared, failed: status === "failed" }];
  });
  const groups = [...groupBy(answered, ({ answer }) => answer).values()].toSorted(
    (one, other) => Number(other[0]?.failed) - Number(one[0]?.failed) || other.length - one.length,
  );
  const [expected = "", ...others] = runs[0]?.turns[index]?.expected ?? [];
  const or = others.length > 0 ? ` (or ${counted(others.length, "other")})` : "";
  const blocks = groups.slice(0, MAX_ANSWERS).flatMap((same): Detail[] => {
    const [one] = same;
    if (!one) return [];
    const times =
      answered.length > 1 ? ` (${same.length} of ${counted(answered.length, "run")})` : "";
    const titles = [`${lead}expected${or}`, `${lead}answer${times}`] as const;
    const isCompared = expected !== "" && expected !== one.answer;
    if (!isCompared || isPartial.test(one.compared?.check ?? ""))
      return [{ label: titles[1], value: one.answer }];
    return [{ label: `${lead}answer`, comparison: { titles, parts: diff(expected, one.answer) } }];
  });
  const left = groups.length - blocks.length;
  return left === 0
    ? blocks
    : [...blocks, { label: `${lead}answers`, value: `${left} other answers are not shown.` }];
}

/** Each check once, with the number of runs that met it and what the others had instead. */
function checkTable(runs: readonly TestRun[]): Detail[] {
  const all = runs.filter(isJudged).flatMap(({ checks }) => checks);
  const groups = [...groupBy(all, ({ turn, check }) => `${turn} ${check}`).values()];
  if (groups.length === 0) return [];
  const hasTurns = all.some(({ turn }) => turn > 1);
  const rows = groups.map((same): Cell[] => {
    const met = same.filter(({ passed }) => passed).length;
    const shown = met === same.length ? same : same.filter(({ passed }) => !passed);
    const text = met === same.length ? "met" : "not met";
    const actual = timesOf(shown.map((each) => each.actual));
    return [
      same[0]?.check ?? "",
      {
        text: runs.length > 1 ? `${text} (${met}/${same.length})` : text,
        tone: met === same.length ? "good" : "bad",
      },
      firstNames(actual.map(({ value }) => value)),
      ...(hasTurns ? [same[0]?.turn ?? null] : []),
    ];
  });
  return [
    {
      label: "checks",
      columns: [
        literal("expected"),
        left("result"),
        literal("actual"),
        ...(hasTurns ? [right("turn")] : []),
      ],
      rows,
    },
  ];
}
