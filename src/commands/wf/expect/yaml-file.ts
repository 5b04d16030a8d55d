import type { Document, Node } from "yaml";
import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { own } from "../../../lib/json.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import {
  contains,
  equals,
  exists,
  fieldCheck,
  isLimited,
  matches,
  parseValue,
} from "../../conditions/index.ts";
import type { Check, Claim, ConditionReader, Limit } from "../../conditions/index.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import { parseExpectation } from "./expectation.ts";
import type { Expectation } from "./expectation.ts";
import { atLeastOnce, inOrder, never, nodeRan, nodeTook, nodeUsed } from "./node-checks.ts";
import type { Evaluate, NodeName } from "./node-checks.ts";
import { output, runFields, traceCheck } from "./run-scope.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** A file of expectations: the name of its suite and its checks. */
interface ExpectFile {
  readonly name: string | undefined;
  readonly checks: readonly Expectation[];
}

/** Maximum size of a file of expectations, in bytes. */
const MAX_SIZE = 1024 * 1024;

/** Reads the expectations of each key that a mapping may have. */
type Keys = Readonly<Record<string, (value: Node) => Expectation[]>>;

/** Reads a YAML file of expectations (`help conditions`). Throws `usage` with the line of a mistake. */
export async function readExpectFile(path: string, files: Files): Promise<ExpectFile> {
  const yaml = await parseYaml(await contentOf(path, files), { strict: true });
  if ("problem" in yaml) throw usageAt(path, yaml.line, yaml.problem);
  const nodes = yamlNodes(path, yaml, await import("yaml"));
  const { contents } = yaml.document;
  let name: string | undefined;
  const checks = contents
    ? nodes.keys(contents, {
        name(value) {
          name = nodes.text(value);
          return [];
        },
        ...sections(nodes),
      })
    : [];
  if (checks.length === 0) throw usageAt(path, 1, "the file has no expectations");
  return { name, checks };
}

const usageAt = (path: string, line: number, problem: string, hint?: string): CliError =>
  usage(
    `${path} line ${line}: ${problem}`,
    hint ?? `run ${commandLine("wf help", ["conditions"])} for the keys of a file`,
  );

/** Typed access to the nodes of a YAML document. Its functions throw `usage` for a node of another type. */
function yamlNodes(
  path: string,
  file: { readonly document: Document.Parsed; readonly lineAt: (offset: number) => number },
  { isAlias, isMap, isScalar, isSeq }: typeof import("yaml"),
) {
  const lineOf = (node: Node) => file.lineAt(node.range?.[0] ?? 0);
  const source = (node: Node) => `${path} line ${lineOf(node)}:`;
  const from = (node: Node) => ({ path, line: lineOf(node) });
  const error = (node: Node, problem: string, hint?: string) =>
    usageAt(path, lineOf(node), problem, hint);

  /** The text of a scalar in the file: a node ID that looks like a number is text too. */
  const text = (node: Node): string => {
    if (!isScalar(node) || node.value === null) throw error(node, "expected a text");
    return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
  };
  /** The node of an alias; a missing value is reported at its key. */
  const resolve = (node: unknown, key: Node): Node => {
    const resolved = isAlias(node)
      ? node.resolve(file.document)
      : (node as Node | null | undefined);
    if (!resolved) throw error(key, "missing value");
    return resolved;
  };
  const entries = (node: Node) => {
    if (!isMap(node)) throw error(node, "expected a mapping");
    return node.items.map((pair) => {
      const key = resolve(pair.key, node);
      return { key, name: text(key), value: resolve(pair.value, key) };
    });
  };
  return {
    error,
    text,
    entries,
    items(node: Node): Node[] {
      if (!isSeq(node)) throw error(node, "expected a list");
      return node.items.map((item) => resolve(item, node));
    },
    boolean(node: Node): boolean {
      if (isScalar(node) && typeof node.value === "boolean") return node.value;
      throw error(node, "expected true or false");
    },
    json: (node: Node): unknown => node.toJS(file.document) ?? null,
    /** A value that is written as in a sentence, such as `1m30s`. */
    value: <T>(node: Node, read: (reader: ConditionReader) => T, written = text(node)): T =>
      parseValue(source(node), written, read),
    sentence: (node: Node): Expectation => ({
      ...parseExpectation(text(node), source(node)),
      from: from(node),
    }),
    expectation: (node: Node, name: string, check: Check<RunTrace>): Expectation => ({
      name,
      check,
      from: from(node),
    }),
    /** The expectations of a mapping with known keys. */
    keys: (node: Node, table: Keys): Expectation[] =>
      entries(node).flatMap(({ key, name, value }) => {
        const known = own(table, name);
        if (known) return known(value);
        throw error(key, ...unknownKey(name, Object.keys(table)));
      }),
  };
}

/** The problem of a key that is none of the names, and a hint. */
function unknownKey(key: string, names: readonly string[]): [problem: string, hint?: string] {
  const near = didYouMean(key, names);
  const problem = `${JSON.stringify(key)} is not one of ${names.join(", ")}`;
  return near === undefined ? [problem] : [problem, `did you mean ${near}?`];
}

type YamlNodes = ReturnType<typeof yamlNodes>;

/** The sections of a file; each expectation is named by its sentence. */
function sections(nodes: YamlNodes): Keys {
  const { expectation, items, text } = nodes;
  const named = (node: Node): NodeName => ({ text: text(node), byType: false });
  const quoted = (node: Node) => JSON.stringify(text(node));
  const ofNode = (at: Node, name: Node, claim: string, evaluate: Evaluate) =>
    expectation(at, `node ${quoted(name)} ${claim}`, traceCheck(evaluate));
  const duration = (node: Node) => atMost(nodes.value(node, (reader) => reader.seconds()));
  const count = (node: Node) => atMost(nodes.value(node, (reader) => reader.count()));
  const inSequence = (list: Node) => {
    const [first, ...others] = items(list);
    if (!first || others.length === 0) throw nodes.error(list, "expected two or more nodes");
    return others.map((after, index) => {
      const before = others[index - 1] ?? first;
      const evaluate = inOrder(named(before), named(after));
      return ofNode(after, before, `before ${quoted(after)}`, evaluate);
    });
  };
  /** Limits of the run, under a key of their own, and of its nodes. */
  const limits =
    (key: string, ofRun: (max: Node) => Expectation, of: (name: Node, max: Node) => Expectation) =>
    (map: Node) =>
      nodes.keys(map, {
        [key]: (max) => [ofRun(max)],
        nodes: (each) => nodes.entries(each).map(({ key: name, value }) => of(name, value)),
      });
  return {
    checks: (list) => items(list).map(nodes.sentence),
    required: (list) =>
      items(list).map((item) => ofNode(item, item, "ran", nodeRan(named(item), atLeastOnce))),
    forbidden: (list) =>
      items(list).map((item) => ofNode(item, item, "did not run", nodeRan(named(item), never))),
    order: (list) => items(list).flatMap(inSequence),
    within: limits(
      "run",
      (max) => {
        const check = isLimited(runFields, "elapsed", duration(max));
        return expectation(max, `run took at most ${text(max)}`, check);
      },
      (name, max) =>
        ofNode(max, name, `took at most ${text(max)}`, nodeTook(named(name), duration(max))),
    ),
    tokens: limits(
      "max",
      (max) => {
        const check = isLimited(runFields, "tokens", count(max));
        return expectation(max, `run used at most ${text(max)} tokens`, check);
      },
      (name, max) =>
        ofNode(max, name, `used at most ${text(max)} tokens`, nodeUsed(named(name), count(max))),
    ),
    outputs: (map) =>
      nodes.entries(map).flatMap(({ name, value }) => outputChecks(nodes, name, value)),
  };
}

const atMost = (value: number): Limit => ({ operator: "<=", value });

/** The expectations about one output. */
function outputChecks(nodes: YamlNodes, path: string, claims: Node): Expectation[] {
  const claimed = (node: Node, text: string, claim: Claim) => [
    nodes.expectation(
      node,
      `output ${JSON.stringify(path)} ${text}`,
      fieldCheck("output", output(path), claim),
    ),
  ];
  return nodes.keys(claims, {
    equals(node) {
      const value = nodes.json(node);
      return claimed(node, `is ${JSON.stringify(value)}`, equals(value));
    },
    contains(node) {
      const part = nodes.text(node);
      return claimed(node, `contains ${JSON.stringify(part)}`, contains(part));
    },
    matches(node) {
      const text = patternText(nodes.text(node));
      const pattern = nodes.value(node, (reader) => reader.pattern(), text);
      return claimed(node, `matches ${text}`, matches(pattern));
    },
    exists(node) {
      const expected = nodes.boolean(node);
      return claimed(node, expected ? "exists" : "does not exist", exists(expected));
    },
  });
}

/** `/refund/i` as it is, any other text as the source of a pattern. */
const patternText = (text: string): string =>
  /^\/.*\/\w*$/s.test(text)
    ? text
    : `/${text.replace(/\\.|\//gs, (match) => (match === "/" ? "\\/" : match))}/`;

async function contentOf(path: string, files: Files): Promise<string> {
  const stat = await files.stat(path);
  const fail = (problem: string) =>
    usage(
      `--expect ${path}: ${problem}`,
      "an expectation that ends in .yml or .yaml is a file, any other text a sentence",
    );
  if (stat === null) throw fail("file not found");
  if (stat.isDirectory) throw fail("is a directory");
  if (stat.size > MAX_SIZE) throw fail("file larger than 1 MiB");
  return new TextDecoder().decode(await files.read(path));
}
