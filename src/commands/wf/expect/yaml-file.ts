import type { Node } from "yaml";
import type { Files } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { own, stringifyJson } from "../../../lib/json.ts";
import type { Expectation } from "./run-scope.ts";
import { readYamlNodes } from "./yaml-nodes.ts";
import type { Keys, YamlNodes } from "./yaml-nodes.ts";

/**
 * Reads a YAML file of expectations (`help conditions`): the name of its suite and its checks. Throws
 * `usage` with the line of a mistake.
 */
export async function readExpectFile(path: string, files: Files) {
  const { nodes, contents, error } = await readYamlNodes(path, files, {
    label: `--expect ${path}`,
    hint: "an expectation that ends in .yml or .yaml is a file, any other text a sentence",
    keysHint: `run ${commandLine("wf help", ["conditions"])} for the keys of a file`,
  });
  let name: string | undefined;
  const nameKey = (value: Node) => {
    name = nodes.text(value);
    return [];
  };
  const checks = contents ? readChecks(nodes, contents, { name: nameKey }) : [];
  if (checks.length === 0) throw error("the file has no expectations");
  return { name, checks };
}

/**
 * Reads the conditions under `checks` of a mapping, which may have the other keys, too. A key that said
 * the same in another spelling is refused with the conditions as lines to paste.
 */
export const readChecks = (
  nodes: YamlNodes,
  mapping: Node,
  others: Keys<Expectation> = {},
): Expectation[] =>
  nodes.keys(
    mapping,
    { ...others, checks: (list) => nodes.items(list).map(nodes.sentence) },
    ({ key, name, value }) => {
      const conditionsOf = own(formerKeys(nodes), name);
      if (!conditionsOf) return undefined;
      const error = nodes.error(key, `${JSON.stringify(name)} is no longer a key: use checks`);
      const lines = listItems(() => conditionsOf(value));
      throw error.with({ details: { mistakes: [error.message, ...lines] } });
    },
  );

/** The conditions as items of a YAML list, or what is wrong with the value that they are made of. */
function listItems(conditions: () => readonly string[]): string[] {
  try {
    return conditions().map((condition) => `- '${condition.replaceAll("'", "''")}'`);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** The conditions that say what each former key said. */
function formerKeys({ boolean, entries, items, json, keys, text }: YamlNodes): Keys<string> {
  const quoted = (node: Node) => JSON.stringify(text(node));
  const limits = (ofRun: string, claim: (limit: string) => string) => (map: Node) =>
    keys(map, {
      [ofRun]: (limit) => [`run ${claim(text(limit))}`],
      nodes: (each) =>
        entries(each).map(({ key, value }) => `node ${quoted(key)} ${claim(text(value))}`),
    });
  const pattern = (source: string) =>
    /^\/.*\/\w*$/s.test(source) ? source : String(new RegExp(source)); // with escaped slashes
  const claims: Keys<string> = {
    equals: (value) => [`is ${stringifyJson(json(value))}`],
    contains: (part) => [`contains ${quoted(part)}`],
    matches: (source) => [`matches ${pattern(text(source))}`],
    exists: (expected) => [boolean(expected) ? "exists" : "does not exist"],
  };
  return {
    required: (list) => items(list).map((node) => `node ${quoted(node)} ran`),
    forbidden: (list) => items(list).map((node) => `node ${quoted(node)} did not run`),
    order: (lists) =>
      items(lists).flatMap((list) => {
        const nodes = items(list).map(quoted);
        return nodes.slice(1).map((after, index) => `node ${nodes[index]} before ${after}`);
      }),
    within: limits("run", (time) => `took at most ${time}`),
    tokens: limits("max", (count) => `used at most ${count} tokens`),
    outputs: (map) =>
      entries(map).flatMap(({ name, value }) =>
        keys(value, claims).map((claim) => `output ${JSON.stringify(name)} ${claim}`),
      ),
  };
}
