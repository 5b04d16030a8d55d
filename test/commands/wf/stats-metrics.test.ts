import { expect, test } from "vitest";
import { canned, uuid } from "../../lib/log-server.ts";
import { cli } from "../../lib/support.ts";

/** The server's clock at the start of the tests, and that of the command. */
const clock = 1_795_262_400;

const row = (number: number, status: string, elapsed: number, tokens: number) => ({
  id: uuid(number),
  created_at: clock - 60,
  workflow_run: {
    id: uuid(100 + number),
    status,
    elapsed_time: elapsed,
    total_tokens: tokens,
    total_steps: 2,
    created_at: clock - 60,
    finished_at: status === "paused" ? null : clock - 60 + elapsed,
  },
});

test("wf stats prints the runs of an application as OpenMetrics", async () => {
  const data = [
    row(1, "succeeded", 1, 100),
    row(2, "succeeded", 4, 50),
    row(3, "failed", 1500, 0),
    row(4, "paused", 0, 0),
  ];
  const { env } = await canned((url, response) => {
    response.setHeader("date", new Date(clock * 1000).toUTCString());
    response.setHeader("content-type", "application/json");
    const info = { name: 'Help "desk" \\ 1', mode: "workflow", description: "", tags: [] };
    const list = { page: 1, limit: 100, total: data.length, has_more: false, data };
    response.end(JSON.stringify(url.pathname.endsWith("/info") ? info : list));
  });
  const line = ["wf", "stats", "--since", "2026-11-21T11:00:00Z", "-o", "openmetrics"];
  const { out, exit, err } = await cli(line, { env, now: () => new Date(clock * 1000) });
  expect(exit, err).toBe(0);
  const app = String.raw`application="Help \"desk\" \\ 1"`;
  const begun = clock - 3600;
  expect(out).toBe(`# TYPE wf_runs counter
# HELP wf_runs Runs that have ended, by status.
wf_runs_total{${app},status="succeeded"} 2
wf_runs_created{${app},status="succeeded"} ${begun}
wf_runs_total{${app},status="partial-succeeded"} 0
wf_runs_created{${app},status="partial-succeeded"} ${begun}
wf_runs_total{${app},status="failed"} 1
wf_runs_created{${app},status="failed"} ${begun}
wf_runs_total{${app},status="stopped"} 0
wf_runs_created{${app},status="stopped"} ${begun}
# TYPE wf_runs_running gauge
# HELP wf_runs_running Runs that have not ended.
wf_runs_running{${app}} 0
# TYPE wf_runs_waiting gauge
# HELP wf_runs_waiting Runs that are waiting for a form.
wf_runs_waiting{${app}} 1
# TYPE wf_run_duration_seconds histogram
# UNIT wf_run_duration_seconds seconds
# HELP wf_run_duration_seconds Durations of runs that have ended, without those that were paused.
wf_run_duration_seconds_bucket{${app},le="0.5"} 0
wf_run_duration_seconds_bucket{${app},le="1.0"} 1
wf_run_duration_seconds_bucket{${app},le="2.5"} 1
wf_run_duration_seconds_bucket{${app},le="5.0"} 2
wf_run_duration_seconds_bucket{${app},le="10.0"} 2
wf_run_duration_seconds_bucket{${app},le="30.0"} 2
wf_run_duration_seconds_bucket{${app},le="60.0"} 2
wf_run_duration_seconds_bucket{${app},le="120.0"} 2
wf_run_duration_seconds_bucket{${app},le="300.0"} 2
wf_run_duration_seconds_bucket{${app},le="600.0"} 2
wf_run_duration_seconds_bucket{${app},le="1200.0"} 2
wf_run_duration_seconds_bucket{${app},le="+Inf"} 3
wf_run_duration_seconds_count{${app}} 3
wf_run_duration_seconds_sum{${app}} 1505
wf_run_duration_seconds_created{${app}} ${begun}
# TYPE wf_run_tokens counter
# UNIT wf_run_tokens tokens
# HELP wf_run_tokens Tokens of runs that have ended.
wf_run_tokens_total{${app}} 150
wf_run_tokens_created{${app}} ${begun}
# TYPE wf_stats_complete gauge
# HELP wf_stats_complete Whether all runs could be read: 1 or 0.
wf_stats_complete{${app}} 1
# EOF
`);
});
