import { basename } from "node:path";
import type { Files } from "../../../../host/host.ts";
import { readEach, readYamlNodes } from "../../expect/index.ts";
import { turnKeys } from "./keys.ts";
import { rowSuite } from "./read-rows.ts";
import { contextOf, keysHint, mistake, turnOf } from "./turns.ts";
import type { SuiteContext, SuiteTurn } from "./turns.ts";
import { readValues } from "./values.ts";
import type { SuitePlace, SuiteValues } from "./values.ts";

/** What a search must find for a test. */
export interface SuiteSearch {
  /** Name of the test. */
  readonly name: string;
  readonly from: SuitePlace;
  /** Name or ID of the knowledge base. */
  readonly kb: string;
  readonly query: string;
  /** Number of chunks; undefined for the setting of the knowledge base. */
  readonly top: number | undefined;
  /** Documents as written: name, path or ID. */
  readonly documents: readonly string[];
  /** Texts that chunks must contain. */
  readonly texts: readonly string[];
}

/** When a test has passed: all that is given must hold. */
export interface PassRule {
  /** Lowest share of the runs that pass, from 0 to 1. */
  readonly rate: number;
  /** Lowest end of the 95 % interval of that share. */
  readonly lower_bound: number;
}

/** A test that does not decide about a run until a day, and why. */
export interface Quarantine {
  /** The last day, in UTC: `2026-12-31`. */
  readonly until: string;
  readonly reason: string | null;
}

/** One test: a run, or the turns of one conversation. */
export interface SuiteTest {
  readonly name: string;
  readonly from: SuitePlace;
  readonly tags: readonly string[];
  /** How often it runs; undefined for the number of the command line. */
  readonly repeat: number | undefined;
  readonly pass: PassRule;
  readonly quarantine: Quarantine | undefined;
  readonly skip: boolean;
  readonly only: boolean;
  /** None if the test only searches. */
  readonly turns: readonly SuiteTurn[];
  readonly search: SuiteSearch | undefined;
  /** Of what a test that only searches has found. */
  readonly context: readonly SuiteContext[];
  /** Undefined without a limit. */
  readonly maxTokens: number | undefined;
  readonly maxSeconds: number | undefined;
  /** Lowest mean score; undefined if all checks must pass. */
  readonly scoreAtLeast: number | undefined;
  /** Of kinds of checks, in that mean. */
  readonly weights: Readonly<Record<string, number>>;
}

/** What the tests of a suite may use in one command. */
export interface SuiteBudget {
  readonly tokens?: number | undefined;
  readonly seconds?: number | undefined;
}

/** A file of tests for one application. */
export interface Suite {
  readonly name: string;
  readonly path: string;
  /** Name of the application in the profile; undefined for that of the command line. */
  readonly app: string | undefined;
  /** End user. */
  readonly user: string | undefined;
  /** Published version of the application's workflow; undefined for the newest. */
  readonly version?: string | undefined;
  readonly tests: readonly SuiteTest[];
  readonly budget: SuiteBudget | undefined;
  /** The file, which tells one version of a suite from another. */
  readonly text: string;
}

/**
 * Reads a suite (YAML, or rows of CSV or JSON Lines; its keys: docs/test-suites.md). Throws `usage`
 * with the line of a mistake: an unknown key, a value of another type, a test without a name or with
 * that of another one.
 */
export async function readSuite(path: string, files: Files): Promise<Suite> {
  const { values, text } = await (isRowFile(path) ? rowSuite : yamlValues)(path, files);
  if (!values.tests?.length) throw mistake({ path, line: 1 }, "the suite has no tests");
  const { name = basename(path).replace(/\.(ya?ml|csv|jsonl|ndjson)$/i, ""), app, user } = values;
  const { tokens, seconds } = values.budget ?? {};
  const budget = values.budget && { tokens, seconds };
  return { name, path, app, user, tests: testsOf(values.tests, values.defaults), budget, text };
}

/** The files that inputs such as `@report.pdf` name, schemas and programs. */
export function filesIn({ tests }: Pick<Suite, "tests">): ReadonlySet<string> {
  const all = tests.flatMap(({ turns }) => turns);
  const uploads = all
    .flatMap(({ inputs, assigned }) => Object.values({ ...inputs, ...assigned }))
    .flatMap((value) =>
      typeof value === "string" && value.startsWith("@") ? [value.slice(1)] : [],
    );
  const others = all.flatMap(({ schema, program }) => [
    ...(schema?.file === undefined ? [] : [schema.file]),
    ...(program?.files ?? []),
  ]);
  return new Set([...uploads, ...others]);
}

/** Whether a suite consists of rows; any other is YAML. */
export const isRowFile = (path: string): boolean => /\.(csv|jsonl|ndjson)$/i.test(path);

async function yamlValues(path: string, files: Files) {
  const { nodes, contents, text } = await readYamlNodes(path, files, {
    label: path,
    hint: "a suite is a YAML file with the key tests, or a file of rows: .csv, .jsonl",
    keysHint: keysHint(),
  });
  const none: SuiteValues = { from: { path, line: 1 } };
  return { values: contents ? readValues("suite", nodes, contents) : none, text };
}

/** The tests with the values of all. Throws `usage` for a name that is missing or there twice. */
function testsOf(tests: readonly SuiteValues[], defaults: SuiteValues | undefined): SuiteTest[] {
  const names = new Set<string>();
  return readEach(tests, (test) => {
    const { name, from } = test;
    if (name === undefined) throw mistake(from, "the test has no name");
    if (names.has(name)) throw mistake(from, `another test is named ${JSON.stringify(name)}`);
    names.add(name);
    if (test.turns?.length === 0) throw mistake(from, "the test has no turns");
    const misplaced = test.turns && turnKeys.find((key) => test[key] !== undefined);
    if (misplaced) throw mistake(from, `the test has turns, so ${misplaced} belongs to a turn`);
    const search = searchOf({ ...test, name }, defaults);
    const turns = turnsOf(test);
    const values = {
      name,
      from,
      tags: [...(defaults?.tags ?? []), ...(test.tags ?? [])],
      repeat: test.repeat ?? defaults?.repeat,
      pass: passRuleOf(test.pass ?? defaults?.pass),
      quarantine: quarantineOf(test.quarantine),
      skip: test.skip === true,
      only: test.only === true,
      turns: turns.map((turn) => turnOf(turn, test, defaults, search)),
      search,
      ...limitsOf(test, defaults),
      context: turns.length > 0 ? [] : contextOf([defaults, test], search?.documents),
    };
    return [values];
  });
}

/** What is said about a test as a whole. */
function limitsOf(test: SuiteValues, defaults: SuiteValues | undefined) {
  const { max_tokens, max_seconds, score_at_least } = { ...defaults, ...test };
  return {
    maxTokens: max_tokens,
    maxSeconds: max_seconds,
    scoreAtLeast: score_at_least,
    weights: { ...defaults?.weights, ...test.weights },
  };
}

/** All runs must pass unless a test says how many, or how surely. */
const passRuleOf = ({ rate, lower_bound }: Partial<SuiteValues> = {}): PassRule => ({
  rate: rate ?? (lower_bound === undefined ? 1 : 0),
  lower_bound: lower_bound ?? 0,
});

function quarantineOf(values: SuiteValues | undefined): SuiteTest["quarantine"] {
  if (!values) return undefined;
  const { from, until, reason = null } = values;
  if (until === undefined) throw mistake(from, "quarantine has no until");
  return { until, reason };
}

/** The turns of a test: itself, unless it has some, or has nothing to ask beside a search. */
function turnsOf(test: SuiteValues): readonly SuiteValues[] {
  if (test.turns) return test.turns;
  const asks = test.query ?? test.inputs ?? test.assigned;
  if (!test.search || asks !== undefined) return [test];
  const unused = answerKeys.find((key) => test[key] !== undefined);
  if (unused) throw mistake(test.from, `the test only searches, so it has no answer for ${unused}`);
  return [];
}

/** Keys about an answer. */
const answerKeys = ["expect", "answer", "judge", "supported", "schema", "check"] as const;

/** The search of a test that has one. */
function searchOf(
  test: SuiteValues & { readonly name: string },
  defaults: SuiteValues | undefined,
): SuiteSearch | undefined {
  if (!test.search) return undefined;
  const { from } = test.search;
  const {
    kb,
    top,
    documents = [],
    text: texts = [],
    ...given
  }: SuiteValues = {
    ...defaults?.search,
    ...test.search,
  };
  const query = given.query ?? (test.turns?.[0] ?? test).query;
  if (kb === undefined) throw mistake(from, "search has no kb");
  if (query === undefined) throw mistake(from, "search has no query");
  if (documents.length + texts.length === 0)
    throw mistake(from, "search expects no documents or text");
  return { name: test.name, from, kb, query, top, documents, texts };
}

/** The searches of the tests of a suite. Throws `usage` as `readSuite` does. */
export async function readSearches(path: string, files: Files): Promise<SuiteSearch[]> {
  const { tests } = await readSuite(path, files);
  return tests.flatMap(({ search, skip }) => (search && !skip ? [search] : []));
}
