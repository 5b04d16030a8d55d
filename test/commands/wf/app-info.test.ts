import { expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../../lib/sandbox.ts";

const server = await testSandbox();
const info = (...flags: readonly string[]) =>
  server.cli(["wf", "--app", "slow", "app", "info", ...flags]);

test("an application is shown with its inputs", async () => {
  const { out } = await info();
  expect(out.split("\n").slice(-3)).toEqual([
    "tags\t",
    "inputs\tquery (text-input, required), seconds (number)",
    "",
  ]);
});

test("JSON has the input form of the server beside the application", async () => {
  const { out } = await info("-o", "json");
  expect(JSON.parse(out)).toMatchObject({
    name: "slow",
    mode: "workflow",
    user_input_form: [{ "text-input": { variable: "query" } }, { number: { variable: "seconds" } }],
  });
});

test("an application whose inputs cannot be read is shown without them", async () => {
  server.sandbox.setFaults([parseFault("GET /parameters status=400")]);
  const { out, err, exit } = await info("--columns", "name,inputs");
  expect({ out, exit }).toEqual({ out: "name\tslow\ninputs\t\n", exit: 0 });
  expect(err).toMatch(/^its inputs are unknown: /m);
});
