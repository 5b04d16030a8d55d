import type { Node } from "yaml";
import { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import type { Check } from "./check.ts";
import { parseCheck } from "./parser.ts";
import { parseYaml } from "../../../lib/yaml.ts";

/** A file of expectations: what its suite is called and what it asks. */
interface ExpectFile {
  readonly name: string | undefined;
  readonly checks: readonly Check[];
}

/** Larger ones are no file of expectations. */
const largest = 1024 * 1024;

/** A sentence that a place of the file stands for. */
interface Sentence {
  readonly text: string;
  readonly at: Node;
}

/**
 * Reads a YAML file of expectations (`help expect`): everything in it becomes sentences. Throws
 * usage with the line of what does not fit.
 */
export async function readExpectFile(path: string, files: Files): Promise<ExpectFile> {
  const { isAlias, isMap, isScalar, isSeq } = await import("yaml");
  const yaml = await parseYaml(await contentOf(path, files), { strict: true });
  const wrongAt = (line: number, problem: string, hint?: string) =>
    new CliError("usage", `${path} line ${line}: ${problem}`, {
      sideEffect: "none",
      hint: hint ?? "`wf help expect` shows what a file holds",
    });
  if ("problem" in yaml) throw wrongAt(yaml.line, yaml.problem);
  const { document } = yaml;
  const lineOf = (node: Node) => yaml.lineAt(node.range?.[0] ?? 0);
  const wrong = (node: Node, problem: string, hint?: string) =>
    wrongAt(lineOf(node), problem, hint);

  /** The node an alias stands for; a missing value is reported at its key. */
  const real = (node: unknown, key: Node): Node => {
    const found = isAlias(node) ? node.resolve(document) : (node as Node | null | undefined);
    if (!found) throw wrong(key, "there is no value");
    return found;
  };
  const items = (node: Node): Node[] => {
    if (!isSeq(node)) throw wrong(node, "a list belongs here");
    return node.items.map((item) => real(item, node));
  };
  const entries = (node: Node): { key: Node; name: string; value: Node }[] => {
    if (!isMap(node)) throw wrong(node, "a mapping belongs here");
    return node.items.map((pair) => {
      const key = real(pair.key, node);
      return { key, name: textIn(key), value: real(pair.value, key) };
    });
  };
  /** As it stands there: a node id that looks like a number is text all the same. */
  const textIn = (node: Node): string => {
    if (!isScalar(node) || node.value === null) throw wrong(node, "a text belongs here");
    return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
  };
  const nameIn = (node: Node): string => JSON.stringify(textIn(node));
  const unknownKey = (key: Node, name: string, known: readonly string[]) => {
    const near = didYouMean(name, known);
    return wrong(
      key,
      `${JSON.stringify(name)} is not one of ${known.join(", ")}`,
      near === undefined ? undefined : `did you mean ${near}?`,
    );
  };
  /** Entries by a table of the keys that may be there. */
  const read = (node: Node, table: Readonly<Record<string, (value: Node) => Sentence[]>>) =>
    entries(node).flatMap(({ key, name, value }) => {
      const known = Object.hasOwn(table, name) ? table[name] : undefined;
      if (known === undefined) throw unknownKey(key, name, Object.keys(table));
      return known(value);
    });
  const said = (at: Node, text: string): Sentence[] => [{ at, text }];
  const perNode = (node: Node, text: (value: string) => string): Sentence[] =>
    entries(node).flatMap(({ key, value }) =>
      said(value, `node ${nameIn(key)} ${text(textIn(value))}`),
    );
  const perName = (node: Node, text: string): Sentence[] =>
    items(node).flatMap((item) => said(item, `node ${nameIn(item)} ${text}`));

  const ofOutput = (output: string, node: Node): Sentence[] =>
    read(node, {
      equals: (value) =>
        said(value, `${output} is ${JSON.stringify(value.toJS(document) ?? null)}`),
      contains: (value) => said(value, `${output} contains ${nameIn(value)}`),
      matches: (value) => said(value, `${output} matches ${patternText(textIn(value))}`),
      exists(value) {
        if (!isScalar(value) || typeof value.value !== "boolean")
          throw wrong(value, "true or false belongs here");
        return said(value, `${output} ${value.value ? "exists" : "does not exist"}`);
      },
    });

  let name: string | undefined;
  const sections: Readonly<Record<string, (value: Node) => Sentence[]>> = {
    name(value) {
      name = textIn(value);
      return [];
    },
    checks: (value) => items(value).flatMap((item) => said(item, textIn(item))),
    required: (value) => perName(value, "ran"),
    forbidden: (value) => perName(value, "did not run"),
    order: (value) =>
      items(value).flatMap((chain) => {
        const nodes = items(chain);
        if (nodes.length < 2) throw wrong(chain, "an order has two nodes or more");
        return nodes
          .slice(1)
          .flatMap((after, index) =>
            said(after, `node ${nameIn(nodes[index] ?? after)} before ${nameIn(after)}`),
          );
      }),
    within: (value) =>
      read(value, {
        run: (limit) => said(limit, `run took at most ${textIn(limit)}`),
        nodes: (limits) => perNode(limits, (limit) => `took at most ${limit}`),
      }),
    tokens: (value) =>
      read(value, {
        max: (limit) => said(limit, `run used at most ${textIn(limit)} tokens`),
        nodes: (limits) => perNode(limits, (limit) => `used at most ${limit} tokens`),
      }),
    outputs: (value) =>
      entries(value).flatMap(({ key, value: claims }) => ofOutput(`output ${nameIn(key)}`, claims)),
  };

  if (!document.contents) throw wrongAt(1, "the file expects nothing");
  const checks = read(document.contents, sections).map(({ at, text }): Check => {
    const line = lineOf(at);
    return { ...parseCheck(text, `${path} line ${line}:`), from: { path, line } };
  });
  if (checks.length === 0) throw wrongAt(1, "the file expects nothing");
  return { name, checks };
}

/** `/refund/i` as it is, anything else as the inside of a pattern. */
const patternText = (text: string): string =>
  /^\/.*\/\w*$/s.test(text)
    ? text
    : `/${text.replace(/\\.|\//gs, (found) => (found === "/" ? "\\/" : found))}/`;

async function contentOf(path: string, files: Files): Promise<string> {
  const found = await files.stat(path);
  const problem =
    found === null
      ? "file not found"
      : found.isDirectory
        ? "this is a folder"
        : found.size > largest
          ? "the file is larger than 1 MiB"
          : undefined;
  if (problem !== undefined) {
    throw new CliError("usage", `--expect ${path}: ${problem}`, {
      sideEffect: "none",
      hint: "what ends in .yml or .yaml is a file, everything else a sentence",
    });
  }
  return new TextDecoder().decode(await files.read(path));
}
