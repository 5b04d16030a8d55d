import { deepEqual, equal, ok } from "node:assert/strict";
import { sha256 } from "../../../src/lib/sha256.ts";
import { addParagraphs, chunksOf, createVectorKb, editChunks } from "../chunks.ts";
import { requireOneWriter } from "../claims.ts";
import { documentsOf } from "../knowledge.ts";
import type { Ended } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import { disturbed, prepare, undisturbed } from "./as-is.ts";
import type { Stage } from "./as-is.ts";

const DIRECTORY = "/home/user/backups";
const pattern = /^\d{8}T\d{6}Z-[0-9a-f]{8}\.json$/;

/** The knowledge bases of a name. */
async function basesOf({ world }: Stage, name: string): Promise<string[]> {
  const { data } = await world.server.call<{ data: { id: string; name: string }[] }>(
    "GET",
    "/v1/datasets?limit=100",
  );
  return data.filter((each) => each.name === name).map(({ id }) => id);
}

/** Every snapshot names objects that are there, whole. */
function requireSnapshots({ machine: { disk } }: Stage): number {
  const object = (hash: string) => {
    const path = `${DIRECTORY}/objects/${hash.slice(0, 2)}/${hash}`;
    ok(disk.has(path), `${hash} of a snapshot is missing`);
    equal(sha256(disk.text(path)), hash, `${hash} of a snapshot is damaged`);
    return disk.text(path);
  };
  const top = `${DIRECTORY}/snapshots`;
  const kbs = disk.isDirectory(top) ? disk.list(top).filter((name) => !name.includes(".")) : [];
  const paths = kbs.flatMap((kb) =>
    disk.list(`${top}/${kb}`).flatMap((name) => (pattern.test(name) ? [`${kb}/${name}`] : [])),
  );
  for (const path of paths) {
    const { manifest } = JSON.parse(disk.text(`${top}/${path}`)) as { manifest: string };
    const { state } = JSON.parse(object(manifest)) as {
      state: { documents: { sha256: string | null; chunks?: { sha256: string } }[] };
    };
    for (const { sha256: content, chunks } of state.documents)
      for (const hash of [content, chunks?.sha256 ?? null]) if (hash !== null) object(hash);
  }
  return paths.length;
}

/** Requests that change something; an archive of contents is a POST, too. */
const writes = /: (POST|PATCH|DELETE) (?!.*download-zip)/;

/** Repeats a command up to three times, disturbed, until it says that it is done. */
async function repeated(
  stage: Stage,
  argv: readonly string[],
  check: (ends: readonly Ended[], turn: number) => Promise<void> | void,
): Promise<boolean> {
  const turns = 1 + stage.world.below(3, "turns");
  for (let turn = 0; turn < turns; turn++) {
    // An undo at the same time may have taken back the last command (3). A 404 of a deleted knowledge base whose
    // body was cut off reads as a missing route (6).
    const others = argv[1] === "undo" ? [3, 6] : [];
    const name = `${argv[1]} ${turn}`;
    const ends = await disturbed(stage, argv, name, others);
    // An undo reads under its lock what it compares.
    const begin = argv[1] === "undo" ? /: GET / : writes;
    if (ends.length > 1) requireOneWriter(stage.world, [name, `${name} again`], writes, begin);
    await check(ends, turn);
    if (ends.some(({ exit }) => exit === 0)) return true;
  }
  return false;
}

/** Lets locks pass, of killed processes and of statuses that the server was changing, without faults. */
async function calmed({ world }: Stage): Promise<void> {
  world.calm();
  await world.pause(660_000);
}

/**
 * Without a time, a restore takes the last snapshot, whatever the clocks were, or stops; also a prune stops at one that
 * cannot be read.
 */
async function requireChoice(stage: Stage, last: string): Promise<void> {
  const { world, source } = stage;
  const { disk } = stage.machine;
  const restore = ["kb", "backup", "restore", DIRECTORY, source, "--name", "Choice", "--dry-run"];
  const chosen = await undisturbed(stage, ...restore);
  const isStopped = chosen.exit === 2 && chosen.err.includes("later than now");
  ok(isStopped || chosen.err.includes(`taking snapshot ${last} `), `not ${last}: ${chosen.err}`);
  const folder = `${DIRECTORY}/snapshots/${source}`;
  const path = `${folder}/${disk.list(folder).find((name) => name.includes(last))}`;
  const whole = disk.text(path);
  const moved = path.replace(".json", " (1).json");
  const isMoved = world.below(2, "damage") === 1;
  if (isMoved) disk.rename(path, moved);
  else disk.put(path, whole.slice(0, world.below(whole.length - 1, "cut")));
  const stopped = await undisturbed(stage, ...restore, "-q");
  equal(stopped.exit, 2, `a damaged snapshot did not stop a restore: ${stopped.err}`);
  const prune = ["kb", "backup", "prune", DIRECTORY, "--keep", "last=1", "--yes"];
  equal((await undisturbed(stage, ...prune)).exit, 2, "a damaged snapshot did not stop a prune");
  // As a user puts it back, who would see it gone again: it stays in a power cut.
  if (isMoved) disk.discard(moved);
  disk.put(path, whole);
  requireSnapshots(stage);
}

/** Backs up while people change chunks between, and restores the last snapshot. */
async function playRestore(stage: Stage): Promise<void> {
  const { world, source, ids } = stage;
  const argv = ["kb", "backup", DIRECTORY, source];
  const turns = 1 + world.below(3, "backups");
  for (let turn = 0; turn < turns; turn++) {
    await disturbed(stage, argv, `backup ${turn}`);
    requireSnapshots(stage);
    const place = `/v1/datasets/${source}/documents/${ids[1]}`;
    if (world.happens("edit", `between ${turn}`, 0.5))
      await editChunks(world.server, place, "edit", `between ${turn}`).catch(() => {});
  }
  world.faults.isOver = true;
  await world.pause(60_000);
  // By a minute and a half, earlier snapshots seem to be of this time; by three hours, later than now.
  stage.machine.clockOffset -= world.pick([0, 90_000, 3 * 3_600_000], "clock set back");
  const last = await undisturbed(stage, ...argv);
  equal(last.exit, 0, last.err);
  ok(requireSnapshots(stage) > 0, "exit code 0, but there is no snapshot");
  const expected = await chunksOf(world.server, source);
  const [, snapshot = ""] = /\t([0-9a-f]{8})\t/.exec(last.out) ?? [];
  await requireChoice(stage, snapshot);
  world.faults.isOver = false;
  // By its ID: after a jump of the clock, it can be of a time that is later than now.
  const of = [DIRECTORY, source, "--snapshot", snapshot];
  const line = ["kb", "backup", "restore", ...of, "--name", "Copy", "--yes"];
  const isDone = await repeated(stage, line, async () => {
    ok((await basesOf(stage, "Copy")).length <= 1, "two knowledge bases of one name");
  });
  await calmed(stage);
  if (!isDone) {
    const { exit, out, err } = await undisturbed(stage, ...line);
    const isComplete = exit === 5 && err.includes("already exists");
    ok(exit === 0 || isComplete, `${exit}: ${out}${err}`);
  }
  const [copy = ""] = await basesOf(stage, "Copy");
  deepEqual(await chunksOf(world.server, copy), expected, "the restored chunks differ");
  deepEqual(await chunksOf(world.server, source), expected, "the source was changed");
}

/** Takes back a command that was backed up. */
async function playUndo(stage: Stage): Promise<void> {
  const { world, source } = stage;
  const expected = await chunksOf(world.server, source);
  const changes = [
    ["doc", "delete", source, "b.md", "--yes"],
    ["doc", "disable", source, "c.md"],
    ["delete", source, "--yes"],
  ];
  const change = world.pick(changes, "change");
  world.faults.isOver = true;
  const changed = await undisturbed(stage, "kb", ...change, "--backup-dir", DIRECTORY);
  equal(changed.exit, 0, changed.err);
  await world.pause(60_000);
  world.faults.isOver = false;
  const line = ["kb", "undo", "--yes"];
  const isDone = await repeated(stage, line, async (ends) => {
    ok((await basesOf(stage, "Handbook")).length <= 1, "two knowledge bases of one name");
    // A second one at once may find that the first has taken it back.
    ok(!ends.some(({ exit, err }) => exit === 5 && err.includes("changed since")), ends[0]?.err);
  });
  await calmed(stage);
  if (!isDone) {
    const { exit, out, err } = await undisturbed(stage, ...line);
    // One that was killed after its last step has nothing left to take back.
    ok(exit === 0 || exit === 3, `${exit}: ${out}${err}`);
  }
  const [base = ""] = await basesOf(stage, "Handbook");
  const names = (await documentsOf(world.server, base)).map(({ name }) => name);
  deepEqual(names, [...new Set(names)], "a document is there twice");
  deepEqual(await chunksOf(world.server, base), expected, "the chunks were not taken back");
}

/** Heals a document in error, whose values somebody changes meanwhile. */
async function playHeal(stage: Stage): Promise<void> {
  const { world, source, form } = stage;
  const { server } = world;
  const before = (await chunksOf(server, source)) as Record<string, unknown>;
  const twin = await createVectorKb(server, "Twin");
  await addParagraphs(server, twin, { name: "b.md", form, count: 4 });
  const field = await server.call<{ id: string }>("POST", `/v1/datasets/${source}/metadata`, {
    type: "string",
    name: "team",
  });
  const [, id] = stage.ids;
  const set = async (value: string) => {
    const metadata_list = [{ id: field.id, name: "team", value }];
    const body = { operation_data: [{ document_id: id, metadata_list }] };
    await server.call("POST", `/v1/datasets/${source}/documents/metadata`, body);
    return value;
  };
  let team = await set("first");
  server.setCredentials(false);
  await addParagraphs(server, source, { name: "b.md", form, count: 4 });
  await world.pause(60_000);
  server.setCredentials(true);
  const line = ["kb", "heal", source];
  const isDone = await repeated(stage, line, async (_, turn) => {
    if (world.happens("value", `heal ${turn}`, 0.5)) team = await set(`set ${turn}`);
  });
  await calmed(stage);
  const ended = isDone ? undefined : await undisturbed(stage, ...line);
  equal(ended?.exit ?? 0, 0, `${ended?.out}${ended?.err}`);
  await world.pause(60_000);
  const documents = await documentsOf(server, source);
  deepEqual(
    documents.map(({ name, status }) => [name, status]),
    ["a.md", "b.md", "c.md"].map((name) => [name, "completed"]),
    "the documents",
  );
  equal(documents[1]?.fields["team"], team, "a value that somebody has written is gone");
  const { "b.md": healed, ...others } = (await chunksOf(server, source)) as Record<string, unknown>;
  const { "b.md": _, ...kept } = before;
  deepEqual(others, kept, "another document was changed");
  deepEqual({ "b.md": healed }, await chunksOf(server, twin), "the chunks of the healed document");
}

/** Statuses in which a worker may leave a document, and those that nothing heals. */
const unfinished = ["waiting", "parsing", "cleaning", "splitting", "indexing", "error"];

/** Heals documents that a worker has abandoned with all their chunks, changed ones included. */
async function playAbandoned(stage: Stage): Promise<void> {
  const { world, source, ids } = stage;
  const { server } = world;
  const before = await chunksOf(server, source);
  for (const [at, id] of ids.entries()) {
    const isLeft = at === 1 || world.happens("edit", `abandoned ${at}`, 0.5);
    // The first one is disabled: it is left as it is.
    if (isLeft && at > 0) server.abandon(id, world.pick(unfinished, `status of ${at}`));
  }
  const line = ["kb", "heal", source, "--stuck-after", "1m"];
  await world.pause(48 * 3_600_000); // no clock is behind so far
  const isDone = await repeated(stage, line, () => {});
  await calmed(stage);
  const ended = isDone ? undefined : await undisturbed(stage, ...line);
  equal(ended?.exit ?? 0, 0, `${ended?.out}${ended?.err}`);
  await world.pause(60_000);
  const documents = await documentsOf(server, source);
  deepEqual(
    documents.map(({ status }) => status),
    documents.map(() => "completed"),
    "the documents",
  );
  deepEqual(await chunksOf(server, source), before, "chunks were lost");
}

const heal = "src/commands/kb/check/heal.ts";
const undo = "src/commands/kb/backup/undo.ts";

/** Backups, restores, undos and heals, killed and repeated, of every form. */
export const backups: Scenario = {
  name: "backups",
  server: (seed) => ({ models: true, server: seed % 2 === 0 ? "1.14.2" : "1.16.1" }),
  async play(world) {
    const stage = await prepare(world);
    await world.pick([playRestore, playUndo, playHeal, playAbandoned], "play")(stage);
  },
  guards: [
    {
      name: "a heal does not put back the chunks of a document",
      file: heal,
      from: 'return planned("update", `${problem}: ${why}${back}`, !isFormer);',
      to: 'return planned("update", `${problem}: ${why}${back}`);',
    },
    {
      name: "a clock that was behind hides the last snapshot",
      file: "src/commands/kb/backup/store.ts",
      from: "last === undefined || last < now",
      to: "last === undefined || last !== now",
    },
    {
      name: "a restore passes over a snapshot that cannot be read",
      file: "src/commands/kb/backup/snapshots.ts",
      from: "from <= second && (second <= to",
      to: "from > second && (second <= to",
    },
    {
      name: "a snapshot does not wait for its chunks",
      file: "src/commands/kb/backup/backup.ts",
      from: "putChunks: async (_, text) => objectPath(await put(Buffer.from(text))),",
      to: "putChunks: async (_, text) => { put(Buffer.from(text)).catch(() => {}); return objectPath(sha256(text)); },",
    },
    {
      name: "an undo makes again what an interrupted one has made",
      file: "src/commands/kb/backup/undo-compare.ts",
      from: "return { ...each, current: byId.get(id) ?? again.get(id) };",
      to: "return { ...each, current: byId.get(id) };",
    },
    {
      name: "two undos at once",
      file: undo,
      from: "const release = context.options.dryRun ? () => {} : await lockRecords(context.host);",
      to: "const release = () => {};",
    },
    {
      name: "an undo that continues takes its own changes for those of others",
      file: undo,
      from: "await writeRecord({ ...record, undoing: true }, context.host);",
      to: "",
    },
    {
      name: "an undo forgets its command before it is taken back",
      file: undo,
      from: "  await writeRecord({ ...record, undoing: true }, context.host);\n  let left = 0;",
      to: "  await context.host.files.remove(record.path);\n  let left = 0;",
    },
    {
      name: "two heals at once",
      file: heal,
      from: "const release = await openBackup(directory, host);",
      to: "const release = () => {}; if (!(await host.files.stat(directory))) (await openBackup(directory, host))();",
    },
  ],
};
