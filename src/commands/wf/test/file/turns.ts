import { dirname, isAbsolute, join } from "node:path";
import { usage } from "../../../../errors.ts";
import { commandLine } from "../../../../lib/command-line.ts";
import type { Expectation } from "../../expect/index.ts";
import { usualSimilarity } from "./key-types.ts";
import type { CompareMode } from "./key-types.ts";
import type { SuitePlace, SuiteValues } from "./values.ts";

/** An application that judges an answer. */
export interface SuiteJudge {
  /** Name of the application in the profile. */
  readonly app: string;
  readonly criteria: string | undefined;
  /** Lowest score that passes, from 0 to 1. */
  readonly atLeast: number;
  /** How often it is asked. */
  readonly repeat: number;
}

/** How the sentences of an answer are compared with its chunks. */
export interface SuiteSupport {
  /** Decides about the sentences that the words of no chunk support. */
  readonly judge: SuiteJudge | undefined;
  /** Lowest share of supported sentences, from 0 to 1. */
  readonly atLeast: number;
  /** Share of the words of a sentence that one chunk must have, from 0 to 1. */
  readonly share: number;
}

/** How the documents of chunks are compared with expected ones. */
export interface SuiteContext {
  readonly measure: "recall" | "precision";
  /** Lowest share that passes, from 0 to 1. */
  readonly atLeast: number;
  /** Documents as written. */
  readonly documents: readonly string[];
}

/** What the JSON of an answer must fit. */
export interface SuiteSchema {
  readonly from: SuitePlace;
  /** Output that must fit; undefined for the whole answer. */
  readonly of: string | undefined;
  /** The JSON Schema, unless it is in a file. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly file: string | undefined;
}

/** A program that decides about an answer. */
export interface SuiteProgram {
  readonly from: SuitePlace;
  /** The program and its arguments. */
  readonly words: readonly [program: string, ...args: string[]];
  /** Files that these may be. */
  readonly files: readonly string[];
  /** In seconds. */
  readonly timeout: number;
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
  readonly supported: SuiteSupport | undefined;
  readonly context: readonly SuiteContext[];
  readonly schema: SuiteSchema | undefined;
  readonly program: SuiteProgram | undefined;
  readonly judge: SuiteJudge | undefined;
}

/** A turn with the values of its test and the defaults. Throws `usage` for what cannot be. */
export function turnOf(
  turn: SuiteValues,
  test: SuiteValues,
  defaults: SuiteValues | undefined,
  search: { readonly documents: readonly string[] } | undefined,
): SuiteTurn {
  const levels = [defaults, test, turn];
  const { compare, similarity, facts = true } = { ...defaults, ...test, ...turn };
  const judge = judgeOf(levels.map((level) => level?.judge));
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
    supported: supportOf(levels.map((level) => level?.supported)),
    context: contextOf(levels, search?.documents),
    schema: schemaOf({ ...defaults, ...test, ...turn }),
    program: programOf(together(levels.map((level) => level?.check))),
    judge,
  };
}

/** What all levels say, with the place of the last one; undefined if none says anything. */
const together = (levels: readonly (SuiteValues | undefined)[]): SuiteValues | undefined =>
  levels.reduce((all, level) => (level ? { ...all, ...level } : all), undefined);

function judgeOf(levels: readonly (SuiteValues | undefined)[]): SuiteJudge | undefined {
  const values = together(levels);
  if (!values) return undefined;
  const { app, criteria, at_least: atLeast = 0.5, repeat = 1, from } = values;
  if (app === undefined) throw mistake(from, "judge has no app");
  return { app, criteria, atLeast, repeat };
}

/** Undefined if the last level that names it says `false`. */
function supportOf(values: readonly (SuiteValues | false | undefined)[]): SuiteSupport | undefined {
  const last = values.findLast((value) => value !== undefined);
  const mappings = values.filter((value) => value !== false);
  const all = together(mappings);
  if (!all || last === false) return undefined;
  const { at_least: atLeast = 1, share = 0.7 } = all;
  return { atLeast, share, judge: judgeOf(mappings.map((mapping) => mapping?.judge)) };
}

/** The documents that chunks must or may be of. Throws `usage` if none are named. */
export function contextOf(
  levels: readonly (SuiteValues | undefined)[],
  searched: readonly string[] = [],
): SuiteContext[] {
  return (["recall", "precision"] as const).flatMap((measure) => {
    const all = together(levels.map((level) => level?.[`context_${measure}`]));
    if (!all) return [];
    const { at_least: atLeast = 1, documents = searched } = all;
    if (documents.length > 0) return [{ measure, atLeast, documents }];
    throw mistake(all.from, `context_${measure} has no documents, nor has search`);
  });
}

function schemaOf({ schema: value, from }: SuiteValues): SuiteSchema | undefined {
  if (value === undefined) return undefined;
  const { of, file, ...schema } =
    typeof value === "string" ? { file: value, of: undefined } : value;
  const isName = (name: unknown) => name === undefined || typeof name === "string";
  if (!isName(of) || !isName(file)) throw mistake(from, "of and file of schema are texts");
  if (file !== undefined && Object.keys(schema).length > 0)
    throw mistake(from, "schema has a file, so it has no other keys besides of");
  const path = file === undefined ? undefined : beside(from.path, String(file));
  return { from, of: of === undefined ? undefined : String(of), schema, file: path };
}

function programOf(values: SuiteValues | undefined): SuiteProgram | undefined {
  if (!values) return undefined;
  const { run = [], timeout = 30, from } = values;
  const [program, ...args] = run;
  if (program === undefined) throw mistake(from, "check has no program to run");
  // A name without a slash is looked for in PATH.
  const paths = /[\\/]/.test(program) ? run : args;
  const files = paths.map((path) => beside(from.path, path));
  return { from, words: [program, ...args], files, timeout };
}

/** A path that a suite gives, seen from its directory. */
const beside = (suite: string, path: string): string =>
  isAbsolute(path) ? path : join(dirname(suite), path);

/** The judges that decide about an answer. */
export const judgesOf = ({
  judge,
  supported,
}: Pick<SuiteTurn, "judge"> & Partial<Pick<SuiteTurn, "supported">>): SuiteJudge[] =>
  [judge, supported?.judge].filter((each) => each !== undefined);

/** Whether a turn expects something of the text of its answer, beside its conditions. */
export const needsText = ({ answer, judge, supported, program, schema }: SuiteTurn): boolean =>
  answer.length > 0 ||
  [judge, supported, program].some(Boolean) ||
  (schema !== undefined && schema.of === undefined);

/** The hint of most mistakes. */
export const keysHint = () => `run ${commandLine("wf test schema")} for the keys of a suite`;

/** A mistake in a suite. */
export const mistake = ({ path, line }: SuitePlace, problem: string) =>
  usage(`${path} line ${line}: ${problem}`, keysHint());
