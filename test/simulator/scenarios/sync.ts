import { deepEqual, equal, ok } from "node:assert/strict";
import { sha256 } from "../../../src/lib/sha256.ts";
import { addText, createKb, documentsOf, type StoredDocument } from "../knowledge.ts";
import type { Machine } from "../machine.ts";
import type { Ended, SimulatedProcess } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

const DIRECTORY = "/home/user/handbook";
const PATHS = [
  "a.md",
  "A.md",
  "b.md",
  "c.csv",
  "more/a.md",
  "more/d.txt",
  "more/e.html",
  "f.md",
  "g.md",
];
const FOREIGN = { name: "notes.md", text: "not to be touched" };

/** Codes with which a sync may end that faults disturb: its error says that something is left to do. */
const honest = [1, 5, 7, 10, 11, 12, 130];

/** What the scenario works with. */
interface Stage {
  readonly world: World;
  readonly kb: string;
  readonly machine: Machine;
  /** Content by path. */
  readonly tree: Map<string, string>;
  /** Names of documents whose files were deleted. */
  readonly deleted: Set<string>;
  /** Has a user changed a document before a sync marked it? */
  isTouched: boolean;
}

/** A sync that needs no one to answer. */
const syncLine = ({ kb }: Stage, ...more: readonly string[]): readonly string[] =>
  ["kb", "sync", kb, DIRECTORY, "--yes", "-o", "jsonl"].concat(more);

/**
 * May there be documents without marks that no later sync can tell from those of a user? Only if the disk
 * had no room for the journal, or if a user changed what a sync sent without getting the response.
 */
const mayBeUnknown = ({ world, isTouched }: Stage): boolean =>
  isTouched || world.faults.happened.some((fault) => fault.startsWith("full disk"));

/** Changes some files; each change can be dropped. */
function edit({ world, machine, tree, deleted }: Stage, turn: string): void {
  for (const path of PATHS) {
    const place = `${path} ${turn}`;
    if (turn === "0" || world.happens("edit", place, 0.25)) {
      const text = `${path} of ${turn}: ${world.below(1e9, `text of ${place}`)}\n`;
      tree.set(path, text);
      machine.disk.put(`${DIRECTORY}/${path}`, text);
    } else if (world.happens("delete", place, 0.05) && tree.size > 3) {
      deleted.add(path.endsWith(".md") || path.endsWith(".txt") ? path : path.replace("/", "∕"));
      tree.delete(path);
      machine.disk.discard(`${DIRECTORY}/${path}`);
    }
  }
}

/** A user changes a document on the server. */
async function editOnServer(stage: Stage, turn: string): Promise<void> {
  const { world, kb } = stage;
  for (const { id, name, fields } of await documentsOf(world.server, kb)) {
    if (name === FOREIGN.name || !name.endsWith(".md")) continue;
    if (!world.happens("edit on the server", `${name} ${turn}`, 0.1)) continue;
    stage.isTouched ||= fields["kb_path"] === undefined;
    const path = `/v1/datasets/${kb}/documents/${id}/update-by-text`;
    // Rejected while the document is being indexed.
    await world.server
      .call("POST", path, { name, text: `a user's ${turn}` })
      .catch((error: unknown) => world.note(`not edited: ${String(error)}`));
  }
}

/** The shards of a turn, some of which start late or twice. */
async function startShards(stage: Stage, turn: string): Promise<SimulatedProcess[]> {
  const { world, machine } = stage;
  const env = { KB_KEY: "dataset-sandbox" };
  const count = world.happens("shards", turn, 0.5) ? 2 : 1;
  const processes: SimulatedProcess[] = [];
  for (let index = 1; index <= count; index++) {
    const shard = count === 1 ? [] : ["--shard", `${index}/${count}`];
    const name = `sync ${turn}.${index}`;
    if (world.happens("late", name, 0.2)) await world.pause(world.random(`late ${name}`) * 3000);
    processes.push(world.start(syncLine(stage, ...shard), { name, machine, env }));
    if (!world.happens("twice", name, 0.1)) continue;
    await world.pause(world.random(`twice ${name}`) * 500);
    processes.push(world.start(syncLine(stage, ...shard), { name: `${name} again`, machine, env }));
  }
  return processes;
}

async function playTurn(stage: Stage, turn: string): Promise<void> {
  const { world } = stage;
  edit(stage, turn);
  await editOnServer(stage, `${turn} before`);
  const before = await documentsOf(world.server, stage.kb);
  const processes = await startShards(stage, turn);
  const isEdited = world.happens("edited meanwhile", turn, 0.2);
  if (isEdited) {
    await world.pause(world.random(`meanwhile ${turn}`) * 2000);
    edit(stage, `${turn} meanwhile`);
    await editOnServer(stage, `${turn} meanwhile`);
  }
  const ends = await Promise.all(processes.map(({ ended }) => ended));
  const documents = await documentsOf(world.server, stage.kb);
  requireValidHashes(documents);
  const ids = new Set(documents.map(({ id }) => id));
  const lost = before.find(({ id }) => !ids.has(id));
  equal(lost?.name, undefined, "a sync without --prune has deleted a document");
  for (const end of ends) {
    if (end.exit === null || end.exit === 0) continue;
    ok(honest.includes(end.exit), `exit code ${end.exit} of a disturbed sync: ${end.err}`);
  }
  if (isEdited) return;
  const isAlone = !processes.some(({ name }) => name.endsWith("again"));
  for (const { out } of ends) requireRows(stage, documents, { out, isAlone });
  if (ends.every(({ exit }) => exit === 0)) requireFiles(stage, documents);
}

/**
 * What a sync says that it wrote is there, even if it was killed after that. Another sync of the same files may
 * have marked the document again before it ended.
 */
function requireRows(
  { tree }: Stage,
  documents: readonly StoredDocument[],
  { out, isAlone }: { readonly out: string; readonly isAlone: boolean },
): void {
  for (const line of out.split("\n").slice(0, -1)) {
    const row = JSON.parse(line) as { action: string; name: string; id: string };
    if (!["create", "update", "adopt"].includes(row.action)) continue;
    const document = documents.find(({ id }) => id === row.id);
    equal(document?.text, tree.get(row.name), `the content after ${line}`);
    const mark = String(document?.fields["kb_hash"]);
    const hash = isAlone ? mark : mark.replace(/^pending:/, "");
    equal(hash, sha256(tree.get(row.name) ?? ""), `the hash after ${line}`);
  }
}

/** A hash without "pending" promises that the document has that content, as long as its file is the same. */
function requireValidHashes(documents: readonly StoredDocument[]): void {
  for (const { name, text, file, fields } of documents) {
    const hash = String(fields["kb_hash"] ?? "");
    if (/^[0-9a-f]{64}$/.test(hash) && fields["kb_file"] === file)
      equal(hash, sha256(text), `the hash of ${name} is that of another content`);
  }
}

/** Each file has one document with its content, and the hash of it. */
function requireFiles({ tree }: Stage, documents: readonly StoredDocument[]): void {
  for (const [path, text] of tree) {
    const found = documents.filter(({ fields }) => fields["kb_path"] === path);
    deepEqual(
      found.map((each) => ({ text: each.text, hash: each.fields["kb_hash"], status: each.status })),
      [{ text, hash: sha256(text), status: "completed" }],
      `the documents of ${path}`,
    );
  }
}

async function requireSuccess(stage: Stage, name: string): Promise<Ended> {
  const { world, machine } = stage;
  const env = { KB_KEY: "dataset-sandbox" };
  const line = syncLine(stage, "--prune", ...(mayBeUnknown(stage) ? ["--adopt"] : []));
  const end = await world.start(line, { name, machine, env }).ended;
  equal(end.exit, 0, `${name}: ${end.err}`);
  return end;
}

async function play(world: World): Promise<void> {
  const machine = world.machine();
  const kb = await createKb(world.server, "Handbook");
  const foreign = await addText(world.server, kb, FOREIGN);
  const stage: Stage = {
    world,
    kb,
    machine,
    tree: new Map(),
    deleted: new Set(),
    isTouched: false,
  };
  world.lists = "short at times";
  const turns = 1 + world.below(3, "turns");
  for (let turn = 0; turn < turns; turn++) await playTurn(stage, `${turn}`);

  world.calm();
  await world.pause(60_000);
  await requireSuccess(stage, "undisturbed sync");
  const documents = await documentsOf(world.server, kb);
  requireFiles(stage, documents);
  const others = documents.filter(({ fields }) => fields["kb_path"] === undefined);
  deepEqual(
    others
      .filter(({ name }) => !mayBeUnknown(stage) || !stage.deleted.has(name))
      .map(({ id, name, text, fields }) => ({ id, name, text, fields })),
    [{ id: foreign, ...FOREIGN, fields: {} }],
  );
  equal(documents.length, stage.tree.size + others.length, "a document too many");
  const again = await requireSuccess(stage, "sync without a change");
  equal(again.out, "", "a sync without a change reports changes");
  await playCopy(stage);
}

/**
 * A user copies a document with its metadata: without --prune both stay. While lists lack a document, which a
 * sync could take for a missing one, it changes nothing.
 */
async function playCopy(stage: Stage): Promise<void> {
  const { world, kb, machine } = stage;
  const { server } = world;
  const synced = (await documentsOf(server, kb)).filter(({ fields }) => "kb_path" in fields);
  const { name, text, fields } = world.pick(synced, "a document to copy");
  const id = await addText(server, kb, { name: `copy of ${name}`, text });
  await world.pause(60_000); // it can be deleted once it is indexed
  const path = `/v1/datasets/${kb}/metadata`;
  const known = await server.call<{ doc_metadata: Named[] }>("GET", path);
  const values = known.doc_metadata
    .filter((field) => field.name in fields)
    .map((field) => ({ ...field, value: fields[field.name] }));
  const body = { operation_data: [{ document_id: id, metadata_list: values }] };
  await server.call("POST", `/v1/datasets/${kb}/documents/metadata`, body);
  const before = await documentsOf(server, kb);
  const env = { KB_KEY: "dataset-sandbox" };
  for (const lists of ["whole", "short"] as const) {
    world.lists = lists;
    const named = { name: `sync with ${lists} lists`, machine, env };
    const { exit, err } = await world.start(syncLine(stage), named).ended;
    if (lists === "short") equal(exit, 1, `an incomplete list counts as complete: ${err}`);
    const ids = (await documentsOf(server, kb)).map((each) => each.id);
    deepEqual(ids.sort(), before.map((each) => each.id).sort(), `the documents after ${err}`);
  }
}

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Syncs of a changing directory, with shards, kills, repeats and people who edit documents. */
export const sync: Scenario = {
  name: "sync",
  play,
  guards: [
    {
      name: "updates are not marked as pending",
      file: "src/commands/kb/changes/apply-documents.ts",
      from: "this.#write(source === undefined ? [] : updates, pendingOf)",
      to: "this.#write(source === undefined ? [] : updates, ({ hash }) => hash)",
    },
    {
      name: "the content of an interrupted update is not compared",
      file: "src/commands/kb/changes/plan-documents.ts",
      from: "isKnown || hashes.get(document.id) === file.hash",
      to: "isKnown || hashes.has(document.id)",
    },
    {
      name: "an incomplete list counts as complete",
      file: "src/api/pages.ts",
      from: "if (complete && !maybeIncomplete && !lacksRows(progress)) return;",
      to: "if (complete) return;",
    },
    {
      name: "documents with the same path are deleted without --prune",
      file: "src/commands/kb/changes/plan-documents.ts",
      from: 'const action = rules.prune ? "delete" : "skip";',
      to: 'const action = "delete";',
    },
    {
      name: "a document that a user changed counts as synced",
      file: "src/commands/kb/documents/state.ts",
      from: "stored === null || metadata[syncFields.stored] === stored",
      to: "true",
    },
    {
      name: "what interrupted syncs made is forgotten",
      file: "src/commands/kb/sync/made-journal.ts",
      from: "made.push(...journal.entries.flatMap(notedDocument));",
      to: "",
    },
    {
      name: "a journal with open documents is deleted",
      file: "src/commands/kb/sync/made-journal.ts",
      from: "const isDone = isRead && open.size === 0;",
      to: "const isDone = true;",
    },
    {
      name: "a failed write of hashes counts as success",
      file: "src/commands/kb/changes/apply-documents.ts",
      from: "const result = problem ? failed(change, problem) : rowOf(change, { note });",
      to: "const result = rowOf(change, { note });",
    },
  ],
};
