/** Commands that `npm run servers` plays against running servers. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sectionOf } from "../../scripts/servers/judge.ts";
import { saveDifferences } from "../../scripts/servers/report.mjs";
import { refusals, scenes } from "../../scripts/servers/steps.mjs";
import { root } from "../lib/paths.ts";
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
