/** `kb sandbox --app-file`: applications from exports and recordings. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import modelApplications from "../../../src/sandbox/apps/definitions/model-applications.json" with { type: "json" };
import { inSandbox } from "../../lib/in-sandbox.ts";
import { cli, type Ran, temporaryDirectory } from "../../lib/support.ts";

/** An exported workflow, with what its program returns here, and a note on the canvas. */
const greeting = `
app: { name: "Greeting bot 👋", mode: workflow, description: Greets. }
kind: app
version: 0.5.0
workflow:
  graph:
    nodes:
      - id: "1"
        data: { type: start, title: Start, variables: [{ variable: name, label: Name, type: text-input, required: true }] }
      - id: "2"
        data: { type: code, title: Greet, code: "def main(): ...", sandbox: { outputs: { text: Hello. } } }
      - id: "3"
        data:
          type: end
          title: End
          outputs:
            - { variable: text, value_selector: ["2", text] }
            - { variable: name, value_selector: ["1", name] }
      - id: "4"
        type: custom-note
        data: { type: "", title: "", text: A note }
    edges:
      - { source: "1", target: "2" }
      - { source: "2", target: "3" }
`;

/** Writes a file to a directory of its own; returns its path. */
async function file(name: string, text: string): Promise<string> {
  const path = join(await temporaryDirectory(), name);
  await writeFile(path, text);
  return path;
}

/** Runs lines of `wf` in a sandbox with an application; returns the results. */
async function wf(path: string, ...lines: readonly (readonly string[])[]): Promise<Ran[]> {
  const results: Ran[] = [];
  const ran = await inSandbox(["--seed", "5", "--app-file", path], async (env) => {
    for (const line of lines) results.push(await cli(["wf", ...line], { env }));
  });
  expect(ran).toEqual({ exit: 0, out: "", err: "" });
  return results;
}

test("an exported application has the name and the key of its file", async () => {
  const path = await file("greeting.yml", greeting);
  const [run, required, echo] = await wf(
    path,
    ["--app", "greeting", "run", "name=Ann", "--jq", ".outputs"],
    ["--app", "greeting", "run", "--no-input"],
    ["run", "query=x", "--jq", ".outputs"],
  );
  expect(run).toMatchObject({ exit: 0, out: '{"text":"Hello.","name":"Ann"}\n' });
  expect(required).toMatchObject({ exit: 2 });
  expect(echo).toMatchObject({ exit: 0, out: '{"query":"x"}\n' });
});

test.each(Object.entries(modelApplications))(
  "the sandbox's own %s is a file like any other",
  async (name, own) => {
    const path = await file(`copy-of-${name}.json`, JSON.stringify(own));
    const [info] = await wf(path, ["--app", `copy-of-${name}`, "app", "info", "-o", "json"]);
    expect(JSON.parse(info?.out ?? "")).toMatchObject({ ...own.app, name: `copy-of-${name}` });
  },
);

test("JSON is an export as well", async () => {
  const definition = {
    app: { mode: "workflow" },
    workflow: {
      graph: { nodes: [{ id: "1", data: { type: "start", title: "Start", variables: [] } }] },
    },
  };
  const line = ["--app", "empty", "run", "-o", "json", "--jq", ".status"];
  const [run] = await wf(await file("empty.json", JSON.stringify(definition)), line);
  expect(run).toMatchObject({ exit: 0, out: "succeeded\n" });
});

/** The names of events and of their nodes. */
const eventNames = (jsonl: string) =>
  jsonl
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; data?: { title?: string } })
    .map(({ event, data }) => [event, data?.title ?? null]);

test.each([
  ["loop", ["run", "query=x"]],
  ["broken", ["run", "query=x"]],
  ["retry", ["run", "query=x"]],
])("a recording of %s is replayed with its events and its end", async (app, words) => {
  const path = join(await temporaryDirectory(), "recorded.jsonl");
  const results: Ran[] = [];
  await inSandbox([], async (env) => {
    const line = ["wf", "--app", app, ...words, "-o", "jsonl", "--record", path];
    results.push(await cli(line, { env }));
  });
  const [replayed, shown, logs] = await wf(
    path,
    ["--app", "recorded", ...words, "-o", "jsonl"],
    ["--app", "recorded", ...words, "--blocking", "--jq", ".error"],
    ["--app", "recorded", "logs", "--columns", "status,steps"],
  );
  expect(replayed?.exit).toBe(results[0]?.exit);
  const [before, after] = [results[0]?.out ?? "", replayed?.out ?? ""];
  expect(eventNames(after)).toEqual(eventNames(before));
  const id = (text: string) => /"workflow_run_id": ?"([^"]+)"/.exec(text)?.[1];
  expect(id(after)).not.toBe(id(before));
  expect(after).not.toContain(id(before));
  expect(shown?.exit).toBe(replayed?.exit);
  expect(logs?.out.split("\n")).toHaveLength(3);
});

test("a recorded reply of a chatflow is in its conversation", async () => {
  const path = join(await temporaryDirectory(), "said.jsonl");
  const events = [
    { event: "workflow_started", data: { id: "r", inputs: {} }, message_id: "m" },
    { event: "message", id: "m", message_id: "m", conversation_id: "c", answer: "Thirty " },
    { event: "message", id: "m", message_id: "m", conversation_id: "c", answer: "days." },
    { event: "message_end", id: "m", message_id: "m", metadata: { retriever_resources: [] } },
    { event: "workflow_finished", data: { id: "r", status: "succeeded", outputs: {} } },
  ];
  await writeFile(path, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  const [said] = await wf(path, ["--app", "said", "chat", "send", "How", "--jq", ".answer"]);
  expect(said).toMatchObject({ exit: 0, out: "Thirty days.\n" });
});

const workflow = (nodes: object[]) =>
  JSON.stringify({ app: { mode: "workflow" }, workflow: { graph: { nodes, edges: [] } } });
const started = '{"event":"workflow_started","data":{}}\n';

test.each([
  ["a.yml", "app: [", /line 1: /],
  ["a.yml", "name: x", /not an exported application: it needs app\.mode, one of workflow, /],
  ["a.yml", "app: {mode: chat}", /model_config must be an object/],
  ["a.json", '{"app":{"mode":"workflow"}}', /workflow must be an object/],
  ["a.json", workflow([]), /it has no start node/],
  [
    "a.json",
    workflow([{ id: "1", data: { type: "tool", title: "Call" } }]),
    /node "Call": the sandbox does not execute tool/,
  ],
  [
    "a.json",
    workflow([{ id: "1", data: { type: "code", title: "Sum" } }]),
    /node "Sum": it needs sandbox/,
  ],
  ["a.jsonl", `${started}{"event":`, /line 2: invalid JSON/],
  ["a.jsonl", started, /it must begin with workflow_started and end with workflow_finished/],
  [
    "a.jsonl",
    `${started}{"event":"workflow_paused"}\n{"event":"workflow_finished"}\n`,
    /a run that pauses cannot be replayed/,
  ],
  ["a b.yml", greeting, /its name becomes part of a key/],
])("%s with %j is rejected", async (name, text, reason) => {
  const path = await file(name, text);
  const ran = await inSandbox(["--app-file", path], () => Promise.reject(new Error("started")));
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toMatch(reason);
  expect(ran.err).toContain(`--app-file ${path}: `);
});

test("a missing file is named", async () => {
  const { exit, err } = await cli(["kb", "sandbox", "--app-file", "/nowhere/a.yml"]);
  expect(exit).toBe(2);
  expect(err).toMatch(/^error: --app-file \/nowhere\/a\.yml: /);
});
