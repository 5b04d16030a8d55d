import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { against, http, say } from "../../lib/raw-server.ts";
import { recordingsFolder } from "../../lib/paths.ts";

interface Recorded {
  readonly title: string;
  readonly response: { readonly body: unknown };
}

/** A recorded response, by the title of the exchange. */
async function recorded(file: string, title: string): Promise<string> {
  const path = join(recordingsFolder, file);
  const { exchanges } = JSON.parse(await readFile(path, "utf8")) as { exchanges: Recorded[] };
  return http(200, JSON.stringify(exchanges.find((each) => each.title === title)?.response.body));
}

const [kb, doc, batch] = [
  "05c73387-5786-4bbd-a21a-9f26d7facd8a",
  "9dffd323-85b1-4931-acec-2e50d3e772ae",
  "20261121200109432354",
];

test.each([
  [
    "a Q&A document whose model failed",
    [["qa-model.json", "documents"]],
    ["kb", "doc", "wait", kb],
    "failed to index 1 of 3 documents: qafail.md",
  ],
  [
    "a parent-child document with an automatic rule",
    [["parent-child-rules.json", "no rule: detail"]],
    ["kb", "doc", "wait", kb, doc],
    "failed to index 1 of 1 documents: n.md",
  ],
  [
    "the same document in a batch",
    [
      ["qa-model.json", "create-by-text, qa_model, the model fails: indexing status"],
      ["parent-child-rules.json", "no rule: detail"],
    ],
    ["kb", "doc", "wait", kb, "--batch", batch],
    "failed to index 1 of 1 documents: n.md",
  ],
] as const)(
  "a document completed without chunks counts as failed: %s",
  async (_, files, line, message) => {
    const responses = await Promise.all(files.map(([file, title]) => recorded(file, title)));
    const ran = await against(
      responses.map((response) => say(response)),
      line,
    );
    expect(ran.exit, ran.err).toBe(9);
    expect(ran.err).toContain(message);
    expect(ran.err).toContain("completed without any chunks");
  },
);
