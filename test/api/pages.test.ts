/** Pages of lists, with wrong totals, has_more and IDs. */
import { describe, expect, test } from "vitest";
import { canned, uuid } from "../lib/log-server.ts";
import { cli } from "../lib/support.ts";

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
      "whose total is 0 although it has rows ends with a page that is not full",
      3,
      () => ({ total: 0, has_more: true }),
      { exit: 0, rows: 3, requests: 1 },
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

  test.each([
    ["2", 10, "the server reports 4 rows, but its pages contain 2 distinct ones"],
    ["1", 0, "1 of 4 shown"],
  ])("in one response that has 2 of its 4 rows, with --limit %s", async (limit, exit, said) => {
    const { env } = await canned((_, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ doc_metadata: rowsOf(2), total: 4 }));
    });
    const ran = await cli(["kb", "metadata", "list", uuid(1), "--limit", limit], { env });
    expect(ran).toMatchObject({ exit, err: expect.stringContaining(said) });
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
