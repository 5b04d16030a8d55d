/** What commands do with a list that lacks rows. */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { answering } from "../lib/answering.ts";
import { write } from "../lib/directory.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

describe("a list that has fewer rows than its total", () => {
  let server: TestSandbox;
  let folder = "";
  beforeAll(async () => {
    server = await testSandbox();
    folder = await temporaryDirectory();
    await write(join(folder, "synced"), { "a.md": "first", "b.md": "second" });
    await write(folder, {
      "questions.csv": "question,documents\nfirst,a.md\n",
      "kb.yml": "knowledge_base: Base\ndescription: made\n",
    });
    for (const line of [
      "kb create Base --indexing-technique economy",
      "kb sync Base ./synced",
      "kb export Base ./backup",
    ])
      expect(await server.cli(words(line)), line).toMatchObject({ exit: 0 });
  });
  const words = (line: string) =>
    line.split(" ").map((word) => word.replace(/^\.\//, `${folder}/`));

  const emptied = (path: RegExp) => ({
    around: (host: Parameters<typeof answering>[0]) =>
      answering(host, ({ request, body }) => {
        if (!path.test(request)) return body;
        const page = JSON.parse(body.toString()) as object;
        return Buffer.from(JSON.stringify({ ...page, data: [] }));
      }),
  });

  test.each([
    "kb sync Base ./synced",
    "kb sync Base ./synced --dry-run",
    "kb sync Base ./synced --prune --max-delete 100% -y",
    "kb export Base ./out",
    "kb verify ./backup Base",
    "kb verify Base ./backup",
    "kb copy Base --name Other",
    "kb import ./backup --into Base",
    "kb eval Base ./questions.csv",
    "kb doc wait Base",
    "kb doc delete Base a.md --yes",
  ])("of documents is rejected before any write: %s", async (line) => {
    server.seen.length = 0;
    const ran = await server.cli(words(line), emptied(/\/documents\?/));
    expect([ran.exit, ran.err]).toEqual([
      1,
      expect.stringMatching(/failed to read the whole list: received 0 of \d rows/),
    ]);
    expect(server.seen.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  // A plain create may be sent: the server itself rejects a name that already exists.
  test.each([
    "kb create Base --if-not-exists",
    "kb plan ./kb.yml",
    "kb apply ./kb.yml",
    "kb import ./backup --into Base",
    "kb show Base",
  ])("of knowledge bases does not prove that a name is unused: %s", async (line) => {
    const ran = await server.cli(words(line), emptied(/datasets\?/));
    expect([ran.exit, ran.err]).toEqual([1, expect.stringContaining("received 0 of 1 rows")]);
  });

  test("of chunks is rejected by kb export", async () => {
    const ran = await server.cli(words("kb export Base ./chunks"), emptied(/segments/));
    expect([ran.exit, ran.err]).toEqual([1, expect.stringContaining("received 0 of 1 rows")]);
  });
});

test("kb eval rejects a stored top_k that is not a positive integer", async () => {
  const server = await testSandbox();
  const folder = await temporaryDirectory();
  await write(folder, { "q.csv": "question,documents\nfirst,a.md\n" });
  for (const line of [
    "kb create Base --indexing-technique economy",
    "kb doc add Base a.md --text first",
  ])
    expect(await server.cli(line.split(" "))).toMatchObject({ exit: 0 });
  for (const top_k of [-1, 0, 1.5]) {
    const ran = await server.cli(["kb", "eval", "Base", join(folder, "q.csv")], {
      around: (host) =>
        answering(host, ({ body }) =>
          Buffer.from(body.toString().replaceAll(/"top_k": ?\d+/g, `"top_k":${top_k}`)),
        ),
    });
    expect([ran.exit, ran.out, ran.err]).toEqual([
      1,
      "",
      expect.stringContaining(
        `retrieval_model_dict.top_k is ${top_k}, not a positive whole number`,
      ),
    ]);
  }
});
