/** Inconsistent lists: wrong totals, has_more and IDs, and missing rows. */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { answering } from "../lib/answering.ts";
import { write } from "../lib/directory.ts";
import { canned, uuid } from "../lib/log-server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

/** Fields of the response with the given page and rows. */
type PageFields = (page: number, rows: readonly object[]) => object;

const rowsOf = (count: number) => Array.from({ length: count }, (_, at) => ({ id: uuid(at) }));

/** Lists knowledge bases, in pages of at most 100, with the fields of the case. */
async function listed(count: number, fields: PageFields, flags: readonly string[] = ["--all"]) {
  const { env, seen } = await canned((url, response) => {
    const page = Number(url.searchParams.get("page"));
    const size = Number(url.searchParams.get("limit"));
    response.setHeader("content-type", "application/json");
    const data = rowsOf(count).slice((page - 1) * size, page * size);
    response.end(JSON.stringify({ page, data, ...fields(page, data) }));
  });
  const ran = await cli(["kb", "list", ...flags, "-o", "jsonl"], { env });
  return { ...ran, rows: ran.out.split("\n").filter(Boolean).length, requests: seen.length };
}

describe("a list", () => {
  const cases: readonly [
    string,
    number,
    PageFields,
    { exit: number; rows: number; requests: number },
  ][] = [
    [
      "whose total is too small is read as long as has_more is true",
      250,
      (page, { length }) => ({ total: page === 1 ? 7 : 250, has_more: length === 100 }),
      { exit: 0, rows: 250, requests: 3 },
    ],
    [
      "whose total equals its full page is read further",
      250,
      (_, { length }) => ({ total: 100, has_more: length === 100 }),
      { exit: 0, rows: 250, requests: 3 },
    ],
    [
      "whose has_more is false before its total is reached is read further",
      150,
      () => ({ total: 150, has_more: false }),
      { exit: 0, rows: 150, requests: 2 },
    ],
    [
      "that is empty although its total is not zero is incomplete",
      0,
      () => ({ total: 4, has_more: false }),
      { exit: 10, rows: 0, requests: 2 },
    ],
    [
      "that ends before its total is read again and then incomplete",
      120,
      (_, { length }) => ({ total: 130, has_more: length === 100 }),
      { exit: 10, rows: 120, requests: 6 },
    ],
    [
      "that is empty although has_more is true is incomplete",
      0,
      () => ({ has_more: true }),
      { exit: 10, rows: 0, requests: 1 },
    ],
    [
      "whose total shrinks while it is read is complete",
      120,
      (page, { length }) => ({ total: page === 1 ? 130 : 120, has_more: length === 100 }),
      { exit: 0, rows: 120, requests: 2 },
    ],
    [
      "whose total grows while it is read is complete",
      120,
      (page, { length }) => ({ total: page === 1 ? 120 : 121, has_more: length === 100 }),
      { exit: 0, rows: 120, requests: 3 },
    ],
    [
      "whose pages repeat rows without IDs ends",
      0,
      () => ({ data: Array.from({ length: 100 }, () => ({ name: "x" })), has_more: true }),
      { exit: 10, rows: 100, requests: 4 },
    ],
    ...[-1, 1.5, 1e300, "x", null, {}].map(
      (total) =>
        [
          `with the invalid total ${JSON.stringify(total)} is complete`,
          120,
          (_: number, { length }: readonly object[]) => ({ total, has_more: length === 100 }),
          { exit: 0, rows: 120, requests: 2 },
        ] as const satisfies [string, number, PageFields, object],
    ),
  ];

  test.each(cases)("%s", async (_, count, fields, expected) => {
    expect(await listed(count, fields)).toMatchObject(expected);
  });

  test("with --limit reports missing rows, too", async () => {
    const ran = await listed(0, () => ({ total: 4, has_more: false }), ["--limit", "20"]);
    expect(ran).toMatchObject({ exit: 10, rows: 0 });
    expect(ran.err).toContain("the server reports 4 rows, but its pages contain 0 distinct ones");
  });

  test("that continues after a row without an ID is requested once and rejected", async () => {
    const data = rowsOf(100).with(-1, { id: "" });
    const { env, seen } = await canned((_, response) => {
      response.setHeader("content-type", "application/json");
      const last = Object.fromEntries([["name", "no id"]]);
      response.end(
        JSON.stringify({ limit: 100, has_more: true, data: data.with(-1, last as never) }),
      );
    });
    const ran = await cli(["wf", "conversation", "list", "--all", "-o", "jsonl"], { env });
    expect([ran.exit, ran.err]).toEqual([
      1,
      expect.stringContaining("invalid response: the list continues after a row without an ID"),
    ]);
    expect(seen.length).toBe(1);
  });
});

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
