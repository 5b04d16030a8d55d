import { dirname, join } from "node:path";
import { usage } from "../../../../errors.ts";
import { requireNear } from "../../../../host/safe-path.ts";
import { readRowFile } from "../../../../lib/formats/rows-file.ts";
import { isObject } from "../../../../lib/json.ts";
import { decodeUtf8 } from "../../../../lib/text.ts";
import type { Context } from "../../../task/command-spec.ts";
import { readInput } from "../../../task/files.ts";
import { readYamlNodes } from "../../../wf/expect/index.ts";
import type { YamlNode, YamlNodes } from "../../../wf/expect/index.ts";
import { caseOfRow, draftOf } from "./promptfoo-tests.ts";
import type { PromptfooChoices, TestCase } from "./promptfoo-tests.ts";

/**
 * Reads a configuration of promptfoo (its format: promptfoo.dev/docs/configuration). Code is listed and
 * never run; files are read only below the directory of the configuration. Gives the tests, and what has no
 * place in a suite, with its line. Throws `usage` for a file that cannot be read.
 */
export async function promptfooDrafts(path: string, choices: PromptfooChoices, context: Context) {
  const others: string[] = [];
  const files = configFiles(path, others, context);
  const { nodes, node } = await files.yaml(path);
  const found = new Map(nodes.entries(node).map((each) => [each.name, each]));
  const [tests, prompts, defaults] = ["tests", "prompts", "defaultTest"].map((name) =>
    found.get(name),
  );
  if (!tests) throw usage(`${path}: no tests`, "name a configuration of promptfoo with tests");
  const unused = (key: YamlNode, what: string) =>
    others.push(`${path} line ${nodes.from(key).line}: ${what}`);
  for (const [name, { key }] of found)
    if (!["description", "prompts", "tests", "defaultTest"].includes(name)) unused(key, name);
  const texts = prompts ? [await files.withContents(nodes.json(prompts.value))].flat() : [];
  const templates = texts.flatMap((each) => {
    const text = isObject(each) ? each["raw"] : each;
    return typeof text === "string" && !text.startsWith("file://") ? [text] : [];
  });
  if (prompts && templates.length < texts.length) unused(prompts.key, "prompts that are code");
  if (prompts && templates.length > 1) unused(prompts.key, "prompts after the first");
  const [base] = defaults ? await files.cases(nodes, defaults.value) : [];
  const cases = await files.cases(nodes, tests.value);
  const drafts = cases.map((each) => draftOf(each, { base, templates, choices, others }));
  return { drafts, others: [...new Set(others)] };
}

/** Reads the files of a configuration. */
function configFiles(config: string, others: string[], { host, options }: Context) {
  const near = async (name: string) => {
    const path = join(dirname(config), name.replace(/^file:\/\//, ""));
    await requireNear(path, { file: config, allowed: options.flags.allowFiles }, host);
    return path;
  };
  const yaml = async (path: string) => {
    const hint = "name a configuration of promptfoo: a YAML file with tests";
    const about = { label: path, hint, keysHint: hint };
    const { nodes, contents, error } = await readYamlNodes(path, host.files, about);
    if (!contents) throw error("the file is empty");
    return { nodes, node: contents };
  };
  /** A value with the contents of the text files that it names. */
  const withContents = async (value: unknown): Promise<unknown> => {
    if (typeof value === "string") {
      if (!/^file:\/\/.*\.(txt|md|json|ya?ml)$/i.test(value)) return value;
      return decodeUtf8(await readInput(await near(value), host))?.trim() ?? value;
    }
    if (Array.isArray(value)) return Promise.all(value.map(withContents));
    if (!isObject(value)) return value;
    const contents = await Promise.all(Object.values(value).map(withContents));
    return Object.fromEntries(Object.keys(value).map((name, index) => [name, contents[index]]));
  };
  const rows = async (path: string): Promise<TestCase[]> => {
    const { rows: all, columns } = await readRowFile(path, await readInput(path, host));
    return all.map(({ line, values }) => {
      const place = `${path} line ${line}`;
      return { place, json: columns ? caseOfRow(values) : values, asserts: [] };
    });
  };
  /** Files that were read: one that is named again has no further tests. */
  const known = new Set<string>();
  /** The tests of a list, and of the files that it names; `inside` are those that lead there. */
  const cases = async (
    nodes: YamlNodes,
    node: YamlNode,
    inside: readonly string[] = [],
  ): Promise<TestCase[]> => {
    const placeOf = (part: YamlNode) => `${nodes.from(part).path} line ${nodes.from(part).line}`;
    if (nodes.isList(node)) {
      const all: TestCase[][] = [];
      for (const item of nodes.items(node)) all.push(await cases(nodes, item, inside));
      return all.flat();
    }
    if (nodes.isMapping(node)) {
      const asserts = nodes.entries(node).find(({ name }) => name === "assert")?.value;
      const places = asserts && nodes.isList(asserts) ? nodes.items(asserts).map(placeOf) : [];
      const json = await withContents(nodes.json(node));
      return [{ place: placeOf(node), json: isObject(json) ? json : {}, asserts: places }];
    }
    const name = nodes.text(node);
    const isTable = /\.(csv|jsonl|ndjson)$/i.test(name);
    if (!isTable && !/^[^*]*\.(ya?ml|json)$/i.test(name)) {
      others.push(`${placeOf(node)}: tests of ${name}`);
      return [];
    }
    const path = await near(name);
    if (inside.includes(path)) throw usage(`${path} names itself`);
    if (known.has(path)) return [];
    known.add(path);
    if (isTable) return rows(path);
    const file = await yaml(path);
    return cases(file.nodes, file.node, [...inside, path]);
  };
  return { yaml, withContents, cases };
}
