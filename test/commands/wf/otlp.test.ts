import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attributesOf, collector, spansIn } from "../../lib/collector.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ models: true });
const home = await temporaryDirectory();

test("x", async () => {
  const { url, seen, spans } = await collector();
  const record = join(home, "run.jsonl");
  const ran = await server.cli([
    "wf",
    "--app",
    "write",
    "run",
    "query=x",
    "--otlp",
    url,
    "--record",
    record,
  ]);
  console.log(ran.exit, ran.err, seen[0]?.path, seen[0]?.headers);
  console.log(spans().map((s) => [s.name, s.parentSpanId, s.spanId, attributesOf(s)]));
  const x = await server.cli(["wf", "--app", "write", "logs", "export", "-o", "otlp"]);
  console.log(x.exit, x.out, x.err);
  const y = await server.cli(["wf", "--app", "write", "logs", "export", "--otlp", url]);
  console.log(y.exit, y.out, y.err);
  console.log(spans().map((s) => [s.name, s.traceId, s.spanId]));
  const z = await server.cli([
    "wf",
    "--app",
    "write",
    "logs",
    "export",
    join(home, "t.jsonl"),
    "-o",
    "otlp",
    "--state",
    join(home, "t.state"),
  ]);
  console.log(z.exit, z.out, z.err, spansIn(await readFile(join(home, "t.jsonl"), "utf8")).length);
  expect(1).toBe(1);
});
