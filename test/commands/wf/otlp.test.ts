/** Traces of runs, as a collector receives them, from followed runs and from the log. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attributesOf, collector, spansIn } from "../../lib/collector.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ models: true });
const home = await temporaryDirectory();
const write = (...argv: string[]) =>
  server.cli(["wf", "--app", "write", ...argv], { folder: home });

test("a run that is followed and the same run of the log have the same trace, without texts", async () => {
  const { url, seen, spans } = await collector();
  const record = join(home, "run.jsonl");
  const ran = await write(
    "run",
    "query=my secret question",
    "--otlp",
    url,
    "--record",
    record,
    "-o",
    "jsonl",
  );
  expect(ran).toMatchObject({ exit: 0, err: expect.not.stringContaining("trace") as string });
  expect(seen[0]).toMatchObject({ path: "/v1/traces" });
  const [root, ...nodes] = spans();
  const id = String(attributesOf(root)["wf.run.id"]);
  expect(root).toMatchObject({ name: "workflow run", traceId: id.replaceAll("-", ""), kind: 1 });
  expect(root?.parentSpanId).toBeUndefined();
  const model = nodes.find(({ kind }) => kind === 3);
  expect(attributesOf(model)).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": expect.any(String) as string,
    "gen_ai.usage.input_tokens": expect.stringMatching(/^\d+$/) as string,
  });
  expect(new Set(nodes.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root?.spanId]));
  expect(seen[0]?.text).not.toContain("secret question");
  const live = spans().map(({ traceId, spanId, name }) => ({ traceId, spanId, name }));
  const exported = await write("logs", "export", "-o", "otlp");
  expect(exported.exit, exported.err).toBe(0);
  expect(
    spansIn(exported.out).map(({ traceId, spanId, name }) => ({ traceId, spanId, name })),
  ).toEqual(live);
});

test("a run without a recording has its root span only, and the command says so", async () => {
  const { url, spans } = await collector();
  await server.done(["wf", "--app", "echo", "run", "--input", "query=x"]);
  const ran = await server.cli(["wf", "--app", "echo", "logs", "export", "--otlp", url]);
  expect(ran.exit, ran.err).toBe(0);
  expect(spans().map(({ name }) => name)).toEqual(["workflow run"]);
  expect(ran.err).toContain(
    "1 run without spans of nodes, because this machine has no recording of them",
  );
});

test("a collector that is down does not fail the run, and the hint sends it again", async () => {
  const down = await collector({ status: 400, json: { message: "no such tenant" } });
  const ran = await write("run", "query=x", "--otlp", down.url);
  expect(ran.exit).toBe(0);
  const [, hint = ""] = /send the run again with `(.*)`/.exec(ran.err) ?? [];
  expect(ran.err).toContain("HTTP 400: no such tenant");
  expect(hint).toMatch(/^wf logs export --otlp http:\S+ --keyword [\da-f-]{36}/);
  const again = await write(
    ...hint
      .replace(/ --app \S+/, "")
      .split(" ")
      .slice(1),
  );
  expect(again.exit, again.err).toBe(0);
  expect(down.spans().length).toBeGreaterThan(1);
});

test("what an export cannot send is an error; what is rejected counts", async () => {
  const denied = await collector({ status: 401 });
  expect((await write("logs", "export", "--otlp", denied.url)).exit).toBe(4);
  const busy = await collector({ status: 503, headers: { "retry-after": "0" } });
  expect((await write("logs", "export", "--otlp", busy.url)).exit).toBe(0);
  expect(busy.seen).toHaveLength(2);
  const partly = await collector({
    status: 200,
    json: { partialSuccess: { rejectedSpans: "1", errorMessage: "too old" } },
  });
  const rejected = await write("logs", "export", "--otlp", partly.url);
  expect(rejected.exit).toBe(10);
  expect(rejected.err).toContain("the collector rejected 1 of");
});

test("headers come from the environment, and are not sent where they can be read", async () => {
  const { url, seen } = await collector();
  const env = { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20sesame,x-tenant=a" };
  const line = ["wf", "--app", "write", "logs", "export", "--otlp"];
  const ran = await server.cli([...line, url, "-vvv"], {
    env: { ...server.env, ...env },
    folder: home,
  });
  expect(ran.exit, ran.err).toBe(0);
  expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer sesame", "x-tenant": "a" });
  expect(ran.out + ran.err).not.toContain("sesame");
  const plain = await server.cli([...line, "http://collector.example:4318"], {
    env: { ...server.env, ...env },
  });
  expect(plain).toMatchObject({ exit: 2 });
  expect(plain.err).toContain("would send OTEL_EXPORTER_OTLP_HEADERS unencrypted");
  expect((await write("logs", "export", "--otlp", "https://me:pw@example.com")).exit).toBe(2);
});

test("lines of a file are whole requests", async () => {
  const file = join(home, "traces.jsonl");
  const ran = await write("logs", "export", file, "-o", "otlp");
  expect(ran.exit, ran.err).toBe(0);
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) expect(spansIn(line)[0]?.name).toBe("workflow run");
});
