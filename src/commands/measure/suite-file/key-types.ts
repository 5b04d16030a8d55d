/** Ways to compare an answer with the expected one. */
export const compareModes = ["exact", "contains", "regex", "json", "similar"] as const;

/** The lowest similarity that passes, unless a test has its own. */
export const usualSimilarity = 0.8;

/** Kinds of checks, which `weights` names. */
export const checkKinds = [
  "expect",
  "answer",
  "judge",
  "supported",
  "context",
  "schema",
  "check",
  "search",
  "limits",
] as const;

/** What a check looks at: the key of the suite, or `limits`. */
export type CheckKind = (typeof checkKinds)[number];

/** How an answer is compared with the expected one. */
export type CompareMode = (typeof compareModes)[number];

/** The mappings of a suite; each key says which of them may have it. */
export type SuiteLevel = "suite" | "defaults" | "test" | "turn" | NestedLevel;

/** The mappings that are the value of a key; each is a type of keys with the same name. */
export const nestedLevels = [
  "judge",
  "search",
  "supported",
  "context",
  "check",
  "budget",
  "pass",
  "quarantine",
] as const;
type NestedLevel = (typeof nestedLevels)[number];

/** What a key contains; `texts` is one text or a list, `inputs` a mapping of any values. */
export type SuiteKeyType =
  | "text"
  | "date"
  | "texts"
  | "flag"
  | "number"
  | "integer"
  | "choice"
  | "inputs"
  | "expect"
  | NestedLevel
  | "schema"
  | "weights"
  | "defaults"
  | "turns"
  | "tests";

/** A key of a suite. */
export interface SuiteKey {
  readonly name: string;
  readonly where: readonly SuiteLevel[];
  readonly type: SuiteKeyType;
  /** In Markdown, as in docs/test-suites.md. */
  readonly description: string;
  /** Of a number, both ends included. */
  readonly range?: readonly [least: number, most: number];
  /** Of a choice. */
  readonly values?: readonly string[];
}
