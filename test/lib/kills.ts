import { once } from "node:events";
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { bin } from "./shell.ts";
import { seeded } from "./seeded.ts";
import { testSandbox } from "./sandbox.ts";
import type { TestSandbox } from "./sandbox.ts";
import { runUnreaped } from "./unreaped.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "SIGSTOP"] as const;
const documents = 12;
const text = (index: number) => `text ${index}\n`.repeat(3000);

/** A command line that writes files, and what has to be true whenever it is killed. */
interface Written {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Checks the files after a kill, or with `whole` after a complete run. */
  check(whole: boolean): Promise<void>;
  /** Removes files that another run would not overwrite. */
  readonly before?: () => Promise<void>;
}

const present = async (path: string) => (await stat(path).catch(() => null)) !== null;

/** A sandbox with a knowledge base that has a few documents. */
export async function killable(): Promise<TestSandbox> {
  const server = await testSandbox({ speed: 1 });
  for (const name of ["Docs", "Notes"])
    await server.cli(["kb", "create", name, "--indexing-technique", "economy"]);
  for (let index = 0; index < documents; index++) {
    const world = { stdin: text(index) };
    await server.cli(["kb", "doc", "add", "Docs", `${index}.md`, "--text-file", "-"], world);
  }
  for (const query of ["one", "two", "three"])
    await server.cli(["wf", "--app", "loop", "run", "--input", `query=${query}`]);
  return server;
}

async function lines(server: TestSandbox, home: string): Promise<readonly Written[]> {
  const path = (name: string) => join(home, name);
  const config = path("config");
  const stored = join(config, "profiles.json");
  await mkdir(config, { recursive: true });
  await writeFile(stored, '{"profiles":{"old":{"base_url":"http://127.0.0.1:1/v1"}}}');
  const add = "login new --base-url http://127.0.0.1:1/v1 --key-command true --no-check".split(" ");
  const record = path("record.jsonl");
  const exported = path("logs.jsonl");
  const pulled = (await server.cli(["kb", "pull", "Docs"])).out;
  return [
    {
      argv: ["kb", ...add],
      env: { KB_CONFIG_DIR: config },
      async check(whole) {
        const { profiles } = JSON.parse(await readFile(stored, "utf8")) as { profiles: object };
        expect(Object.keys(profiles)).toContain("old");
        if (whole) expect(Object.keys(profiles)).toContain("new");
      },
    },
    ...["profile use old", "profile remove gone -y"].map((words): Written => ({
      argv: ["kb", ...words.split(" ")],
      env: { KB_CONFIG_DIR: config },
      async before() {
        const one = { base_url: "http://127.0.0.1:1/v1" };
        await writeFile(stored, JSON.stringify({ profiles: { old: one, gone: one } }));
      },
      async check(whole) {
        const { profiles, ...rest } = JSON.parse(await readFile(stored, "utf8")) as {
          profiles: object;
        };
        expect(Object.keys(profiles)).toContain("old");
        if (whole && words.includes("use")) expect(rest).toEqual({ default: "old" });
        if (whole && words.includes("remove")) expect(Object.keys(profiles)).toEqual(["old"]);
      },
    })),
    {
      // One at a time: the rows change the same value, and the last one has to win.
      argv: ["kb", "update", "--each", path("rows.csv"), "--concurrency", "1"],
      async check(whole) {
        const { out } = await server.cli(["kb", "show", "Notes", "-o", "json"]);
        const { description } = JSON.parse(out) as { description: string };
        if (whole) expect(description).toBe("text 19");
        else expect(description).toMatch(/^(|text \d+)$/);
      },
      before: () =>
        writeFile(
          path("rows.csv"),
          `kb,description\n${Array.from({ length: 20 }, (_, at) => `Notes,text ${at}\n`).join("")}`,
        ),
    },
    {
      argv: ["wf", "--app", "loop", "logs", "export", exported, "--state", path("logs.state")],
      async check(whole) {
        if (!whole && !(await present(exported))) return;
        const written = (await readFile(exported, "utf8")).split("\n");
        expect(written.pop()).toBe("");
        const ids = written.map((line) => (JSON.parse(line) as { id: string }).id);
        expect(new Set(ids).size).toBe(ids.length);
        if (whole) expect(ids.length).toBeGreaterThan(2);
      },
    },
    {
      argv: ["kb", "pull", "Docs", "--output-file", path("pulled.yml")],
      async check(whole) {
        if (!whole && !(await present(path("pulled.yml")))) return;
        expect(await readFile(path("pulled.yml"), "utf8")).toBe(pulled);
        await rm(path("pulled.yml"));
      },
    },
    {
      argv: ["kb", "doc", "download", "Docs", "0.md", "1.md", "--dir", path("down")],
      async check(whole) {
        for (const index of [0, 1]) {
          const file = path(`down/${index}.md`);
          if (!whole && !(await present(file))) continue;
          expect(await readFile(file, "utf8")).toBe(text(index));
        }
      },
      before: () => rm(path("down"), { recursive: true, force: true }),
    },
    {
      argv: ["kb", "export", "Docs", path("export")],
      async check(whole) {
        if (!(await present(path("export/documents")))) return expect(whole).toBe(false);
        const names = (await readdir(path("export/documents"))).filter((name) =>
          name.endsWith(".md"),
        );
        for (const name of names) {
          const found = await readFile(path(`export/documents/${name}`), "utf8");
          expect(found, name).toBe(text(Number.parseInt(name, 10)));
        }
        if (!whole) return;
        expect(names).toHaveLength(documents);
        expect((await server.cli(["kb", "verify", "Docs", path("export")])).exit).toBe(0);
        await rm(path("export"), { recursive: true });
      },
    },
    {
      argv: ["wf", "--app", "loop", "run", "--input", "query=x", "--record", record],
      async check(whole) {
        if (!whole && !(await present(record))) return;
        const written = (await readFile(record, "utf8")).split("\n");
        const last = written.pop() ?? "";
        for (const line of written) JSON.parse(line);
        if (whole) expect(last).toBe("");
      },
      before: () => rm(record, { force: true }),
    },
    {
      argv: ["kb", "sandbox", "--data", path("store"), "--", "sh", "-c", 'kb tag create "t$$"'],
      check: () => Promise.resolve(), // the next run opens the same store
    },
  ];
}

/**
 * Runs command lines that write files and kills or stops each at a random moment. The files must be
 * complete, the exit code must be that of the signal, and the same command line must work afterwards.
 * A quick machine may end each before its moment: the turns continue until one is hit. Returns how many were hit before they ended.
 */
export async function killedWrites(
  server: TestSandbox,
  home: string,
  seed: number,
  kills: number,
): Promise<number> {
  const random = seeded(seed);
  const all = await lines(server, home);
  const run = async ({ argv, env = {} }: Written, signal?: NodeJS.Signals, after = 0) => {
    const [program = "kb", ...args] = argv;
    const child = spawn(process.execPath, [bin(program), ...args], {
      env: { PATH: process.env["PATH"], HOME: home, ...server.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    const timer = signal && setTimeout(() => child.kill(signal), after);
    const goesOn = signal === "SIGSTOP" && setTimeout(() => child.kill("SIGCONT"), after + 300);
    const [exit, by] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    clearTimeout(timer);
    if (goesOn) clearTimeout(goesOn);
    return { exit, by, err };
  };
  let hit = 0;
  for (let turn = 0; turn < kills || hit === 0; turn++) {
    const line = all[Math.floor(random() * all.length)];
    const signal = signals[Math.floor(random() * signals.length)];
    if (!line || !signal) continue;
    const what = `${line.argv.join(" ")} ${signal} at turn ${turn} of seed ${seed}`;
    await line.before?.();
    if (signal === "SIGKILL" && turn % 2 === 0) {
      const { argv, env = {} } = line;
      const [program = "kb", ...args] = argv;
      const whole = { PATH: process.env["PATH"], HOME: home, ...server.env, ...env };
      const { end } = await runUnreaped(program, args, whole, random() * 400);
      await line.check(false);
      await parsed(home);
      await line.before?.();
      const again = await run(line);
      end();
      expect(again.exit, `${what}, then again beside the zombie: ${again.err}`).toBe(0);
      await line.check(true);
      await temporaries(home);
      hit++;
      continue;
    }
    const { exit, by, err } = await run(line, signal, random() * 400);
    // Before the program handles signals the system ends it; a faster program exits with 0.
    if (by === null && exit !== 0)
      expect(exit, `${what}: ${err}`).toBe(128 + constants.signals[signal]);
    if (by !== null) expect(by, what).toBe(signal);
    // A stopped process continues normally.
    if (signal === "SIGSTOP") expect(exit, `${what}: ${err}`).toBe(0);
    if (exit !== 0) hit++;
    await line.check(exit === 0);
    await parsed(home);
    const left = await temporaries(home);
    if (signal !== "SIGKILL") expect(left, what).toEqual([]);
    if (turn % 4 > 0) continue;
    await line.before?.();
    const again = await run(line);
    expect(again.exit, `${what}, then again: ${again.err}`).toBe(0);
    await line.check(true);
  }
  // `npm test` runs only a few kills; the long test runs each command line once more at the end.
  for (const line of kills > 10 ? all : []) {
    await line.before?.();
    const last = await run(line);
    expect(last.exit, last.err).toBe(0);
    await line.check(true);
  }
  return hit;
}

/** Temporary files, which only SIGKILL may leave behind; removes them. */
async function temporaries(home: string): Promise<string[]> {
  const found = (await readdir(home, { recursive: true })).filter((name) => name.endsWith(".tmp"));
  for (const name of found) await rm(join(home, name), { recursive: true, force: true });
  return found;
}

/** All JSON files below the directory are complete: profiles, manifests, task IDs. */
async function parsed(home: string): Promise<void> {
  const all = await readdir(home, { recursive: true });
  for (const name of all.filter((each) => each.endsWith(".json")))
    JSON.parse(await readFile(join(home, name), "utf8"));
}
