/** The requests that a collector gets, compared with ones by hand, and what follows from its responses. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { version } from "../../../src/lib/version.ts";
import { attributesOf, collector, spansIn } from "../../lib/collector.ts";
import { eventsText, runServer, streaming } from "../../lib/run-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 1000 });
const home = await temporaryDirectory();
const question = "Where is the treasure?";
/** Events arrive at this time: 1795262400 s. */
const now = () => new Date("2026-11-21T12:00:00Z");

/** A run by hand: a model answers in half a second, and a tool fails after a quarter. */
function played(run: string): string {
  const event = (kind: string, data: object) => ({ event: kind, workflow_run_id: run, data });
  const node = (id: string, title: string, end: object, node_type = "tool") => [
    event("node_started", { id, node_id: id, title, node_type, inputs_truncated: false }),
    event("node_finished", { id, node_id: id, title, node_type, status: "succeeded", ...end }),
  ];
  const usage = { prompt_tokens: 6, completion_tokens: 20 };
  const names = { model_provider: "langgenius/azure_openai/azure_openai", model_name: "gpt-4o" };
  const process_data = { ...names, model_mode: "chat", prompts: [{ text: question }], usage };
  return eventsText(
    event("workflow_started", { id: run, workflow_id: "w" }),
    ...node("n1", "Start", { elapsed_time: 0 }, "start"),
    ...node(
      "n2",
      "Write",
      { elapsed_time: 0.5, process_data, execution_metadata: { total_tokens: 26 } },
      "llm",
    ),
    ...node("n3", "Call", {
      elapsed_time: 0.25,
      status: "failed",
      error: "rejected: Bearer abcdef1234567890",
      inputs: { question },
    }),
    event("workflow_finished", {
      id: run,
      status: "failed",
      error: "Call failed",
      total_tokens: 26,
      total_steps: 3,
      outputs: { answer: question },
    }),
  );
}

const runId = "6f1c0a52-3b7d-4e0f-9a11-2c5d8e7f9a01";

async function runPlayed(id: string, argv: readonly string[], env = {}) {
  const { baseUrl } = await runServer({ "POST /v1/workflows/run": streaming(played(id)) });
  const keys = { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" };
  return cli(["wf", "run", "-o", "jsonl", ...argv], { env: { ...keys, ...env }, now });
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const count = (key: string, intValue: string) => ({ key, value: { intValue } });

test("a run is sent as spans of the run, its nodes and its models, without content", async () => {
  const { url, seen } = await collector();
  const { exit } = await runPlayed(runId, ["--otlp", url]);
  expect(exit).toBe(9);
  expect(seen.map(({ path }) => path)).toEqual(["/v1/traces"]);
  expect(seen[0]?.headers["content-type"]).toBe("application/json");
  // Span IDs: the first 16 digits of the SHA-256 of ["<run>"] and of ["<run>","<execution>",0].
  const [traceId, root] = ["6f1c0a523b7d4e0f9a112c5d8e7f9a01", "7e7925a8fd8ef7ac"];
  const schemaUrl = "https://opentelemetry.io/schemas/1.37.0";
  const begin = "1795262399500000000";
  const end = "1795262400000000000";
  const times = { startTimeUnixNano: begin, endTimeUnixNano: end };
  expect(JSON.parse(seen[0]?.text ?? "")).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [text("service.name", "A")] },
        schemaUrl,
        scopeSpans: [
          {
            scope: { name: "kb-wf", version },
            schemaUrl,
            spans: [
              {
                traceId,
                spanId: root,
                name: "workflow run",
                kind: 1,
                ...times,
                status: { code: 2, message: "Call failed" },
                attributes: [
                  text("wf.run.id", runId),
                  text("wf.run.status", "failed"),
                  count("wf.run.tokens", "26"),
                  count("wf.run.steps", "3"),
                  text("wf.workflow.id", "w"),
                  text("error.type", "failed"),
                ],
              },
              {
                traceId,
                spanId: "e738ac13b1eeb8d7",
                parentSpanId: root,
                name: "Start",
                kind: 1,
                startTimeUnixNano: begin,
                endTimeUnixNano: begin,
                status: {},
                attributes: [
                  text("wf.node.id", "n1"),
                  text("wf.node.title", "Start"),
                  text("wf.node.type", "start"),
                  text("wf.node.status", "succeeded"),
                ],
              },
              {
                traceId,
                spanId: "11730dad8e868ef4",
                parentSpanId: root,
                name: "chat gpt-4o",
                kind: 3,
                ...times,
                status: {},
                attributes: [
                  text("wf.node.id", "n2"),
                  text("wf.node.title", "Write"),
                  text("wf.node.type", "llm"),
                  text("wf.node.status", "succeeded"),
                  count("wf.node.tokens", "26"),
                  text("gen_ai.operation.name", "chat"),
                  text("gen_ai.provider.name", "azure.ai.openai"),
                  text("gen_ai.request.model", "gpt-4o"),
                  count("gen_ai.usage.input_tokens", "6"),
                  count("gen_ai.usage.output_tokens", "20"),
                ],
              },
              {
                traceId,
                spanId: "fc2eb7a49b7077f9",
                parentSpanId: root,
                name: "Call",
                kind: 1,
                startTimeUnixNano: "1795262399750000000",
                endTimeUnixNano: end,
                status: { code: 2, message: "rejected: Bearer ***" },
                attributes: [
                  text("wf.node.id", "n3"),
                  text("wf.node.title", "Call"),
                  text("wf.node.type", "tool"),
                  text("wf.node.status", "failed"),
                  text("error.type", "failed"),
                ],
              },
            ],
          },
        ],
      },
    ],
  });
  expect(seen[0]?.text).not.toContain("treasure");
});

test("any other ID of a run than a UUID is hashed", async () => {
  const { url, spans } = await collector();
  await runPlayed("run 7", ["--otlp", `${url}/v1/traces`], { OTEL_SERVICE_NAME: "shop" });
  expect(new Set(spans().map(({ traceId }) => traceId))).toEqual(
    new Set(["04ee297980826e719646754fcb81f32d"]),
  );
  expect(attributesOf(spans()[0])["wf.run.id"]).toBe("run 7");
});

test("each row of a batch is a trace", async () => {
  const { url, spans } = await collector();
  const line = ["wf", "--app", "echo", "run", "--each", "-", "--otlp", url];
  await server.done(line, { stdin: "query\na\nb\n", folder: home });
  expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(2);
});

const exported = (url: string, env = {}, waits: number[] = []) =>
  server.cli(["wf", "--app", "echo", "logs", "export", "--otlp", url], { env, waits });

describe("the collector", () => {
  test("is asked again when it says so, as late as it says", async () => {
    const busy = { status: 503, headers: { "retry-after": "7" } };
    const waits: number[] = [];
    const { url, seen } = await collector(busy, { status: 429 });
    expect((await exported(url, {}, waits)).exit).toBe(0);
    expect(seen).toHaveLength(3);
    expect(waits).toEqual([7000, 1000]);
  });

  test.each([
    [400, 5, 1, "HTTP 400: bad span"],
    [401, 4, 1, "HTTP 401: bad span"],
    [500, 1, 1, "HTTP 500: bad span"],
    [429, 7, 4, "HTTP 429: bad span"],
  ])("that answers %d ends the export with %d", async (status, exit, requests, reason) => {
    const json = { code: 3, message: "bad span" };
    const { url, seen } = await collector(...Array.from({ length: 4 }, () => ({ status, json })));
    const ran = await exported(url);
    expect(ran.err).toContain(`failed to send traces to ${url}/v1/traces: ${reason}\n`);
    expect(ran.exit).toBe(exit);
    expect(seen).toHaveLength(requests);
  });

  test.each([
    ["collector:4318", "--otlp: expected a URL"],
    ["https://a:b@collector", "--otlp: the URL must not have a password or a query"],
  ])("at %s is rejected before a run starts", async (url, problem) => {
    const { exit, err } = await server.cli([
      "wf",
      "--app",
      "echo",
      "run",
      "query=x",
      "--otlp",
      url,
    ]);
    expect(err).toContain(problem);
    expect(exit).toBe(2);
  });
});

test("a file of traces gets each run once", async () => {
  const [file, state] = [join(home, "traces.jsonl"), join(home, "traces.state")];
  const line = ["wf", "--app", "echo", "logs", "export", file, "-o", "otlp", "--state", state];
  await server.done(line);
  const text = await readFile(file, "utf8");
  expect(text.split("\n").flatMap((each) => (each === "" ? [] : spansIn(each)))).toHaveLength(2);
  await server.done(line);
  expect(await readFile(file, "utf8")).toBe(text);
});

test("flags that do not fit are rejected", async () => {
  const run = async (...argv: readonly string[]) => {
    const { exit, err } = await server.cli(["wf", "--app", "echo", ...argv]);
    expect(exit).toBe(2);
    return err;
  };
  const otlp = ["--otlp", "http://127.0.0.1:1"];
  expect(await run("run", "query=x", "--detach", ...otlp)).toContain("--otlp cannot be used with");
  expect(await run("logs", "export")).toContain("missing argument <target>");
  expect(await run("logs", "export", ...otlp, "--state", "s")).toContain("--state requires a");
  expect(await run("logs", "export", "a.csv", "-o", "otlp")).toContain("must end in .jsonl");
});
