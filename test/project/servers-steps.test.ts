/** Commands that `npm run servers` plays against running servers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sectionOf } from "../../scripts/servers/judge.ts";
import type { Exchange } from "../../scripts/servers/judge.ts";
import { saveDifferences } from "../../scripts/servers/report.mjs";
import { refusals, scenes } from "../../scripts/servers/steps.mjs";
import { root } from "../lib/paths.ts";
import { http, rawServer, say } from "../lib/raw-server.ts";
import { recording } from "../lib/replay.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

interface Listed {
  readonly command: string;
  readonly operations: readonly string[];
}

test.each(["kb", "wf"])(
  "each command of %s that sends requests is in the steps",
  async (program) => {
    const page = await readFile(join(root, "scripts/servers/steps.md"), "utf8");
    const { out } = await cli([program, "help", "--json"]);
    const { commands } = JSON.parse(out) as { readonly commands: readonly Listed[] };
    const missing = commands
      .filter(({ operations }) => operations.length > 0)
      .map(({ command }) => command)
      .filter((command) => !new RegExp(`[|,] ${command}[ ,]`).test(page));
    expect(missing).toEqual([]);
  },
);

const notFound = {
  request: { method: "GET", path: "/v1/files/1/preview", headers: {} },
  response: {
    status: 404,
    headers: { "Content-Type": "application/json" },
    body: { code: "file_not_found", message: "File not found in message context", status: 404 },
  },
};

test.each([
  ["agent", "18"],
  ["chat", undefined],
  ["advanced-chat", undefined],
  [undefined, undefined],
])("the file of a message to an application of the mode %s is refused by §%s", (mode, section) => {
  const server = { version: "1.16.1", mode };
  expect(sectionOf("previewChatFile", notFound, server, refusals)).toBe(section);
});

test.each([
  ["getSuggestedQuestions", "suggested questions"],
  ["textToAudioChat", "text to audio"],
  ["audioToText", "audio to text"],
])("what a new agent of 1.16.1 lacks is refused by §18: %s", (operation, title) => {
  const recorded = recording("1.16/agent-new").exchanges.find((each) => each.title === title);
  const server = { version: "1.16.1", mode: "agent" };
  expect(sectionOf(operation, recorded as Exchange, server, refusals)).toBe("18");
});

test("suggested questions that are switched off are refused after 1.17.1, too", () => {
  const code = "app_suggested_questions_after_answer_disabled";
  const response = { status: 403, headers: {}, body: { code, message: "", status: 403 } };
  const server = { version: "1.18.0" };
  const exchange = { ...notFound, response };
  expect(sectionOf("getSuggestedQuestions", exchange, server, refusals)).toBe("18");
});

test("the recording of a preview has the message whose file it shows", async () => {
  const { steps } = scenes.find(({ modes }) => modes?.includes("agent")) ?? { steps: [] };
  const directory = await temporaryDirectory();
  const values = {};
  const outcomes = steps.slice(0, 3).map((step) => {
    const state = step.operation === "previewChatFile" ? "differs" : "works";
    return { step, line: step.line, values, state, exchanges: [notFound] };
  });
  const server = { profile: "new", version: "1.16.1", outcomes };
  saveDifferences([server], directory, (exchange) => exchange);
  const { exchanges } = JSON.parse(await readFile(join(directory, "new.json"), "utf8")) as {
    readonly exchanges: readonly { readonly title: string }[];
  };
  expect(exchanges.map(({ title }) => title)).toEqual([
    "wf chat send Hello --inputs {inputs} -o jsonl",
    "wf chat send Hello --inputs {inputs} --conversation-id {conversation} --files {images} -o jsonl",
    "wf file preview {upload} --output-file {out}.png",
  ]);
});

test.each([
  ["app-1", "chat", "Bearer app-chat-KEY"],
  ["dataset-1", undefined, "Bearer dataset-dataset-KEY"],
  [
    "sk-1",
    "11111111-1111-4111-8111-111111111111",
    "Bearer app-11111111-1111-4111-8111-111111111111-KEY",
  ],
  ["sk-1", undefined, "Bearer dataset-dataset-KEY"],
])("of the key %s, the recorder writes what it opens: %s", async (key, app, expected) => {
  const { baseUrl } = await rawServer([say(http(200, "{}"))]);
  const file = join(await temporaryDirectory(), "recorded.json");
  const send = `fetch("${baseUrl}/info", { headers: { Authorization: "Bearer ${key}" } }).then((each) => each.text())`;
  const recorder = join(root, "scripts/servers/recorder.cjs");
  const env = { ...process.env, RECORD_TO: file, RECORD_APP: app };
  await once(spawn(process.execPath, ["--require", recorder, "-e", send], { env }), "close");
  const text = await readFile(file, "utf8");
  expect(JSON.parse(text)).toMatchObject([{ request: { headers: { Authorization: expected } } }]);
  expect(text).not.toContain(`"${key}"`);
});
