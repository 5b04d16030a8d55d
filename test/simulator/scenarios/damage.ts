import { deepEqual, equal, ok } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { sha256 } from "../../../src/lib/sha256.ts";
import { chunksOf, editChunks } from "../chunks.ts";
import type { Disk } from "../disk.ts";
import type { Ended } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import { copied, prepare } from "./as-is.ts";
import type { Stage } from "./as-is.ts";

const DIRECTORY = "/home/user/stored";
const env = { KB_KEY: "dataset-sandbox" };

/** Paths of all files in a directory, and of the one that a path names. */
function filesIn(disk: Disk, path: string): string[] {
  if (!disk.isDirectory(path)) return disk.has(path) ? [path] : [];
  return disk.list(path).flatMap((name) => filesIn(disk, `${path}/${name}`));
}

/** What becomes of a file or a directory: a disk fails, a tool copies it otherwise, somebody puts another one there. */
const kinds = [
  "lost",
  "cut",
  "changed",
  "renamed",
  "moved behind a link",
  "a link that leads nowhere",
  "a pipe",
  "a directory",
] as const;

interface Damage {
  readonly path: string;
  readonly kind: (typeof kinds)[number];
  /** Puts the earlier content back. */
  readonly mend: () => void;
}

function damage({ world, machine: { disk } }: Stage, path: string): Damage {
  const kind = world.pick(kinds, "kind of damage");
  world.note(`${path}: ${kind}`);
  const whole = filesIn(disk, path).map((each) => [each, disk.read(each).slice()] as const);
  const store = (place: string) => {
    for (const [each, content] of whole) disk.put(each.replace(path, place), content);
  };
  const renamed = path.replace(/(\.json|\.md|\.jsonl)?$/, " (1)$1");
  const moved = world.pick([`${DIRECTORY}/moved`, "/home/user/moved"], "place behind a link");
  disk.discard(path);
  for (const [each, content] of whole) {
    const at = world.below(content.length, "place of the damage");
    if (kind === "cut") disk.put(each, content.slice(0, at));
    if (kind === "changed") disk.put(each, content.with(at, 255 - (content[at] ?? 0)));
  }
  if (kind === "renamed") store(renamed);
  if (kind === "moved behind a link") store(moved);
  if (kind.includes("link")) disk.putLink(path, moved);
  if (kind === "a pipe") disk.putPipe(path);
  if (kind === "a directory") disk.put(`${path}/notes.txt`, "of a user");
  const mend = () => {
    for (const each of [path, renamed, moved]) disk.discard(each);
    store(path);
  };
  return { path, kind, mend };
}

/** Runs a command, which ends, and knows what it stopped at. */
async function run({ world, machine }: Stage, name: string, argv: readonly string[]) {
  const end = await world.start(argv, { name, machine, env }).ended;
  ok(!end.err.includes("internal error"), `${name}: ${end.err}`);
  return end;
}

async function done(stage: Stage, name: string, argv: readonly string[]): Promise<Ended> {
  const end = await run(stage, name, argv);
  equal(end.exit, 0, `${name}: ${end.out}${end.err}`);
  return end;
}

/** Runs some of the commands in any order, disturbed; `check` gets each that ended with 0. */
async function some<Name extends string>(
  stage: Stage,
  commands: Readonly<Record<Name, readonly string[]>>,
  check: (name: Name, end: Ended) => Promise<void> | void,
): Promise<void> {
  const { world } = stage;
  const names = (Object.keys(commands) as Name[])
    .filter((name) => world.happens("run", name, 0.6))
    .toSorted((a, b) => world.random(`order of ${a}`) - world.random(`order of ${b}`));
  for (const name of names) {
    const end = await run(stage, name, commands[name]);
    if (end.exit === 0) await check(name, end);
  }
}

/** Everything that a manifest or snapshot names is there, whole. */
function requireFiles(disk: Disk, named: readonly (readonly [path: string, hash: string])[]) {
  for (const [path, hash] of named) {
    ok(disk.has(path), `${path} is missing`);
    equal(sha256(disk.read(path)), hash, `${path} is damaged`);
  }
}

interface Named {
  readonly state: {
    readonly documents: readonly {
      readonly file: string;
      readonly sha256: string;
      readonly chunks: { readonly file: string; readonly sha256: string };
    }[];
  };
}

const namedIn = ({ state }: Named) =>
  state.documents.flatMap(({ chunks, ...each }) =>
    [each, chunks].map(({ file, sha256: hash }) => [`${DIRECTORY}/${file}`, hash] as const),
  );

function requireSnapshots({ machine: { disk } }: Stage): void {
  for (const path of filesIn(disk, `${DIRECTORY}/snapshots`)) {
    if (!/\/\d{8}T\d{6}Z-[0-9a-f]{8}\.json$/.test(path)) continue;
    const { manifest } = JSON.parse(disk.text(path)) as { manifest: string };
    const object = `${DIRECTORY}/objects/${manifest.slice(0, 2)}/${manifest}`;
    requireFiles(disk, [[object, manifest]]);
    requireFiles(disk, namedIn(JSON.parse(disk.text(object)) as Named));
  }
}

/** A file of a group that a path begins with, or at times the directory of the group. */
function target({ world, machine: { disk } }: Stage, groups: readonly string[]): string {
  const group = world.pick(groups, "group of the damage");
  const files = filesIn(disk, group).filter((path) => !path.endsWith(".lock"));
  const isWhole = files.length === 0 || world.random("whole group") < 0.15;
  return isWhole ? group : world.pick(files, "damaged file");
}

const taken = ({ err }: Ended) => / snapshot ([0-9a-f]{8}) /.exec(err)?.[1] ?? "";

/** Damages a backup. No text is lost without a word, and nothing that is there because something is not. */
async function playBackup(stage: Stage): Promise<void> {
  const { world, source, ids } = stage;
  const states = new Map<string, unknown>();
  const backup = ["kb", "backup", DIRECTORY, source];
  const turns = 1 + world.below(3, "backups");
  for (let turn = 0; turn < turns; turn++) {
    const place = `/v1/datasets/${source}/documents/${ids[1]}`;
    // A chunk that is disabled takes no edit.
    if (turn > 0) await editChunks(world.server, place, "edit", `before ${turn}`).catch(() => {});
    const { out } = await done(stage, `backup ${turn}`, backup);
    states.set(/\t([0-9a-f]{8})\t/.exec(out)?.[1] ?? "", await chunksOf(world.server, source));
  }
  const current = await chunksOf(world.server, source);
  const top = `${DIRECTORY}/snapshots/${source}`;
  const [mark, journal] = [`${DIRECTORY}/kb-backup.json`, `${top}.part.jsonl`];
  const place = target(stage, [top, top, `${DIRECTORY}/objects`, mark, journal]);
  const { kind, mend } = damage(stage, place);
  const isSnapshot = place === top || place.startsWith(`${top}/`);
  const isUnread = isSnapshot && kind !== "lost";
  const restore = ["kb", "backup", "restore", DIRECTORY, source];
  world.faults.isOver = false;
  const commands = {
    list: ["kb", "backup", "list", DIRECTORY, source],
    restore: [...restore, "--name", "Copy", "--yes"],
    drill: ["kb", "backup", "drill", DIRECTORY, source],
    prune: ["kb", "backup", "prune", DIRECTORY, "--keep", "last=1", "--yes"],
    backup,
  };
  await some(stage, commands, async (name, end) => {
    const isSilent = isUnread && (name === "list" || name === "prune");
    ok(!isSilent, `${name} says nothing of what cannot be read`);
    if (name === "restore")
      deepEqual(await copied(stage), states.get(taken(end)) ?? current, "the restored chunks");
  });
  world.calm();
  await world.pause(660_000);
  // A prune may remove what only a lost snapshot needs.
  if (!isSnapshot || kind !== "lost") {
    mend();
    requireSnapshots(stage);
  }
  const line = [...restore, "--name", "Again", "--yes"];
  const first = await run(stage, "restore in calm", line);
  const isLost = first.exit === 3 && isSnapshot && kind === "lost";
  const isLater = first.exit === 2 && first.err.includes("later than now");
  if (isLost || isLater) return;
  equal(first.exit, 0, first.err);
  deepEqual(await copied(stage, "Again"), states.get(taken(first)) ?? current, "the mended backup");
}

/** Damages an export. */
async function playExport(stage: Stage): Promise<void> {
  const { world, source, machine } = stage;
  const { disk } = machine;
  const line = ["kb", "export", source, DIRECTORY];
  const manifest = `${DIRECTORY}/manifest.json`;
  const requireBundle = () => requireFiles(disk, namedIn(JSON.parse(disk.text(manifest)) as Named));
  await done(stage, "export at first", line);
  const expected = await chunksOf(world.server, source);
  const groups = ["documents", "chunks", "manifest.part.jsonl"];
  const place = target(stage, [manifest, ...groups.map((each) => `${DIRECTORY}/${each}`)]);
  const isJournal = place.endsWith(".part.jsonl");
  const { kind } = damage(stage, place);
  world.faults.isOver = false;
  const move = ["kb", "import", DIRECTORY, "--as-is", "--yes", "--name"];
  const commands = {
    import: [...move, "Copy"],
    verify: ["kb", "verify", DIRECTORY, source, "--chunks"],
    export: line,
  };
  let isMended = false;
  await some(stage, commands, async (name) => {
    if (name === "import") deepEqual(await copied(stage), expected, "the imported chunks");
    if (name === "verify")
      ok(isMended || isJournal || kind.includes("behind"), `verify says nothing: ${kind}`);
    if (name === "export") requireBundle();
    isMended ||= name === "export";
  });
  world.calm();
  await world.pause(660_000);
  const end = await run(stage, "export in calm", line);
  if (end.exit !== 0) {
    ok(end.exit === 2 && end.err.includes(DIRECTORY), `${end.exit}: ${end.err}`);
    // As it says, in an empty directory.
    disk.discard(DIRECTORY);
    await done(stage, "export again", line);
  }
  requireBundle();
  await done(stage, "import in calm", [...move, "Again"]);
  deepEqual(await copied(stage, "Again"), expected, "the export that was made again");
}

/** Damages what an undo needs. */
async function playUndo(stage: Stage): Promise<void> {
  const { world, source } = stage;
  const before = await chunksOf(world.server, source);
  const change = world.pick(
    [
      ["delete", "b.md", "--yes"],
      ["disable", "c.md"],
    ],
    "change",
  );
  const [verb = "", ...rest] = change;
  await done(stage, verb, ["kb", "doc", verb, source, ...rest, "--backup-dir", DIRECTORY]);
  const after = await chunksOf(world.server, source);
  const { mend } = damage(
    stage,
    target(stage, ["/home/user/state/undo", `${DIRECTORY}/snapshots`, `${DIRECTORY}/objects`]),
  );
  world.faults.isOver = false;
  const undo = ["kb", "undo", "--yes"];
  const end = await run(stage, "undo", undo);
  const now = await chunksOf(world.server, source);
  if (end.exit === 0) deepEqual(now, before, "exit code 0, but it was not undone");
  if (end.exit === 2) deepEqual(now, after, "it was refused, and changed something");
  world.calm();
  await world.pause(660_000);
  if (end.exit === 0) return;
  // Some damages stop no undo: what it has noted since must stay.
  await run(stage, "undo in calm", undo);
  if (isDeepStrictEqual(await chunksOf(world.server, source), before)) return;
  mend();
  await done(stage, "undo once mended", undo);
  deepEqual(await chunksOf(world.server, source), before, "it was not undone");
}

/** Backups, exports and records of undo with one file or directory that is lost, damaged or something else. */
export const damages: Scenario = {
  name: "damage",
  server: (seed) => ({ models: true, server: seed % 2 === 0 ? "1.14.2" : "1.16.1" }),
  async play(world) {
    const stage = await prepare(world);
    world.faults.isOver = true;
    await world.pick([playBackup, playBackup, playExport, playUndo], "play")(stage);
  },
  guards: [
    {
      name: "a snapshot with another name is overlooked",
      file: "src/commands/kb/backup/store.ts",
      from: "if (isNone(entry)) continue;",
      to: "if (isNone(entry) || !snapshotName.test(entry.name)) continue;",
    },
    {
      name: "a link among the snapshots is overlooked",
      file: "src/commands/kb/backup/store.ts",
      from: "isFile && (isUnfinished(name)",
      to: "!isFile || (isUnfinished(name)",
    },
    {
      name: "a pipe is read as a file",
      file: "src/host/safe-path.ts",
      from: "if (found && !found.isFile && !found.isDirectory)",
      to: "if (found && found.isLink && !found.isFile)",
    },
  ],
};
