import { expect, test } from "vitest";
import { createClient } from "../../src/library/client.ts";
import { startSandbox } from "../../src/library/sandbox.ts";

test("a sandbox shows its requests, fails on demand, and returns to its start", async () => {
  await using sandbox = await startSandbox({ seed: 1, faults: ["DELETE /datasets/* status=500"] });
  const client = createClient({ baseUrl: sandbox.url, key: sandbox.keys.knowledge, retries: 0 });
  const { id } = await client.createDataset({ name: "Handbook" });
  await expect(client.deleteDataset({ dataset_id: id })).rejects.toMatchObject({ kind: "failure" });
  sandbox.faults([]);
  await client.deleteDataset({ dataset_id: id });
  expect(sandbox.requests().map(({ method, status }) => [method, status])).toEqual([
    ["POST", 200],
    ["DELETE", 500],
    ["DELETE", 204],
  ]);
  expect(JSON.stringify(sandbox.requests())).not.toContain(sandbox.keys.knowledge);
  await sandbox.reset();
  expect(sandbox.requests()).toEqual([]);
  // The same requests, the same IDs.
  expect(await client.createDataset({ name: "Handbook" })).toMatchObject({ id });
});

test("applications are given as objects, JSON and YAML", async () => {
  const rules = { rules: [{ question: "How many?", answer: "Nine." }] };
  await using sandbox = await startSandbox({
    apps: {
      object: rules,
      json: JSON.stringify(rules, undefined, 2),
      yaml: "rules:\n  - question: How many?\n    answer: Nine.\n",
    },
  });
  for (const name of ["object", "json", "yaml"]) {
    const key = sandbox.keys.apps[name] ?? "";
    const answer = await createClient({ baseUrl: sandbox.url, key }).sendChatMessage({
      query: "How many?",
      inputs: {},
      response_mode: "blocking",
    });
    expect(answer, name).toMatchObject({ answer: "Nine." });
  }
});

test.each([
  [{ apps: { "a b": { rules: [] } } }, "apps: a b: use only letters, digits, - . and _"],
  [{ apps: { a: "rules: [" } }, "apps: a: line 1"],
  [{ faults: ["GET"] }, "expected METHOD PATTERN ACTION"],
])("%j is refused with the reason", async (options, message) => {
  await expect(startSandbox(options)).rejects.toThrow(message);
});
