/** A directory with files of several formats and languages, synced into a sandbox with models. */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { docx, paragraph } from "../../lib/office-files.ts";
import { pdf } from "../../lib/pdf-file.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const { done } = await testSandbox({ speed: 200, models: true });
const folder = await temporaryDirectory();

const files = {
  "travel.pdf": pdf(["Book trains early.", "Excess luggage needs\nan approved waiver."]),
  "urlaub.docx": docx(paragraph("Im Sommer ist der Betrieb für die Werksferien geschlossen.")),
  "оплата.csv": "вид,срок\nкомандировка,неделя\n",
  "休暇.html": "<h1>休暇</h1><p>結婚のときは慶弔休暇を取ることができます。</p>",
  "notes.md": "# Notes\n\nThe plotter stands on the mezzanine.\n",
  "prices.csv": "product,price\nstapler,12\nlaminator,80\n",
};

beforeAll(async () => {
  await write(join(folder, "files"), files);
  await done(["kb", "create", "Handbook", "--indexing-technique", "high_quality"]);
  await done(["kb", "sync", "Handbook", join(folder, "files")], { folder });
});

const found = (word: string, method: string) => {
  const search = ["kb", "search", "Handbook", word, "--search-method", method, "--top-k", "1"];
  return done([...search, "--jq", ".[].segment.document.name"]);
};

describe.each(["hybrid_search", "full_text_search"])("%s finds", (method) => {
  test.each([
    ["waiver", "travel.pdf"],
    ["Werksferien", "urlaub.docx"],
    ["командировка", "оплата.csv"],
    ["mezzanine", "notes.md"],
    ["laminator", "prices.csv"],
  ])("%s in %s", async (word, name) => {
    expect((await found(word, method)).out).toBe(`${name}\n`);
  });
});

// Full-text search finds no Japanese (server §6.1).
test.each(["semantic_search", "hybrid_search"])("%s finds Japanese", async (method) => {
  expect((await found("慶弔休暇", method)).out).toBe("休暇.html\n");
});
