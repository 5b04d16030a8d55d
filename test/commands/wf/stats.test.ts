import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { canned, uuid } from "../../lib/log-server.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { Ran, World } from "../../lib/support.ts";

/** The properties of a run; the default is a successful run of Ann. */
interface Told {
  readonly at?: number;
  readonly status?: string;
  readonly elapsed?: number | null;
  readonly finished?: number | null;
  readonly tokens?: number;
  readonly error?: string;
  readonly version?: string;
  readonly user?: string;
  readonly account?: string;
  readonly purged?: true;
  /** Counted by the server, but never returned. */
  readonly hidden?: true;
}

const start = Date.parse("2026-11-21T10:00:00Z") / 1000;
/** The local clock; the server's is ten seconds ahead. */
const now = start + 3600;
const clock = () => new Date(now * 1000);
const serverClock = new Date((now + 10) * 1000).toUTCString();

const row = (
  { at = start, status = "succeeded", elapsed = 1, tokens = 10, ...info }: Told,
  index: number,
) => ({
  id: uuid(index),
  workflow_run: info.purged
    ? null
    : {
        id: uuid(1_000_000 + index),
        version: info.version ?? "2026-11-20 00:00:00",
        status,
        triggered_from: "app-run",
        error: info.error ?? null,
        elapsed_time: elapsed,
        total_tokens: tokens,
        total_steps: 2,
        created_at: at,
        finished_at: info.finished === undefined ? at + Math.floor(elapsed ?? 0) : info.finished,
        exceptions_count: 0,
      },
  details: null,
  created_from: "service-api",
  created_by_role: info.account === undefined ? "end_user" : "account",
  created_by_account:
    info.account === undefined ? null : { id: uuid(1), name: "Bo", email: info.account },
  created_by_end_user:
    info.account === undefined
      ? { id: uuid(2), type: "service-api", is_anonymous: false, session_id: info.user ?? "ann" }
      : null,
  created_at: at,
});

/** A server with these runs that applies time filters. */
async function server(runs: readonly Told[]) {
  const rows = runs.map((info, index) => ({ ...row(info, index), hidden: info.hidden }));
  return canned((url, response) => {
    const edge = (name: string, otherwise: number) =>
      Date.parse(url.searchParams.get(name) ?? "") / 1000 || otherwise;
    const data = rows
      .filter(
        ({ created_at: at }) =>
          at >= edge("created_at__after", 0) && at <= edge("created_at__before", Infinity),
      )
      .sort((a, b) => b.created_at - a.created_at);
    const limit = Number(url.searchParams.get("limit"));
    const page = Number(url.searchParams.get("page"));
    response.setHeader("date", serverClock);
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        page,
        limit,
        total: data.length,
        has_more: false,
        data: data.slice((page - 1) * limit, page * limit).filter(({ hidden }) => !hidden),
      }),
    );
  });
}

interface Group {
  readonly runs: number;
  readonly failed_runs: number;
  readonly p95: number | null;
  readonly tokens: number | null;
}

/** The output of `wf stats -o json`. */
interface Stats {
  readonly file: string | null;
  readonly since: number | null;
  readonly until: number | null;
  readonly complete: boolean;
  readonly untimed: number;
  readonly figures: Readonly<Record<string, number | null>>;
  readonly statuses: Readonly<Record<string, number>>;
  readonly before: {
    readonly since: number;
    readonly until: number;
    readonly figures: Readonly<Record<string, number | null>>;
    readonly change: Readonly<Record<string, number | null>>;
  } | null;
  readonly conditions: readonly { condition: string; value: number | null; verdict: string }[];
  readonly periods: {
    readonly unit: string;
    readonly time_zone: string;
    readonly rows: readonly (Group & { readonly start: number; readonly label: string })[];
  };
  readonly errors: {
    readonly groups: readonly {
      error: string;
      runs: number;
      last_seen: number | null;
      example_run: string | null;
    }[];
    readonly others: { readonly groups: number; readonly runs: number };
  };
  readonly by: Readonly<
    Record<
      string,
      {
        readonly groups: readonly (Group & { version?: string | null; user?: string | null })[];
        readonly others: { readonly groups: number; readonly runs: number };
      }
    >
  >;
}

const wf = (argv: readonly string[], world: World): Promise<Ran> =>
  cli(["wf", "stats", ...argv], { now: clock, ...world });

/** The figures that a command prints, its stderr and exit code. */
async function stats(argv: readonly string[], world: World): Promise<Ran & { info: Stats }> {
  const ran = await wf([...argv, "-o", "json"], world);
  return { ...ran, info: JSON.parse(ran.out || "{}") as Stats };
}

const folder = await temporaryDirectory();
let files = 0;

/** Writes a file with this content. */
function file(text: string | Uint8Array, ending = "jsonl"): string {
  const path = join(folder, `runs-${files++}.${ending}`);
  writeFileSync(path, text);
  return path;
}

const jsonl = (runs: readonly Told[]): string =>
  runs.map((info, index) => `${JSON.stringify(row(info, index))}\n`).join("");

const fromFile = (runs: readonly Told[], ...argv: readonly string[]) =>
  stats(["--from", file(jsonl(runs)), ...argv], {});

describe("figures", () => {
  test.each([
    [[7], [7, 7, 7, 7]],
    [
      [4, 2],
      [2, 4, 4, 4],
    ],
    [
      [3, 1, 2],
      [2, 3, 3, 3],
    ],
    [
      [0.4, 0.1, 0.3, 0.2],
      [0.2, 0.4, 0.4, 0.4],
    ],
    [Array.from({ length: 20 }, (_, index) => index + 1), [10, 19, 20, 20]],
    [Array.from({ length: 100 }, (_, index) => 100 - index), [50, 95, 99, 100]],
    [Array.from({ length: 200 }, (_, index) => 200 - index), [100, 190, 198, 200]],
  ])("percentiles of %j", async (times, [p50, p95, p99, max]) => {
    const { exit, info } = await fromFile(times.map((elapsed) => ({ elapsed, tokens: elapsed })));
    expect(exit).toBe(0);
    expect(info.figures).toMatchObject({ p50, p95, p99, max, tokens_p50: p50, tokens_p95: p95 });
  });

  test("shares, durations and tokens are those of ended runs", async () => {
    const { env } = await server([
      { elapsed: 1, tokens: 100 },
      { elapsed: 2, tokens: 200 },
      { elapsed: 3, tokens: 300, status: "failed", error: "no" },
      { elapsed: 4, tokens: 400, status: "partial-succeeded" },
      { elapsed: 0, tokens: 5, status: "running", finished: null },
      { elapsed: 0, tokens: 6, status: "paused", finished: null },
      { purged: true },
      { elapsed: 5, tokens: 0, status: "stopped" },
    ]);
    const { exit, err, info } = await stats(["--no-compare"], { env });
    expect([exit, err]).toEqual([0, ""]);
    expect(info.figures).toEqual({
      runs: 8,
      running: 1,
      paused: 1,
      ended: 5,
      succeeded: 0.4,
      partial: 0.2,
      failed: 0.2,
      stopped: 0.2,
      failed_runs: 1,
      p50: 3,
      p95: 5,
      p99: 5,
      max: 5,
      tokens: 1000,
      tokens_p50: 200,
      tokens_p95: 400,
      steps: 14,
    });
    expect(info.statuses).toEqual({
      succeeded: 2,
      failed: 1,
      "partial-succeeded": 1,
      paused: 1,
      purged: 1,
      running: 1,
      stopped: 1,
    });
  });

  test("a run that was paused is counted, but in no time: that of its first part is unknown", async () => {
    const runs: readonly Told[] = [
      { at: start, elapsed: 0.043718, finished: start + 25 }, // as recorded
      { at: start, elapsed: 0.057106, finished: start + 1 }, // a second passed in between
      { at: start, elapsed: null, finished: start + 3 },
    ];
    const { info } = await fromFile(runs);
    expect(info.figures).toMatchObject({ ended: 3, p50: 0.057106, p95: 3, max: 3 });
    expect(info).toMatchObject({ untimed: 1 });
    const one = await fromFile([{ at: start, elapsed: 0.057106, finished: start + 1 }]);
    expect(one.info.figures["max"]).toBe(0.057106);
  });

  test("without runs, counts are 0 and other figures unknown", async () => {
    const { env } = await server([]);
    const { exit, info } = await stats([], { env });
    expect(exit).toBe(0);
    expect(info.figures).toEqual({
      ...Object.fromEntries(Object.keys(info.figures).map((name) => [name, null])),
      runs: 0,
      running: 0,
      paused: 0,
      ended: 0,
      failed_runs: 0,
    });
  });
});

describe("wf stats reads", () => {
  test("the last 24 hours up to the server's clock, and the time before", async () => {
    const { env, seen } = await server([
      { at: now + 5, elapsed: 4 },
      { at: now - 100, elapsed: 2 },
      { at: now - 86_400, elapsed: 6, status: "failed" },
      { at: now - 86_401, elapsed: 8 },
      { at: now - 2 * 86_400, elapsed: 3 },
      { at: now - 3 * 86_400, elapsed: 99 },
    ]);
    const { exit, info } = await stats([], { env });
    expect(exit).toBe(0);
    expect(info).toMatchObject({ since: now - 86_400, until: now + 9, complete: true });
    expect(info.figures).toMatchObject({ runs: 3, failed: 1 / 3, p50: 4, max: 6, tokens: 30 });
    // 86410 seconds, both ends inclusive.
    expect(info.before).toMatchObject({
      since: now - 86_400 - 86_410,
      until: now - 86_401,
      figures: { runs: 2, failed: 0, p50: 3, max: 8, tokens: 20 },
      change: { runs: 1, failed: 0.333333, p50: 1, max: -2, tokens: 10 },
    });
    expect(
      seen.map(({ searchParams }) => [
        searchParams.get("created_at__after"),
        searchParams.get("created_at__before"),
      ]),
    ).toEqual([
      ["2026-11-20T11:00:00Z", null],
      ["2026-11-19T10:59:50Z", "2026-11-20T10:59:59Z"],
    ]);
  });

  test("every run of many pages once", async () => {
    const { env, seen } = await server(
      Array.from({ length: 450 }, (_, index) => ({ at: now - index, elapsed: index })),
    );
    const { exit, info } = await stats(["--since", "1h", "--no-compare"], { env });
    expect(exit).toBe(0);
    expect(info).toMatchObject({ since: now - 3600, until: now + 9 });
    expect(info.figures).toMatchObject({ runs: 450, p50: 224, p95: 427, max: 449 });
    expect(seen.length).toBeGreaterThan(4);
  });

  test("only the requested time with --no-compare", async () => {
    const { env, seen } = await server([{ at: now - 10 }]);
    const { info } = await stats(["--since", "1h", "--no-compare"], { env });
    expect([info.before, seen.length]).toEqual([null, 1]);
  });

  test("with the filters of wf logs, local ones too", async () => {
    const { env, seen } = await server([
      { elapsed: 1, user: "ann" },
      { elapsed: 30, user: "ann" },
      { elapsed: 40, user: "bob" },
    ]);
    const { info } = await stats(
      [
        "--keyword=tax",
        "--end-user=ann",
        "--account=bo@example.com",
        "--status=succeeded",
        "--where=elapsed>20s",
        "--since=2026-11-21T09:00:00Z",
        "--until=2026-11-21T10:30:00Z",
        "--no-compare",
      ],
      { env },
    );
    expect(info.figures).toMatchObject({ runs: 1, max: 30 });
    expect(Object.fromEntries(seen[0]?.searchParams ?? [])).toEqual({
      keyword: "tax",
      created_by_account: "bo@example.com",
      status: "succeeded",
      created_at__after: "2026-11-21T09:00:00Z",
      created_at__before: "2026-11-21T10:30:00Z",
      page: "1",
      limit: "100",
    });
  });

  test("all visible runs, and exits with 10 if the server hides some", async () => {
    const { env } = await server([{ elapsed: 3 }, { elapsed: 4 }, { hidden: true }]);
    const { exit, info, err } = await stats(["--no-compare"], { env });
    expect(exit).toBe(10);
    expect(info).toMatchObject({ complete: false, figures: { runs: 2, max: 4 } });
    expect(err).toContain("incomplete list: the server returned 2 of 3 rows");
  });

  test("hidden runs, but a failed condition determines the exit code", async () => {
    const { env } = await server([{ elapsed: 3 }, { hidden: true }]);
    const { exit, err } = await wf(["--no-compare", "--fail-if", "max>2"], { env });
    expect(exit).toBe(14);
    expect(err).toContain("1 of 2 rows");
    expect(err).toContain("max>2 (max is 3.000 s)");
  });

  test("nothing if --until is before --since, which is a usage error", async () => {
    const { env, seen } = await server([]);
    const { exit } = await wf(["--since", "1h", "--until", "2h"], { env });
    expect([exit, seen]).toEqual([2, []]);
  });
});

describe("--fail-if", () => {
  const runs: readonly Told[] = [
    ...Array.from({ length: 48 }, () => ({ elapsed: 10 })),
    { elapsed: 10, status: "failed", error: "no" },
    { elapsed: 25.25, status: "stopped" },
  ];

  test.each([
    ["p95>20s", 0],
    ["p99>20s", 14],
    ["p99>25.25", 0],
    ["p99>=25250ms", 14],
    ["max > 25s", 14],
    ["failed>2%", 0],
    ["failed>=2%", 14],
    ["failed>0.019", 14],
    ["failed_runs!=1", 0],
    ["runs<50", 0],
    ["runs<51", 14],
    ["tokens>500", 0],
    ["tokens=500", 14],
    ["succeeded<97%", 14],
    ["running>0", 0],
    ["p95>20s or failed>1% and runs>10", 14],
    ["p95 less than 5s and failed>1%", 0],
    ["not (runs at least 50)", 0],
  ])("%s ends with %d", async (condition, code) => {
    const { exit, info } = await fromFile(runs, "--fail-if", condition);
    expect(exit).toBe(code);
    expect(info.figures["runs"]).toBe(50);
    expect(info.conditions).toMatchObject([
      { condition, verdict: code === 0 ? "passed" : "failed" },
    ]);
  });

  test("evaluates every condition; the error lists those that hold, with values", async () => {
    const { exit, err, info } = await fromFile(
      runs,
      ...["p50>5s", "p95>20s", "failed>1%"].flatMap((condition) => ["--fail-if", condition]),
    );
    expect(exit).toBe(14);
    expect(JSON.parse(err)).toMatchObject({
      error: {
        message: "2 of 3 checks failed: p50>5s (p50 is 10.000 s), failed>1% (failed is 2.00 %)",
        details: {
          conditions: [
            { condition: "p50>5s", figure: "p50", value: 10, verdict: "failed" },
            { condition: "p95>20s", figure: "p95", value: 10, verdict: "passed" },
            { condition: "failed>1%", figure: "failed", value: 0.02, verdict: "failed" },
          ],
        },
      },
    });
    expect(info.conditions.map(({ verdict }) => verdict)).toEqual(["failed", "passed", "failed"]);
  });

  test("fails without data", async () => {
    const none = await fromFile([], "--fail-if", "p95>20s", "--fail-if", "runs>9");
    expect(none.exit).toBe(14);
    expect(none.info.conditions.map(({ verdict }) => verdict)).toEqual(["unmeasured", "passed"]);
    expect(none.err).toContain("1 of 2 checks failed: p95>20s (no data for p95)");
    expect(none.err).toContain("--pass-without-runs");
    const open = await fromFile([{ status: "running" }], "--fail-if", "failed>0");
    expect(open.exit).toBe(14);
    const allowed = await fromFile([], "--fail-if", "p95>20s", "--pass-without-runs");
    expect(allowed.exit).toBe(0);
    const counted = await fromFile([], "--fail-if", "runs<1", "--pass-without-runs");
    expect(counted.exit).toBe(14);
  });

  test("rejects an invalid condition before sending anything", async () => {
    const { env, seen } = await server(runs);
    const { exit, out, err } = await wf(["--fail-if", "p95>20s", "--fail-if", "p95>2%"], { env });
    expect([exit, out, seen]).toEqual([2, "", []]);
    expect(err).toContain('--fail-if "p95>2%", position 5: invalid duration');
    expect(err).toContain("'p95>20s'");
  });
});

describe("over time", () => {
  const at = (time: string) => Date.parse(time) / 1000;
  const labels = ({ info }: { info: Stats }) =>
    info.periods.rows.map(({ label, runs }) => [label, runs]);

  test("by hours of the time zone, including empty ones", async () => {
    const runs = [
      { at: at("2026-11-21T09:59:59Z"), elapsed: 1, tokens: 5 },
      { at: at("2026-11-21T10:00:00Z"), elapsed: 2, status: "failed" },
      { at: at("2026-11-21T10:20:00Z"), elapsed: 4 },
      { at: at("2026-11-21T12:31:00Z"), elapsed: 8 },
    ];
    const utc = await fromFile(runs);
    expect(utc.info.periods).toEqual({
      unit: "hour",
      time_zone: "UTC",
      rows: [
        { start: at("2026-11-21T09:00:00Z"), label: "2026-11-21 09", runs: 1, failed_runs: 0, p50: 1, p95: 1, tokens: 5 },
        { start: at("2026-11-21T10:00:00Z"), label: "2026-11-21 10", runs: 2, failed_runs: 1, p50: 2, p95: 4, tokens: 20 },
        { start: at("2026-11-21T11:00:00Z"), label: "2026-11-21 11", runs: 0, failed_runs: 0, p50: null, p95: null, tokens: null },
        { start: at("2026-11-21T12:00:00Z"), label: "2026-11-21 12", runs: 1, failed_runs: 0, p50: 8, p95: 8, tokens: 10 },
      ],
    }); // prettier-ignore
    // Half an hour off the hours of UTC.
    const kolkata = await stats(["--from", file(jsonl(runs))], { env: { TZ: "Asia/Kolkata" } });
    expect(kolkata.info.periods.time_zone).toMatch(/^Asia\/(Kolkata|Calcutta)$/);
    expect(labels(kolkata)).toEqual([
      ["2026-11-21 15", 3],
      ["2026-11-21 16", 0],
      ["2026-11-21 17", 0],
      ["2026-11-21 18", 1],
    ]);
    expect(kolkata.info.periods.rows[0]?.start).toBe(at("2026-11-21T09:30:00Z"));
    const info = await stats(["--from", file(jsonl(runs)), "--utc"], { env: { TZ: "Asia/Tokyo" } });
    expect(info.info.periods).toEqual(utc.info.periods);
  });

  test("the repeated hour when clocks are set back counts as two", async () => {
    const runs = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"].map((time) => ({ at: at(time) }));
    const ran = await stats(["--from", file(jsonl(runs))], { env: { TZ: "Europe/Berlin" } });
    expect(labels(ran)).toEqual([
      ["2026-10-25 02", 1],
      ["2026-10-25 02", 1],
    ]);
  });

  test("by days of the time zone beyond three days, one of which has 25 hours", async () => {
    const runs = [
      "2026-10-23T22:00:00Z", // midnight in Berlin
      "2026-10-25T21:59:59Z",
      "2026-10-25T22:59:59Z", // the last second of the long day
      "2026-10-25T23:00:00Z",
      "2026-10-27T23:00:00Z",
    ].map((time) => ({ at: at(time) }));
    const ran = await stats(["--from", file(jsonl(runs))], { env: { TZ: "Europe/Berlin" } });
    expect(ran.info.periods.unit).toBe("day");
    expect(labels(ran)).toEqual([
      ["2026-10-24", 1],
      ["2026-10-25", 2],
      ["2026-10-26", 1],
      ["2026-10-27", 0],
      ["2026-10-28", 1],
    ]);
    expect(ran.info.periods.rows.map(({ start: from }) => from)).toEqual(
      ["23T22", "24T22", "25T23", "26T23", "27T23"].map((hour) => at(`2026-10-${hour}:00:00Z`)),
    );
  });

  test("by months beyond a quarter of a year", async () => {
    const runs = ["2025-12-31T23:00:00Z", "2026-02-01T00:00:00Z", "2026-04-30T12:00:00Z"];
    const ran = await fromFile(runs.map((time) => ({ at: at(time) })));
    expect(ran.info.periods.unit).toBe("month");
    expect(labels(ran)).toEqual([
      ["2025-12", 1],
      ["2026-01", 0],
      ["2026-02", 1],
      ["2026-03", 0],
      ["2026-04", 1],
    ]);
  });
});

describe("groups", () => {
  test("join errors that differ only by IDs, times and numbers", async () => {
    const errors = [
      "node 1732008: request 3f2504e0-4f89-41d3-9a0c-0305e82c3301 timed out after 30.5 seconds",
      "node 9: request 00000000-0000-4000-8000-000000000000 timed out after 4 seconds",
      "[Errno 111] Connection refused",
      "[Errno 110] Connection refused",
      "Error code: 429 - rate limit of gpt-4o, id req_011CQmXy7Z9abcdef",
      "Error code: 429 - rate limit of gpt-4o, id req_022DRnYz8A1bcdefa",
      "Error code: 500 - rate limit of gpt-4o, id req_022DRnYz8A1bcdefa",
      "at 2026-11-21T10:00:00.123Z\n  line 3",
      "at 2026-11-20 09:00:00\n\tline 15",
    ];
    const { info } = await fromFile(
      errors.map((error, index) => ({ error, status: "failed", at: start + index })),
    );
    expect(info.errors).toEqual({
      groups: [
        ["Error code: 429 - rate limit of gpt-4o, id <id>", 2, 5],
        ["at <n> line <n>", 2, 8],
        ["node <n>: request <id> timed out after <n> seconds", 2, 1],
        ["Error code: 500 - rate limit of gpt-4o, id <id>", 1, 6],
        ["[Errno 110] Connection refused", 1, 3],
        ["[Errno 111] Connection refused", 1, 2],
      ].map(([error, runs, last]) => ({
        error,
        runs,
        last_seen: start + Number(last),
        example_run: uuid(1_000_000 + Number(last)),
      })),
      others: { groups: 0, runs: 0 },
    });
  });

  test("show the largest first, up to --top; the others are counted", async () => {
    const runs = ["aaa", "b", "b", "b", "cc", "cc", "d", "e"].map((error) => ({
      error,
      status: "failed",
    }));
    const { info } = await fromFile(runs, "--top", "2");
    expect(info.errors.groups.map(({ error, runs: of }) => [error, of])).toEqual([
      ["b", 3],
      ["cc", 2],
    ]);
    expect(info.errors.others).toEqual({ groups: 3, runs: 3 });
  });

  test("by version and by end user or account", async () => {
    const { info } = await fromFile(
      [
        { user: "ann", version: "v2", elapsed: 1, tokens: 3 },
        { user: "ann", version: "v1", elapsed: 2, tokens: 4, status: "failed" },
        { account: "bo@example.com", version: "v2", elapsed: 3, tokens: 5 },
        { user: "cy", version: "v2", elapsed: 9, status: "failed" },
      ],
      "--by",
      "version",
      "--by",
      "user",
      "--top",
      "2",
    );
    expect(info.by["version"]).toMatchObject({
      groups: [
        { version: "v2", runs: 3, failed: 1 / 3, failed_runs: 1, p50: 3, p95: 9, tokens: 18 },
        { version: "v1", runs: 1, failed: 1, failed_runs: 1, p50: 2, p95: 2, tokens: 4 },
      ],
      others: { groups: 0, runs: 0 },
    });
    expect(info.by["user"]).toMatchObject({
      groups: [
        { user: "ann", runs: 2, failed: 0.5, tokens: 7 },
        { user: "bo@example.com", runs: 1, failed: 0, tokens: 5 },
      ],
      others: { groups: 1, runs: 1 },
    });
  });
});

describe("--from", () => {
  const runs: readonly Told[] = [
    { at: start, elapsed: 1.25, tokens: 7, user: 'a "quoted", name' },
    { at: start + 60, elapsed: 2.5, status: "failed", error: 'line 1\nline 2, "so"' },
    { at: start + 3599, elapsed: 0.5, finished: start + 3650, version: "v1" },
    { at: start + 90, elapsed: 0, status: "running", finished: null },
    { at: start + 95, purged: true },
  ];
  const counted = {
    runs: 5,
    running: 1,
    ended: 3,
    failed_runs: 1,
    p50: 1.25,
    max: 2.5,
    tokens: 27,
    steps: 8,
  };

  test("needs neither key nor server", async () => {
    const { exit, info } = await fromFile(runs);
    expect(exit).toBe(0);
    expect(info).toMatchObject({ since: start, until: start + 3599, before: null });
    expect(info.figures).toMatchObject(counted);
  });

  test("reads what wf logs prints as jsonl, also from stdin", async () => {
    const { env } = await server(runs);
    const logs = await cli(["wf", "logs", "--all", "-o", "jsonl"], { env });
    for (const [from, world] of [
      [file(logs.out), {}],
      ["-", { stdin: logs.out }],
    ] as const) {
      const { info, exit, err } = await stats(["--from", from], world);
      expect([exit, err]).toEqual([0, ""]);
      expect(info.figures).toMatchObject(counted);
    }
  });

  test("reads what wf logs export writes", async () => {
    const { env } = await server(runs);
    const target = join(folder, "export.jsonl");
    await cli(["wf", "logs", "export", target], { env, folder });
    const { info, exit, err } = await stats(["--from", target, "--by", "user"], {});
    expect([exit, err]).toEqual([0, ""]);
    expect(info).toMatchObject({ file: "export.jsonl", figures: counted });
    expect(info.errors.groups.map(({ error }) => error)).toEqual(['line <n> line <n>, "so"']);
    expect(info.by["user"]?.groups.map(({ user }) => user)).toContain('a "quoted", name');
  });

  test("reads lines across chunks, with CRLF, a BOM, and no final line break", async () => {
    const text = jsonl(
      Array.from({ length: 400 }, (_, index) => ({ elapsed: index, user: "寿司 🍣".repeat(20) })),
    );
    const windows = `\ufeff\r\n${text.replaceAll("\n", "\r\n").trimEnd()}`;
    expect(windows.length).toBeGreaterThan(200_000);
    const { info, exit, err } = await stats(["--from", file(windows), "--by", "user"], {});
    expect([exit, err]).toEqual([0, ""]);
    expect(info.figures).toMatchObject({ runs: 400, max: 399 });
    expect(info.by["user"]?.groups).toHaveLength(1);
  });

  test("reports damaged lines, uses the rest, and exits with 10", async () => {
    const lines = jsonl(runs).trimEnd().split("\n");
    lines.splice(
      1,
      0,
      '{"id": "cut o',
      "",
      "[1]",
      '{"a":1}',
      '{"workflow_run":{"elapsed_time":"3"}}',
    );
    const { exit, info, err } = await stats(["--from", file(lines.join("\n"), "txt")], {
      env: { KB_ERROR_FORMAT: "json" },
    });
    expect(exit).toBe(10);
    expect(info).toMatchObject({ complete: false, figures: counted });
    for (const [line, reason] of [
      [2, "invalid JSON"],
      [4, "expected one JSON object per line, not an array"],
      [5, "not a log row"],
      [6, "not a log row"],
    ]) {
      expect(err).toMatch(new RegExp(`^runs-\\d+\\.txt line ${line}: ${reason}; skipped$`, "m"));
    }
    expect(err).toContain(" skipped: 4");
  });

  test("reports only the first damaged lines", async () => {
    const { exit, err } = await stats(["--from", file(`${jsonl(runs)}${"{\n".repeat(50)}`)], {});
    expect(exit).toBe(10);
    expect(err.match(/invalid JSON; skipped$/gm)).toHaveLength(5);
    expect(err).toContain(" skipped: 50");
  });

  test.each([
    ["[\n{}]\n", "json", "expected one JSON object per line, not an array"],
    ["\n{}\n{}\n", "jsonl", "line 2: not a log row"],
    ["run,status\na,failed\n", "csv", "line 1: expected JSON Lines, not CSV"],
    [new Uint8Array([0, 1, 2, 255, 10, 13]), "bin", "line 1"],
  ])("rejects %j, which is not a log", async (text, ending, problem) => {
    const { exit, out, err } = await wf(["--from", file(text, ending)], {});
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain(problem);
    expect(err).toContain("wf logs --all -o jsonl");
  });

  test("stops reading after an interrupt", async () => {
    const signal = AbortSignal.abort("SIGINT");
    const { exit, out } = await wf(["--from", file(jsonl(runs))], { signal });
    expect([exit, out]).toEqual([130, ""]);
  });

  test("reads no runs from an empty file", async () => {
    const { exit, info } = await stats(["--from", file("")], {});
    expect([exit, info.figures["runs"], info.since]).toEqual([0, 0, null]);
  });

  test("counts a run with several rows once, with its final status", async () => {
    const first = row({ status: "running", finished: null }, 1);
    const then = row({ status: "failed", elapsed: 9 }, 1);
    const open = row({ status: "paused", finished: null }, 2);
    const text = [first, then, first, open, open, then]
      .map((each) => `${JSON.stringify(each)}\n`)
      .join("");
    const { exit, info, err } = await stats(["--from", file(text)], {});
    expect([exit, info.statuses]).toEqual([0, { failed: 1, paused: 1 }]);
    expect(err).toBe("duplicate rows skipped: 1\n");
  });

  test("compares with the time before if the file has runs of it", async () => {
    const both = [{ at: now - 3600 }, { at: now - 3602, elapsed: 4 }, { at: now - 9000 }];
    const { info } = await fromFile(both, "--since", "1h");
    expect(info).toMatchObject({
      since: now - 3600,
      until: now,
      figures: { runs: 1 },
      before: { since: now - 7201, until: now - 3601, figures: { runs: 1, max: 4 } },
    });
    const without = await fromFile(both.slice(0, 1), "--since", "1h");
    expect(without.info.before).toBeNull();
  });

  test("filters by status, user, account and conditions, but rejects --keyword", async () => {
    const filtered = async (...argv: string[]) =>
      (await fromFile([...runs, { account: "bo@example.com" }], ...argv)).info.figures["runs"];
    expect(await filtered("--status", "failed")).toBe(1);
    expect(await filtered("--end-user", 'a "quoted", name')).toBe(1);
    expect(await filtered("--account", "bo@example.com")).toBe(1);
    expect(await filtered("--where", "status=running")).toBe(1);
    expect(await filtered("--where", "elapsed>2s", "--where", "error~LINE")).toBe(1);
    expect(await filtered("--where", "status=failed and elapsed>2s")).toBe(1);
    expect(await filtered("--where", "run failed or (by=bo@example.com and elapsed<2s)")).toBe(2);
    const { exit, err } = await wf(["--from", file(jsonl(runs)), "--keyword", "tax"], {});
    expect(exit).toBe(2);
    expect(err).toContain("--keyword");
  });
});

describe("tables", () => {
  const runs: readonly Told[] = [
    { at: now - 5400, elapsed: 4 },
    { at: now - 1800, elapsed: 1, tokens: 30 },
    { at: now - 1700, elapsed: 2.5, status: "failed", error: "no | \u001b[Kanswer" },
    { at: now - 10, elapsed: 2, user: "bob" },
  ];

  test("in Markdown, for a pull request", async () => {
    const line = [
      "--since",
      "1h",
      "--until",
      "now",
      "--by",
      "user",
      "--fail-if",
      "p95>2s",
      "-o",
      "md",
    ];
    const { exit, out } = await wf(["--from", file(jsonl(runs)), ...line], {});
    expect(exit).toBe(14);
    expect(out).toBe(`### Runs

| figure | value | unit | before | change |
| --- | ---: | --- | ---: | ---: |
| since | 2026-11-21T10:00:00Z |  | 2026-11-21T08:59:59Z |  |
| until | 2026-11-21T11:00:00Z |  | 2026-11-21T09:59:59Z |  |
| runs | 3 |  | 1 | +200.0 % |
| running | 0 |  | 0 |  |
| paused | 0 |  | 0 |  |
| ended | 3 |  | 1 | +200.0 % |
| succeeded | 66.67 | % | 100.00 | -33.33 points |
| partial | 0.00 | % | 0.00 |  |
| failed | 33.33 | % | 0.00 | +33.33 points |
| stopped | 0.00 | % | 0.00 |  |
| failed_runs | 1 |  | 0 |  |
| p50 | 2.000 | s | 4.000 | -50.0 % |
| p95 | 2.500 | s | 4.000 | -37.5 % |
| p99 | 2.500 | s | 4.000 | -37.5 % |
| max | 2.500 | s | 4.000 | -37.5 % |
| tokens | 50 |  | 10 | +400.0 % |
| tokens_p50 | 10 |  | 10 | 0.0 % |
| tokens_p95 | 30 |  | 10 | +200.0 % |
| steps | 6 |  | 2 | +200.0 % |

### Conditions that must not hold

| condition | value | verdict |
| --- | ---: | --- |
| p95>2s | 2.500 s | failed |

### By status

| status | runs | % |
| --- | ---: | ---: |
| succeeded | 2 | 66.67 |
| failed | 1 | 33.33 |

### Per hour

| hour | runs | failed_runs | p50 | p95 | tokens |
| --- | ---: | ---: | ---: | ---: | ---: |
| 2026-11-21T10:00:00Z | 3 | 1 | 2.0 s | 2.5 s | 50 |
| 2026-11-21T11:00:00Z | 0 | 0 |  |  |  |

### Errors

| runs | error | last seen | example run |
| ---: | --- | --- | --- |
| 1 | no \\| ␛\\[Kanswer | 2026-11-21T10:31:40Z | 00000000-0000-4000-8000-000001000002 |

### By user

| user | runs | failed (%) | p50 | p95 | tokens |
| --- | ---: | ---: | ---: | ---: | ---: |
| ann | 2 | 50.00 | 1.0 s | 2.5 s | 40 |
| bob | 1 | 0.00 | 2.0 s | 2.0 s | 10 |
`);
  });

  test("have notes about missing and approximate data", async () => {
    const paused = { at: now - 60, elapsed: 0.1, finished: now };
    const { out } = await wf(["--from", file(`${jsonl([paused])}{\n`), "-o", "md"], {});
    expect(out).toContain("incomplete: damaged lines of runs-");
    expect(out).toContain("not in the times: 1 run that was paused");
    const { env } = await server([]);
    expect((await wf(["-o", "md"], { env })).out).toContain("no runs; only workflows have logs");
  });
});

describe("on a terminal", () => {
  /** 40 runs over four hours before `now`, 14 of them failed, and 20 before them. */
  const many = (...errors: readonly string[]): Told[] => [
    ...Array.from({ length: 26 }, (_, index) => ({
      at: now - index * 540,
      elapsed: 1 + index / 10,
    })),
    ...Array.from({ length: 14 }, (_, index) => ({
      at: now - 1 - index * 200,
      elapsed: 11.4,
      status: "failed",
      error: errors[index % errors.length] ?? "",
    })),
    { at: now - 30, status: "paused", elapsed: 0, finished: null },
    ...Array.from({ length: 20 }, (_, index) => ({ at: now - 5 * 3600 - index })),
  ];
  const rateLimit = "[tongyi] Error: 429 Rate limit reached for the model, try again in a while";
  const refused = "[Errno 111] Connection refused";
  const screen = async (runs: readonly Told[], columns: number, ...argv: readonly string[]) => {
    const ran = await wf(["--from", file(jsonl(runs)), "--since", "4h", ...argv], {
      tty: true,
      columns,
      env: { LANG: "en_US.UTF-8", NO_COLOR: "1" },
    });
    expect(ran.exit, ran.err).toBe(0);
    return ran.out.trimEnd().split("\n");
  };

  test("one screen holds the figures and the errors", async () => {
    expect(await screen(many(rateLimit, refused), 80)).toEqual([
      "Runs from 2026-11-21 07:00 to 2026-11-21 11:00 (UTC)",
      "41 runs  40 ended: 65 % ok  14 failed ▁▁▁█▁  p50 2.9 s  p95 11.4 s ▄▃▃█▂",
      "before: 20 runs  100 % ok  p50 1.0 s  p95 1.0 s",
      "1 paused  82 steps  400 tokens  10 tokens per run (p95)",
      "",
      "Errors",
      "7  [Errno 111] Connection refused  last 2026-11-21 10:56  run 00000000",
      "7  [tongyi] Error: 429 Rate limit reached for the model, try again in a while",
      "   last 2026-11-21 10:59  run 00000000",
    ]);
  });

  test("runs that ended partly are no success, and those that wait are not in the share", async () => {
    const runs = [
      { at: now - 10, status: "partial-succeeded" },
      { at: now - 20, status: "paused" },
    ];
    expect((await screen(runs, 80))[1]).toMatch(/^2 runs {2}1 ended: 0 % ok {2}1 partly /);
  });

  test("one run has no trend, and no runs have no figures", async () => {
    expect((await screen([{ at: now - 10 }], 80)).slice(1)).toEqual([
      "1 run  100 % ok  p50 1.0 s  p95 1.0 s",
      "2 steps  10 tokens  10 tokens per run (p95)",
    ]);
    expect((await screen([], 80)).slice(1)).toEqual(["0 runs", "no runs"]);
  });

  test.each([
    ["7d", "no runs in the 7 days before"],
    ["1d", "no runs in the 24 hours before"],
    ["90m", "no runs in the 90 minutes before"],
  ])("--since %s: %s", async (since, expected) => {
    const { env } = await server([{ at: now - 10 }]);
    const { out } = await wf(["--since", since], { tty: true, env: { ...env, NO_COLOR: "1" } });
    expect(out.split("\n")[2]).toBe(expected);
  });

  test("40 columns drop the trends and wrap", async () => {
    expect(await screen(many(rateLimit, refused), 40)).toEqual([
      "Runs from 2026-11-21 07:00 to 2026-11-21",
      "11:00 (UTC)",
      "41 runs  40 ended: 65 % ok  14 failed",
      "p50 2.9 s  p95 11.4 s",
      "before: 20 runs  100 % ok  p50 1.0 s",
      "        p95 1.0 s",
      "1 paused  82 steps  400 tokens",
      "10 tokens per run (p95)",
      "",
      "Errors",
      "7  [Errno 111] Connection refused",
      "   last 2026-11-21 10:56  run 00000000",
      "7  [tongyi] Error: 429 Rate limit",
      "   reached for the model, try again in a",
      "   while  last 2026-11-21 10:59",
      "   run 00000000",
    ]);
  });

  test("many long errors leave the figures on the screen; --top shows all of them", async () => {
    const errors = Array.from(
      { length: 14 },
      (_, index) => `${"abcdefghijklmn"[index]} ${"failed because of a reason ".repeat(7)}`,
    );
    const short = await screen(many(...errors), 80);
    expect(short.length).toBeLessThan(24);
    expect(short.at(-1)).toBe("10 runs in 10 more groups; use --top to show more");
    const all = await screen(many(...errors), 80, "--top", "14");
    expect(all.filter((line) => /^1 {2}[a-n] failed/.test(line))).toHaveLength(14);
  });

  test("periods are shown on request only", async () => {
    const hours = await screen(many(refused), 80, "--by", "hour");
    expect(hours.slice(8)).toEqual([
      "Per hour",
      "hour (UTC)        runs  failed_runs     p50     p95  tokens",
      "────────────────  ────  ───────────  ──────  ──────  ──────  ───────────────────",
      "2026-11-21 07:00     5            0   3.3 s   3.5 s      50  ████▌",
      "2026-11-21 08:00     7            0   2.7 s   3.0 s      70  ██████▍",
      "2026-11-21 09:00     7            0   2.0 s   2.3 s      70  ██████▍",
      "2026-11-21 10:00    21           14  11.4 s  11.4 s     200  ███████████████████",
      "2026-11-21 11:00     1            0   1.0 s   1.0 s      10  ▉",
    ]);
    const gap = [
      { at: now - 3 * 3600, elapsed: 0.03 },
      { at: now, elapsed: 0.03 },
    ];
    expect((await screen(gap, 80, "--by", "hour")).filter((line) => /^\d{4}-/.test(line))).toEqual([
      expect.stringMatching(/ 1 {12}0 {2}30 ms {2}30 ms /),
      expect.stringMatching(/ 1 {12}0 {2}30 ms {2}30 ms /),
    ]);
    const days = await screen(many(refused), 80, "--by", "day");
    expect(days).toContain("Per day");
    const both = await wf(["--from", file(""), "--by", "day", "--by", "hour"], {});
    expect([both.exit, both.err]).toEqual([2, "error: --by takes only one of hour, day, month\n"]);
  });

  test("for ears there are numbers only", async () => {
    const { out } = await wf(
      ["--from", file(jsonl(many(refused))), "--since", "4h", "--by", "user", "--by", "hour"],
      { tty: true, columns: 80, env: { KB_ACCESSIBLE: "1", NO_COLOR: "1" } },
    );
    expect(out).not.toMatch(/[^\0-\x7f]|##|share/);
    expect(out).toContain("41 runs  40 ended: 65 % ok  14 failed  p50 2.9 s  p95 11.4 s\n");
  });

  test("-o wide shows all tables", async () => {
    const wide = await screen(many(refused), 120, "-o", "wide");
    expect(wide.filter((line) => /^[A-Z]/.test(line))).toEqual([
      "Runs",
      "By status",
      "Per hour",
      "Errors",
    ]);
    expect(wide).not.toContain("(UTC)");
  });

  test("failures are red, and server text is harmless", async () => {
    const { out } = await wf(
      ["--from", file(jsonl(many("no | \u001b[Kanswer"))), "--since", "4h"],
      {
        tty: true,
        columns: 120,
        env: { LANG: "en_US.UTF-8" },
      },
    );
    expect(out).toContain("\u001b[31m14 failed ▁▁▁█▁\u001b[39m");
    expect(out).toContain("\u001b[31mno | ␛[Kanswer\u001b[39m");
  });
});
