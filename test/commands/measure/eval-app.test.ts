/** `kb eval --app`: what an application finds for its answers, beside the searches of its knowledge base. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { root } from "../../lib/paths.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

interface Evaluated {
  readonly best: Readonly<Record<string, readonly string[]>>;
  readonly settings: readonly {
    readonly label: string;
    readonly figures: Readonly<Record<string, number | null>>;
    readonly failed: number;
    readonly questions: readonly { readonly found: readonly { readonly document: string }[] }[];
  }[];
}

const server = await testSandbox({ speed: 200, models: true });
const folder = await temporaryDirectory();
await server.done(["kb", "create", "Staff", "--indexing-technique", "high_quality"]);
await server.done(["kb", "sync", "Staff", join(root, "examples/handbook")], { folder });

const questions = join(folder, "questions.jsonl");
await writeFile(
  questions,
  '{"question":"How many days of leave do I have?","documents":["leave.md"]}\n{"question":"Which hotel may I book?","documents":["travel-and-expenses.md"]}\n',
);

test.each([
  // A chatflow whose search node takes three chunks of all knowledge bases, as --top-k 3 does here.
  [
    "ask",
    [
      ["leave.md", "remote-work.md"],
      ["onboarding.md", "glossary.md"],
    ],
    0.5,
  ],
  // One that cites, and has no search node.
  ["answers", [["leave.md"], ["travel-and-expenses.md"]], 1],
] as const)(
  "what the application %s found is measured beside the search",
  async (app, found, recall) => {
    const line = ["kb", "eval", "Staff", questions, "--app", app, "--k", "3", "--top-k", "3", "-q"];
    const { settings } = JSON.parse(
      (await server.done([...line, "-o", "json"], { folder })).out,
    ) as Evaluated;
    expect(settings.map(({ label, figures }) => [label, figures["recall@3"]])).toEqual([
      ["search", 0.5],
      [`app ${app}`, recall],
    ]);
    const names = settings.map(({ questions: all }) =>
      all.map((each) => each.found.map(({ document }) => document)),
    );
    expect(names[1]).toEqual(found);
  },
);

// The keyword search finds neither document, the application one of them among as many chunks.
test("the highest figure is marked if both find the same number of chunks", async () => {
  const search = ["--top-k", "3", "--search-method", "keyword_search", "--k", "3"];
  const line = ["kb", "eval", "Staff", questions, "--app", "ask", ...search, "-q", "-o", "json"];
  const { best } = JSON.parse((await server.done(line, { folder })).out) as Evaluated;
  expect(best["recall@3"]).toEqual(["app ask"]);
});

test("an answer that fails is a failed search, and an unknown application ends the command", async () => {
  const line = ["kb", "eval", "Staff", questions, "--top-k", "3", "-q", "--app"];
  server.sandbox.setFaults([parseFault("POST */chat-messages status=400 times=1")]);
  const failed = await server.cli([...line, "ask", "-o", "json"], { folder });
  server.sandbox.setFaults([]);
  expect(failed).toMatchObject({
    exit: 10,
    err: expect.stringContaining("1 of 4 searches failed"),
  });
  const none = await server.cli([...line, "none"], { folder });
  expect(none).toMatchObject({ exit: 2, out: "" });
});
