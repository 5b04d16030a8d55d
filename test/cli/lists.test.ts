import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { withWrite } from "../../src/output/style.ts";
import { cursorServer } from "../lib/cursor-server.ts";
import { canned, logServer, logsOf, start, uuid } from "../lib/log-server.ts";
import { sampled } from "../lib/sampled.ts";
import { seeded } from "../lib/seeded.ts";
import { cli } from "../lib/support.ts";
import type { World } from "../lib/support.ts";

const idsIn = (out: string): string[] =>
  out
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { id: string }).id); // written by the test server

const all = ["wf", "logs", "--all", "-o", "jsonl"];

describe("a log whose pages lose rows", () => {
  const seeds = Array.from({ length: 50 }, (_, seed) => seed);

  test.each(sampled(6, seeds))(
    "is printed completely, without duplicates (seed %i)",
    async (seed) => {
      const random = seeded(seed + 1);
      const counts = Array.from({ length: 20 }, () => Math.floor(random() * 40));
      // A second with more rows than a page, which no window can split.
      if (seed % 5 === 0) counts[10] = 130;
      const logs = logsOf(...counts);
      const { env } = await logServer(() => logs, seed, {
        order: seed % 2 === 0 ? "changing" : "fixed",
      });
      const { exit, out, err } = await cli(all, { env });
      expect([exit, err]).toEqual([0, ""]);
      expect(idsIn(out).sort()).toEqual(logs.map(({ id }) => id));
    },
  );

  test("is printed newest first, with few extra requests", async () => {
    const logs = logsOf(30, 30, 130, 30, 30);
    const { env, seen } = await logServer(() => logs, 3);
    const { exit, out, err } = await cli([...all, "-v"], { env });
    const seconds = idsIn(out).map((id) => logs.find((log) => log.id === id)?.created_at);
    expect([exit, seconds.length, new Set(idsIn(out)).size]).toEqual([0, 250, 250]);
    expect(seconds).toEqual(seconds.toSorted((a, b) => Number(b) - Number(a)));
    expect(err).toContain("reading 2026-11-21T10:00:02Z to 2026-11-21T10:00:02Z in parts\n");
    expect(seen.length).toBeLessThan(15);
  });

  test("needs only first pages if no second fills a page", async () => {
    const logs = logsOf(...Array.from({ length: 50 }, () => 9));
    const { env, seen } = await logServer(() => logs, 3);
    const { exit, out } = await cli(all, { env });
    expect([exit, idsIn(out).length]).toEqual([0, 450]);
    // A page of 100 holds 11 whole seconds, 99 rows.
    expect(seen.map(({ searchParams }) => searchParams.get("page"))).toEqual(
      Array.from({ length: 5 }, () => "1"),
    );
    expect(seen.map(({ searchParams }) => searchParams.get("created_at__before"))).toEqual([
      null,
      "2026-11-21T10:00:38Z",
      "2026-11-21T10:00:27Z",
      "2026-11-21T10:00:16Z",
      "2026-11-21T10:00:05Z",
    ]);
  });

  test("may gain and lose rows while it is read", async () => {
    let logs = logsOf(...Array.from({ length: 40 }, () => 12));
    let requests = 0;
    const before = () => {
      requests++;
      if (requests === 2) logs = logs.filter(({ created_at }) => created_at > start + 3);
      if (requests === 3)
        logs = [...logs, { id: uuid(9999), created_at: start + 5, status: "succeeded" }];
    };
    const { env } = await logServer(() => logs, 17, { before });
    const { exit, out } = await cli(all, { env });
    expect([exit, new Set(idsIn(out)).size, idsIn(out).length]).toEqual([0, 433, 433]);
  });

  test("fails if the server ignores the time filters", async () => {
    const rows = JSON.stringify(
      logsOf(...Array.from({ length: 20 }, () => 5)).map((log) => ({ ...log, workflow_run: null })),
    );
    const { env } = await canned((_, response) => {
      response.setHeader("content-type", "application/json");
      response.end(`{"page":1,"limit":100,"total":300,"has_more":true,"data":${rows}}`);
    });
    const { exit, err } = await cli(all, { env });
    expect([exit, err]).toEqual([1, expect.stringContaining("created_at__before")]);
  });

  test("respects the user's filters", async () => {
    const logs = logsOf(...Array.from({ length: 30 }, () => 30));
    const { env, seen } = await logServer(() => logs, 5);
    const [after, before] = ["2026-11-21T10:00:04Z", "2026-11-21T10:00:20Z"];
    const { exit, out } = await cli(
      [...all, "--status", "failed", "--since", after, "--until", before],
      { env },
    );
    expect(exit).toBe(0);
    expect(idsIn(out).sort()).toEqual(
      logs
        .filter(
          ({ created_at, status }) =>
            status === "failed" && created_at >= start + 4 && created_at <= start + 20,
        )
        .map(({ id }) => id),
    );
    for (const { searchParams } of seen) {
      expect(searchParams.get("status")).toBe("failed");
      expect(String(searchParams.get("created_at__after")) >= after).toBe(true);
      expect(String(searchParams.get("created_at__before")) <= before).toBe(true);
    }
  });

  test("ends at the server's clock of the first response", async () => {
    const old = logsOf(...Array.from({ length: 10 }, () => 15));
    let requests = 0;
    const later = { id: uuid(9999), created_at: start + 3601, status: "succeeded" };
    const { env, seen } = await logServer(() => (requests++ === 0 ? old : [later, ...old]), 7);
    const { exit, out } = await cli(all, { env });
    expect([exit, idsIn(out).length, idsIn(out).includes(later.id)]).toEqual([0, 150, false]);
    expect(seen.map(({ searchParams }) => searchParams.get("created_at__before"))).toEqual([
      null,
      "2026-11-21T10:00:03Z",
    ]);
  });

  test("includes rows that only narrower windows return", async () => {
    const logs = logsOf(...Array.from({ length: 40 }, () => 9)).map((log, index) =>
      [20, 21, 200, 340].includes(index) ? { ...log, shy: true as const } : log,
    );
    const { env, seen } = await logServer(() => logs, 19);
    const { exit, out } = await cli(all, { env });
    expect([exit, idsIn(out).sort()]).toEqual([0, logs.map(({ id }) => id)]);
    const seconds = idsIn(out).map((id) => logs.find((log) => log.id === id)?.created_at);
    expect(seconds).toEqual(seconds.toSorted((a, b) => Number(b) - Number(a)));
    expect(seen.length).toBeLessThan(60);
  });

  test("exits with 10 and counts the rows that the server hides", async () => {
    const logs = logsOf(5, 121, 5).map((log, index) =>
      index >= 40 && index < 51 ? { ...log, hidden: true as const } : log,
    );
    const { env, seen } = await logServer(() => logs, 11);
    const { exit, out, err } = await cli(all, { env });
    expect(exit).toBe(10);
    expect(idsIn(out).sort()).toEqual(logs.filter(({ hidden }) => !hidden).map(({ id }) => id));
    const { error } = JSON.parse(err.trim().split("\n").at(-1) ?? "") as { error: unknown }; // an error as JSON
    expect(error).toMatchObject({
      code: "partial",
      exit: 10,
      message: "incomplete list: the server returned 120 of 131 rows",
      details: { shown: 120, total: 131 },
    });
    expect(seen.length).toBeLessThan(150);
  });

  test("is requested once if one page has all rows", async () => {
    const logs = logsOf(20, 30, 40);
    const { env, seen } = await logServer(() => logs, 13);
    const { exit, out } = await cli(all, { env });
    expect([exit, idsIn(out).length, seen.length]).toEqual([0, 90, 1]);
  });
});

/** Knowledge bases in pages; `fails` is the page that fails. */
const baseServer = (rows: number, fails?: number) =>
  canned((url, response) => {
    const page = Number(url.searchParams.get("page"));
    const limit = Number(url.searchParams.get("limit"));
    response.setHeader("content-type", "application/json");
    if (page === fails) {
      response.statusCode = 503;
      response.end('{"code":"unavailable","message":"not now","status":503}');
      return;
    }
    const first = (page - 1) * limit;
    const data = Array.from({ length: Math.max(0, Math.min(limit, rows - first)) }, (_, index) => ({
      id: uuid(first + index),
      name: `base ${first + index}`,
    }));
    response.end(
      JSON.stringify({ data, has_more: data.length === limit, total: rows, page, limit }),
    );
  });

const columns = ["--columns", "id,name"];
/** A format with its head and its line for a row. */
const forms: readonly (readonly [form: string, head: string, line: (number: number) => string])[] =
  [
    ["jsonl", "", (number) => `{"id":"${uuid(number)}","name":"base ${number}"}\n`],
    ["csv", "id,name\r\n", (number) => `${uuid(number)},base ${number}\r\n`],
    ["tsv", "id\tname\n", (number) => `${uuid(number)}\tbase ${number}\n`],
    ["name", "", (number) => `${uuid(number)}\n`],
  ];

describe.each(forms)("a long list as %s", (form, head, line) => {
  const lines = (count: number) =>
    head + Array.from({ length: count }, (_, number) => line(number)).join("");
  const argv = ["kb", "list", "--all", "-o", form, ...(form === "name" ? [] : columns)];

  test("is printed page by page", async () => {
    const { env, seen } = await baseServer(350);
    let requests: number | undefined;
    const onOutput: World["onOutput"] = () => (requests ??= seen.length);
    const { exit, out } = await cli(argv, { env, onOutput });
    expect([exit, seen.length]).toEqual([0, 4]);
    expect(requests).toBeLessThanOrEqual(2); // the second page may be requested already
    expect(out).toBe(lines(350));
  });

  test("ends with a complete line when it is interrupted", async () => {
    const { env } = await baseServer(1000);
    const stop = new AbortController();
    let out = "";
    const onOutput = (text: string) => {
      out += text;
      if (out.includes("000000000250")) stop.abort("SIGINT");
    };
    const ran = await cli(argv, { env, onOutput, signal: stop.signal });
    expect(ran.exit).toBe(130);
    expect(ran.out).toBe(lines(300));
  });

  test("keeps the printed rows if a page fails", async () => {
    const { env, seen } = await baseServer(1000, 4);
    const { exit, out } = await cli([...argv, "--retries", "2"], { env });
    expect(exit).toBe(1);
    expect(out).toBe(lines(300));
    expect(seen.map(({ searchParams }) => searchParams.get("page")).join(" ")).toBe("1 2 3 4 4 4");
  });
});

describe("while a page is printed", () => {
  /** Two pages of rows that are larger than the buffer of the output; `onSecond` answers the second one. */
  const twoPages = (onSecond: (response: ServerResponse, body: string) => void) =>
    canned((url, response) => {
      const page = Number(url.searchParams.get("page"));
      const data = Array.from({ length: 100 }, (_, at) => ({
        id: uuid(100 * page + at),
        description: "x".repeat(1000),
      }));
      const body = JSON.stringify({ data, page, total: 200, has_more: page === 1 });
      response.setHeader("content-type", "application/json");
      if (page === 1) response.end(body);
      else onSecond(response, body);
    });

  test("the next one is requested", async () => {
    let onRequest = () => {};
    const requested = new Promise<void>((resolve) => (onRequest = resolve));
    const { env, seen } = await twoPages((response, body) => {
      onRequest();
      response.end(body);
    });
    const around: World["around"] = (host) => ({
      ...host,
      stdout: withWrite(host.stdout, async (text) => {
        await requested;
        await host.stdout.write(text);
      }),
    });
    const { exit, out, err } = await cli(["kb", "list", "--all", "-o", "jsonl"], { env, around });
    expect([exit, err, idsIn(out).length, seen.length]).toEqual([0, "", 200, 2]);
  });

  test("a failure of the next one does not matter to a reader that has left", async () => {
    const { env } = await twoPages((response) => response.destroy());
    let hasLeft = false;
    const around: World["around"] = (host) => ({
      ...host,
      stdout: {
        ...host.stdout,
        async write(text) {
          await host.stdout.write(text);
          hasLeft = true;
        },
        get closed() {
          return hasLeft;
        },
      },
    });
    const { exit, err } = await cli(["kb", "list", "--all", "-o", "jsonl"], { env, around });
    expect([exit, err]).toEqual([0, ""]);
  });
});

test.each(["grid", "wide"])("a long list as %s is printed page by page", async (form) => {
  // The package that draws tables is loaded before: meanwhile, pages would arrive.
  await cli(["kb", "list", "-o", form], await baseServer(1));
  const { env, seen } = await baseServer(350, 3);
  let requests: number | undefined;
  const onOutput: World["onOutput"] = () => (requests ??= seen.length);
  const { exit, out } = await cli(["kb", "list", "--all", "-o", form, "--retries", "0"], {
    env,
    onOutput,
  });
  expect(exit).toBe(1);
  expect(requests).toBeLessThanOrEqual(2); // the second page may be requested already
  expect(out.split("\n").length).toBe(1 + 200 + 1); // head, rows, the end of the last line
});

describe("a list with a cursor that is compared by whole seconds", () => {
  const random = seeded(11);
  const several = Array.from({ length: 60 }, () => 1 + Math.floor(random() * 9));
  const conversation = uuid(1);
  const lines: readonly (readonly string[])[] = [
    ["conversation", "messages", conversation, "--all", "-o", "jsonl"],
    ["conversation", "list", "--all", "-o", "jsonl"],
    ["conversation", "list", "--sort-by", "-created_at", "--all", "-o", "jsonl"],
    ["conversation", "list", "--sort-by", "created_at", "--all", "-o", "jsonl"],
    ["conversation", "variables", conversation, "--all", "-o", "jsonl"],
    ["api", "GET", `/messages?user=u&conversation_id=${conversation}`, "--all", "-o", "jsonl"],
    ["api", "GET", "/conversations?user=u&sort_by=-created_at", "--all", "-o", "jsonl"],
  ];
  // The last two rows share the second of the hundredth, and has_more is false.
  const hidden = [...Array.from({ length: 97 }, () => 1), 5].toReversed();

  test.each(lines.flatMap((line) => [several, hidden].map((counts) => ({ line, counts }))))(
    "is read completely: $line",
    async ({ line, counts }) => {
      const { env } = await cursorServer(counts);
      const ran = await cli(["wf", ...line], { env });
      const total = counts.reduce((sum, count) => sum + count, 0);
      expect([ran.exit, ran.err]).toEqual([0, ""]);
      expect(idsIn(ran.out).length).toBe(total);
      expect(new Set(idsIn(ran.out)).size).toBe(total);
    },
  );

  test.each(lines)("reports a second with more rows than a page: wf %s %s", async (...line) => {
    const { env } = await cursorServer([3, 120, 3]);
    const ran = await cli(["wf", ...line], { env });
    expect([ran.exit, idsIn(ran.out).length]).toEqual([10, 106]);
    expect(ran.err).toContain("failed to read the whole list: got 106 rows");
  });
});
