// The built programs, killed at random moments: the same command ends as an undisturbed one, and nothing is doubled.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formsOfChunks, handEditedBase } from "../lib/as-is-bases.ts";
import { isProof } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { seeded } from "../lib/seeded.ts";
import { bin } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { runUnreaped } from "../lib/unreaped.ts";

/**
 * Kills of each command: 43, or 200 of those that replace documents, with `npm run prove -- kills`. After every second
 * one the killed program is still there as a zombie while the same command runs again.
 */
const killsOf = (command: string): number => {
  if (!isProof) return 4;
  return /abandoned|into/.test(command) ? 200 : 43;
};

// The programs have the real clock, for which what a worker abandons must be old.
const server = await testSandbox({ speed: 1, models: true, indexingDelay: 1 });
const home = await temporaryDirectory();
const inside = { folder: home };
const kb = (...argv: string[]) => server.cli(["kb", ...argv], inside);
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], inside)).out.trim();
const provider = "langgenius/stub/stub";

await handEditedBase(server, "Source", formsOfChunks[1]);
const source = join(home, "source");
const directory = join(home, "backups");
await done("export", "Source", source);
await done("backup", directory, "Source");

// Three snapshots, each with something of its own.
const grown = join(home, "grown");
await done("create", "Grown", "--indexing-technique", "economy");
for (const text of ["A first text", "A second text", "A third text"]) {
  await done("doc", "add", "Grown", `${text}.md`, "--text", text);
  await done("doc", "wait", "Grown");
  await done("backup", grown, "Grown");
  await done("doc", "delete", "Grown", `${text}.md`, "--yes");
}

interface Ran {
  readonly exit: number | null;
  readonly err: string;
}

const environment = (folder: string) => ({
  PATH: process.env["PATH"],
  HOME: folder,
  ...server.env,
});

/** Runs the built program with a home of its own; with `after`, it is killed then, in ms. */
async function run(argv: readonly string[], folder: string, after?: number): Promise<Ran> {
  await mkdir(folder, { recursive: true });
  const child = spawn(process.execPath, [bin("kb"), ...argv], {
    env: environment(folder),
    stdio: ["ignore", "ignore", "pipe"],
    ...(after !== undefined && { timeout: Math.ceil(after), killSignal: "SIGKILL" }),
  });
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const [exit] = (await once(child, "close")) as [number | null];
  return { exit, err };
}

const ran = async (argv: readonly string[], folder: string): Promise<void> => {
  const { exit, err } = await run(argv, folder);
  expect(exit, err).toBe(0);
};

interface Killed {
  /** Makes what the command works on; returns the command. */
  readonly prepare: (name: string, folder: string) => Promise<readonly string[]>;
  /** Checks what a killed command has left behind. */
  readonly left?: (folder: string) => Promise<void>;
  /** Checks the end of the repeated command. */
  readonly check: (name: string, folder: string) => Promise<void>;
  /** Creates of documents of an undisturbed run, and at most as many under way when it is killed. */
  readonly creates: readonly [all: number, underWay: number];
  /** How a command ends that finds that the killed one had ended. */
  readonly isComplete?: (ran: Ran) => boolean;
}

/** The knowledge base of a name is there once, with all that the source has. */
async function equalsSource(name: string): Promise<void> {
  const names = (await done("list", "--all", "--jq", ".[].name")).split("\n");
  expect(names.filter((each) => each === name)).toHaveLength(1);
  const { exit, out } = await kb("verify", source, `name:${name}`, "--chunks");
  expect(out).toBe("");
  expect(exit).toBe(0);
}

/** What a snapshot of a directory of backups can be restored from is there, for each that is listed. */
async function areRestorable(at: string, kb: string): Promise<readonly string[]> {
  for (const [path, hash] of await filesOf(join(at, "objects")))
    expect(path.endsWith(hash), path).toBe(true);
  const list = (await done("backup", "list", at, "-o", "name")).split("\n");
  for (const id of list)
    await done("backup", "restore", at, kb, "--snapshot", id, "--name", "None", "-n");
  return list;
}

/** A sheet of thirty rows; later ten of them are changed, ten are gone, and ten are new. */
const rowsOf = (isLater: boolean): readonly string[] =>
  Array.from({ length: 30 }, (_, at) => {
    if (!isLater || at < 10) return `Row ${at}`;
    return at < 20 ? `Row ${at}, changed` : `Row ${at + 10}`;
  });
const sheetOf = (isLater: boolean) =>
  ["content", ...rowsOf(isLater).map((row) => `"${row}"`), ""].join("\n");

/** A worker dies while it indexes the document with changed chunks again. */
async function abandon(name: string, status: string): Promise<void> {
  const document = await done("doc", "show", name, "edited.md", "--jq", ".id");
  const url = `${server.sandbox.origin}/_sandbox/abandon`;
  const { ok } = await fetch(url, { method: "POST", body: JSON.stringify({ document, status }) });
  expect(ok).toBe(true);
}
const isTaken = ({ exit, err }: Ran) => exit === 5 && err.includes("already exists");
const none = [0, 0] as const;

/** The files of a directory with their hashes, but those that are named after the time. */
async function filesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "manifest.json") continue;
    const path = join(entry.parentPath, entry.name);
    const hash = createHash("sha256").update(await readFile(path));
    found.set(path.slice(folder.length), hash.digest("hex"));
  }
  return found;
}

const commands: Readonly<Record<string, Killed>> = {
  export: {
    prepare: async (_, folder) => ["export", "Source", join(folder, "out")],
    async check(_, folder) {
      // A file that a killed export has begun may have another name.
      const [files, whole] = [await filesOf(join(folder, "out")), await filesOf(source)];
      expect([...files.values()].toSorted()).toEqual([...whole.values()].toSorted());
      await done("verify", join(folder, "out"), "Source", "--chunks");
    },
    creates: none,
  },
  import: {
    prepare: async (name) => ["import", source, "--name", name, "--as-is", "--yes"],
    check: equalsSource,
    creates: [3, 3],
    isComplete: isTaken,
  },
  copy: {
    prepare: async (name) => ["copy", "Source", "--name", name, "--as-is", "--yes"],
    check: equalsSource,
    creates: [3, 3],
    isComplete: isTaken,
  },
  backup: {
    prepare: async (_, folder) => ["backup", join(folder, "backups"), "Source"],
    async check(_, folder) {
      const list = await areRestorable(join(folder, "backups"), "Source");
      expect(list.length).toBeLessThanOrEqual(2);
    },
    creates: none,
  },
  prune: {
    async prepare(_, folder) {
      await cp(grown, join(folder, "backups"), { recursive: true });
      return ["backup", "prune", join(folder, "backups"), "--keep", "last=1", "--yes"];
    },
    async left(folder) {
      await areRestorable(join(folder, "backups"), "Grown");
    },
    async check(_, folder) {
      const at = join(folder, "backups");
      expect(await areRestorable(at, "Grown")).toHaveLength(1);
      const texts = await Promise.all(
        [...(await filesOf(join(at, "objects"))).keys()].map((path) =>
          readFile(join(at, "objects", path), "utf8"),
        ),
      );
      expect(texts.filter((text) => text === "A third text")).toHaveLength(1);
      expect(texts.join("\n")).not.toMatch(/first|second/);
    },
    creates: none,
  },
  "import plainly": {
    prepare: async (name) => ["import", source, "--name", name],
    async check(name) {
      const { exit, out } = await kb("verify", source, `name:${name}`);
      expect(out).toBe("");
      expect(exit).toBe(0);
    },
    creates: [3, 3],
    isComplete: isTaken,
  },
  rows: {
    async prepare(name, folder) {
      await mkdir(folder, { recursive: true });
      const sheet = join(folder, "sheet.csv");
      await done("create", name, "--indexing-technique", "economy");
      await writeFile(sheet, sheetOf(false));
      const line = ["sync", name, sheet, "--rows", "--prune", "--yes"];
      await ran(line, folder);
      await writeFile(sheet, sheetOf(true));
      return line;
    },
    async check(name) {
      const contents = await done(
        "chunk",
        "list",
        name,
        "sheet.csv",
        "--all",
        "--jq",
        ".[].content",
      );
      expect(contents.split("\n").toSorted()).toEqual(rowsOf(true).toSorted());
    },
    creates: none,
  },
  restore: {
    prepare: async (name) => ["backup", "restore", directory, "Source", "--name", name, "--yes"],
    check: equalsSource,
    creates: [3, 3],
    isComplete: isTaken,
  },
  heal: {
    async prepare(name) {
      await done("create", name, "--indexing-technique", "high_quality");
      await done("doc", "add", name, "a.md", "--text", "A first text");
      await done("doc", "add", name, "b.md", "--text", "Another text");
      await done("doc", "wait", name);
      await done("metadata", "create", name, "team", "--type", "string");
      await done("metadata", "set", name, "a.md", "--set", "team=people");
      server.sandbox.models.withoutCredentials.add(provider);
      // As other programs do: `kb doc add` refuses while chunks cannot be read.
      const id = await done("show", name, "--jq", ".id");
      const fields = ["-F", "name=a.md", "-F", "text=A second text"];
      const technique = ["-F", "indexing_technique=high_quality"];
      const path = `/datasets/${id}/document/create-by-text`;
      await done("api", "POST", path, ...fields, ...technique);
      await kb("doc", "wait", name);
      server.sandbox.models.withoutCredentials.delete(provider);
      return ["heal", name];
    },
    async check(name) {
      expect(await done("check", name)).toBe("");
      expect(await done("chunk", "list", name, "a.md", "--jq", ".[].content")).toContain("second");
      expect(await done("doc", "show", name, "a.md", "-o", "json")).toContain('"people"');
      expect(await done("doc", "list", name, "--jq", "length")).toBe("2");
    },
    creates: [1, 1],
  },
  "heal abandoned": {
    async prepare(name) {
      await done("copy", "Source", "--name", name, "--as-is", "--yes");
      await abandon(name, "indexing");
      return ["heal", name, "--stuck-after", "1ms"];
    },
    check: equalsSource,
    creates: [1, 1],
  },
  "restore into": {
    async prepare(name) {
      await done("copy", "Source", "--name", name, "--as-is", "--yes");
      const other = [
        "--text",
        "Another content",
        "--process-rule",
        JSON.stringify(formsOfChunks[1][2]),
      ];
      await done("doc", "add", name, "edited.md", ...other);
      await done("doc", "wait", name);
      await done("chunk", "add", name, "edited.md", "--content", "By hand");
      return ["backup", "restore", directory, "Source", "--into", name, "--yes"];
    },
    check: equalsSource,
    creates: [1, 1],
  },
  "restore only": {
    async prepare(name) {
      await done("copy", "Source", "--name", name, "--as-is", "--yes");
      await done("doc", "delete", name, "edited.md", "--yes");
      const only = ["--only", "edited.md", "--into", name, "--yes"];
      return ["backup", "restore", directory, "Source", ...only];
    },
    check: equalsSource,
    creates: [1, 1],
  },
  undo: {
    async prepare(name, folder) {
      await done("copy", "Source", "--name", name, "--as-is", "--yes");
      const change = ["doc", "delete", name, "edited.md", "--yes"];
      await ran([...change, "--backup-dir", join(folder, "backups")], folder);
      return ["undo", "--yes"];
    },
    check: equalsSource,
    creates: [1, 1],
    isComplete: ({ exit }) => exit === 3,
  },
};

test.each(Object.keys(commands))("%s: the same command continues after a kill", async (command) => {
  const { prepare, left, check, creates, isComplete } = commands[command] as Killed;
  const [all, underWay] = creates;
  const random = seeded(command.length);
  const whole = `${command} whole`;
  const first = await prepare(whole, join(home, whole));
  const start = performance.now();
  await ran(first, join(home, whole));
  const span = performance.now() - start;
  await check(whole, join(home, whole));
  let hits = 0;
  for (let turn = 0; turn < killsOf(command); turn++) {
    const [name, folder] = [`${command} ${turn}`, join(home, `${command} ${turn}`)];
    const argv = await prepare(name, folder);
    const from = server.seen.length;
    const after = random() * span;
    const zombie =
      turn % 2 === 0 ? await runUnreaped("kb", argv, environment(folder), after) : undefined;
    const isKilled = zombie?.isKilled ?? (await run(argv, folder, after)).exit === null;
    if (isKilled) hits++;
    await left?.(folder);
    const again = await run(argv, folder);
    zombie?.end();
    const isOver = isComplete?.(again) ?? false;
    expect(isOver ? 0 : again.exit, `${name}: ${again.err}`).toBe(0);
    await check(name, folder);
    const sent = server.seen.slice(from).filter(({ path }) => /document\/create-by/.test(path));
    expect(sent.length, name).toBeLessThanOrEqual(all + underWay);
  }
  expect(hits).toBeGreaterThan(0);
});
