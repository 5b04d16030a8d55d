import { usage } from "../../../../errors.ts";
import { commandLine } from "../../../../lib/command-line.ts";
import type { Expectation } from "../../expect/index.ts";
import { usualSimilarity } from "./keys.ts";
import type { CompareMode } from "./keys.ts";
import type { SuitePlace, SuiteValues } from "./values.ts";

/** An application that judges an answer. */
export interface SuiteJudge {
  /** Name of the application in the profile. */
  readonly app: string;
  readonly criteria: string | undefined;
  /** Lowest score that passes, from 0 to 1. */
  readonly atLeast: number;
}

/** One question to an application, and what is expected of the answer. */
export interface SuiteTurn {
  readonly from: SuitePlace;
  /** What is said to a chat; undefined for a workflow. */
  readonly query: string | undefined;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Inputs as text, which the form of the application types as those of --input. */
  readonly assigned: Readonly<Record<string, string>>;
  readonly expectations: readonly Expectation[];
  /** Expected answers, of which any will do; none if there is no expected answer. */
  readonly answer: readonly string[];
  /** Undefined if only the judge compares. */
  readonly compare: CompareMode | undefined;
  /** Lowest similarity for `similar`, from 0 to 1. */
  readonly similarity: number;
  /** Whether `similar` compares numbers, dates, names and negations, too. */
  readonly facts: boolean;
  readonly judge: SuiteJudge | undefined;
}

/** A turn with the values of its test and the defaults. Throws `usage` for what cannot be. */
export function turnOf(
  turn: SuiteValues,
  test: SuiteValues,
  defaults: SuiteValues | undefined,
): SuiteTurn {
  const { compare, similarity, facts = true } = { ...defaults, ...test, ...turn };
  const judge = judgeOf([defaults?.judge, test.judge, turn.judge]);
  return {
    from: turn.from,
    query: turn.query,
    assigned: turn.assigned ?? {},
    inputs: { ...defaults?.inputs, ...test.inputs, ...turn.inputs },
    expectations: [...(defaults?.expect ?? []), ...(turn.expect ?? [])],
    answer: turn.answer ?? [],
    compare: compare ?? (judge ? undefined : "similar"),
    similarity: similarity ?? usualSimilarity,
    facts,
    judge,
  };
}

function judgeOf(values: readonly (SuiteValues | undefined)[]): SuiteJudge | undefined {
  const given = values.filter((value) => value !== undefined);
  const last = given.at(-1);
  if (!last) return undefined;
  const { app, criteria, at_least: atLeast = 0.5 }: SuiteValues = Object.assign({}, ...given);
  if (app === undefined) throw mistake(last.from, "judge has no app");
  return { app, criteria, atLeast };
}

/** The hint of most mistakes. */
export const keysHint = () => `run ${commandLine("wf test schema")} for the keys of a suite`;

/** A mistake in a suite. */
export const mistake = ({ path, line }: SuitePlace, problem: string) =>
  usage(`${path} line ${line}: ${problem}`, keysHint());
