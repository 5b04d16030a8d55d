import { firstNames } from "../../../../lib/text.ts";
import type { CitedChunk } from "../../../../runs/trace.ts";
import type { SuiteContext } from "../file/index.ts";

/** A share as checks show it: `at least 1 of` would mean one. */
export const atLeastOf = (share: number): string =>
  `at least ${Number((share * 100).toFixed(6))} % of`;

const checks = {
  recall: (share: string) => `chunks are of ${share} the expected documents`,
  precision: (share: string) => `${share} the chunks are of expected documents`,
} as const;

/**
 * Compares the documents of chunks with expected ones, of which `nameOf` gives the name. Without chunks
 * both shares are 0.
 */
export function checkContext(
  { measure, atLeast, documents }: SuiteContext,
  chunks: readonly CitedChunk[],
  nameOf: (written: string) => string,
) {
  const expected = [...new Set(documents.map(nameOf))];
  const names = chunks.map(({ document }) => document ?? "a document without a name");
  const [all, others] =
    measure === "recall"
      ? [expected, expected.filter((name) => !names.includes(name))]
      : [names, names.filter((name) => !expected.includes(name))];
  const met = all.length - others.length;
  const score = all.length === 0 ? 0 : met / all.length;
  const kind = measure === "recall" ? "missing" : "others";
  const listed = firstNames([...new Set(others)].map((name) => JSON.stringify(name)));
  return {
    kind: "context" as const,
    check: checks[measure](atLeastOf(atLeast)),
    passed: score >= atLeast,
    score,
    actual: `${met} of ${all.length}${others.length > 0 ? `; ${kind}: ${listed}` : ""}`,
  };
}
