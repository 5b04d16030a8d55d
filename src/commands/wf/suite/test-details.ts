import type { Cell, Detail } from "../../../output/report-model.ts";
import { left, right } from "../../../output/report-model.ts";
import type { TestResult } from "./results.ts";
import type { TestRun } from "./run-tests.ts";

/** Runs of a test whose answers a page shows. */
const MAX_RUNS = 5;

/** The answers of a test, its checks and the documents that they cite; runs that did not pass come first. */
export function testDetails(test: TestResult | undefined): Detail[] {
  const { results = [] } = test ?? {};
  const asked = results.filter(({ status }) => status !== "not run");
  const shown = asked
    .toSorted((a, b) => Number(a.status === "passed") - Number(b.status === "passed"))
    .slice(0, MAX_RUNS);
  const blocks = shown.flatMap((run) =>
    runDetails(run, asked.length > 1 ? `run ${run.repeat}: ` : ""),
  );
  if (shown.length === asked.length) return blocks;
  const value = `${shown.length} of ${asked.length} runs are shown, those that did not pass first.`;
  return [...blocks, { label: "runs", value }];
}

function runDetails(run: TestRun, lead: string): Detail[] {
  const { answer, cited, checks, error } = run;
  return [
    ...(error === null ? [] : [{ label: `${lead}error`, value: error, tone: "bad" } as const]),
    ...(answer === null ? [] : [{ label: `${lead}answer`, value: answer }]),
    ...(cited.length === 0 ? [] : [{ label: `${lead}cited`, value: cited.join("\n") }]),
    ...(checks.length === 0 ? [] : [{ label: `${lead}checks`, ...checkTable(run) }]),
  ];
}

function checkTable({ checks }: TestRun) {
  const hasTurns = checks.some(({ turn }) => turn > 1);
  return {
    columns: [
      left("expected"),
      left("result"),
      left("actual"),
      ...(hasTurns ? [right("turn")] : []),
    ],
    rows: checks.map(({ check, passed, actual, turn }): Cell[] => [
      check,
      passed ? { text: "met", tone: "good" } : { text: "not met", tone: "bad" },
      actual,
      ...(hasTurns ? [turn] : []),
    ]),
  };
}
