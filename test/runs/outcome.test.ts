import { expect, test } from "vitest";
import { CliError } from "../../src/errors.ts";
import { endingOf, formsIn, isEnded, raiseOutcome } from "../../src/runs/outcome.ts";
import type { RunOutcome } from "../../src/runs/outcome.ts";

const form = {
  token: "t",
  actions: ["approve", "reject"],
  inputs: ["name"],
  values: ["name=TEXT", "why=looks fine"],
};

/** Notice or error of an outcome, and the hint. */
async function ending(outcome: RunOutcome): Promise<readonly (string | undefined)[]> {
  const notices: string[] = [];
  try {
    await raiseOutcome("r", outcome, async (text) => void notices.push(text));
  } catch (error) {
    if (error instanceof CliError) return [error.kind, error.message, error.info.hint];
    throw error;
  }
  return notices;
}

test.each<[RunOutcome, readonly string[]]>([
  [{ status: "succeeded" }, []],
  [
    { status: "partial-succeeded", exceptions: 1 },
    [
      "run r partial-succeeded: 1 failed attempt was retried or handled by an error branch or a default value",
    ],
  ],
  [
    { status: "partial-succeeded" },
    [
      "run r partial-succeeded: some failed attempts were retried or handled by an error branch or a default value",
    ],
  ],
  [
    { status: "failed", error: "no" },
    [
      "remote-failed",
      "run r failed: no",
      "`wf show r` shows its inputs and outputs; its nodes are known only from a recording: `wf run --record FILE`",
    ],
  ],
  [
    { status: "failed", error: "no", node: { title: "Fetch", error: "no" } },
    ["remote-failed", "run r failed at node Fetch: no", "`wf show r` shows its inputs and outputs"],
  ],
  [
    { status: "failed", node: { title: "Fetch", error: "timed out" } },
    [
      "remote-failed",
      "run r failed at node Fetch: timed out",
      "`wf show r` shows its inputs and outputs",
    ],
  ],
  [
    { status: "stopped" },
    ["remote-failed", "run r was stopped", "`wf show r` shows its inputs and outputs"],
  ],
  [
    { status: "failed", error: "Aborted: x" },
    ["remote-failed", "run r was stopped: Aborted: x", "`wf show r` shows its inputs and outputs"],
  ],
  [
    { status: "paused" },
    ["paused", "run r is waiting for human input", "see what it waits for: `wf events r`"],
  ],
  [
    { status: "paused", unanswered: "no file" },
    ["paused", "run r is waiting for human input: no file", "see what it waits for: `wf events r`"],
  ],
  [
    { status: "paused", forms: [] },
    [
      "paused",
      "run r is waiting for human input",
      "its form has no token, so it cannot be answered here: answer it in the e-mail, the web app or the console that shows it, and wait with `wf wait r --through-pauses`",
    ],
  ],
  [
    { status: "paused", forms: [form] },
    [
      "paused",
      "run r is waiting for human input",
      "answer it with `wf form submit t --action approve --input name=TEXT --input 'why=looks fine'` (or --action reject)",
    ],
  ],
])("%j ends with %j", async (outcome, expected) => {
  expect(await ending(outcome)).toEqual(expected);
});

test.each([
  ["succeeded", true],
  ["failed", true],
  ["stopped", true],
  ["partial-succeeded", true],
  ["running", false],
  ["paused", false],
  ["", false],
])("%j has ended: %j", (status, expected) => {
  expect(isEnded(status)).toBe(expected);
});

test.each<[RunOutcome, string]>([
  [{ status: "failed", error: "Aborted: by user" }, "stopped"],
  [{ status: "failed", error: "Stopped by user" }, "stopped"],
  [{ status: "failed", error: "not Aborted" }, "failed"],
  [{ status: "succeeded", error: null }, "succeeded"],
])("the ending of %j is %s", (outcome, expected) => {
  expect(endingOf(outcome)).toBe(expected);
});

test("default values other than text are shown as JSON", () => {
  const inputs = [
    { output_variable_name: "a", default: { value: { b: 1 } } },
    { output_variable_name: "c", default: { value: "text" } },
  ];
  expect(formsIn([{ form_token: "t", inputs }])).toMatchObject([
    { values: ['a={"b":1}', "c=text"] },
  ]);
});

const token = { form_id: "f", form_token: "t", node_id: "n" };
const noToken = { form_id: "f", node_id: "n" };
test.each<[readonly object[], readonly string[] | undefined]>([
  [[], undefined],
  [[{ TYPE: "scheduled_pause" }], undefined],
  [[{ form_id: "f" }], []],
  [[{ node_id: "n" }], []],
  [[noToken, noToken], []],
  [[noToken, token], ["t"]],
  [[{ form_token: "t" }], ["t"]],
])("the forms among %j are %j", (reasons, expected) => {
  expect(formsIn(reasons)?.map((each) => each.token)).toEqual(expected);
});
