import type { Document, Node } from "yaml";
import { CliError, usage } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { parseYaml } from "../../../lib/yaml.ts";
import type { Check } from "./check.ts";
import { parseCheck } from "./parser.ts";

/** A file of expectations: the name of its suite and its checks. */
interface ExpectFile {
  readonly name: string | undefined;
  readonly checks: readonly Check[];
}

/** Maximum size of a file of expectations, in bytes. */
const MAX_SIZE = 1024 * 1024;

/** A sentence and the place of the file that it comes from. */
interface Sentence {
  readonly text: string;
  readonly at: Node;
}

/** Reads the sentences of each key that a mapping may have. */
type Keys = Readonly<Record<string, (value: Node) => Sentence[]>>;

/**
 * Reads a YAML file of expectations (`help expect`) and translates it to sentences. Throws `usage`
 * with the line of a mistake.
 */
export async function readExpectFile(path: string, files: Files): Promise<ExpectFile> {
  const yaml = await parseYaml(await contentOf(path, files), { strict: true });
  if ("problem" in yaml) throw usageAt(path, yaml.line, yaml.problem);
  const nodes = new YamlNodes(path, yaml, await import("yaml"));
  const { contents } = yaml.document;
  if (!contents) throw usageAt(path, 1, "the file has no expectations");
  let name: string | undefined;
  const sentences = nodes.keys(contents, {
    ...sections(nodes),
    name(value) {
      name = nodes.text(value);
      return [];
    },
  });
  if (sentences.length === 0) throw usageAt(path, 1, "the file has no expectations");
  const checks = sentences.map(({ at, text }): Check => {
    const line = nodes.lineOf(at);
    return { ...parseCheck(text, `${path} line ${line}:`), from: { path, line } };
  });
  return { name, checks };
}

const usageAt = (path: string, line: number, problem: string, hint?: string) =>
  usage(`${path} line ${line}: ${problem}`, hint ?? "run `wf help expect` for the keys of a file");

/** Typed access to the nodes of a YAML document. Throws `usage` for a node of another type. */
class YamlNodes {
  private readonly path: string;
  private readonly document: Document.Parsed;
  private readonly lineAt: (offset: number) => number;
  private readonly yaml: typeof import("yaml");

  constructor(
    path: string,
    {
      document,
      lineAt,
    }: { readonly document: Document.Parsed; readonly lineAt: (offset: number) => number },
    yaml: typeof import("yaml"),
  ) {
    this.path = path;
    this.document = document;
    this.lineAt = lineAt;
    this.yaml = yaml;
  }

  lineOf(node: Node): number {
    return this.lineAt(node.range?.[0] ?? 0);
  }

  error(node: Node, problem: string, hint?: string): CliError {
    return usageAt(this.path, this.lineOf(node), problem, hint);
  }

  /** The text of a scalar in the file: a node ID that looks like a number is text too. */
  text(node: Node): string {
    if (!this.yaml.isScalar(node) || node.value === null) throw this.error(node, "expected a text");
    return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
  }

  /** The text in quotes, for a sentence. */
  quoted(node: Node): string {
    return JSON.stringify(this.text(node));
  }

  boolean(node: Node): boolean {
    if (this.yaml.isScalar(node) && typeof node.value === "boolean") return node.value;
    throw this.error(node, "expected true or false");
  }

  json(node: Node): string {
    return JSON.stringify(node.toJS(this.document) ?? null);
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

  /** The sentences of a mapping with known keys. */
  keys(node: Node, table: Keys): Sentence[] {
    return this.entries(node).flatMap(({ key, name, value }) => {
      const known = Object.hasOwn(table, name) ? table[name] : undefined;
      if (known !== undefined) return known(value);
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

/** The sections of a file, each translated to sentences. */
function sections(nodes: YamlNodes): Keys {
  const sentence = (at: Node, text: string): Sentence[] => [{ at, text }];
  const perName = (list: Node, text: string) =>
    nodes.items(list).flatMap((item) => sentence(item, `node ${nodes.quoted(item)} ${text}`));
  const perNode = (map: Node, text: (limit: string) => string) =>
    nodes
      .entries(map)
      .flatMap(({ key, value }) =>
        sentence(value, `node ${nodes.quoted(key)} ${text(nodes.text(value))}`),
      );
  const chain = (list: Node) => {
    const names = nodes.items(list);
    if (names.length < 2) throw nodes.error(list, "expected two or more nodes");
    return names
      .slice(1)
      .flatMap((after, index) =>
        sentence(
          after,
          `node ${nodes.quoted(names[index] ?? after)} before ${nodes.quoted(after)}`,
        ),
      );
  };
  const output = (name: Node, claims: Node) => {
    const subject = `output ${nodes.quoted(name)}`;
    return nodes.keys(claims, {
      equals: (value) => sentence(value, `${subject} is ${nodes.json(value)}`),
      contains: (value) => sentence(value, `${subject} contains ${nodes.quoted(value)}`),
      matches: (value) => sentence(value, `${subject} matches ${patternText(nodes.text(value))}`),
      exists: (value) =>
        sentence(value, `${subject} ${nodes.boolean(value) ? "exists" : "does not exist"}`),
    });
  };
  return {
    name: () => [],
    checks: (list) => nodes.items(list).flatMap((item) => sentence(item, nodes.text(item))),
    required: (list) => perName(list, "ran"),
    forbidden: (list) => perName(list, "did not run"),
    order: (list) => nodes.items(list).flatMap(chain),
    within: (map) =>
      nodes.keys(map, {
        run: (limit) => sentence(limit, `run took at most ${nodes.text(limit)}`),
        nodes: (limits) => perNode(limits, (limit) => `took at most ${limit}`),
      }),
    tokens: (map) =>
      nodes.keys(map, {
        max: (limit) => sentence(limit, `run used at most ${nodes.text(limit)} tokens`),
        nodes: (limits) => perNode(limits, (limit) => `used at most ${limit} tokens`),
      }),
    outputs: (map) => nodes.entries(map).flatMap(({ key, value }) => output(key, value)),
  };
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
