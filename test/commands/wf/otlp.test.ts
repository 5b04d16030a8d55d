import { expect, test } from "vitest";
import { attributesOf, collector } from "../../lib/collector.ts";
import { testSandbox } from "../../lib/sandbox.ts";

const server = await testSandbox({ models: true });

test("x", async () => {
  const { url, seen, spans } = await collector();
  const ran = await server.cli(["wf", "--app", "loop", "run", "query=x", "--otlp", url]);
  console.log(ran.exit, ran.err, seen[0]?.path, seen[0]?.headers);
  console.log(seen[0]?.text);
  console.log(spans().map((s) => [s.name, s.parentSpanId, s.spanId, attributesOf(s)]));
  const down = await server.cli(["wf", "--app", "echo", "run", "query=x", "--otlp", "http://127.0.0.1:1"]);
  console.log(down.exit, down.err);
});
