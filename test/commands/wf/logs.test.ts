import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clock, logServer, logsOf, start, uuid } from "../../lib/log-server.ts";
import type { Log } from "../../lib/log-server.ts";
import { rareTest } from "../../lib/sampled.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const idsIn = (out: string): string[] =>
  out
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { id: string }).id); // lines the server made

const chatflow = { name: "chat", mode: "advanced-chat" };

const ids = (...numbers: readonly number[]) => numbers.map(uuid);

describe("wf logs", () => {
  test("sends and prints every filter of the route, times as whole seconds in UTC", async () => {
    const { env, seen } = await logServer(() => [], 1);
    const { exit, err } = await cli(
      [
        ..."wf logs --keyword hello --status failed --account ann@example.com".split(" "),
        ..."--since 2026-11-21T12:00:00.5+02:00 --until 2026-11-21".split(" "),
      ],
      { env },
    );
    expect([exit, err]).toEqual([
      2,
      "error: --since 2026-11-21T10:00:01Z is not before --until 2026-11-21T00:00:00Z\n" +
        "hint: a day begins at 00:00: the whole of yesterday is --since yesterday --until today\n",
    ]);
    const ran = await cli(
      [
        ..."wf logs --keyword hello --status failed --account ann@example.com".split(" "),
        ..."--since 2026-11-21T12:00:00.5+02:00 --until 2026-11-22".split(" "),
      ],
      { env },
    );
    expect(ran).toEqual({
      exit: 0,
      out: "",
      err: "since 2026-11-21T10:00:01Z until 2026-11-22T00:00:00Z\n",
    });
    expect(seen.slice(0, 1).map(({ searchParams }) => Object.fromEntries(searchParams))).toEqual([
      {
        keyword: "hello",
        status: "failed",
        created_by_account: "ann@example.com",
        created_at__after: "2026-11-21T10:00:01Z",
        created_at__before: "2026-11-22T00:00:00Z",
        page: "1",
        limit: "20",
      },
    ]);
  });

  // The server stores inputs and outputs as JSON in ASCII and compares with that (server §12).
  test.each(["wf logs", "wf logs export FILE --overwrite", "wf stats --no-compare"])(
    "%s --keyword looks for other than ASCII as the server stores it",
    async (line) => {
      const file = join(await temporaryDirectory(), "runs.jsonl");
      const { env, seen } = await logServer(() => [], 1);
      const asked = async (keyword: string) => {
        seen.length = 0;
        const ran = await cli([...line.replace("FILE", file).split(" "), "--keyword", keyword], {
          env,
        });
        expect(ran.exit, ran.err).toBe(0);
        const sent = seen.map(({ searchParams }) => searchParams.get("keyword"));
        return { sent: sent.find((each) => each !== null), err: ran.err };
      };
      expect((await asked("日本")).sent).toBe(String.raw`\u65e5\u672c`);
      expect((await asked("héllo 😀")).sent).toBe(String.raw`h\u00e9llo \ud83d\ude00`);
      expect((await asked('say "a\\b"')).sent).toBe('say "a\\b"');
      const cut = "compares only the first 30 characters of a keyword";
      expect((await asked("日本日本日")).err).not.toContain(cut);
      expect((await asked("日本日本日本")).err).toContain(cut);
    },
  );

  test("explains the empty log of a chatflow", async () => {
    const file = join(await temporaryDirectory(), "runs.jsonl");
    for (const line of ["wf logs", "wf logs -o json", `wf logs export ${file}`]) {
      const { env } = await logServer(() => [], 1, { app: { ...chatflow, id: uuid(1) } });
      const ran = await cli(line.split(" "), { env });
      expect(ran.exit, ran.err).toBe(0);
      expect(ran.err).toContain(
        "only workflows have logs; this application has mode advanced-chat",
      );
    }
  });

  test("a terminal shows the requested times in the local zone", async () => {
    const { env } = await logServer(() => [], 1);
    const now = () => new Date("2026-11-21T12:00:00Z");
    const world = { env: { ...env, TZ: "Asia/Tokyo" }, now, tty: true };
    const { err } = await cli("wf logs --since 2h --until now".split(" "), world);
    expect(err).toBe(
      "since 2026-11-21 19:00 until 2026-11-21 21:00 (Asia/Tokyo)\nno matching runs\n",
    );
  });

  test("--failed is short for --status failed", async () => {
    const { env, seen } = await logServer(() => logsOf(3), 1);
    const { exit } = await cli(["wf", "logs", "--failed"], { env });
    expect([exit, seen[0]?.searchParams.get("status")]).toEqual([0, "failed"]);
    const both = await cli(["wf", "logs", "--failed", "--status", "stopped"], { env });
    expect([both.exit, both.err]).toEqual([
      2,
      "error: --failed cannot be used with --status stopped\n",
    ]);
  });

  test("filters locally by a status that the server does not support", async () => {
    const logs = logsOf(2).map((log, index) => (index === 1 ? { ...log, status: "paused" } : log));
    const { env, seen } = await logServer(() => logs, 1);
    const ran = await cli(["wf", "logs", "--status", "paused", "-o", "jsonl"], { env });
    expect([ran.exit, idsIn(ran.out), ran.err]).toEqual([
      0,
      ids(1),
      "1 of 2 rows match (filtered locally)\n",
    ]);
    expect(seen.some(({ searchParams }) => searchParams.has("status"))).toBe(false);
  });

  test("reads yesterday's failures in the local zone", async () => {
    const { env, seen } = await logServer(() => [], 1);
    const world = {
      env: { ...env, TZ: "Asia/Tokyo" },
      now: () => new Date("2026-11-21T20:00:00Z"),
    };
    await cli("wf logs --failed --since yesterday --until today".split(" "), world);
    expect(Object.fromEntries(seen[0]?.searchParams ?? [])).toMatchObject({
      status: "failed",
      created_at__after: "2026-11-20T15:00:00Z",
      created_at__before: "2026-11-21T15:00:00Z",
    });
  });

  test("filters locally by all conditions that the server does not support", async () => {
    const logs = logsOf(...Array.from({ length: 30 }, () => 9));
    const { env, seen } = await logServer(() => logs, 2);
    const where = ["--where", "elapsed>=1m", "--where", "status=succeeded"];
    const { exit, out, err } = await cli(["wf", "logs", "--all", ...where, "-o", "jsonl"], { env });
    // The last two digits of a row's number are its duration in seconds.
    const wanted = logs.filter(({ status }, index) => status === "succeeded" && index % 100 >= 60);
    expect(exit).toBe(0);
    expect(idsIn(out).sort()).toEqual(wanted.map(({ id }) => id));
    expect(err).toBe(`${wanted.length} of 270 rows match (filtered locally)\n`);
    expect(seen.every(({ searchParams }) => !searchParams.has("status"))).toBe(true);

    const some = await cli(["wf", "logs", "-L", "3", ...where, "-o", "jsonl"], { env });
    expect(idsIn(some.out)).toHaveLength(3);
    expect(some.err).toBe("3 shown, more may match\n");
  });

  test("filters by statuses that the server does not support", async () => {
    const logs = logsOf(3, 4, 5);
    const { env } = await logServer(() => logs, 2);
    const { out } = await cli("wf logs --where status=running -o jsonl".split(" "), { env });
    expect(idsIn(out)).toEqual(ids(7));
  });

  test("filters the end user locally with --keyword: the server cannot do both", async () => {
    const { env, seen } = await logServer(() => [], 2);
    const argv = "wf logs --keyword hello --end-user ann -o jsonl".split(" ");
    const { exit, err } = await cli(argv, { env });
    expect([exit, err]).toEqual([0, "0 of 0 rows match (filtered locally)\n"]);
    expect(seen.map(({ search }) => search)).toEqual([expect.not.stringContaining("ann")]);
  });

  test.each([
    ["--where elapsd>2", "position 1: unknown field elapsd"],
    ["--where elapsed>fast", "position 9: invalid duration"],
    ["--follow --page 2", "--page shows one page, and --follow has no end"],
    ["--follow --until 2h", "--until ends the list, and --follow has no end"],
    ["--follow --sort elapsed", "--sort waits for the last row, and --follow has no end"],
    ["--follow -o yaml", "-o yaml waits for the last row, and --follow has no end"],
  ])("rejects %s before sending anything", async (flags, message) => {
    const { env, seen } = await logServer(() => [], 1);
    const { exit, out, err } = await cli(["wf", "logs", ...flags.split(" ")], { env });
    expect([exit, out, err]).toEqual([2, "", expect.stringContaining(message)]);
    expect(seen).toEqual([]);
  });
});

/**
 * A log that changes: `turns` change it before each poll, and the command is interrupted after the
 * last one.
 */
async function followed(
  argv: readonly string[],
  first: readonly Log[],
  turns: readonly ((logs: Log[]) => void)[],
  failures: readonly number[] = [],
  world: World = {},
) {
  const logs = [...first];
  const stop = new AbortController();
  let looks = 0;
  const { env, seen } = await logServer(() => logs, 9, {
    now: () => clock + looks * 2,
    instead(url, response) {
      if (url.searchParams.has("keyword")) return false;
      const isNext = !url.searchParams.has("created_at__before");
      if (isNext) looks++;
      if (isNext && looks > 1) {
        if (looks - 2 >= turns.length) stop.abort("SIGINT");
        turns[looks - 2]?.(logs);
      }
      if (!failures.includes(looks)) return false;
      response.statusCode = 503;
      response.end();
      return true;
    },
  });
  const waits: number[] = [];
  const ran = await cli(["wf", "logs", "--follow", ...argv], {
    ...world,
    env: { ...env, ...world.env },
    signal: stop.signal,
    waits,
  });
  return { ...ran, seen, waits };
}

const log = (number: number, created_at: number, status = "succeeded"): Log => ({
  id: uuid(number),
  created_at,
  status,
});
const setStatus = (number: number, status: string) => (logs: Log[]) => {
  const found = logs.find(({ id }) => id === uuid(number));
  if (found) found.status = status;
};
const nothing = () => {};

/** A directory with a profile t that sets this format. */
async function folderWith(output: string): Promise<string> {
  const folder = await temporaryDirectory();
  await mkdir(join(folder, "config"));
  const profiles = JSON.stringify({ profiles: { t: { output } } });
  await writeFile(join(folder, "config", "profiles.json"), profiles);
  return folder;
}

describe("wf logs --follow", () => {
  test("starts with the newest rows, oldest first, then prints each new one once", async () => {
    const first = [1, 2, 3, 4, 5].map((number) => log(number, clock - 100 + number));
    const { exit, out, err } = await followed(["-L", "3", "-o", "jsonl"], first, [
      nothing,
      (logs) => logs.push(log(7, clock + 2), log(6, clock + 1)),
      nothing,
      // Late by less than a minute.
      (logs) => logs.push(log(8, clock - 40)),
    ]);
    expect(exit).toBe(130);
    expect(idsIn(out)).toEqual(ids(3, 4, 5, 6, 7, 8));
    expect(JSON.parse(err)).toMatchObject({
      error: {
        code: "interrupted",
        hint: "resume with `wf logs --follow --since 2026-11-21T11:00:09Z` and the same filters",
      },
    });
  });

  test("prints a run again when its status changes, even long after its start", async () => {
    const { out } = await followed(
      ["--columns", "run,status", "-o", "jsonl"],
      [log(1, clock - 3000, "running"), log(2, clock - 10, "running")],
      [
        setStatus(2, "paused"),
        nothing,
        setStatus(1, "failed"),
        nothing,
        setStatus(2, "succeeded"),
        nothing,
        nothing,
      ],
    );
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { run: string; status: string }); // requested columns
    expect(lines.map(({ run, status }) => `${Number(run.slice(-12))} ${status}`)).toEqual([
      "1 running",
      "2 running",
      "2 paused",
      "1 failed",
      "2 succeeded",
    ]);
  });

  test("filters by status locally, so a run that fails after a minute is not missed", async () => {
    const { out, seen } = await followed(
      ["--status", "failed", "-o", "jsonl"],
      [log(1, clock - 3000, "running"), log(2, clock - 2000), log(3, clock - 1000, "failed")],
      [nothing, setStatus(1, "failed"), nothing],
    );
    expect(idsIn(out)).toEqual(ids(3, 1));
    expect(seen.some(({ searchParams }) => searchParams.has("status"))).toBe(false);
  });

  rareTest("shows all runs since a time, and one JSON value per run with --jq", async () => {
    const first = Array.from({ length: 250 }, (_, number) => log(number, start + number));
    const { out } = await followed(["--since", "2026-11-21T10:00:10Z", "--jq", ".id"], first, [
      (logs) => logs.push(log(999, clock)),
    ]);
    expect(out.trim().split("\n")).toEqual([
      ...ids(...Array.from({ length: 240 }, (_, index) => index + 10)),
      uuid(999),
    ]);
  });

  test("uses the format of the profile as with -o, for errors too", async () => {
    const folder = await folderWith("json");
    const first = [log(1, start), log(2, start + 1)];
    const { exit, out, err } = await followed(["-p", "t", "-L", "2"], first, [], [], { folder });
    expect(exit).toBe(130);
    expect(idsIn(out)).toEqual(ids(1, 2));
    expect(JSON.parse(err)).toMatchObject({ error: { code: "interrupted" } });
  });

  test("rejects a configured format that needs the last row", async () => {
    const folder = await folderWith("yaml");
    const rejected = (argv: readonly string[], world: World) => followed(argv, [], [], [], world);
    const byVariable = await rejected([], { env: { KB_OUTPUT: "yaml" } });
    const byProfile = await rejected(["-p", "t"], { folder });
    for (const [{ exit, err, seen }, source] of [
      [byVariable, "KB_OUTPUT"],
      [byProfile, "profile t"],
    ] as const) {
      expect([exit, seen]).toEqual([2, []]);
      expect(err).toContain(`format yaml (${source}) waits for the last row, and --follow has no`);
    }
    const json = await followed(["--json"], [], [], [], { env: { KB_OUTPUT: "yaml" } });
    expect(json.exit).toBe(130);
  });

  test("survives nine failed polls, and gives up after ten with a hint to resume", async () => {
    const turns = Array.from({ length: 14 }, () => nothing);
    const run = (failures: readonly number[]) =>
      followed(
        ["-o", "jsonl"],
        [log(1, clock)],
        [...turns, (logs) => logs.push(log(2, clock + 20))],
        failures,
      );
    const nine = await run([2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect([nine.exit, idsIn(nine.out)]).toEqual([130, ids(1, 2)]);
    expect(nine.err.split("; retrying")).toHaveLength(10);
    expect(nine.waits.slice(1, 10)).toEqual([
      250, 500, 1000, 2000, 4000, 8000, 15000, 15000, 15000,
    ]);
    const ten = await run([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect([ten.exit, idsIn(ten.out)]).toEqual([13, ids(1)]);
    expect(ten.err).toContain("10 consecutive polls failed");
    expect(ten.err).toContain("resume with `wf logs --follow --since 2026-11-21T11:00:01Z`");
  });

  test("fails at once for API errors and if the first poll fails", async () => {
    const { env } = await logServer(() => [], 1, {
      instead(_, response) {
        response.statusCode = 401;
        response.setHeader("content-type", "application/json");
        response.end('{"code":"unauthorized","message":"Access token is invalid","status":401}');
        return true;
      },
    });
    expect((await cli(["wf", "logs", "-F"], { env })).exit).toBe(4);
    expect((await followed(["--retries", "0"], [], [], [1])).exit).toBe(1);
  });
});
