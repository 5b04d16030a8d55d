/** `--sort` and `--reverse` concern all rows of a list; a limit, a page and a format choose among the sorted ones. */
import { describe, expect, test } from "vitest";
import { cursorServer } from "../lib/cursor-server.ts";
import { canned, logServer, logsOf, uuid } from "../lib/log-server.ts";
import { cli } from "../lib/support.ts";

/** Knowledge bases, newest first, whose numbers of documents are these; the server counts `hidden` more. */
const baseServer = (counts: readonly number[], hidden = 0) =>
  canned((url, response) => {
    const [page, limit] = ["page", "limit"].map((name) => Number(url.searchParams.get(name)));
    const first = ((page ?? 1) - 1) * (limit ?? 0);
    const data = counts.slice(first, first + (limit ?? 0)).map((document_count, index) => ({
      id: uuid(first + index),
      name: `base ${first + index}`,
      document_count,
    }));
    response.setHeader("content-type", "application/json");
    const has_more = data.length === limit;
    response.end(JSON.stringify({ data, has_more, total: counts.length + hidden, page, limit }));
  });

/** Every number from 0 to 249 once: 7 and 250 have no common divisor. */
const scattered = Array.from({ length: 250 }, (_, index) => (7 * index + 100) % 250);
const columns = ["--columns", "documents"];

describe("a sort", () => {
  test.each<[flags: string, out: string, err: string]>([
    ["--sort documents --limit 3", "0\n1\n2\n", "3 of 250 shown\n"],
    ["--sort documents --reverse --limit 3", "249\n248\n247\n", "3 of 250 shown\n"],
    ["--sort documents --reverse --limit 3 --page 2", "246\n245\n244\n", ""],
    ["--sort documents --limit 3 -o csv", "documents\r\n0\r\n1\r\n2\r\n", "3 of 250 shown\n"],
    ["--sort documents --limit 2 --jq .[].documents", "0\n1\n", "2 of 250 shown\n"],
    // The last rows of the list are its oldest: 7 × 249 + 100 is 1843, of which 93 remains.
    ["--reverse --limit 2", "93\n86\n", "2 of 250 shown\n"],
    ["--reverse --limit 2 --page 2", "79\n72\n", ""],
  ])("%s", async (flags, out, err) => {
    const { env, seen } = await baseServer(scattered);
    const ran = await cli(["kb", "list", ...columns, ...flags.split(" ")], { env });
    expect(ran).toEqual({ exit: 0, out, err });
    expect(seen.map(({ searchParams }) => searchParams.get("page"))).toEqual(["1", "2", "3"]);
  });

  test("shows as many rows as a list does, and says that there are more", async () => {
    const { env } = await baseServer(scattered);
    const { out, err } = await cli(["kb", "list", ...columns, "--sort", "documents"], { env });
    expect(out.split("\n").slice(0, -1)).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`));
    expect(err).toBe("20 of 250 shown, --all for the rest\n");
  });

  test("of many rows says so, and forgets those that cannot be shown any more", async () => {
    // 2,999 and 7 have no common divisor.
    const counts = Array.from({ length: 2999 }, (_, index) => (7 * index + 5) % 2999);
    const { env } = await baseServer(counts);
    const line = ["kb", "list", ...columns, "--limit", "4"];
    const notice = "reading all rows, which are more than 1,000, to sort them\n";
    const up = await cli([...line, "--sort", "documents"], { env });
    expect([up.out, up.err]).toEqual(["0\n1\n2\n3\n", `${notice}4 of 2999 shown\n`]);
    const down = await cli([...line, "--sort", "documents", "--reverse"], { env });
    expect(down.out).toBe("2998\n2997\n2996\n2995\n");
    const last = await cli([...line, "--reverse"], { env });
    expect(last.out).toBe(`${counts.slice(-4).toReversed().join("\n")}\n`);
  });

  test("of a list that is known to be incomplete exits with 10", async () => {
    const { env } = await baseServer(scattered, 1);
    const ran = await cli(["kb", "list", ...columns, "--sort", "documents", "--limit", "1"], {
      env,
    });
    expect([ran.exit, ran.out]).toEqual([10, "0\n"]);
    expect(ran.err).toContain("the server reports 251 rows");
  });

  test("of runs reads the whole log, whose pages lose rows", async () => {
    const logs = logsOf(...Array.from({ length: 40 }, () => 9));
    const { env } = await logServer(() => logs, 2);
    const line = ["wf", "logs", "--sort", "started", "--limit", "9", "-o", "jsonl"];
    const { exit, out, err } = await cli(line, { env });
    const ids = out.match(/(?<=^\{"id":")[^"]+/gm)?.sort();
    expect([exit, ids, err]).toEqual([0, logs.slice(0, 9).map(({ id }) => id), "9 of 360 shown\n"]);
  });

  test("of a list with a cursor counts the rows that were read", async () => {
    const { env } = await cursorServer(Array.from({ length: 120 }, () => 1));
    const line = ["wf", "conversation", "list", "--reverse", "--limit", "2", "-o", "name"];
    expect(await cli(line, { env })).toEqual({
      exit: 0,
      out: `${uuid(0)}\n${uuid(1)}\n`,
      err: "2 of 120 shown\n",
    });
  });
});
