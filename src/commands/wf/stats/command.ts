import { getAppInfo } from "../../../operations/apps.ts";
import { local, report } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { FieldKind } from "../../conditions/index.ts";
import { task } from "../../task/command-spec.ts";
import { logFilters } from "../logs/index.ts";

/** Figures about runs and their kinds, in display order. */
export const figureKinds = {
  runs: "number",
  running: "number",
  paused: "number",
  ended: "number",
  succeeded: "share",
  partial: "share",
  failed: "share",
  stopped: "share",
  failed_runs: "number",
  p50: "seconds",
  p95: "seconds",
  p99: "seconds",
  max: "seconds",
  tokens: "number",
  tokens_p50: "number",
  tokens_p95: "number",
  steps: "number",
} as const satisfies Readonly<Record<string, FieldKind>>;

export type FigureName = keyof typeof figureKinds;

export const figureNames = Object.keys(figureKinds) as FigureName[]; // the keys of a constant

/** Fields by which runs can be grouped. */
export const groupings = ["version", "user"] as const;

export type Grouping = (typeof groupings)[number];

/** Calendar periods by which runs can be grouped. */
export const units = ["hour", "day", "month"] as const;

export type Unit = (typeof units)[number];

export const statsParams = {
  ...logFilters,
  created_at__after: {
    ...logFilters.created_at__after,
    help: "Only runs since this time (default 24h; of a file, all)",
  },
  from: local.file("Read runs from a file of `wf logs -o jsonl`"),
  by: local.choice([...groupings, ...units], "Also show statistics for each of these", {
    many: true,
    meant: ["--group-by", "--interval"],
  }),
  top: local.integer("Maximum rows of each list (default 10)", { range: [1, 10_000] }),
  no_compare: local.flag("Do not compare with the preceding period"),
  fail_if: local.text(
    `Exit with code 14 if true, e.g. 'p95>20s' or 'failed>2%' (figures: ${Object.keys(figureKinds).join(", ")})`,
    { placeholder: "condition", many: true, names: Object.keys(figureKinds) },
  ),
  pass_without_runs: local.flag("Let conditions without data pass"),
};

export const workflowStats = task({
  command: "wf stats",
  tool: { without: ["fail_if", "pass_without_runs"] },
  action: "compute statistics",
  meant: ["metrics", "statistics"],
  summary: "Show statistics about the runs of the workflow",
  about:
    "Reads the runs of the last 24 hours, since --since, or from the file of --from. Shares,\ntimes and tokens are of runs that have ended; percentiles use the nearest rank. Times exclude runs\nthat were paused: the server does not store how long they waited. The preceding period of the same\nlength is read for comparison.\n\nA terminal shows one screen, with hours, days or months only if --by asks for them; -o wide shows all\ntables.\n\nIf a condition of --fail-if is true, or no run has data for it, the exit code is 14: a check without\ndata must not pass.",
  params: statsParams,
  returns: { ...report, texts: ["openmetrics"] },
  wraps: listWorkflowLogs,
  effect: "reads",
  exits: ["partial", "gate"],
  examples: [
    "wf stats --since 7d --by version",
    "wf stats --since 1h --fail-if 'p95>20s' --fail-if 'failed>2%'",
    "wf stats --from november.jsonl -o md",
    "wf stats --since 2026-11-01 -o openmetrics",
  ],
});

export const costParams = {
  prices: local.text("YAML file: models: {gpt-4o: {input: 2.5, output: 10}}, per million tokens", {
    placeholder: "file",
    required,
    length: [1, 4096],
  }),
  ...logFilters,
  created_at__after: statsParams.created_at__after,
  from: statsParams.from,
};

export const workflowCost = task({
  command: "wf cost",
  action: "compute costs",
  summary: "Show what the tokens of runs cost, by application, day and model",
  about:
    "The log has the tokens of a run, but not their models: these are known of runs that were recorded on\nthis machine (--record). Tokens of other runs have the price `total` of the file, or none, and a note\nsays how many they are. Prices are per million tokens. --app can be repeated.",
  manyApps: true,
  params: costParams,
  returns: report,
  sends: [getAppInfo],
  wraps: listWorkflowLogs,
  effect: "reads",
  exits: ["partial"],
  examples: [
    "wf cost --prices prices.yaml --since 30d",
    "wf cost --prices prices.yaml --from november.jsonl -o csv",
  ],
});
