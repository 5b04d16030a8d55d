import { basename, dirname, isAbsolute, join } from "node:path";
import { usage } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { readEach, readYamlNodes } from "../../wf/expect/index.ts";
import { turnKeys, usualSimilarity } from "./keys.ts";
import { rowSuite } from "./read-rows.ts";
import { keysHint, mistake, readValues } from "./values.ts";
import type { SuiteValues } from "./values.ts";

/** A file of tests for one application; of the end user and the version of its workflow, if these are given. */
export type Suite = Awaited<ReturnType<typeof readSuite>> & {
  /** Undefined for the newest. */
  readonly version?: string | undefined;
};

/**
 * Reads a suite (YAML, or rows of CSV or JSON Lines; its keys: docs/reference.md). Throws `usage`
 * with the line of a mistake: an unknown key, a value of another type, a test without a name or with
 * that of another one.
 */
export async function readSuite(path: string, files: Files) {
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

/** Keys of a configuration of promptfoo that no suite has. */
const isPromptfoo = ({ name }: { readonly name: string }): boolean =>
  /^(prompts|providers|targets|defaultTest)$/.test(name);

async function yamlValues(path: string, files: Files) {
  const { nodes, contents, text } = await readYamlNodes(path, files, {
    label: path,
    hint: "a suite is a YAML file with the key tests, or a file of rows: .csv, .jsonl",
    keysHint: keysHint(),
  });
  if (nodes.isMapping(contents) && nodes.entries(contents).some(isPromptfoo))
    throw usage(
      `${path} is a configuration of promptfoo, not a suite`,
      `make a suite of it: ${commandLine("wf test init", [path], { from: "promptfoo" })}`,
    );
  const none: SuiteValues = { from: { path, line: 1 } };
  return { values: contents ? readValues("suite", nodes, contents) : none, text };
}

/** One test: a run, or the turns of one conversation. */
export type SuiteTest = ReturnType<typeof testsOf>[number];

/** The tests with the values of all. Throws `usage` for a name that is missing or there twice. */
function testsOf(tests: readonly SuiteValues[], defaults: SuiteValues | undefined) {
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
    const { max_tokens, max_seconds, score_at_least, repeat } = { ...defaults, ...test };
    const values = {
      name,
      from,
      tags: [...(defaults?.tags ?? []), ...(test.tags ?? [])],
      /** Undefined for the number of the command line. */
      repeat,
      pass: passRuleOf(test.pass ?? defaults?.pass),
      quarantine: quarantineOf(test.quarantine),
      skip: test.skip === true,
      only: test.only === true,
      /** None if the test only searches. */
      turns: turns.map((turn) => turnOf(turn, test, defaults, search)),
      search,
      /** Limits, undefined if there is none. */
      maxTokens: max_tokens,
      maxSeconds: max_seconds,
      scoreAtLeast: score_at_least,
      weights: { ...defaults?.weights, ...test.weights },
      /** Of what a test that only searches has found. */
      context: turns.length > 0 ? [] : contextOf([defaults, test], search?.documents),
    };
    return [values];
  });
}

/** All runs must pass unless a test says how many, or how surely. */
const passRuleOf = ({ rate, lower_bound }: Partial<SuiteValues> = {}) => ({
  rate: rate ?? (lower_bound === undefined ? 1 : 0),
  lower_bound: lower_bound ?? 0,
  stated: rate !== undefined,
});

function quarantineOf(values: SuiteValues | undefined) {
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

/** The documents, as written, and the texts that a search must find for a test. */
export type SuiteSearch = NonNullable<ReturnType<typeof searchOf>>;

/** The search of a test that has one. */
function searchOf(
  test: SuiteValues & { readonly name: string },
  defaults: SuiteValues | undefined,
) {
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
export async function readSearches(path: string, files: Files) {
  const { tests } = await readSuite(path, files);
  return tests.flatMap(({ search, skip }) => (search && !skip ? [search] : []));
}

/** One question to an application, and what is expected of the answer. */
export type SuiteTurn = ReturnType<typeof turnOf>;

/** A turn with the values of its test and the defaults. Throws `usage` for what cannot be. */
function turnOf(
  turn: SuiteValues,
  test: SuiteValues,
  defaults: SuiteValues | undefined,
  search: SuiteSearch | undefined,
) {
  const levels = [defaults, test, turn];
  const { compare, similarity, facts = true } = { ...defaults, ...test, ...turn };
  const judge = judgeOf(levels.map((level) => level?.judge));
  return {
    from: turn.from,
    /** What is said to a chat; undefined for a workflow. */
    query: turn.query,
    /** Inputs as text, which the form of the application types as those of --input. */
    assigned: turn.assigned ?? {},
    inputs: { ...defaults?.inputs, ...test.inputs, ...turn.inputs },
    expectations: [...(defaults?.expect ?? []), ...(turn.expect ?? [])],
    /** Expected answers, of which any will do. */
    answer: turn.answer ?? [],
    /** Undefined if only the judge compares. */
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

/** An application that judges an answer: from which score on it passes, and how often it is asked. */
export type SuiteJudge = NonNullable<ReturnType<typeof judgeOf>>;

function judgeOf(levels: readonly (SuiteValues | undefined)[]) {
  const values = together(levels);
  if (!values) return undefined;
  const { app, criteria, at_least: atLeast = 0.5, repeat = 1, from } = values;
  if (app === undefined) throw mistake(from, "judge has no app");
  return { app, criteria, atLeast, repeat };
}

/** The share of sentences that the chunks must support, and of the words of one; the judge decides about the others. */
export type SuiteSupport = NonNullable<ReturnType<typeof supportOf>>;

/** Undefined if the last level that names it says `false`. */
function supportOf(values: readonly (SuiteValues | false | undefined)[]) {
  const last = values.findLast((value) => value !== undefined);
  const mappings = values.filter((value) => value !== false);
  const all = together(mappings);
  if (!all || last === false) return undefined;
  const { at_least: atLeast = 1, share = 0.7 } = all;
  return { atLeast, share, judge: judgeOf(mappings.map((mapping) => mapping?.judge)) };
}

/** The lowest share of expected documents among those of the chunks, or of chunks of such documents. */
export type SuiteContext = ReturnType<typeof contextOf>[number];

/** The documents that chunks must or may be of. Throws `usage` if none are named. */
function contextOf(levels: readonly (SuiteValues | undefined)[], searched: readonly string[] = []) {
  return (["recall", "precision"] as const).flatMap((measure) => {
    const all = together(levels.map((level) => level?.[`context_${measure}`]));
    if (!all) return [];
    const { at_least: atLeast = 1, documents = searched } = all;
    if (documents.length > 0) return [{ measure, atLeast, documents }];
    throw mistake(all.from, `context_${measure} has no documents, and neither has search`);
  });
}

/** What the JSON of an answer, or of one output, must fit: a JSON Schema, or its file. */
export type SuiteSchema = NonNullable<ReturnType<typeof schemaOf>>;

function schemaOf({ schema: value, from }: SuiteValues) {
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

/** A program that decides about an answer: its words, the files that these may be, and seconds. */
export type SuiteProgram = NonNullable<ReturnType<typeof programOf>>;

function programOf(values: SuiteValues | undefined) {
  if (!values) return undefined;
  const { run = [], timeout = 30, from } = values;
  const [program, ...args] = run;
  if (program === undefined) throw mistake(from, "check has no program to run");
  // A name without a slash is looked for in PATH.
  const paths = /[\\/]/.test(program) ? run : args;
  const files = paths.map((path) => beside(from.path, path));
  return { from, words: [program, ...args] as const, files, timeout };
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
