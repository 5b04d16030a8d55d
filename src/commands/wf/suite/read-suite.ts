import { basename } from "node:path";
import type { Files } from "../../../host/host.ts";
import { isObject } from "../../../lib/json.ts";
import { expectationKeys, readYamlNodes } from "../expect/index.ts";
import type { Expectation, YamlNode as Node, YamlNodes } from "../expect/index.ts";

type Inputs = Readonly<Record<string, unknown>>;

/** One question to an application, and what is expected of the answer. */
export interface SuiteTurn {
  /** What is said to a chat; undefined for a workflow. */
  readonly query: string | undefined;
  readonly inputs: Inputs;
  readonly expectations: readonly Expectation[];
}

/** One test: a run, or the turns of one conversation. */
export interface SuiteTest {
  readonly name: string;
  readonly from: { readonly path: string; readonly line: number };
  readonly tags: readonly string[];
  /** How often it runs; undefined for the number of the command line. */
  readonly repeat: number | undefined;
  readonly skip: boolean;
  readonly only: boolean;
  readonly turns: readonly SuiteTurn[];
}

/** A file of tests for one application. */
export interface Suite {
  readonly name: string;
  readonly path: string;
  /** Name of the application in the profile; undefined for that of the command line. */
  readonly app: string | undefined;
  /** End user. */
  readonly user: string | undefined;
  readonly tests: readonly SuiteTest[];
  /** The file, which tells one version of a suite from another. */
  readonly text: string;
}

/** Values of a test, or the defaults of all. */
interface Values {
  readonly query?: string;
  readonly inputs?: Inputs;
  readonly expectations?: readonly Expectation[];
  readonly tags?: readonly string[];
  readonly repeat?: number;
  readonly skip?: boolean;
  readonly only?: boolean;
  readonly name?: string;
  readonly turns?: readonly Values[];
}

type ReadValues = (value: Node) => Values;

/**
 * Reads a suite (YAML; its keys: docs/test-suites.md). Throws `usage` with the line of a mistake: an
 * unknown key, a value of another type, a test without a name or with that of another one.
 */
export async function readSuite(path: string, files: Files): Promise<Suite> {
  const file = await readYamlNodes(path, files, {
    label: path,
    hint: "a suite is a YAML file with the key tests",
  });
  const { nodes, contents } = file;
  const read = valuesIn(nodes);
  const suite: { name?: string; app?: string; user?: string; tests?: Node } = {};
  let defaults: Values = {};
  if (contents)
    nodes.keys(contents, {
      name: (value) => set(() => (suite.name = nodes.text(value))),
      app: (value) => set(() => (suite.app = nodes.text(value))),
      user: (value) => set(() => (suite.user = nodes.text(value))),
      defaults: (value) => set(() => (defaults = read.defaults(value))),
      tests: (value) => set(() => (suite.tests = value)),
    });
  if (!suite.tests) throw file.error("the suite has no tests");
  const tests = nodes.items(suite.tests).map((node) => {
    const values = read.test(node);
    if (values.name === undefined) throw nodes.error(node, "the test has no name");
    return testOf({ ...values, name: values.name }, defaults, { path, line: nodes.lineOf(node) });
  });
  const names = tests.map(({ name }) => name);
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  const again = nodes.items(suite.tests)[twice];
  if (again) throw nodes.error(again, `another test is named ${JSON.stringify(names[twice])}`);
  if (tests.length === 0) throw nodes.error(suite.tests, "the suite has no tests");
  const { name = basename(path).replace(/\.ya?ml$/i, ""), app, user } = suite;
  return { name, path, app, user, tests, text: file.text };
}

/** Runs a setter where a list is expected. */
function set(assign: () => void): [] {
  assign();
  return [];
}

/** Readers of the mappings in a suite. */
function valuesIn(nodes: YamlNodes): Readonly<Record<"defaults" | "test", ReadValues>> {
  const { text } = nodes;
  const shared: Readonly<Record<string, ReadValues>> = {
    inputs: (value) => ({ inputs: inputsIn(nodes, value) }),
    expect: (value) => ({ expectations: expectationsIn(nodes, value) }),
  };
  const ofTests: Readonly<Record<string, ReadValues>> = {
    ...shared,
    tags: (value) => ({ tags: nodes.items(value).map(text) }),
    repeat: (value) => ({ repeat: repeatIn(nodes, value) }),
  };
  const ofTurns: Readonly<Record<string, ReadValues>> = {
    ...shared,
    query: (value) => ({ query: text(value) }),
  };
  const reader =
    (keys: Readonly<Record<string, ReadValues>>): ReadValues =>
    (node) =>
      Object.assign({}, ...nodes.keys(node, mapped(keys))) as Values;
  return {
    defaults: reader(ofTests),
    test: reader({
      ...ofTests,
      ...ofTurns,
      name: (value) => ({ name: text(value) }),
      skip: (value) => ({ skip: nodes.boolean(value) }),
      only: (value) => ({ only: nodes.boolean(value) }),
      turns: (value) => ({ turns: nodes.items(value).map(reader(ofTurns)) }),
    }),
  };
}

const mapped = (keys: Readonly<Record<string, ReadValues>>) =>
  Object.fromEntries(
    Object.entries(keys).map(([name, read]) => [name, (value: Node) => [read(value)]]),
  );

function inputsIn(nodes: YamlNodes, node: Node): Inputs {
  const value = nodes.json(node);
  if (!isObject(value)) throw nodes.error(node, "expected a mapping");
  return value;
}

/** Highest number of repeats: the statistics need no more, and each costs a run. */
export const MAX_REPEAT = 1000;

function repeatIn(nodes: YamlNodes, node: Node): number {
  const repeat = Number(nodes.text(node));
  if (Number.isInteger(repeat) && repeat >= 1 && repeat <= MAX_REPEAT) return repeat;
  throw nodes.error(node, `expected a number from 1 to ${MAX_REPEAT}`);
}

/** A list of conditions, or a mapping as in a file of expectations. */
const expectationsIn = (nodes: YamlNodes, node: Node): readonly Expectation[] =>
  nodes.isList(node)
    ? nodes.items(node).map(nodes.sentence)
    : nodes.keys(node, expectationKeys(nodes));

function testOf(
  { name, turns, ...values }: Values & { readonly name: string },
  defaults: Values,
  from: SuiteTest["from"],
): SuiteTest {
  const turnOf = ({ query, inputs, expectations = [] }: Values): SuiteTurn => ({
    query,
    inputs: { ...defaults.inputs, ...values.inputs, ...inputs },
    expectations: [...(defaults.expectations ?? []), ...expectations],
  });
  return {
    name,
    from,
    tags: [...(defaults.tags ?? []), ...(values.tags ?? [])],
    repeat: values.repeat ?? defaults.repeat,
    skip: values.skip === true,
    only: values.only === true,
    turns: turns ? turns.map(turnOf) : [turnOf(values)],
  };
}
