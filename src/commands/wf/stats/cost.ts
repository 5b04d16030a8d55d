import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { groupDigits, localClock, sum } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { knownApplication } from "../app/index.ts";
import { logQuery } from "../logs/index.ts";
import type { LoggedRun } from "../logs/index.ts";
import { savedRecordings } from "../recording/index.ts";
import type { costParams } from "./command.ts";
import { readRuns } from "./sources.ts";
import type { Files } from "../../../host/host.ts";
import { readYamlNodes } from "../expect/index.ts";
import type { YamlNode } from "../expect/index.ts";

/** Prices of a million tokens, in one currency. */
type Prices = Awaited<ReturnType<typeof readPrices>>;

/** Reads a file of prices. Throws `usage` with the line of a mistake. */
async function readPrices(path: string, files: Files) {
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

type CostInput = Input<typeof costParams>;

/** Tokens of a day: of a model, or with null those whose model is unknown. */
interface CostRow {
  readonly application: string | null;
  readonly day: string | null;
  readonly model: string | null;
  runs: number;
  input: number;
  output: number;
  tokens: number;
}

/**
 * Shows what the tokens of runs cost. Which model used them is known of runs that were recorded on this machine;
 * the tokens of others have the price `total`. Throws, as a result, `partial` if not all runs could be read.
 */
export async function* run(input: CostInput, context: Context): AsyncGenerator<Report> {
  const prices = await readPrices(input.prices, context.host.files);
  const { apps = [] } = context.options.flags;
  if (input.from && apps.length > 1) throw usage("--from cannot be used with several applications");
  const rows = new Map<string, CostRow>();
  let incomplete: CliError | undefined;
  for (const of of apps.length > 1 ? apps.map((app) => context.with({ app })) : [context]) {
    const error = await addRuns(input, rows, of);
    incomplete ??= error;
  }
  yield reportOf([...rows.values()], prices, incomplete);
  if (incomplete) throw incomplete;
}

/** Adds the tokens of the runs of an application. Returns the error of an incomplete read. */
async function addRuns(input: CostInput, rows: Map<string, CostRow>, context: Context) {
  const query = logQuery(input);
  const application = input.from ? null : ((await knownApplication(context))?.name ?? null);
  const clock = localClock(context.options.timeZone());
  const recordings = await savedRecordings(context);
  const recorded: { readonly run: string; readonly day: string | null; readonly all: number }[] =
    [];
  const add = (day: string | null, model: string | null) => {
    const key = JSON.stringify([application, day, model]);
    const row = rows.get(key) ?? {
      application,
      day,
      model,
      runs: 0,
      input: 0,
      output: 0,
      tokens: 0,
    };
    rows.set(key, row);
    row.runs++;
    return row;
  };
  const sink = {
    now({ run, at, tokens: all = 0 }: LoggedRun) {
      const day = at === undefined ? null : clock(at).slice(0, 10);
      if (run !== undefined && recordings.has(run)) recorded.push({ run, day, all });
      else if (all > 0) add(day, null).tokens += all;
    },
    before: undefined,
  };
  const { incomplete } = await readRuns(input, query, sink, context);
  for (const { run, day, all } of recorded) {
    const uses = ((await recordings.load(run))?.trace.nodes ?? []).flatMap(
      ({ model }) => model ?? [],
    );
    let rest = all;
    const used = groupBy(uses, ({ provider, model }) => `${provider}/${model}`);
    for (const [model, calls] of used) {
      const row = add(day, model);
      for (const { input = 0, output = 0 } of calls) {
        row.input += input;
        row.output += output;
        row.tokens += input + output;
        rest -= input + output;
      }
    }
    if (rest > 0) add(day, null).tokens += rest;
  }
  return incomplete;
}

/** What the tokens of a row cost; null without a price. */
function costOf({ model, input, output, tokens }: CostRow, prices: Prices): number | null {
  const price = model === null ? undefined : prices.of(model);
  const blended = model === null ? prices.total : undefined;
  const all = price ? input * price.input + output * price.output : tokens * (blended ?? NaN);
  return Number.isNaN(all) ? null : rounded(all / 1_000_000);
}

const rounded = (amount: number): number => Number(amount.toFixed(6));

function reportOf(
  all: readonly CostRow[],
  prices: Prices,
  incomplete: CliError | undefined,
): Report {
  const { currency, total } = prices;
  const orderOf = ({ application, day, model }: Pick<CostRow, "application" | "day" | "model">) =>
    `${application ?? ""}\0${day ?? ""}\0${model ?? "\uffff"}`;
  const rows = all
    .map((row) => ({
      ...row,
      ...(row.model === null && { input: null, output: null }),
      cost: costOf(row, prices),
    }))
    .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const unpriced = rows.filter((row) => row.cost === null);
  const unknown = rows.filter(({ model }) => model === null);
  const tokensIn = (some: readonly { readonly tokens: number }[]) =>
    sum(some.map(({ tokens }) => tokens));
  const data = {
    currency,
    complete: incomplete === undefined,
    cost: rounded(sum(rows.map((row) => row.cost ?? 0))),
    tokens: tokensIn(rows),
    unpriced_tokens: tokensIn(unpriced),
    unpriced_models: [...new Set(unpriced.flatMap(({ model }) => model ?? []))],
    unattributed_tokens: tokensIn(unknown),
    rows,
  };
  const priced = groupDigits(data.tokens - data.unpriced_tokens);
  const runs = counted(sum(unknown.map((row) => row.runs)), "run");
  const how =
    total === undefined
      ? "no cost, because the prices have no `total`"
      : `priced at the \`total\` of ${total} ${currency} per million`;
  const notes = [
    `${data.cost} ${currency} for ${priced} of ${groupDigits(data.tokens)} tokens`,
    ...data.unpriced_models.map((model) => `no price for model ${model}`),
    ...(unknown.length > 0
      ? [`model unknown: ${groupDigits(data.unattributed_tokens)} tokens of ${runs}; ${how}`]
      : []),
    "not in the log: tokens of failed and stopped runs, of embeddings and of reranking",
    ...(incomplete ? [`incomplete: ${incomplete.message}`] : []),
  ];
  const columns = [
    "application",
    "day",
    "model",
    "runs",
    "input",
    "output",
    "tokens",
    "cost",
  ] as const;
  const section = {
    title: `Cost in ${currency}`,
    columns: columns.map((name, index) => (index < 3 ? left(name) : right(name))),
    rows: rows.map((row) => columns.map((name) => row[name])),
    notes,
  };
  return { data, title: section.title, sections: [section] };
}
