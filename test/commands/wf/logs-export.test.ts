import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import type { Files } from "../../../src/host/host.ts";
import { exported, exportsKilled, exportsUnderWay, rowsIn } from "../../lib/export-scenario.ts";
import { clock, logServer, logsOf, uuid } from "../../lib/log-server.ts";
import type { Log } from "../../lib/log-server.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
const sortedIds = (rows: readonly { readonly id: string }[]) => idsOf(rows).sort();

const folder = await temporaryDirectory();
let places = 0;
/** A path without a file, in a directory of its own. */
const place = (name: string) => join(folder, String(places++), name);

const exporting = (target: string, argv: readonly string[], world: World) =>
  cli(["wf", "logs", "export", target, ...argv], world);

const seeds = Array.from({ length: 2 }, (_, seed) => seed);

test.each(sampled(3, seeds))("exports every run of a changing log once (seed %i)", (seed) =>
  exportsUnderWay(seed, folder),
);

rareTest("a killed export resumes without duplicates", () => exportsKilled(1, 2, folder));

describe("a file", () => {
  test("has the rows as received, newest first; a summary is printed", async () => {
    const logs = logsOf(30, 30, 130, 30, 30);
    const { env } = await logServer(() => logs, 3);
    const path = place("runs.jsonl");
    const { exit, out, err } = await exporting(path, ["-o", "json"], { env });
    const summary = JSON.parse(out) as Record<string, unknown>; // one object by `returns`
    expect([exit, summary]).toEqual([
      0,
      {
        rows: 250,
        read: 250,
        refetched: expect.any(Number),
        missing: 0,
        waiting: 0,
        running: logs.filter(({ status }) => status === "running").length,
        file: path,
        since: null,
        until: "2026-11-21T10:59:59Z", // before the request, which the server answered at 11:00:00
      },
    ]);
    expect(err).toContain(`250 runs in ${path}; ${summary["refetched"]} rows fetched again`);
    expect(err).toContain("24 unfinished runs written in their current state");
    const rows = rowsIn(path);
    expect(sortedIds(rows)).toEqual(idsOf(logs));
    const second = new Map(logs.map(({ id, created_at }) => [id, created_at]));
    const seconds = rows.map(({ id }) => Number(second.get(id)));
    expect(seconds).toEqual(seconds.toSorted((a, b) => b - a));
    expect(readdirSync(join(path, ".."))).toEqual(["runs.jsonl"]);
  });

  test("is CSV by its name, with all columns of wf logs and times in UTC", async () => {
    const logs = logsOf(1, 1);
    const { env } = await logServer(() => logs, 3);
    const path = place("runs.csv");
    await exporting(path, ["--with-detail"], { env });
    expect(readFileSync(path, "utf8")).toBe(
      [
        "run,status,started,elapsed,tokens,steps,by,error,exceptions,finished,version,triggered_from,created_from,log,inputs,outputs",
        '00000000-0000-4001-8000-000000000001,succeeded,2026-11-21T10:00:01Z,1,10,3,ann,,0,2026-11-21T10:00:02Z,2026-11-21 00:02:02.696187,app-run,service-api,00000000-0000-4000-8000-000000000001,"{""query"":""question 1"",""sys.app_id"":""00000000-0000-4000-8000-000000000001""}","{""answer"":""42""}"',
        '00000000-0000-4001-8000-000000000000,failed,2026-11-21T10:00:00Z,0,10,3,ann,no response from the model,0,2026-11-21T10:00:01Z,2026-11-21 00:02:02.696187,app-run,service-api,00000000-0000-4000-8000-000000000000,"{""query"":""question 0"",""sys.app_id"":""00000000-0000-4000-8000-000000000001""}","{""answer"":""42""}"',
        "",
      ].join("\r\n"),
    );
  });

  test("is only replaced with --overwrite, and is written even without rows", async () => {
    let logs = logsOf(5, 5);
    const { env } = await logServer(() => logs, 3);
    const path = place("runs.csv");
    await exporting(path, [], { env });
    expect(readFileSync(path, "utf8").split("\r\n")).toHaveLength(12);
    logs = [];
    const before = readFileSync(path, "utf8");
    expect(await exporting(path, [], { env })).toMatchObject({
      exit: 2,
      err: `error: ${path} already exists\nhint: name another file, or add --overwrite to replace it\n`,
    });
    expect(readFileSync(path, "utf8")).toBe(before);
    const { exit, err } = await exporting(path, ["--overwrite"], { env });
    expect([exit, err]).toEqual([0, `0 runs in ${path}\n`]);
    expect(readFileSync(path, "utf8")).toMatch(/^run,status,.*log\r\n$/);
  });

  test("has the rows that match all filters, local ones too", async () => {
    const logs = logsOf(...Array.from({ length: 30 }, () => 9));
    const { env, seen } = await logServer(() => logs, 2);
    const path = place("runs.jsonl");
    const { err } = await exporting(
      path,
      ["--status", "succeeded", "--where", "elapsed>=1m", "--since", "2026-11-21T10:00:05Z"],
      { env },
    );
    const inTime = logs.filter(({ status }, index) => status === "succeeded" && index >= 45);
    const wanted = inTime.filter(({ id }) => Number(id.slice(-2)) >= 60);
    expect(sortedIds(rowsIn(path))).toEqual(idsOf(wanted));
    expect(err).toContain("since 2026-11-21T10:00:05Z\n");
    expect(err).toContain(`; ${wanted.length} of ${inTime.length} match (filtered locally)`);
    const lists = seen.filter(({ pathname }) => pathname.endsWith("/logs"));
    expect(lists.every(({ searchParams }) => searchParams.get("status") === "succeeded")).toBe(
      true,
    );
  });

  test("exits with 10 and the number of runs that the server hides", async () => {
    const logs = logsOf(5, 121, 5).map((log, index) =>
      index >= 40 && index < 51 ? { ...log, hidden: true as const } : log,
    );
    const { env } = await logServer(() => logs, 11);
    const path = place("runs.jsonl");
    const { exit, out, err } = await exporting(path, ["-o", "json"], { env });
    expect([exit, JSON.parse(out)]).toEqual([
      10,
      expect.objectContaining({ rows: 120, missing: 11 }),
    ]);
    expect(err).toContain("incomplete list: the server returned 120 of 131 rows");
    expect(rowsIn(path)).toHaveLength(120);
  });

  test("exits with 10 also if it completes an export from which the server hid runs", async () => {
    const logs = logsOf(5, 121, 5).map((log, index) =>
      index >= 40 && index < 51 ? { ...log, hidden: true as const } : log,
    );
    const { env } = await logServer(() => logs, 11);
    const path = place("runs.jsonl");
    const rename = () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
    expect(await exporting(path, [], { env, files: { rename } })).toMatchObject({ exit: 1 });
    const { exit, out } = await exporting(path, ["-o", "json"], { env });
    expect([exit, JSON.parse(out)]).toEqual([
      10,
      expect.objectContaining({ rows: 120, missing: 11 }),
    ]);
    expect(rowsIn(path)).toHaveLength(120);
  });
});

describe("details of runs", () => {
  test("are requested concurrently up to the limit, and stay with their rows", async () => {
    const logs = logsOf(60, 60);
    const held: (() => void)[] = [];
    let most = 0;
    const { env } = await logServer(() => logs, 3, {
      instead(url, response) {
        if (!url.pathname.includes("/run/")) return false;
        const number = Number(url.pathname.slice(-12));
        response.setHeader("content-type", "application/json");
        const detail = { status: "succeeded", inputs: `"question ${number}"` };
        held.push(() => response.end(JSON.stringify(detail)));
        most = Math.max(most, held.length);
        // The first response is sent after the second request.
        if (held.length === 2) for (const answer of held.splice(0)) answer();
        return true;
      },
    });
    const path = place("runs.jsonl");
    const { exit } = await exporting(path, ["--with-detail", "--concurrency", "2"], { env });
    expect([exit, most]).toEqual([0, 2]);
    for (const { id, run_detail } of rowsIn(path)) {
      expect(run_detail?.inputs).toContain(`"question ${Number(id.slice(-12))}"`);
    }
  });

  test("that the server no longer has are null and counted", async () => {
    const logs = logsOf(4);
    const { env } = await logServer(() => logs, 3, {
      instead(url, response) {
        if (!url.pathname.endsWith("000000000002")) return false;
        response.statusCode = 404;
        response.setHeader("content-type", "application/json");
        response.end('{"code":"not_found","message":"Workflow run not found.","status":404}');
        return true;
      },
    });
    const path = place("runs.jsonl");
    const { exit, err } = await exporting(path, ["--with-detail"], { env });
    expect([exit, err]).toEqual([0, expect.stringContaining("; 1 run without details")]);
    const without = rowsIn(path).filter(({ run_detail }) => run_detail === null);
    expect(idsOf(without)).toEqual([uuid(2)]);
  });
});

describe("a state", () => {
  const log = (number: number, created_at: number, status = "succeeded"): Log => ({
    id: uuid(number),
    created_at,
    status,
  });

  /** A log that grows, and exports of it to one target. */
  async function growing(name: string, first: readonly Log[], argv: readonly string[] = []) {
    const logs = [...first];
    let now = clock;
    const server = await logServer(() => logs, 5, { now: () => now });
    const target = place(name);
    const state = `${target}.state`;
    return {
      ...server,
      logs,
      target,
      state,
      pass: (seconds: number) => (now += seconds),
      run: async (world: World = {}) => {
        const all = ["--state", state, ...argv, "-o", "json"];
        const ran = await exporting(target, all, { ...world, env: server.env });
        return { ...ran, summary: JSON.parse(ran.out || "{}") as Record<string, unknown> };
      },
    };
  }

  test("appends new runs to the file, unfinished ones once they have ended", async () => {
    const server = await growing("runs.jsonl", [
      log(1, clock - 3000, "running"),
      log(2, clock - 50),
      log(3, clock, "paused"),
    ]);
    const one = await server.run();
    expect([one.exit, one.summary]).toEqual([0, expect.objectContaining({ rows: 1, waiting: 2 })]);
    expect(one.err).toContain("2 unfinished runs left for a later export");
    expect(idsOf(exported(server.target))).toEqual([uuid(2)]);

    server.pass(100);
    // A late row of the last minute, a new row, and a run that ends.
    server.logs.push(log(4, clock - 20), log(5, clock + 70));
    Object.assign(server.logs[0] ?? {}, { status: "failed" });
    const two = await server.run();
    expect([two.exit, two.summary]).toEqual([0, expect.objectContaining({ rows: 3, waiting: 1 })]);
    expect(idsOf(exported(server.target))).toEqual([uuid(2), uuid(5), uuid(4), uuid(1)]);

    server.pass(100);
    Object.assign(server.logs[2] ?? {}, { status: "succeeded" });
    const three = await server.run();
    expect(three.summary).toMatchObject({ rows: 1, waiting: 0 });
    const four = await server.run();
    expect(four.summary).toMatchObject({ rows: 0, file: null });
    expect(idsOf(exported(server.target))).toEqual([2, 5, 4, 1, 3].map(uuid));
    expect(server.seen.every(({ search }) => !search.includes("app-echo"))).toBe(true);
    expect(readFileSync(server.state, "utf8")).not.toContain("app-echo");
  });

  test("writes one file per export with rows to a directory, CSV with -o csv", async () => {
    const server = await growing("runs", [log(1, clock - 30)], []);
    await server.run();
    server.pass(5);
    await server.run();
    server.logs.push(log(2, clock + 4));
    await server.run();
    server.logs.push(log(3, clock + 4));
    await server.run();
    expect(readdirSync(server.target)).toEqual([
      "2026-11-21T10-59-59Z.jsonl",
      "2026-11-21T11-00-04Z-2.jsonl",
      "2026-11-21T11-00-04Z.jsonl",
    ]);
    expect(sortedIds(exported(server.target))).toEqual([1, 2, 3].map(uuid));
    const path = place("csv");
    await exporting(path, ["-o", "csv"], { env: server.env });
    expect(readdirSync(path)).toEqual(["2026-11-21T11-00-04Z.csv"]);
  });

  test("applies --status and --where when a run has ended", async () => {
    const server = await growing(
      "runs.jsonl",
      [log(1, clock - 3000, "running"), log(2, clock - 2000, "running"), log(3, clock - 100)],
      ["--status", "failed", "--where", "error~model"],
    );
    expect((await server.run()).summary).toMatchObject({ rows: 0, waiting: 2 });
    Object.assign(server.logs[0] ?? {}, { status: "failed" });
    Object.assign(server.logs[1] ?? {}, { status: "succeeded" });
    expect((await server.run()).summary).toMatchObject({ rows: 1, waiting: 0 });
    expect(idsOf(exported(server.target))).toEqual([uuid(1)]);
  });

  test("reports and forgets an unfinished run that was purged", async () => {
    const server = await growing("runs.jsonl", [log(1, clock - 3000, "running")]);
    await server.run();
    server.logs.length = 0;
    const { summary, err } = await server.run();
    expect([summary["waiting"], err]).toEqual([
      0,
      expect.stringContaining("1 run removed from the log before finishing"),
    ]);
  });

  test("keeps the start given by --since", async () => {
    const server = await growing(
      "runs.jsonl",
      [log(1, clock - 30), log(2, clock - 5)],
      ["--since", "2026-11-21T10:59:50Z"],
    );
    await server.run();
    server.pass(10);
    expect((await server.run()).summary).toMatchObject({ rows: 0 });
    expect(idsOf(exported(server.target))).toEqual([uuid(2)]);
  });

  test("keeps its last runs after exports with an earlier --until", async () => {
    const server = await growing("runs.jsonl", [log(1, clock - 50), log(2, clock - 20)]);
    await server.run();
    for (const until of ["2026-11-21T10:59:20Z", "2026-11-20T11:00:00Z"]) {
      const argv = ["--state", server.state, "--until", until];
      expect(await exporting(server.target, argv, server)).toMatchObject({ exit: 0 });
    }
    server.logs.push(log(3, clock - 5));
    expect((await server.run()).summary).toMatchObject({ rows: 1 });
    expect(idsOf(exported(server.target))).toEqual([2, 1, 3].map(uuid));
  });

  test.each([
    ["another application", { name: "support", id: uuid(7) }, 2],
    ["another application of the same name", { name: "echo", id: uuid(7) }, 2],
    ["the same application under a new name", { name: "new", id: uuid(1) }, 0],
  ])("of one application is rejected for another: %s", async (_, app, expected) => {
    const server = await growing("runs.jsonl", [log(1, clock - 30)]);
    await server.run();
    const other = await logServer(() => [log(9, clock)], 5, { app });
    const mended = readFileSync(server.state, "utf8").replaceAll(
      server.env.KB_BASE_URL,
      other.env.KB_BASE_URL,
    );
    writeFileSync(server.state, mended);
    const before = readFileSync(server.target, "utf8");
    const { exit, err } = await exporting(server.target, ["--state", server.state], {
      env: other.env,
    });
    expect(exit, err).toBe(expected);
    if (expected === 2) {
      expect(err).toContain('belongs to application "echo"');
      expect(readFileSync(server.target, "utf8")).toBe(before);
      expect(readFileSync(server.state, "utf8")).toBe(mended);
    }
  });

  test("is rejected for another server, other filters, and an unknown file", async () => {
    const server = await growing("runs.jsonl", [log(1, clock - 30)]);
    await server.run();
    const again = (argv: readonly string[], env = server.env) =>
      exporting(server.target, ["--state", server.state, ...argv], { env });
    const other = await logServer(() => [], 5);
    expect(await again([], other.env)).toMatchObject({
      exit: 2,
      err: expect.stringContaining(`at ${server.env.KB_BASE_URL}, not "echo"`) as string,
    });
    expect(await again(["--status", "failed"])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('with status nothing, not "failed"') as string,
    });
    expect(await again(["--keyword", "hello"])).toMatchObject({
      exit: 2,
      err: expect.stringContaining("--state and --keyword cannot be used together") as string,
    });
    await appendFile(server.target, "{}\n");
    expect(await again([])).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/has \d+ bytes instead of the \d+ recorded in /) as string,
    });
    const stranger = place("stranger.json");
    await diskFiles.makeDirectory(join(stranger, ".."));
    writeFileSync(stranger, '{"until":1}');
    expect(await exporting(place("a.jsonl"), ["--state", stranger], server)).toMatchObject({
      exit: 2,
      err: expect.stringContaining("is not the state of an export") as string,
    });
    const below = join(stranger, "state");
    expect(await exporting(place("a.jsonl"), ["--state", below], server)).toMatchObject({
      exit: 2,
      err: expect.stringContaining("file already exists") as string,
    });
    expect(await exporting(server.target, ["--state", `${stranger}.new`], server)).toMatchObject({
      exit: 2,
      err: expect.stringContaining("is not recorded in") as string,
    });
  });
});

describe("an unfinished export", () => {
  /** Interrupted after this number of list requests. */
  async function interruptedAt(count: number, path: string, argv: readonly string[] = []) {
    const logs = logsOf(...Array.from({ length: 60 }, () => 20));
    const stop = new AbortController();
    let asked = 0;
    const server = await logServer(() => logs, 3, {
      before: () => {
        if (++asked === count) stop.abort("SIGINT");
      },
    });
    const ran = await exporting(path, argv, { env: server.env, signal: stop.signal });
    return { ...server, logs, ran };
  }

  test("prints how to resume, and resumes without requesting the same pages", async () => {
    const path = place("runs.jsonl");
    const { env, logs, ran, seen } = await interruptedAt(8, path);
    expect([ran.exit, ran.out]).toEqual([130, ""]);
    const [, read] =
      /hint: (\d+) runs are saved; run the same command to resume/.exec(ran.err) ?? [];
    expect(Number(read)).toBeGreaterThan(400);
    expect(existsSync(path)).toBe(false);
    // A kill may leave half a row and half a journal entry.
    await appendFile(`${path}.part`, '{"id":"000');
    await appendFile(`${path}.part.journal`, '{"bytes":99999999,"st');
    seen.length = 0;
    const { exit, err } = await exporting(path, [], { env });
    expect([exit, err]).toEqual([
      0,
      expect.stringContaining(`resuming: ${read} runs already read`),
    ]);
    expect(sortedIds(rowsIn(path))).toEqual(idsOf(logs));
    expect(seen.length).toBeLessThan(13); // 15 are all
    expect(readdirSync(join(path, ".."))).toEqual(["runs.jsonl"]);
  });

  test("resumes with a relative time, and starts anew with other filters", async () => {
    const path = place("runs.jsonl");
    const argv = ["--since", "30m"];
    const from = Date.parse("2026-11-21T10:30:20Z");
    const stop = new AbortController();
    const logs = logsOf(...Array.from({ length: 60 }, () => 20));
    let asked = 0;
    const { env } = await logServer(() => logs, 3, {
      before: () => {
        if (++asked === 5) stop.abort("SIGINT");
      },
    });
    const at = (ms: number) => ({ env, now: () => new Date(from + ms) });
    await exporting(path, argv, { ...at(0), signal: stop.signal });
    const part = readFileSync(`${path}.part`, "utf8");
    const other = await exporting(`${path}`, [...argv, "--where", "steps>5"], at(1000));
    expect(other.err).toContain("discarding an unfinished export of something else");
    expect(rowsIn(path)).toEqual([]);

    asked = 0;
    const again = new AbortController();
    const path2 = place("runs.jsonl");
    const server = await logServer(() => logs, 3, {
      before: () => {
        if (++asked === 5) again.abort("SIGINT");
      },
    });
    const later = (ms: number) => ({ env: server.env, now: () => new Date(from + ms) });
    await exporting(path2, argv, { ...later(0), signal: again.signal });
    expect(readFileSync(`${path2}.part`, "utf8").length).toBe(part.length);
    const { err } = await exporting(path2, argv, later(15_000));
    expect(err).toContain("since 2026-11-21T10:00:20Z\n");
    expect(rowsIn(path2)).toHaveLength(800);
  });

  test("cannot be resumed while another export runs, also one in another container", async () => {
    const path = place("runs.jsonl");
    const { env } = await interruptedAt(3, path);
    const lock = { pid: 1, start: null, place: "host boot pid:[1]", token: "0123456789abcdef" };
    await appendFile(`${path}.part.journal.lock`, JSON.stringify(lock));
    expect(await exporting(path, [], { env })).toMatchObject({
      exit: 2,
      err: expect.stringContaining(
        "another export is writing to this target (pid 1 on host)",
      ) as string,
    });
  });

  const changing = ["append", "truncate", "copy", "rename", "writeAtomic", "remove"] as const;

  /** A disk that applies half of the change after this number of changes, and then fails. */
  function diskFor(changes: number): Partial<Files> & { readonly made: () => number } {
    let made = 0;
    const files: Partial<Record<keyof Files, unknown>> = {};
    for (const name of changing) {
      files[name] = async (...args: readonly unknown[]) => {
        if (++made <= changes) {
          return (diskFiles[name] as (...given: readonly unknown[]) => unknown)(...args);
        }
        const [path, text] = args;
        if (made === changes + 1 && name === "append") {
          await diskFiles.append(String(path), String(text).slice(0, String(text).length / 2));
        }
        throw Object.assign(new Error("killed"), { code: "KILLED" });
      };
    }
    return { ...(files as Partial<Files>), made: () => made }; // the names are those of Files
  }

  const log = (number: number, created_at: number, status = "succeeded"): Log => ({
    id: uuid(number),
    created_at,
    status,
  });

  test.each(sampled(3, ["runs.jsonl", "runs"]))(
    "dies before any one of its changes on disk (%s): the next ones bring each run once",
    async (name) => {
      for (let changes = 0; ; changes++) {
        const logs = [log(1, clock - 3000, "running"), log(2, clock - 50), log(3, clock - 1)];
        const { env } = await logServer(() => logs, 5);
        const target = place(name);
        const argv = ["--state", `${target}.state`, "-q"];
        const disk = diskFor(changes);
        const first = await exporting(target, argv, { env, files: disk });
        const { exit, err } = await exporting(target, argv, { env });
        expect([exit, err], `after ${changes} changes`).toEqual([0, ""]);
        expect(sortedIds(exported(target))).toEqual([uuid(2), uuid(3)]);
        // The same for an export that continues from a state.
        logs.push(log(4, clock - 30));
        Object.assign(logs[0] ?? {}, { status: "failed" });
        const later = await exporting(target, argv, { env, files: diskFor(changes) });
        for (const _ of [1, 2]) {
          expect(await exporting(target, argv, { env }), `after ${changes} changes`).toMatchObject({
            exit: 0,
            err: "",
          });
        }
        expect(sortedIds(exported(target)), `after ${changes} changes`).toEqual(
          [1, 2, 3, 4].map(uuid),
        );
        const files = readdirSync(join(target, ".."), { recursive: true, encoding: "utf8" });
        expect(files.filter((file) => /part|tmp/.test(file))).toEqual([]);
        if (first.exit === 0 && later.exit === 0) {
          expect(changes).toBeGreaterThan(6);
          break;
        }
      }
    },
  );

  rareTest("reports a full disk, keeps its progress, and resumes when there is space", async () => {
    const logs = logsOf(...Array.from({ length: 60 }, () => 20));
    const { env } = await logServer(() => logs, 3, { padding: 20_000 });
    const path = place("runs.jsonl");
    let room = 10_000_000;
    const append: Files["append"] = async (file, text) => {
      await diskFiles.append(file, text.slice(0, room));
      room -= text.length;
      if (room < 0) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    };
    const { exit, out, err } = await exporting(path, [], { env, files: { append } });
    expect([exit, out]).toEqual([1, ""]);
    expect(err).toContain(
      `error: ${path}.part: disk full\nhint: fix the problem and run the same command again`,
    );
    expect(existsSync(path)).toBe(false);
    const again = await exporting(path, [], { env });
    expect([again.exit, again.err]).toEqual([0, expect.stringContaining("resuming: ")]);
    expect(sortedIds(rowsIn(path))).toEqual(idsOf(logs));
  });

  test.each([
    ["notes.txt/runs.jsonl", "not a directory"],
    ["notes.txt", "is a file"],
    ["folder.jsonl", "is a directory"],
    ["-", "is not a file"],
  ])("cannot be written to %s: no log is read", async (name, message) => {
    const { env, seen } = await logServer(() => [], 3);
    const target = name === "-" ? name : place(name);
    const parent = join(target.replace(/notes\.txt.*/, ""), "");
    if (name.startsWith("notes")) {
      await diskFiles.makeDirectory(parent);
      writeFileSync(join(parent, "notes.txt"), "");
    }
    if (name === "folder.jsonl") await diskFiles.makeDirectory(target);
    const { exit, err } = await exporting(target, [], { env });
    expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
    expect(seen.filter(({ pathname }) => pathname.endsWith("/logs"))).toEqual([]);
  });
});
