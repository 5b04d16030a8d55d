import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";

test("--columns takes the server's name of a field inside an object", async () => {
  const server = await testSandbox();
  const tsv = async (line: string, columns: string) =>
    (await server.cli([...line.split(" "), "--columns", columns, "-o", "tsv"])).out;
  await server.cli(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  expect(await tsv("kb doc add Handbook a.md --text word", "name,display_status")).toBe(
    "name\ta.md\ndisplay_status\tqueuing\n",
  );
  await server.cli(["kb", "doc", "wait", "Handbook"]);
  expect(
    await tsv("kb chunk add Handbook a.md --content words", "content,word_count,hit_count"),
  ).toBe("content\tword_count\thit_count\nwords\t5\t0\n");
});
