/** The gate against cases that were worked out without this program (test/fixtures/verdicts/README.md). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exitOf, judge } from "../../../src/commands/measure/suites/gate/gate.ts";
import type { GateRun } from "../../../src/commands/measure/suites/gate/match-tests.ts";
import { root } from "../../lib/paths.ts";

interface Case {
  readonly id: string;
  readonly rule: string;
  readonly at: number;
  readonly options: { readonly level?: number; readonly confirm?: number };
  readonly baseline: readonly { name: string; hash: string; runs: readonly string[] }[];
  readonly now: readonly {
    name: string;
    hash: string;
    now: readonly string[];
    fresh: readonly string[];
    rate?: number;
  }[];
  readonly history?: readonly {
    at: number;
    alarmed: boolean;
    tests: Record<string, { hash: string; passes: number; runs: number }>;
  }[];
  readonly second?: Record<string, readonly [number, number]>;
  readonly skipped?: readonly string[];
  readonly allowRemoved?: boolean;
  readonly strict?: boolean;
  readonly expected: {
    readonly exit: number;
    readonly suite: Record<string, string | number>;
    readonly cached: boolean;
    readonly history: number;
    readonly rho: number;
    readonly removed: readonly string[];
    readonly tests: Record<string, Record<string, unknown>>;
  };
}

const statuses = { P: "passed", F: "failed", E: "error" } as const;

/** `P:`, `F:` or `E:` and the answer; those that begin with L are long ones of a model. */
const runOf = (text: string): GateRun => {
  const answer = text.slice(2);
  const byModel = answer.startsWith("L");
  const status = statuses[text.charAt(0) as keyof typeof statuses];
  return { status, answer: byModel ? answer.padEnd(40) : answer, byModel };
};

const timeOf = (at: number) => new Date(at * 1000).toISOString();

/** What the program says, in the words of the cases. */
function said({ options, ...given }: Case) {
  const found = judge({
    before: given.baseline.map(({ name, hash, runs }) => ({
      name,
      content: hash,
      runs: runs.map(runOf),
    })),
    baselineAt: timeOf(given.at),
    history: (given.history ?? []).map(({ at, alarmed, tests }) => ({
      at: timeOf(at),
      alarmed,
      tests: new Map(
        Object.entries(tests).map(([name, { hash, ...passes }]) => [
          name,
          { content: hash, ...passes },
        ]),
      ),
    })),
    now: given.now.map(({ name, hash, now, fresh, rate }) => ({
      name,
      content: hash,
      planned: now.map(runOf),
      fresh: fresh.map(runOf),
      rate,
    })),
    skipped: new Set(given.skipped),
    second:
      given.second &&
      new Map(
        Object.entries(given.second).map(([name, [passes, runs]]) => [name, { passes, runs }]),
      ),
    rules: { level: options.level ?? 0.05, confirm: options.confirm ?? 6 },
  });
  const { allowRemoved = false, strict = false } = given;
  const exits = { gate: 14, partial: 10 };
  const exit = exitOf(found, { allowRemoved, strict });
  const worseThen = "worse then, not when asked again";
  const { verdict } = found.suite;
  const suite = { ...found.suite, verdict: verdict === "worse then" ? worseThen : verdict };
  return {
    exit: exit === undefined ? 0 : exits[exit],
    suite,
    cached: found.cached,
    history: found.history,
    rho: found.correlation,
    removed: found.removed,
    tests: Object.fromEntries(
      found.tests.map((each) => {
        const { name, verdict: own } = each;
        const pairs = "counts" in each ? Object.entries(each.counts) : [];
        const counts = pairs.map(([side, { passes, runs }]) => [side, [passes, runs]] as const);
        return [
          name,
          {
            verdict: own,
            ...("p" in each && { p: each.p }),
            ...("e" in each && { e: each.e, ask: each.isAsked }),
            ...("pFixed" in each && each.pFixed !== undefined && { pFixed: each.pFixed }),
            ...("fails" in each && { ok: !each.fails }),
            ...("renamed" in each && each.renamed !== undefined && { renamed: each.renamed }),
            ...(counts.length > 0 && { counts: Object.fromEntries(counts) }),
          },
        ];
      }),
    ),
  };
}

/** The expected values with the figures that were found, where these are the same to 1e-6. */
const near = (expected: unknown, found: unknown): unknown => {
  if (typeof expected === "number" && typeof found === "number")
    return Math.abs(expected - found) <= 1e-6 * Math.abs(expected) ? found : expected;
  if (typeof expected !== "object" || expected === null || Array.isArray(expected)) return expected;
  const other = (found ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(expected).map(([key, value]) => [key, near(value, other[key])]),
  );
};

const cases = readFileSync(join(root, "test/fixtures/verdicts/cases.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

test("there are 120 cases", () => {
  expect(cases).toHaveLength(120);
});

test.each(cases.map((each) => [each.id, each.rule, each] as const))("%s: %s", (_, __, given) => {
  const found = said(given);
  expect(found).toMatchObject(near(given.expected, found) as object);
});
