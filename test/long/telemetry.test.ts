/** Traces and metrics, read by the official protocol definitions and the official parser. */
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { collector } from "../lib/collector.ts";
import { pythonWith } from "../lib/python.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox({ models: true });
const home = await temporaryDirectory();
const programs = await pythonWith("opentelemetry-proto==1.38.0", "prometheus-client==0.23.1");

function python(script: string, input: string): unknown {
  const line = join(programs, "python");
  const { status, stdout, stderr } = spawnSync(line, ["-c", script], { input, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

/** Reads requests, one a line; OTLP has its IDs in hexadecimal, where JSON of the definitions has base64. */
const readTraces = `
import base64, json, re, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
spans = []
for line in sys.stdin:
    text = re.sub(r'"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"', lambda found: '"%s":"%s"' % (
        found[1], base64.b64encode(bytes.fromhex(found[2])).decode()), line)
    request = json_format.Parse(text, ExportTraceServiceRequest())
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8
                assert span.end_time_unix_nano >= span.start_time_unix_nano > 1.7e18
                spans.append([span.trace_id.hex(), span.name, span.kind, len(span.attributes)])
print(json.dumps(spans))
`;

const readMetrics = `
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
print(json.dumps({family.name: len(family.samples) for family in text_string_to_metric_families(sys.stdin.read())}))
`;

test("the official definitions of OTLP read what is sent live and exported later, with the same trace", async () => {
  const { url, seen } = await collector();
  const record = join(home, "run.jsonl");
  const line = ["run", "query=x", "--otlp", url, "--record", record, "-o", "jsonl"];
  await server.done(["wf", "--app", "write", ...line], { folder: home });
  const live = python(readTraces, `${seen.map(({ text }) => text).join("\n")}\n`);
  const { out } = await server.cli(["wf", "--app", "write", "logs", "export", "-o", "otlp"], {
    folder: home,
  });
  expect(live).toContainEqual([expect.stringMatching(/^[\da-f]{32}$/), "workflow run", 1, 5]);
  expect(python(readTraces, out)).toEqual(live);
});

test("the official parser of OpenMetrics reads runs and problems", async () => {
  const log = join(home, "log.jsonl");
  const run = { id: "r", status: "failed", total_tokens: 3, elapsed_time: 1.5 };
  await writeFile(log, JSON.stringify({ id: "1", created_at: 1795219614, workflow_run: run }));
  // Four statuses and twelve buckets, a count and a sum, each metric with the time at which it began.
  const runs = await server.cli(["wf", "stats", "--from", log, "-o", "openmetrics"]);
  expect(python(readMetrics, runs.out)).toMatchObject({ wf_runs: 8, wf_run_duration_seconds: 15 });
  const own = await server.cli(["wf", "--app", "write", "stats", "-o", "openmetrics"]);
  expect(python(readMetrics, own.out)).toHaveProperty("wf_runs");
  await server.done(["kb", "create", String.raw`A\B "x"`, "--indexing-technique", "economy"]);
  const problems = await server.cli(["kb", "check", "--all", "-o", "openmetrics"]);
  expect(python(readMetrics, problems.out)).toHaveProperty("kb_problems");
});
