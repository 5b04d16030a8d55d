import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { perSecond } from "../src/api/per-second.ts";
import { seenIds } from "../src/api/seen.ts";
import { cli } from "./support.ts";
import type { World } from "./support.ts";

type Answer = (url: URL, response: ServerResponse, request: IncomingMessage) => void;

/** A server that answers by hand, and what leads a command line to it. */
async function canned(answer: Answer) {
  const seen: URL[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    seen.push(url);
    answer(url, response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // a TCP server has no other kind
  const env = {
    KB_BASE_URL: `http://127.0.0.1:${port}/v1`,
    KB_KEY: "dataset-sandbox",
    KB_APP_KEY: "app-echo",
  };
  return { seen, env };
}

/** Numbers from 0 to 1 that are the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    const bits = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    return ((bits ^ (bits >>> 13)) >>> 0) / 2 ** 32;
  };
}

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

describe("ids that were met", () => {
  const million = 1_000_000;
  const ids: Readonly<Record<string, (number: number) => string>> = {
    "differ in their first digits": (number) =>
      `${number.toString(16).padStart(8, "0")}-0000-7000-8000-000000000000`,
    "differ in their last digits": (number) =>
      `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`,
    "are no UUIDs": (number) => `row ${number}`,
  };

  test.each(Object.entries(ids))("a million that %s are each new once", (_, idOf) => {
    const seen = seenIds();
    let added = 0;
    for (let number = 0; number < million; number++) if (seen.add(idOf(number))) added++;
    expect([added, seen.size]).toEqual([million, million]);
    let again = 0;
    for (let number = 0; number < million; number++) if (seen.add(idOf(number))) again++;
    expect([again, seen.size]).toEqual([0, million]);
    expect(seen.add(idOf(million))).toBe(true);
  });

  test("the id of zeros is one like any other", () => {
    const seen = seenIds();
    const zeros = "00000000-0000-0000-0000-000000000000";
    expect([seen.add(zeros), seen.add(zeros), seen.add(uuid(1)), seen.size]).toEqual([
      true,
      false,
      true,
      2,
    ]);
  });

  test("texts that almost are UUIDs stay apart", () => {
    const seen = seenIds();
    const texts = [
      uuid(10),
      `${uuid(10)} `,
      uuid(10).replace("-", "0"),
      "",
      "\0",
      "a\u1234b",
      "ab",
    ];
    expect(texts.map((text) => seen.add(text))).toEqual(texts.map(() => true));
    expect(texts.map((text) => seen.add(text))).toEqual(texts.map(() => false));
  });
});

test("rows are counted by second in whatever order they come", () => {
  const met = perSecond();
  for (const second of [9, 9, 7, 3, 8, 7, 1, 10]) met.add(second);
  expect([met.between(1, 10), met.between(7, 8), met.between(4, 6), met.between(9, 9)]).toEqual([
    8, 3, 0, 2,
  ]);
  expect([met.middle(1, 10), met.middle(1, 7), met.middle(4, 6)]).toEqual([8, 7, undefined]);
});

interface Log {
  readonly id: string;
  readonly created_at: number;
  readonly status: string;
  /** Never among the rows, but counted. */
  readonly hidden?: true;
}

const start = Date.parse("2026-11-21T10:00:00Z") / 1000;

/** As many rows in each second as the list says; every third has failed. */
const logsOf = (...counts: readonly number[]): Log[] =>
  counts
    .flatMap((count, second) => Array.from({ length: count }, () => start + second))
    .map((created_at, index) => ({
      id: uuid(index),
      created_at,
      status: index % 3 === 0 ? "failed" : index % 7 === 0 ? "running" : "succeeded",
    }));

/**
 * Pages as the server makes them: sorted by second, those of one second in an order that depends on
 * the query alone (`fixed`) or changes with each (server §12).
 */
function logServer(
  logs: () => readonly Log[],
  seed: number,
  order: "fixed" | "changing" = "changing",
) {
  const random = seeded(seed);
  return canned((url, response) => {
    const value = (name: string) => url.searchParams.get(name);
    const number = (name: string, otherwise: number) => Number(value(name) ?? otherwise);
    const edge = (name: string, otherwise: number) =>
      value(name) === null ? otherwise : Date.parse(value(name) ?? "") / 1000;
    const status = value("status");
    const found = logs().filter(
      (log) =>
        log.created_at >= edge("created_at__after", 0) &&
        log.created_at <= edge("created_at__before", Infinity) &&
        (status === null || log.status === status),
    );
    const [page, limit] = [number("page", 1), number("limit", 20)];
    const chance = order === "fixed" ? seeded(seed + page * 1000 + limit) : random;
    const sorted = found
      .map((log) => ({ log, chance: chance() }))
      .sort((a, b) => b.log.created_at - a.log.created_at || a.chance - b.chance)
      .map(({ log }) => log);
    const data = sorted
      .slice((page - 1) * limit, page * limit)
      .filter(({ hidden }) => !hidden)
      .map(({ id, created_at, status: ended }) => ({
        id,
        created_at,
        workflow_run: { id, status: ended, created_at },
      }));
    response.setHeader("date", new Date((start + 3600) * 1000).toUTCString());
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ page, limit, total: found.length, has_more: false, data }));
  });
}

const idsIn = (out: string): string[] =>
  out
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { id: string }).id); // lines the server above made

const all = ["wf", "logs", "--all", "-o", "jsonl"];

describe("logs whose pages lose rows", () => {
  const seeds = Array.from({ length: 50 }, (_, seed) => seed);

  test.each(seeds)("are printed whole, each once (seed %i)", async (seed) => {
    const random = seeded(seed + 1);
    const counts = Array.from({ length: 20 }, () => Math.floor(random() * 40));
    // Seconds of more than a page, which no narrower window can cut.
    if (seed % 5 === 0) counts[10] = 130;
    const logs = logsOf(...counts);
    const { env } = await logServer(() => logs, seed, seed % 2 === 0 ? "changing" : "fixed");
    const { exit, out, err } = await cli(all, { env });
    expect([exit, err]).toEqual([0, ""]);
    expect(idsIn(out).sort()).toEqual(logs.map(({ id }) => id));
  });

  test("come newest first, those found later at the end, said with -v", async () => {
    const logs = logsOf(30, 30, 30, 30, 30);
    const { env } = await logServer(() => logs, 3);
    const { exit, out, err } = await cli([...all, "-v"], { env });
    const ids = idsIn(out);
    const said = /^(\d+) of 150 rows shown; the others follow, out of order$/m.exec(err);
    const inOrder = Number(said?.[1]);
    expect([exit, ids.length]).toEqual([0, 150]);
    expect(inOrder).toBeGreaterThan(100);
    expect(inOrder).toBeLessThan(150);
    const seconds = ids
      .slice(0, inOrder)
      .map((id) => logs.find((log) => log.id === id)?.created_at);
    expect(seconds).toEqual(seconds.toSorted((a, b) => Number(b) - Number(a)));
  });

  test("keep within the filters that were given", async () => {
    const logs = logsOf(...Array.from({ length: 30 }, () => 30));
    const { env, seen } = await logServer(() => logs, 5);
    const [after, before] = ["2026-11-21T10:00:04Z", "2026-11-21T10:00:20Z"];
    const { exit, out } = await cli(
      [...all, "--status", "failed", "--after", after, "--before", before],
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

  test("end where they ended when the first page was answered, by the server's clock", async () => {
    const old = logsOf(...Array.from({ length: 10 }, () => 15));
    let asked = 0;
    const later = { id: uuid(9999), created_at: start + 3601, status: "succeeded" };
    const { env, seen } = await logServer(() => (asked++ === 0 ? old : [later, ...old]), 7);
    const { exit, out } = await cli(all, { env });
    expect([exit, idsIn(out).length, idsIn(out).includes(later.id)]).toEqual([0, 150, false]);
    expect(seen.map(({ searchParams }) => searchParams.get("created_at__before"))).toEqual([
      null,
      "2026-11-21T11:00:00Z",
      ...seen.slice(2).map(({ searchParams }) => searchParams.get("created_at__before")),
    ]);
  });

  test("that stay hidden are counted: what there is is printed, exit 10", async () => {
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
      message: "120 of 131 rows: the server did not show the others",
      details: { shown: 120, total: 131 },
    });
    expect(seen.length).toBeLessThan(150);
  });

  test("are asked for once where one page holds them all", async () => {
    const logs = logsOf(20, 30, 40);
    const { env, seen } = await logServer(() => logs, 13);
    const { exit, out } = await cli(all, { env });
    expect([exit, idsIn(out).length, seen.length]).toEqual([0, 90, 1]);
  });
});

/** Knowledge bases in pages; `fails` says which page cannot be had. */
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
/** Form, and its line for a row. */
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
    let asked: number | undefined;
    const onOutput: World["onOutput"] = () => (asked ??= seen.length);
    const { exit, out } = await cli(argv, { env, onOutput });
    expect([exit, asked, seen.length]).toEqual([0, 1, 4]);
    expect(out).toBe(lines(350));
  });

  test("ends with a whole line when it is interrupted", async () => {
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

  test("keeps what was printed when a page cannot be had", async () => {
    const { env, seen } = await baseServer(1000, 4);
    const { exit, out } = await cli([...argv, "--retries", "2"], { env });
    expect(exit).toBe(1);
    expect(out).toBe(lines(300));
    expect(seen.map(({ searchParams }) => searchParams.get("page")).join(" ")).toBe("1 2 3 4 4 4");
  });
});

test.each(["grid", "wide"])("a long list as %s is printed page by page", async (form) => {
  const { env, seen } = await baseServer(350, 3);
  let asked: number | undefined;
  const onOutput: World["onOutput"] = () => (asked ??= seen.length);
  const { exit, out } = await cli(["kb", "list", "--all", "-o", form, "--retries", "0"], {
    env,
    onOutput,
  });
  expect([exit, asked]).toEqual([1, 1]);
  expect(out.split("\n").length).toBe(1 + 200 + 1); // head, rows, the end of the last line
});
