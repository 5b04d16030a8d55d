import type { Document, Node } from "yaml";
import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { own } from "../../../lib/json.ts";
import { parseYaml } from "../../../lib/yaml.ts";
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
  const nodes = new YamlNodes(path, yaml, await import("yaml"));
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
    hint ?? "run `wf help conditions` for the keys of a file",
  );

/** Typed access to the nodes of a YAML document. Throws `usage` for a node of another type. */
class YamlNodes {
  private readonly path: string;
  private readonly document: Document.Parsed;
  private readonly lineAt: (offset: number) => number;
  private readonly yaml: typeof import("yaml");

  constructor(
    path: string,
    file: { readonly document: Document.Parsed; readonly lineAt: (offset: number) => number },
    yaml: typeof import("yaml"),
  ) {
    this.path = path;
    this.document = file.document;
    this.lineAt = file.lineAt;
    this.yaml = yaml;
  }

  private lineOf(node: Node): number {
    return this.lineAt(node.range?.[0] ?? 0);
  }

  error(node: Node, problem: string, hint?: string): CliError {
    return usageAt(this.path, this.lineOf(node), problem, hint);
  }

  /** The expectation of a sentence. */
  sentence(node: Node): Expectation {
    const expectation = parseExpectation(this.text(node), this.source(node));
    return this.expectation(node, expectation.name, expectation.check);
  }

  expectation(node: Node, name: string, check: Check<RunTrace>): Expectation {
    return { name, check, from: { path: this.path, line: this.lineOf(node) } };
  }

  /** A value that is written as in a sentence, such as `1m30s`. */
  value<T>(node: Node, read: (reader: ConditionReader) => T, text = this.text(node)): T {
    return parseValue(this.source(node), text, read);
  }

  private source(node: Node): string {
    return `${this.path} line ${this.lineOf(node)}:`;
  }

  /** The text of a scalar in the file: a node ID that looks like a number is text too. */
  text(node: Node): string {
    if (!this.yaml.isScalar(node) || node.value === null) throw this.error(node, "expected a text");
    return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
  }

  boolean(node: Node): boolean {
    if (this.yaml.isScalar(node) && typeof node.value === "boolean") return node.value;
    throw this.error(node, "expected true or false");
  }

  json(node: Node): unknown {
    return node.toJS(this.document) ?? null;
  }

  items(node: Node): Node[] {
    if (!this.yaml.isSeq(node)) throw this.error(node, "expected a list");
    return node.items.map((item) => this.resolve(item, node));
  }

  entries(node: Node): { key: Node; name: string; value: Node }[] {
    if (!this.yaml.isMap(node)) throw this.error(node, "expected a mapping");
    return node.items.map((pair) => {
      const key = this.resolve(pair.key, node);
      return { key, name: this.text(key), value: this.resolve(pair.value, key) };
    });
  }

  /** The expectations of a mapping with known keys. */
  keys(node: Node, table: Keys): Expectation[] {
    return this.entries(node).flatMap(({ key, name, value }) => {
      const known = own(table, name);
      if (known) return known(value);
      const names = Object.keys(table);
      const near = didYouMean(name, names);
      throw this.error(
        key,
        `${JSON.stringify(name)} is not one of ${names.join(", ")}`,
        near === undefined ? undefined : `did you mean ${near}?`,
      );
    });
  }

  /** The node of an alias; a missing value is reported at its key. */
  private resolve(node: unknown, key: Node): Node {
    const resolved = this.yaml.isAlias(node)
      ? node.resolve(this.document)
      : (node as Node | null | undefined);
    if (!resolved) throw this.error(key, "missing value");
    return resolved;
  }
}

/** The sections of a file; each expectation is named by its sentence. */
function sections(nodes: YamlNodes): Keys {
  const named = (node: Node): NodeName => ({ text: nodes.text(node), byType: false });
  const quoted = (node: Node) => JSON.stringify(nodes.text(node));
  const ofNode = (at: Node, name: Node, text: string, evaluate: Evaluate) =>
    nodes.expectation(at, `node ${quoted(name)} ${text}`, traceCheck(evaluate));
  const duration = (node: Node) => atMost(nodes.value(node, (reader) => reader.seconds()));
  const count = (node: Node) => atMost(nodes.value(node, (reader) => reader.count()));
  const inSequence = (list: Node) => {
    const [first, ...others] = nodes.items(list);
    if (!first || others.length === 0) throw nodes.error(list, "expected two or more nodes");
    return others.map((after, index) => {
      const before = others[index - 1] ?? first;
      const evaluate = inOrder(named(before), named(after));
      return ofNode(after, before, `before ${quoted(after)}`, evaluate);
    });
  };
  return {
    checks: (list) => nodes.items(list).map((item) => nodes.sentence(item)),
    required: (list) =>
      nodes.items(list).map((item) => ofNode(item, item, "ran", nodeRan(named(item), atLeastOnce))),
    forbidden: (list) =>
      nodes
        .items(list)
        .map((item) => ofNode(item, item, "did not run", nodeRan(named(item), never))),
    order: (list) => nodes.items(list).flatMap(inSequence),
    within: (map) =>
      nodes.keys(map, {
        run(max) {
          const check = isLimited(runFields, "elapsed", duration(max));
          return [nodes.expectation(max, `run took at most ${nodes.text(max)}`, check)];
        },
        nodes: (limits) =>
          nodes.entries(limits).map(({ key, value }) => {
            const evaluate = nodeTook(named(key), duration(value));
            return ofNode(value, key, `took at most ${nodes.text(value)}`, evaluate);
          }),
      }),
    tokens: (map) =>
      nodes.keys(map, {
        max(max) {
          const check = isLimited(runFields, "tokens", count(max));
          return [nodes.expectation(max, `run used at most ${nodes.text(max)} tokens`, check)];
        },
        nodes: (limits) =>
          nodes.entries(limits).map(({ key, value }) => {
            const evaluate = nodeUsed(named(key), count(value));
            return ofNode(value, key, `used at most ${nodes.text(value)} tokens`, evaluate);
          }),
      }),
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
