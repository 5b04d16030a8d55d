import { histogram, openMetrics } from "../../../lib/formats/openmetrics.ts";
import type { MetricFamily } from "../../../lib/formats/openmetrics.ts";
import type { Context } from "../../task/command-spec.ts";
import { knownApplication } from "../app/index.ts";
import type { StatsData } from "./data.ts";
import type { StatsCounts } from "./figures.ts";

/** Upper bounds of the buckets of durations, in seconds. */
const bounds = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200];

/** Statuses that have a value even without runs, so that a rate begins at 0. */
const statuses = ["succeeded", "partial-succeeded", "failed", "stopped"];

/**
 * Runs as metrics, of the application of the label if it is known. Counters begin at the start of the period:
 * they only grow while that stays the same.
 */
export async function statsMetrics(
  { figures, since, complete, file }: StatsData,
  counts: StatsCounts,
  context: Context,
): Promise<string> {
  const asked = file === null ? await knownApplication(context) : undefined;
  const labels = { application: asked?.name };
  const begun = (of: Readonly<Record<string, string | undefined>>) =>
    since === null ? [] : [{ suffix: "_created", labels: of, value: since }];
  const gauge = (name: string, help: string, value: number): MetricFamily => ({
    name,
    type: "gauge",
    help,
    samples: [{ labels, value }],
  });
  const ended = new Map(statuses.map((status) => [status, 0]));
  for (const [status, runs] of counts.statuses)
    if (status !== "running" && status !== "paused") ended.set(status, runs);
  return openMetrics([
    {
      name: "wf_runs",
      type: "counter",
      help: "Runs that have ended, by status.",
      samples: [...ended].flatMap(([status, value]) => {
        const all = { ...labels, status };
        return [{ labels: all, value }, ...begun(all)];
      }),
    },
    gauge("wf_runs_running", "Runs that have not ended.", figures.running),
    gauge("wf_runs_waiting", "Runs that are waiting for a form.", figures.paused),
    {
      name: "wf_run_duration_seconds",
      type: "histogram",
      unit: "seconds",
      help: "Durations of runs that have ended, without those that were paused.",
      samples: [...histogram(counts.seconds.sorted(), bounds, labels), ...begun(labels)],
    },
    {
      name: "wf_run_tokens",
      type: "counter",
      unit: "tokens",
      help: "Tokens of runs that have ended.",
      samples: [{ labels, value: figures.tokens ?? 0 }, ...begun(labels)],
    },
    gauge("wf_stats_complete", "Whether all runs could be read: 1 or 0.", complete ? 1 : 0),
  ]);
}
