import type { Files } from "../../../host/host.ts";
import { readYamlNodes } from "../expect/index.ts";
import type { YamlNode } from "../expect/index.ts";

/** Prices of a million tokens, in one currency. */
export type Prices = Awaited<ReturnType<typeof readPrices>>;

/** Reads a file of prices. Throws `usage` with the line of a mistake. */
export async function readPrices(path: string, files: Files) {
  const hint =
    "for example, per million tokens: models: { gpt-4o: { input: 2.50, output: 10.00 } }";
  const about = { label: `--prices ${path}`, hint, keysHint: hint };
  const { nodes, contents, error } = await readYamlNodes(path, files, about);
  if (contents === null) throw error("the file is empty");
  const amount = (node: YamlNode): number => {
    const value = nodes.number(node);
    if (value >= 0 && value < Infinity) return value;
    throw nodes.error(node, "expected a price of at least 0");
  };
  const priceOf = (node: YamlNode) => {
    let input: number | undefined;
    let output: number | undefined;
    nodes.keys(node, {
      input: (value) => [(input = amount(value))],
      output: (value) => [(output = amount(value))],
    });
    if (input !== undefined && output !== undefined) return { input, output };
    throw nodes.error(node, "expected the prices input and output");
  };
  let currency: string | undefined;
  let total: number | undefined;
  const models = new Map<string, ReturnType<typeof priceOf>>();
  nodes.keys<unknown>(contents, {
    currency: (node) => [(currency = nodes.text(node))],
    total: (node) => [(total = amount(node))],
    models: (node) =>
      nodes.entries(node).map(({ name, value }) => models.set(name, priceOf(value))),
  });
  if (currency === undefined) throw error("currency is missing");
  return {
    currency,
    /** The price if neither the model nor the kind of tokens is known. */
    total,
    /** The price of a model, which is named with or without its provider. */
    of: (model: string) => models.get(model) ?? models.get(model.replace(/^[^/]*\//, "")),
  };
}
