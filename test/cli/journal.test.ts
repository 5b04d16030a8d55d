/** The journal of a batch: what it stores, and what the next run reads. */
import { expect, test } from "vitest";
import { openBatchJournal } from "../../src/commands/batch/journal.ts";
import { openJournal } from "../../src/lib/journal.ts";
import type { Files } from "../../src/host/host.ts";

/** Files in memory; `appended` is each write. */
function memoryFiles(text = "") {
  const appended: string[] = [];
  const files = {
    stat: () => Promise.resolve(null),
    read: () => Promise.resolve(new TextEncoder().encode(text)),
    append: (_path: string, added: string) => Promise.resolve(void appended.push(added)),
    remove: () => Promise.resolve(),
  } as unknown as Files; // the journal uses nothing else
  return { files, appended };
}

const resolved = '{"row":1,"values":{"tag_id":"a"}}\n{"resolved":true}\n';

test.each<[string, string, object]>([
  ["no file", "", { resolved: undefined, states: [] }],
  ["names without their end", '{"row":1,"values":{}}\n', { resolved: undefined, states: [] }],
  ["resolved names", resolved, { resolved: [[1, { tag_id: "a" }]], states: [] }],
  ["a sent row", `${resolved}{"sent":1}\n`, { states: [[1, { kind: "sent" }]] }],
  [
    "a row that is done",
    `${resolved}{"sent":1}\n{"done":1,"id":"x"}\n`,
    { states: [[1, { kind: "done", id: "x" }]] },
  ],
  ["a rejected row", `${resolved}{"sent":1}\n{"failed":1}\n`, { states: [] }],
  ["an incomplete last line", `${resolved}{"sent":1}\n{"do`, { states: [[1, { kind: "sent" }]] }],
])("reads %s", async (_, text, expected) => {
  const journal = await openBatchJournal("j", memoryFiles(text).files);
  expect({
    resolved: journal.resolved && [...journal.resolved],
    states: [...journal.states],
  }).toMatchObject(expected);
});

test("writes what it reads", async () => {
  const { files, appended } = memoryFiles();
  const journal = await openBatchJournal("j", files);
  async function* names() {
    yield [1, { tag_id: "a" }] as const;
  }
  await journal.begin(names());
  await journal.sent(1);
  await journal.done(1, "x");
  expect(appended.join("")).toBe(`${resolved}{"sent":1}\n{"done":1,"id":"x"}\n`);
});

test("entries during a write go into the next one", async () => {
  const { files, appended } = memoryFiles();
  const journal = await openBatchJournal("j", files);
  await Promise.all([journal.sent(1), journal.sent(2), journal.sent(3)]);
  await Promise.all([journal.sent(4), journal.sent(5)]);
  expect(appended).toEqual(['{"sent":1}\n{"sent":2}\n{"sent":3}\n', '{"sent":4}\n{"sent":5}\n']);
});

test("a line that was cut off is skipped and ended", async () => {
  const { files, appended } = memoryFiles('{"a":1}\n[2]\n{"b');
  const journal = await openJournal("j", files);
  await journal.append([{ c: 3 }]);
  await journal.append([{ d: 4 }]);
  expect(journal.entries).toEqual([{ a: 1 }]);
  expect(appended).toEqual(['\n{"c":3}\n', '{"d":4}\n']);
});
