import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { logServer, logsOf, runOf, start, uuid } from "./log-server.ts";
import { seeded } from "./seeded.ts";
import { cli } from "./support.ts";
import { root } from "./paths.ts";

/** A row of an export, as far as tests use it. */
export interface Row {
  readonly id: string;
  readonly workflow_run: { readonly id: string; readonly status: string };
  readonly run_detail?: { readonly inputs: string } | null;
}

/** Rows of a file, in order. */
export const rowsIn = (path: string): Row[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row); // written by the test server

/** Rows of all exports in a directory or a file, without work files. */
export const exported = (target: string): Row[] =>
  target.endsWith(".jsonl")
    ? rowsIn(target)
    : readdirSync(target)
        .filter((name) => name.endsWith(".jsonl"))
        .flatMap((name) => rowsIn(join(target, name)));

const endings = ["succeeded", "failed", "stopped", "partial-succeeded"];

/**
 * Repeatedly exports a log while runs are added and end, with rows of the same second in changing order
 * and seconds with more than a page; then checks that the files have every run once, with its result.
 */
export async function exportsUnderWay(seed: number, folder: string): Promise<void> {
  const random = seeded(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const counts = Array.from({ length: 15 }, () => below(30));
  if (seed % 3 === 0) counts[below(15)] = 101 + below(60);
  const logs = logsOf(...counts);
  let now = start + 15 + below(5);
  let added = logs.length;

  const grow = () => {
    if (random() < 0.3) now++;
    for (let count = below(4); count > 0; count--) {
      // Some appear with a delay.
      const created_at = now - (random() < 0.2 ? below(30) : 0);
      const status = random() < 0.5 ? "running" : (endings[below(4)] ?? "failed");
      logs.push({ id: uuid(added++), created_at, status });
    }
    for (const log of logs) {
      if (log.status === "running" && random() < 0.05) log.status = endings[below(4)] ?? "failed";
    }
  };
  const { env } = await logServer(() => logs, seed, {
    order: seed % 2 === 0 ? "changing" : "fixed",
    now: () => now,
    before: grow,
  });

  const target = join(folder, seed % 2 === 0 ? `${seed}.jsonl` : `${seed}`);
  const state = join(folder, `${seed}.state`);
  const argv = ["wf", "logs", "export", target, "--state", state, "-o", "json"];
  for (let round = 0; round < 4; round++) {
    const { exit, err } = await cli(argv, { env });
    expect([exit, seed, err]).toEqual([0, seed, expect.anything()]);
    const running = new Set(logs.filter(({ status }) => status === "running").map(({ id }) => id));
    const written = existsSync(target) ? exported(target) : [];
    expect(new Set(written.map(({ id }) => id)).size).toBe(written.length);
    expect(written.filter(({ workflow_run }) => workflow_run.status === "running")).toEqual([]);
    expect(written.filter(({ id }) => running.has(id))).toEqual([]);
    now += below(100);
  }
  // No more changes: the last export must add all missing runs.
  for (const log of logs) if (log.status === "running") log.status = "succeeded";
  now += 5;
  const quiet = await logServer(() => logs, seed, { now: () => now });
  const rename = (text: string) => text.replaceAll(env.KB_BASE_URL, quiet.env.KB_BASE_URL);
  writeFileSync(state, rename(readFileSync(state, "utf8")));
  const { exit, out, err } = await cli(argv, { env: quiet.env });
  expect([exit, err]).toEqual([0, expect.anything()]);
  expect(JSON.parse(out)).toMatchObject({ missing: 0, waiting: 0, running: 0 });
  const lines = exported(target).map(
    ({ id, workflow_run }) => `${id} ${workflow_run.id} ${workflow_run.status}`,
  );
  expect(lines.sort()).toEqual(logs.map(({ id, status }) => `${id} ${runOf(id)} ${status}`));
}

const program = join(root, "bin", "wf.js");

/**
 * Runs the built program on a log of large rows and kills it at random moments after random requests;
 * checks that each finished file has every run once.
 */
export async function exportsKilled(seed: number, kills: number, folder: string): Promise<void> {
  const random = seeded(seed);
  const logs = logsOf(...Array.from({ length: 60 }, () => 10 + Math.floor(random() * 30)));
  let requests = 0;
  let moment = Infinity;
  let child: ChildProcess | undefined;
  const { env } = await logServer(() => logs, seed, {
    // so that it flushes every second page
    padding: 20_000,
    before: () => {
      if (++requests < moment) return;
      moment = Infinity;
      setTimeout(() => child?.kill("SIGKILL"), random() * 60);
    },
  });
  const target = join(folder, `${seed}-killed.jsonl`);
  const argv = [
    "logs",
    "export",
    target,
    ...(seed % 2 === 0 ? ["--state", `${target}.state`] : []),
  ];
  const runs = async () => {
    child = spawn(process.execPath, [program, ...argv], {
      env: { ...env, PATH: process.env["PATH"], KB_CONFIG_DIR: folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
    const [code] = (await once(child, "close")) as [code: number | null];
    return { code, err };
  };

  const expected = logs.filter(({ status }) => seed % 2 === 1 || status !== "running");
  const checkRows = () => {
    const ids = rowsIn(target).map(({ id }) => id);
    expect(ids.sort()).toEqual(expected.map(({ id }) => id));
  };

  let killed = 0;
  const pages = Math.ceil(logs.length / 80);
  // A resumed export may end before its kill; then the next one starts anew.
  for (let round = 0; killed < kills; round++) {
    expect(round).toBeLessThan(3 * kills);
    moment = requests + 1 + Math.floor(random() * (pages / 2));
    const { code, err } = await runs();
    if (code === null) killed++;
    else expect(code, err).toBe(0);
    if (existsSync(target)) checkRows();
    if (existsSync(`${target}.part.journal`)) continue; // it can be resumed
    rmSync(target, { force: true });
    rmSync(`${target}.state`, { force: true });
  }
  moment = Infinity;
  const { code, err } = await runs();
  expect(code, err).toBe(0);
  checkRows();
  expect(readdirSync(folder).filter((name) => name.startsWith(`${seed}-killed.jsonl.p`))).toEqual(
    [],
  );
}
