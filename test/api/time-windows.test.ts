import { expect, test } from "vitest";
import { readWindows, timeOf } from "../../src/api/time-windows.ts";

const second = (time: string | undefined, fallback: number) =>
  time === undefined ? fallback : Date.parse(time) / 1000;

/**
 * Reads a list with rows at these seconds, three per page, from a server whose clock shows second 10;
 * negative seconds are counted but not returned. Each window is `from-to: seconds`.
 */
async function windowsOf(seconds: readonly number[], since?: number, last?: number, counts = true) {
  const list = seconds.map((at, id) => ({ id, created_at: Math.abs(at), hidden: at < 0 }));
  const source = {
    input: since === undefined ? {} : { created_at__after: timeOf(since) },
    cap: 3,
    fetch(input: Record<string, unknown>, { page, limit }: Record<string, string>) {
      const { created_at__after: after, created_at__before: before } = input as Record<
        string,
        string | undefined
      >;
      const matching = list
        .filter((row) => row.created_at >= second(after, 0))
        .filter((row) => row.created_at <= second(before, Infinity));
      const start = (Number(page) - 1) * Number(limit);
      const rows = matching
        .filter(({ hidden }) => !hidden)
        .sort((a, b) => b.created_at - a.created_at)
        .slice(start, start + Number(limit));
      const total = counts ? matching.length : undefined;
      return Promise.resolve({ rows, total, more: undefined, asOf: 10 });
    },
    trace: () => Promise.resolve(),
  };
  const windows: string[] = [];
  let [again, left] = [0, NaN];
  for await (const window of readWindows(source, last)) {
    const { from, to, rows, missing } = window;
    const shown = rows.map((row) => (row as (typeof list)[number]).created_at).join(" ");
    windows.push(`${from}-${to}: ${shown}${missing > 0 ? ` missing ${missing}` : ""}`);
    again += window.again;
    ({ left } = window); // that of the last one stays
  }
  return { windows, again, left };
}

test.each([
  ["an empty list", [], ["0-10: "]],
  ["one page", [9, 8, 5], ["0-10: 9 8 5"]],
  ["the oldest second of a page is read again", [9, 9, 8, 5], ["9-10: 9 9", "0-8: 8 5"]],
  ["a page that splits a second", [9, 8, 8, 8], ["9-10: 9", "0-8: 8 8 8"]],
  ["a second with more than a page", [9, 9, 9, 9], ["9-10: 9 9 9 9", "0-8: "]],
  ["a hidden row", [9, 8, -8, 7, 6], ["8-10: 9 8 missing 1", "0-7: 7 6"]],
  ["a row ahead of the server's clock", [12, 9], ["0-12: 12 9"]],
])("windows of %s", async (_, seconds, expected) => {
  expect(await windowsOf(seconds)).toMatchObject({ windows: expected, left: 0 });
});

test("the first page of a list has a start only if one is wanted", async () => {
  const inputs: unknown[] = [];
  const source = {
    cap: 3,
    fetch(input: unknown) {
      inputs.push(input);
      return Promise.resolve({ rows: [], total: 0, more: undefined, asOf: 10 });
    },
    trace: () => Promise.resolve(),
  };
  const start = { created_at__after: "1970-01-01T00:00:06Z" };
  for await (const _ of readWindows({ ...source, input: {} }));
  for await (const _ of readWindows({ ...source, input: start }));
  expect(inputs).toEqual([{}, start]);
});

test("a second with more than a page is read by status, again only where a page is too short", async () => {
  const rows = Array.from({ length: 121 }, (_, id) => ({ id, created_at: 9, failed: id === 120 }));
  const requests: string[] = [];
  const source = {
    input: {},
    cap: 100,
    fetch(input: Record<string, unknown>, { page, limit }: Record<string, string>) {
      const { status, created_at__before: before } = input;
      requests.push(`${String(status)} ${page} ${limit}`);
      const part = rows.filter(
        ({ created_at, failed }) =>
          created_at <= second(before as string | undefined, Infinity) &&
          (status === undefined || status === (failed ? "failed" : "succeeded")),
      );
      // Of pages of 100, the second one has rows of the first one again.
      const first = limit === "100" ? 0 : (Number(page) - 1) * Number(limit);
      const last = limit === "100" && page === "2" ? part.length - 100 : first + Number(limit);
      const found = part.slice(first, last);
      return Promise.resolve({ rows: found, total: part.length, more: undefined, asOf: 10 });
    },
    trace: () => Promise.resolve(),
  };
  const windows = [];
  for await (const window of readWindows(source)) windows.push(window);
  expect(windows[0]).toMatchObject({ missing: 0 });
  expect(windows[0]?.rows).toHaveLength(121);
  expect(requests.filter((request) => !request.endsWith(" 100"))).toEqual([
    "succeeded 1 97",
    "succeeded 2 97",
  ]);
});

test.each([
  ["a start", 6, undefined, ["6-10: 9 9 8"]],
  ["an end", undefined, 8, ["0-8: 8 5"]],
  ["both", 8, 8, ["8-8: 8"]],
  ["an end before the start", 9, 8, []],
])("windows with %s", async (_, since, last, expected) => {
  expect((await windowsOf([9, 9, 8, 5], since, last)).windows).toEqual(expected);
});

test("windows of a server that does not count its rows", async () => {
  const { windows } = await windowsOf([9, 8, 7, 6], undefined, undefined, false);
  expect(windows).toEqual(["8-10: 9 8", "0-7: 7 6"]);
});

test("windows end with a start whose second is in two pages", async () => {
  expect((await windowsOf([9, 9, 8, 8], 8)).windows).toEqual(["9-10: 9 9", "8-8: 8 8"]);
});

test("windows end with a start whose second has more than a page, which is read three times", async () => {
  // Three rows, the same three alone, and all four in a larger page.
  expect(await windowsOf([9, 9, 9, 9], 9)).toEqual({
    windows: ["9-10: 9 9 9 9"],
    again: 6,
    left: 0,
  });
});
