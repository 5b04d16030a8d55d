/** What tokens cost, and metrics of runs; figures by hand. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ models: true });
const home = await temporaryDirectory();
const wf = (...argv: string[]) => server.cli(["wf", ...argv], { folder: home });

/** Rows of a log: two days, 3,000,000 tokens in all. */
const rows = [
  { at: 1795219614, tokens: 1_000_000, status: "succeeded", elapsed: 2 },
  { at: 1795219700, tokens: 500_000, status: "failed", elapsed: 0.4 },
  { at: 1795306100, tokens: 1_500_000, status: "succeeded", elapsed: 70 },
];
const log = join(home, "november.jsonl");
await writeFile(
  log,
  rows
    .map(({ at, tokens, status, elapsed }, index) =>
      JSON.stringify({
        id: String(index),
        created_at: at,
        workflow_run: { id: `r${index}`, status, total_tokens: tokens, elapsed_time: elapsed },
      }),
    )
    .join("\n"),
);
const prices = async (text: string) => {
  const file = join(home, "prices.yaml");
  await writeFile(file, text);
  return file;
};

test("tokens without a model have the price total, by day", async () => {
  const file = await prices("currency: EUR\ntotal: 2\n");
  // A file needs no server.
  const line = ["wf", "cost", "--prices", file, "--from", log, "--utc", "-o", "json"];
  const ran = await cli(line, { folder: home });
  expect(ran.exit, ran.err).toBe(0);
  const data = JSON.parse(ran.out);
  expect(data).toMatchObject({ currency: "EUR", cost: 6, tokens: 3_000_000, unpriced_tokens: 0 });
  expect(
    data.rows.map((row: Record<string, unknown>) => [row["day"], row["tokens"], row["cost"]]),
  ).toEqual([
    ["2026-11-21", 1_000_000 + 500_000, 3],
    ["2026-11-22", 1_500_000, 3],
  ]);
  expect(data.rows[0]).toMatchObject({ model: null, input: null, output: null });
});

test("without a price there is no cost, and the report says how many tokens that are", async () => {
  const file = await prices("currency: EUR\nmodels: { m: { input: 1, output: 2 } }\n");
  const ran = await wf("cost", "--prices", file, "--from", log, "-o", "json");
  expect(JSON.parse(ran.out)).toMatchObject({ cost: 0, unpriced_tokens: 3_000_000 });
  const shown = await wf("cost", "--prices", file, "--from", log, "-o", "md");
  expect(shown.out).toContain("model unknown: 3,000,000 tokens of 3 runs; no cost");
});

test("the tokens of a recorded run are those of its models", async () => {
  const record = join(home, "write.jsonl");
  await server.done(["wf", "--app", "write", "run", "query=x", "--record", record, "-o", "jsonl"], {
    folder: home,
  });
  const file = await prices("currency: USD\ntotal: 0\n");
  const first = JSON.parse(
    (await wf("--app", "write", "cost", "--prices", file, "-o", "json")).out,
  );
  const [row] = first.rows.filter(({ model }: { model: string | null }) => model !== null);
  expect(first.unpriced_models).toEqual([row.model]);
  const priced = await prices(
    `currency: USD\ntotal: 0\nmodels: { ${row.model.split("/")[1]}: { input: 1000000, output: 2000000 } }\n`,
  );
  const { cost } = JSON.parse(
    (await wf("--app", "write", "cost", "--prices", priced, "-o", "json")).out,
  );
  expect(cost).toBe(row.input + 2 * row.output);
});

test.each([
  ["total: 1\n", "currency is missing"],
  ["currency: EUR\ntotal: -1\n", "line 2: expected a price of at least 0"],
  ["currency: EUR\nmodels: { m: { input: 1 } }\n", "expected the prices input and output"],
])("prices %j: %s", async (text, problem) => {
  const ran = await wf("cost", "--prices", await prices(text), "--from", log);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(problem);
});

test("runs as OpenMetrics", async () => {
  const ran = await wf("stats", "--from", log, "-o", "openmetrics");
  expect(ran.exit, ran.err).toBe(0);
  const lines = ran.out.split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      "# TYPE wf_runs counter",
      'wf_runs_total{status="succeeded"} 2',
      'wf_runs_total{status="failed"} 1',
      'wf_run_duration_seconds_bucket{le="0.5"} 1',
      'wf_run_duration_seconds_bucket{le="2.5"} 2',
      'wf_run_duration_seconds_bucket{le="+Inf"} 3',
      "wf_run_duration_seconds_count 3",
      "wf_run_duration_seconds_sum 72.4",
      "wf_run_tokens_total 3000000",
      "wf_stats_complete 1",
    ]),
  );
  expect(ran.out.endsWith("# EOF\n")).toBe(true);
});

test("problems of a knowledge base as OpenMetrics", async () => {
  await server.done(["kb", "create", 'A "quoted" name', "--indexing-technique", "economy"]);
  const ran = await server.cli(["kb", "check", 'A "quoted" name', "-o", "openmetrics"]);
  expect(ran.out).toContain('knowledge_base="A \\"quoted\\" name"');
  expect(ran.out.endsWith("# EOF\n")).toBe(true);
});
