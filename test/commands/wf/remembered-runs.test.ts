/** Runs that this machine remembers: what is stored, what removes it, and what `wf show --nodes` says of it. */
import { chmod, mkdir, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox();

const on = { KB_REMEMBER_RUNS: "30d" };

/** A machine of its own, with commands that remember runs. */
async function machine(more: World = {}) {
  const folder = await temporaryDirectory();
  const world = { ...more, folder, env: { ...on, ...more.env } };
  const directory = join(folder, "state", "remembered-runs");
  return {
    folder,
    directory,
    run: (line: string, other: World = {}) => server.cli(line.split(" "), { ...world, ...other }),
    done: (line: string) => server.done(line.split(" "), world),
    files: async () => (await readdir(directory).catch(() => [])).sort(),
  };
}

const newest = async (app: string) =>
  (await server.done(["wf", "--app", app, "logs", "-L", "1", "-o", "name"])).out.trim();

/** The last remembered run of a machine: its path and its lines. */
async function lastFile({ directory, files }: Awaited<ReturnType<typeof machine>>) {
  const path = join(directory, (await files()).at(-1) ?? "");
  return { path, lines: (await readFile(path, "utf8")).trimEnd().split("\n") };
}

test("the steps of a failed run are shown when it has ended", async () => {
  const { run, directory, files } = await machine();
  await run("wf --app broken run query=x -q");
  const id = await newest("broken");
  const { exit, out, err } = await run("wf --app broken show last --nodes -o csv");
  expect([exit, err]).toEqual([0, ""]);
  const [head, ...rows] = out.trimEnd().split("\r\n");
  expect(head).toBe("node,status,elapsed,error,round,type");
  expect(rows.map((row) => row.replace(/,[\d.e-]+,/, ",N,"))).toEqual([
    expect.stringMatching(/^Start,succeeded,N,,,start$/),
    expect.stringMatching(/^Fetch,failed,N,\[Errno 111\] Connection refused,,http-request$/),
  ]);
  const json = JSON.parse(
    (await run(`wf --app broken show ${id} --nodes -o json`)).out,
  ) as object[];
  expect(json[1]).toMatchObject({ node: "Fetch", status: "failed", retries: 0 });
  expect((await run(`wf --app broken timeline ${id}`)).out).toContain(`# Run ${id} failed`);
  expect((await run("wf --app broken timeline last")).out).toContain(`# Run ${id} failed`);
  const shown = await run(`wf --app broken show ${id}`);
  expect(shown.err).toContain(`its nodes are on this machine: \`wf show ${id} --nodes`);
  const [name = "", ...others] = await files();
  expect(others).toEqual([]);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
});

test.each(["", "off", "0"])(
  "KB_REMEMBER_RUNS=%j remembers nothing, and the error says how",
  async (value) => {
    const { run, files } = await machine({ env: { KB_REMEMBER_RUNS: value } });
    await run("wf run query=x -q");
    expect(await files()).toEqual([]);
    const { exit, out, err } = await run("wf show last --nodes");
    expect([exit, out]).toEqual([3, ""]);
    expect(err).toMatch(
      /^error: the events of run [\da-f-]+ are not on this machine\nhint: .*KB_REMEMBER_RUNS=30d/,
    );
  },
);

test("runs of all kinds are remembered, each with all of its nodes", async () => {
  const { done, run, folder, files } = await machine();
  await writeFile(join(folder, "rows.csv"), "query\none\ntwo\n");
  await done(`wf run --each ${join(folder, "rows.csv")} -q`);
  expect(await files()).toHaveLength(2);
  await done("wf retry last --yes -q");
  await done("wf --app chat-review chat send hello -q").catch(() => {}); // paused
  expect(await files()).toHaveLength(4);
  expect((await run("wf --app review run query=x -q")).exit).toBe(8);
  const paused = await newest("review");
  expect((await run(`wf --app review events ${paused} -q`)).exit).toBe(8);
  expect(await files()).toHaveLength(6);
  for (const app of ["loop", "retry", "tolerant", "batch", "review"]) {
    if (app !== "review") await run(`wf --app ${app} run query=x -q`);
    const { exit, err } = await run(`wf --app ${app} show last --nodes -q`);
    expect([app, exit, err]).toEqual([app, 0, ""]);
  }
});

test("looking at an ended run again stores nothing", async () => {
  const { done, files } = await machine();
  await done("wf run query=x -q");
  await done(`wf events ${await newest("echo")} -q`);
  expect(await files()).toHaveLength(1);
});

test("keys are masked as in recordings", async () => {
  const context = await machine();
  await context.done("wf run query=sk-Abcdef0123456789 -q");
  const { lines } = await lastFile(context);
  expect(lines.join("")).not.toContain("Abcdef0123456789");
  expect(lines.join("")).toContain("sk-***");
});

test("a run whose command was killed is shown up to there, and as not whole", async () => {
  const context = await machine();
  await context.done("wf run query=x -q");
  const { path, lines } = await lastFile(context);
  const end = lines.findIndex((line) => line.includes("workflow_finished"));
  await writeFile(path, `${lines.slice(0, end).join("\n")}\n${lines[end]?.slice(0, 40)}`);
  const { exit, out, err } = await context.run("wf show last --nodes --columns node -o tsv");
  expect(exit).toBe(10);
  expect(out).toContain("Start\n");
  expect(err).toMatch(
    /error: the events of run [\da-f-]+ here are not whole: they end while it is running, the run is succeeded\n/,
  );
});

test("a run that has not ended is not whole", async () => {
  const context = await machine();
  await context.done("wf run query=x -q");
  const { path, lines } = await lastFile(context);
  const [id = ""] = /.{36}(?=\.jsonl$)/.exec(path) ?? [];
  const still = await testSandbox({ speed: 0.02 });
  const world = { folder: context.folder, env: on };
  const detached = ["wf", "--app", "slow", "run", "query=x", "--detach", "-o", "name"];
  const active = (await still.done(detached, world)).out.trim();
  const started = lines.filter((line) => !/"event":"workflow_finished"|"end":/.test(line));
  await writeFile(path.replace(id, active), started.join("\n").replaceAll(id, active));
  const shown = await still.cli(["wf", "--app", "slow", "show", active, "--nodes"], world);
  expect([shown.exit, shown.err]).toEqual([
    10,
    `error: the events of run ${active} here are not whole: the run is running\n`,
  ]);
});

test("a run of which the server counts more steps is not whole", async () => {
  const context = await machine();
  await context.done("wf run query=x -q");
  const { path, lines } = await lastFile(context);
  const [first = ""] = lines.flatMap((line) => /"id":"([^"]+)".*"node_id"/.exec(line)?.[1] ?? []);
  await writeFile(path, lines.filter((line) => !line.includes(first)).join("\n"));
  const { exit, err } = await context.run("wf show last --nodes");
  expect(exit).toBe(10);
  expect(err).toMatch(/not whole: they have \d steps? of \d\n/);
});

test("a run that the server has removed keeps its nodes here", async () => {
  const context = await machine();
  await context.run("wf --app broken run query=x -q");
  const id = await newest("broken");
  const { exit, out, err } = await context.run(`wf show ${id} --nodes --columns node -o tsv`);
  expect([exit, out]).toEqual([0, expect.stringContaining("Fetch\n")]);
  expect(err).toContain("its nodes are those that this machine has");
});

/** Writes a remembered run of the past. */
async function pastRun(directory: string, days: number, size = 0): Promise<string> {
  await mkdir(directory, { recursive: true });
  const name = `${Date.now() - days * 86_400_000}-0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e.jsonl`;
  await writeFile(join(directory, name), "");
  await truncate(join(directory, name), size); // takes no space on the disk
  return name;
}

test("runs older than the duration are removed", async () => {
  const { done, files, directory } = await machine();
  const [old, kept] = [await pastRun(directory, 31), await pastRun(directory, 29)];
  await done("wf run query=x -q");
  expect(await files()).not.toContain(old);
  expect(await files()).toContain(kept);
});

test("the oldest runs are removed if they take too many bytes", async () => {
  const { done, files, directory } = await machine();
  const first = await pastRun(directory, 20, 90_000_000);
  const second = await pastRun(directory, 10, 90_000_000);
  await done("wf run query=x -q");
  const left = await files();
  expect(left).not.toContain(first);
  expect(left).toContain(second);
  expect(left).toHaveLength(2);
});

test("a run that a process is writing is not removed, that of a dead one is", async () => {
  const { done, files, directory } = await machine();
  const [used, dead] = [await pastRun(directory, 32), await pastRun(directory, 31)];
  const holder = { pid: process.pid, isAlive: () => true };
  const lock = await diskFiles.lock(join(directory, `${used}.lock`), holder);
  const content = JSON.parse(await readFile(join(directory, `${used}.lock`), "utf8")) as object;
  const lost = { ...content, pid: 2 ** 22, start: "1", token: "0".repeat(16) };
  await writeFile(join(directory, `${dead}.lock`), `${JSON.stringify(lost)}\n`);
  await done("wf run query=x -q");
  expect(await files()).toContain(used);
  expect(await files()).not.toContain(dead);
  expect(await files()).not.toContain(`${dead}.lock`);
  if ("release" in lock) lock.release();
});

test("a command does not remove the run that it writes", async () => {
  const { folder, directory, done, files } = await machine({ env: { KB_REMEMBER_RUNS: "1ms" } });
  await writeFile(join(folder, "rows.csv"), "query\none\ntwo\nthree\n");
  await done(`wf --app slow run --each ${join(folder, "rows.csv")} --concurrency 3 -q`);
  const left = await files();
  expect(left.map((name) => name.replace(/^.*\./, ""))).toEqual(["jsonl", "jsonl", "jsonl"]);
  for (const name of left)
    expect(await readFile(join(directory, name), "utf8")).toContain('{"end":{"exit":0,');
});

test("a full disk is a notice, once, and the runs succeed", async () => {
  const full = Object.assign(new Error("no space"), { code: "ENOSPC" });
  const { folder, run, done, files } = await machine({
    files: {
      async create(path, mode) {
        const file = await diskFiles.create(path, mode);
        return path.includes("remembered") ? { ...file, write: () => Promise.reject(full) } : file;
      },
    },
  });
  await writeFile(join(folder, "rows.csv"), "query\none\ntwo\n");
  const { exit, err } = await run(`wf run --each ${join(folder, "rows.csv")}`);
  expect(exit).toBe(0);
  expect(err.match(/^failed to remember the events of runs: .*$/gm)).toHaveLength(1);
  await done("wf show last");
  expect((await files()).filter((name) => name.endsWith(".lock"))).toEqual([]);
});

test("a directory that cannot be written is a notice", async () => {
  const { folder, run } = await machine();
  await mkdir(join(folder, "state"), { recursive: true });
  await writeFile(join(folder, "state", "remembered-runs"), "");
  const { exit, err } = await run("wf run query=x");
  expect([exit, err]).toEqual([
    0,
    expect.stringMatching(/^failed to remember the events of runs: /m),
  ]);
});

test("an invalid value is an error that names its source, before anything is sent", async () => {
  server.seen.splice(0);
  const { run } = await machine({ env: { KB_REMEMBER_RUNS: "a month" } });
  const { exit, err } = await run("wf run query=x");
  expect([exit, err]).toEqual([
    2,
    'error: how long to remember runs: "a month" is not a duration (KB_REMEMBER_RUNS)\nhint: use a duration such as 30d, or off\n',
  ]);
  expect(server.seen).toEqual([]);
});

test("doctor and config explain say what is remembered", async () => {
  const { done, directory } = await machine();
  await pastRun(directory, 1, 2048);
  const { out } = await done("wf doctor -o tsv");
  expect(out).toContain(
    `remembered runs\tok\t30d (KB_REMEMBER_RUNS); 1 run, 2.0 KiB in ${directory}\t`,
  );
  const explained = await done("wf config explain -o tsv");
  expect(explained.out).toContain("remember runs\t30d\tKB_REMEMBER_RUNS\n");
});

test("a profile can remember runs; a variable takes precedence unless -p is given", async () => {
  const folder = await temporaryDirectory();
  const env = { KB_PROFILE: undefined, KB_KEY: undefined, KB_BASE_URL: undefined };
  const key = join(folder, "key.txt");
  await writeFile(key, "app-echo");
  await chmod(key, 0o600);
  const login = [
    "wf",
    "login",
    "work",
    "--base-url",
    `${server.sandbox.origin}/v1`,
    "--app",
    "echo",
  ];
  const stored = [...login, "--key-file", key, "--insecure-storage", "--remember-runs"];
  const wrong = await server.cli([...stored, "often"], { folder, env });
  expect([wrong.exit, wrong.err]).toEqual([2, expect.stringContaining("(--remember-runs)")]);
  await server.done([...stored, "7d", "-q"], { folder, env });
  const explained = async (words: readonly string[], more = {}) =>
    (
      await server.done(["wf", "config", "explain", "-o", "tsv", ...words], {
        folder,
        env: { ...env, ...more },
      })
    ).out.match(/^remember runs\t(.*)$/m)?.[1];
  expect(await explained([])).toBe("7d\tprofile work");
  expect(await explained([], { KB_REMEMBER_RUNS: "off" })).toBe("off\tKB_REMEMBER_RUNS");
  expect(await explained(["-p", "work"], { KB_REMEMBER_RUNS: "off" })).toBe("7d\tprofile work");
});
