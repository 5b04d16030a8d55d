import type { Document, Node } from "yaml";
import { CliError, usage } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import { own, valueAt } from "../../../lib/json.ts";
import { decodeUtf8 } from "../../../lib/text.ts";
import { parseExpectation } from "./run-scope.ts";
import type { Expectation } from "./run-scope.ts";

/** Maximum size of a file, in bytes. */
export const MAX_YAML_SIZE = 1024 * 1024;

/** A part of a YAML document. */
export type YamlNode = Node;

/** Reads what each key that a mapping may have contains. */
export type Keys<T> = Readonly<Record<string, (value: Node) => T[]>>;

/** Reads each of several parts. Throws the first mistake, with all others in its details. */
export function readEach<Part, T>(parts: readonly Part[], read: (part: Part) => T[]): T[] {
  const mistakes: CliError[] = [];
  const values = parts.flatMap((part) => {
    try {
      return read(part);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      mistakes.push(error);
      return [];
    }
  });
  const [first] = mistakes;
  if (!first) return values;
  const all = mistakes.flatMap(({ message, info }) => {
    const inner = valueAt(info.details, "mistakes"); // its own message included
    return Array.isArray(inner) ? inner.map(String) : [message];
  });
  throw all.length > 1 ? first.with({ details: { mistakes: all } }) : first;
}

/** Reads a YAML file. Throws `usage`: with the label and the hint if that is impossible, or with the line of a mistake. */
export async function readYamlNodes(
  path: string,
  files: Files,
  about: { readonly label: string; readonly hint: string; readonly keysHint: string },
) {
  const text = await contentOf(path, files, about);
  const place = (line: number) => `${path} line ${line}`;
  const fail = (line: number, problem: string) =>
    usage(`${place(line)}: ${problem}`, about.keysHint);
  const yaml = await parseYaml(text, { strict: true });
  if ("problem" in yaml) throw fail(yaml.line, yaml.problem);
  const nodes = yamlNodes({ path, place, hint: about.keysHint }, yaml, await import("yaml"));
  /** The error for a problem of the whole file. */
  const error = (problem: string) => fail(1, problem);
  // An empty file has no contents.
  const contents: Node | null = yaml.document.contents;
  return { nodes, contents, text, error };
}

/** Makes nodes of JSON values, such as cells of rows, so that they are read like parts of a YAML file. */
export async function valueReader() {
  const yaml = await import("yaml");
  return (value: unknown, line: number, source: YamlPlace) => {
    const document = new yaml.Document(value, { aliasDuplicateObjects: false });
    const nodes = yamlNodes(source, { document, lineAt: () => line }, yaml);
    return { nodes, root: document.contents ?? document.createNode(null) };
  };
}

/** A key of a mapping and its value. */
interface Entry {
  readonly key: Node;
  readonly name: string;
  readonly value: Node;
}

export type YamlNodes = ReturnType<typeof yamlNodes>;

/** How errors name a file and a line of it, and the hint of most of them. */
interface YamlPlace {
  readonly path: string;
  readonly place: (line: number) => string;
  readonly hint: string;
}

/** Typed access to the nodes of a YAML document. Its functions throw `usage` for a node of another type. */
function yamlNodes(
  { path, place, hint: usualHint }: YamlPlace,
  file: { readonly document: Document; readonly lineAt: (offset: number) => number },
  { isAlias, isMap, isScalar, isSeq }: typeof import("yaml"),
) {
  const lineOf = (node: Node) => file.lineAt(node.range?.[0] ?? 0);
  const source = (node: Node) => `${place(lineOf(node))}:`;
  const from = (node: Node) => ({ path, line: lineOf(node) });
  const error = (node: Node, problem: string, hint = usualHint) =>
    usage(`${source(node)} ${problem}`, hint);

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
  /** With those of merge keys (<<), of which the parser allows few and none that name themselves. */
  const entries = (node: Node): Entry[] => {
    if (!isMap(node)) throw error(node, "expected a mapping");
    const all = node.items.map((pair) => {
      const key = resolve(pair.key, node);
      return { key, name: text(key), value: resolve(pair.value, key) };
    });
    const merged = all.flatMap(({ key, name, value }) => {
      if (name !== "<<") return [];
      return (isSeq(value) ? value.items : [value]).flatMap((each) => entries(resolve(each, key)));
    });
    const unmerged = all.filter(({ name }) => name !== "<<");
    return merged.length === 0 ? unmerged : firstOfEach([...unmerged, ...merged]);
  };
  return {
    error,
    text,
    entries,
    from,
    isList: isSeq,
    isMapping: isMap,
    items(node: Node): Node[] {
      if (!isSeq(node)) throw error(node, "expected a list");
      return node.items.map((item) => resolve(item, node));
    },
    boolean(node: Node): boolean {
      if (isScalar(node) && typeof node.value === "boolean") return node.value;
      throw error(node, "expected true or false");
    },
    number(node: Node): number {
      if (isScalar(node) && typeof node.value === "number") return node.value;
      throw error(node, "expected a number");
    },
    choice(node: Node, values: readonly string[]): string {
      const word = text(node);
      if (values.includes(word)) return word;
      throw error(node, ...unknownWord(word, values));
    },
    json: (node: Node): unknown => node.toJS(file.document) ?? null,
    sentence: (node: Node): Expectation => ({
      ...parseExpectation(text(node), source(node)),
      from: from(node),
    }),
    /** What a mapping with known keys contains; `other` reads a further one, or returns undefined. */
    keys: <T>(node: Node, table: Keys<T>, other?: (entry: Entry) => T[] | undefined): T[] =>
      readEach(entries(node), (entry) => {
        const values = own(table, entry.name)?.(entry.value) ?? other?.(entry);
        if (values) return values;
        throw error(entry.key, ...unknownWord(entry.name, Object.keys(table)));
      }),
  };
}

/** Of entries with one name, the first wins. */
const firstOfEach = (entries: readonly Entry[]): Entry[] =>
  [...new Map(entries.toReversed().map((each) => [each.name, each])).values()].toReversed();

/** The problem of a word that is none of the names, and a hint. */
function unknownWord(word: string, names: readonly string[]): [problem: string, hint?: string] {
  const near = didYouMean(word, names);
  const problem = `${JSON.stringify(word)} is not one of ${names.join(", ")}`;
  return near === undefined ? [problem] : [problem, `did you mean ${near}?`];
}

async function contentOf(
  path: string,
  files: Files,
  { label, hint }: { readonly label: string; readonly hint: string },
): Promise<string> {
  const stat = await files.stat(path);
  const fail = (problem: string) => usage(`${label}: ${problem}`, hint);
  if (stat === null) throw fail("file not found");
  if (stat.isDirectory) throw fail("is a directory");
  if (stat.size > MAX_YAML_SIZE) throw fail("file larger than 1 MiB");
  const text = decodeUtf8(await files.read(path));
  if (text === undefined) throw fail("is not UTF-8 (UTF-16?)");
  return text;
}
