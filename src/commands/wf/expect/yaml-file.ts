import type { Node } from "yaml";
import type { Files } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import {
  contains,
  equals,
  exists,
  fieldCheck,
  isLimited,
  matches,
} from "../../conditions/index.ts";
import type { Claim, Limit } from "../../conditions/index.ts";
import type { Expectation } from "./expectation.ts";
import { atLeastOnce, inOrder, never, nodeRan, nodeTook, nodeUsed } from "./node-checks.ts";
import type { Evaluate, NodeName } from "./node-checks.ts";
import { output, runFields, traceCheck } from "./run-scope.ts";
import { readYamlNodes } from "./yaml-nodes.ts";
import type { Keys, YamlNodes } from "./yaml-nodes.ts";

/** A file of expectations: the name of its suite and its checks. */
interface ExpectFile {
  readonly name: string | undefined;
  readonly checks: readonly Expectation[];
}

/** Reads a YAML file of expectations (`help conditions`). Throws `usage` with the line of a mistake. */
export async function readExpectFile(path: string, files: Files): Promise<ExpectFile> {
  const { nodes, contents, error } = await readYamlNodes(path, files, {
    label: `--expect ${path}`,
    hint: "an expectation that ends in .yml or .yaml is a file, any other text a sentence",
    keysHint: `run ${commandLine("wf help", ["conditions"])} for the keys of a file`,
  });
  let name: string | undefined;
  const checks = contents
    ? nodes.keys(contents, {
        name(value) {
          name = nodes.text(value);
          return [];
        },
        ...expectationKeys(nodes),
      })
    : [];
  if (checks.length === 0) throw error("the file has no expectations");
  return { name, checks };
}

/** The sections of a file; each expectation is named by its sentence. */
export function expectationKeys(nodes: YamlNodes): Keys<Expectation> {
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

/** A text as YAML writes it: numbers and true are texts, too. */
export const textSchema = { type: ["string", "number", "boolean"] } as const;

const texts = { type: "array", items: textSchema } as const;

const mapping = (description: string, properties: Readonly<Record<string, object>>) => ({
  type: "object",
  description,
  properties,
  additionalProperties: false,
});

const eachNode = (description: string) => ({
  type: "object",
  description,
  additionalProperties: textSchema,
});

/** JSON Schema of the short forms in a file of expectations, without its name (`help conditions`). */
export const expectationsSchema = mapping("Short forms of common conditions.", {
  checks: { ...texts, description: "Conditions, such as: run succeeded within 20s" },
  required: { ...texts, description: "Nodes that must run." },
  forbidden: { ...texts, description: "Nodes that must not run." },
  order: {
    type: "array",
    items: { ...texts, minItems: 2 },
    description: "Lists of nodes, each of which must run in this order.",
  },
  within: mapping("Longest durations, such as 2m or 1m30s.", {
    run: textSchema,
    nodes: eachNode("Longest duration of each node."),
  }),
  tokens: mapping("Highest numbers of tokens.", {
    max: { ...textSchema, description: "Of the run." },
    nodes: eachNode("Of each node."),
  }),
  outputs: {
    type: "object",
    description: "What each output must be, by path, such as items.0.name",
    additionalProperties: mapping("What the output must be.", {
      equals: { description: "The value." },
      contains: { ...textSchema, description: "A part of the text." },
      matches: { ...textSchema, description: "A regular expression, such as /ticket \\d+/i" },
      exists: { type: "boolean", description: "Whether there is one." },
    }),
  },
});
