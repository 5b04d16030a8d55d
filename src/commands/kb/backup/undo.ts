import { isAbsolute, join } from "node:path";
import { CliError, ignoring, notFound, refused, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { stringifyJson, isObject, tryParseJson } from "../../../lib/json.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { change, documentRow } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import { readKbState, documentStatuses, waitForIndexing } from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import { importBundle } from "../snapshot/index.ts";
import type { Manifest } from "../snapshot/index.ts";
import { snapshotById } from "./snapshots.ts";
import { openBackup, orderAfter, readManifestOf, readSnapshots, orderOf } from "./store.ts";
import type { undoParams } from "./command.ts";
import { currentDocuments, settingsBack, touchedDocuments } from "./undo-compare.ts";
import type { CurrentDocument } from "./undo-compare.ts";
import { makeBack, plannedRows } from "./make-back.ts";
import { lacksOf, takeSnapshot } from "./backup.ts";
import { isUnfinished } from "../../../host/host.ts";
import type { Host } from "../../../host/host.ts";
import { lockWork } from "../../task/files.ts";

/**
 * Takes back the last recorded command, or the one of `record`. Throws refused, and changes nothing, if others changed the same, and
 * failure while another undo is at work: both would create what is missing.
 */
export async function* run(
  input: Input<typeof undoParams>,
  context: Context,
): AsyncGenerator<Change> {
  if (input.list) return yield* listRecords(context);
  const release = context.options.dryRun ? () => {} : await lockRecords(context.host);
  try {
    const record = recordOf(input, await ownRecords(context));
    if (!input.forget) return yield* takeBack(record, context);
    yield recordRow(record);
    if (context.options.dryRun) return;
    await context.confirm(`Forget ${described(record, context)}?`, {
      declined: "the record was kept",
    });
    await context.host.files.remove(record.path);
    context.summary(`forgot ${record.command}; its snapshots stay in ${record.directory}`);
  } finally {
    release();
  }
}

const nothingRecorded =
  "only commands that were run with --backup are recorded; other machines have their own records";

/** Lists the records, newest first. Throws partial if there are files that may be others. */
async function* listRecords(context: Context): AsyncGenerator<Change> {
  const { records, bad } = await ownRecords(context);
  if (records.length + bad.length === 0)
    await context.notice(`nothing to undo: ${nothingRecorded}`);
  yield* records.toReversed().map(recordRow);
  if (bad.length === 0) return;
  throw new CliError("partial", `not readable as a record: ${bad.join(", ")}`, {
    isResult: true,
    hint: "delete it if its command need not be undone",
  });
}

/** The record with an ID or its beginning, or the last one. Throws not-found, refused for several, usage if uncertain. */
function recordOf(
  { record: text, forget }: Input<typeof undoParams>,
  { records, bad: [unread] }: StoredRecords,
): StoredRecord {
  const found = records.filter(({ before }) => before.startsWith(text ?? ""));
  const [record, ...others] = text === undefined ? found.slice(-1) : found;
  if (text === undefined && unread !== undefined)
    throw usage(
      `${unread} cannot be read as a record; it may be that of the last command`,
      record
        ? `for ${record.command}: ${commandLine("kb undo", [], { forget: forget || undefined, record: record.before })}`
        : "delete it if its command need not be undone",
    );
  if (record && others.length === 0) return record;
  if (text === undefined) throw notFound("no command to undo on this server", nothingRecorded);
  const list = commandLine("kb undo", [], { list: true });
  if (record) throw refused(`${found.length} records begin with ${JSON.stringify(text)}`, list);
  throw notFound(`record ${JSON.stringify(text)} not found on this server`, list);
}

async function* takeBack(record: StoredRecord, context: Context): AsyncGenerator<Change> {
  const { directory, kb } = record;
  const before = await manifestOf(record, record.before, context);
  if (record.after === null)
    throw refused(
      `${record.command} did not finish, so it is unknown what it changed`,
      `to restore its earlier state to another knowledge base: ${restoreLine(record)}; to undo an older command: ${commandLine("kb undo", [], { forget: true, record: record.before })}`,
    );
  const read = readKbState(kb.id, context, { exact: true });
  const state = await read.catch(ignoring("not-found"));
  if (record.after === "deleted") return yield* restoreDeleted(record, before, state, context);
  if (!state)
    throw refused(
      `knowledge base ${JSON.stringify(kb.name)} no longer exists`,
      restoreLine(record),
    );
  const after = await manifestOf(record, record.after, context);
  const touched = await touchedDocuments(directory, before, after, context);
  const { undoing } = record;
  const documents = await currentDocuments(kb.id, touched, { ...record, state, after }, context);
  const { back, conflicts } = settingsBack(before.state, after.state, state);
  // What an interrupted undo has made so far is neither.
  if (undoing) await context.notice("resuming: changes by others are detected only in chunks");
  const others = undoing ? [] : conflicts.map(conflictOf);
  const rows = [...others, ...documents.flatMap(changedRows)];
  yield* rows;
  if (rows.length > 0)
    throw refused(
      `${counted(rows.length, "part")} changed since ${record.command}: nothing was undone`,
      restoreLine(record),
      { isResult: true },
    );
  const plan = { directory, dataset_id: kb.id, before, state, documents, back };
  if (context.options.dryRun) return yield* plannedRows(plan);
  await confirmed(record, context);
  await writeRecord({ ...record, undoing: true }, context.host);
  let left = 0;
  for await (const row of makeBack(plan, context)) {
    if (row.action === "skip") left++;
    yield row;
  }
  await context.host.files.remove(record.path);
  const done = `undid ${record.command}`;
  if (left === 0) return context.summary(`${done}; IDs, hit counts and times cannot be restored`);
  const rest = `${done}, except for ${counted(left, "part")}`;
  throw new CliError("partial", rest, { isResult: true, hint: "see the rows for the reasons" });
}

const described = ({ command, at }: StoredRecord, { options }: Context): string =>
  `${command} of ${options.timeText(new Date(at))}`;

const confirmed = (record: StoredRecord, context: Context): Promise<void> =>
  context.confirm(`Undo ${described(record, context)}?`, {
    declined: "nothing was undone",
  });

/** The records of the server of this line. */
async function ownRecords(context: Context): Promise<StoredRecords> {
  const base_url = await context.api.baseUrl();
  const { records, bad } = await readRecords(context.host);
  return { records: records.filter(({ kb }) => kb.base_url === base_url), bad };
}

const recordRow = ({ before, command, kb, at, after }: StoredRecord): Change => {
  const row = change({
    action: after === null ? "left" : "unchanged",
    what: "knowledge base",
    name: kb.name,
    id: kb.id,
    note: after === null ? "did not end" : null,
  });
  return Object.assign(row, { record: before, command, at: Math.floor(Date.parse(at) / 1000) });
};

async function manifestOf(record: StoredRecord, id: string, context: Context): Promise<Manifest> {
  const { directory } = record;
  const snapshot = snapshotById(id, await readSnapshots(directory, context.host), directory);
  return readManifestOf(directory, snapshot, context.host.files);
}

const restoreLine = ({ directory, kb, before }: StoredRecord): string =>
  commandLine("kb backup restore", [directory, kb.id], {
    snapshot: before,
    name: `${[...kb.name].slice(0, 30).join("")} before`,
  });

/** Creates a deleted knowledge base again, with a new ID. */
async function* restoreDeleted(
  record: StoredRecord,
  manifest: Manifest,
  state: KbState | undefined,
  context: Context,
): AsyncGenerator<Change> {
  if (state) throw refused("the knowledge base exists", "there is nothing to undo");
  const { directory, kb, command } = record;
  if (!context.options.dryRun) await confirmed(record, context);
  yield* importBundle({ directory, manifest, name: kb.name, as_is: true }, context);
  if (context.options.dryRun) return;
  await context.host.files.remove(record.path);
  context.summary(`undid ${command}: ${kb.name} has a new ID; applications do not use it yet`);
}

const conflictOf = ({ action, what, name, from }: Change): Change => {
  const note =
    action === "delete" ? "has values that were set since" : `is now ${stringifyJson(from)}`;
  return change({ action: "conflict", what, name, note });
};

const changedRows = ({ before, after, current, changed }: CurrentDocument): Change[] => {
  const document = current ?? after ?? before;
  if (!document || changed.length === 0) return [];
  const note = current ? `changed since: ${changed.join(", ")}` : "was deleted since";
  return [documentRow("conflict", document, note)];
};

/**
 * Takes the snapshot before a command and records it; returns what completes the record when the command has
 * ended: `wrote` is false if nothing was sent, so that there is nothing to undo.
 */
export async function startRecord(
  given: { readonly directory: string; readonly dataset_id: string; readonly command: string },
  context: Context,
): Promise<(wrote: boolean) => Promise<void>> {
  const { host } = context;
  const { dataset_id, command } = given;
  const directory = isAbsolute(given.directory) ? given.directory : join(host.cwd, given.directory);
  const take = async (when: "before" | "after") => {
    // What is being indexed has no chunks yet, and without them nothing can be undone.
    const statuses = () => documentStatuses(dataset_id, () => true, context);
    for await (const _ of waitForIndexing(statuses, context)); // any status will do
    const release = await openBackup(directory, host);
    try {
      const options = { chunks: true, note: `${when} ${command}` };
      const taken = await takeSnapshot(directory, dataset_id, options, context);
      // What others add after a command is not undone.
      const unread = taken.withoutChunks.find(({ isPending }) => !isPending || when === "before");
      if (!unread) return taken;
      throw refused(
        `the backup lacks the chunks of ${JSON.stringify(unread.name)}: ${unread.why}`,
        "nothing was changed; kb backup stores what it can",
      );
    } finally {
      release();
    }
  };
  const taken = await take("before");
  const before = taken.snapshot;
  await host.files.makeDirectory(folderOf(host), 0o700);
  const name = `${before.taken_at.replaceAll(/[-:.]/g, "")}-${before.id}.json`;
  const last = (await readRecords(host)).records.at(-1);
  const record: StoredRecord = {
    ...orderAfter(last && orderOfRecord(last), before.taken_at),
    command,
    directory,
    kb: before.kb,
    before: before.id,
    after: null,
    at: before.taken_at,
    path: join(folderOf(host), name),
  };
  await writeRecord(record, host);
  const lacks = lacksOf(taken);
  const but = lacks === null ? "" : `; not stored: ${lacks}`;
  await context.notice(`backed up ${before.kb.name} to ${directory} (snapshot ${before.id})${but}`);
  return async (wrote) => {
    if (!wrote) return host.files.remove(record.path);
    const kb = await context.api
      .call(getKnowledgeBase, { dataset_id })
      .catch(ignoring("not-found"));
    const after = kb ? (await take("after")).snapshot.id : "deleted";
    await writeRecord({ ...record, after }, host);
    context.summary(`to undo it: ${commandLine("kb undo")}`);
  };
}

/** A command that can be undone: the snapshots around it. */
interface UndoRecord {
  /** The command with its arguments, for people. */
  readonly command: string;
  /** Directory of the backup. */
  readonly directory: string;
  readonly kb: { readonly id: string; readonly name: string; readonly base_url: string };
  /** ID of the snapshot before the command. */
  readonly before: string;
  /** ID of the one after it; `deleted` without the knowledge base, null if the command did not end. */
  readonly after: string | null;
  /** ISO 8601, in UTC. */
  readonly at: string;
  /** Its place among the others, as that of a snapshot. */
  readonly order?: string;
  /** An undo has begun, so the state may be between the two. */
  readonly undoing?: true;
}

/** A record and its file. */
interface StoredRecord extends UndoRecord {
  readonly path: string;
}

/** The directory of the records of this machine. */
const folderOf = ({ directories }: Host): string => join(directories.state, "undo");

/** Keeps other undos of this machine out; throws failure while one is at work. Returns what ends that. */
async function lockRecords(host: Host): Promise<() => void> {
  await host.files.makeDirectory(folderOf(host), 0o700);
  return lockWork(join(folderOf(host), "undo"), "another kb undo is at work", host);
}

interface StoredRecords {
  /** Oldest first. */
  readonly records: readonly StoredRecord[];
  /** Paths of what may be a record and cannot be read as one. */
  readonly bad: readonly string[];
}

/** The records of this machine. */
async function readRecords(host: Host): Promise<StoredRecords> {
  const folder = folderOf(host);
  const records: StoredRecord[] = [];
  const bad: string[] = [];
  const entries = (await host.files.stat(folder)) ? await host.files.entries(folder) : [];
  for (const { name, isFile } of entries) {
    if (!name.includes(".json") || isUnfinished(name)) continue;
    const path = join(folder, name);
    const bytes = isFile && name.endsWith(".json") ? await host.files.read(path) : undefined;
    const value = bytes && tryParseJson(new TextDecoder().decode(bytes));
    if (isRecord(value)) records.push({ ...value, path });
    else bad.push(path);
  }
  records.sort((a, b) => (orderOfRecord(a) < orderOfRecord(b) ? -1 : 1));
  return { records, bad };
}

/** The place of a record among the others. */
const orderOfRecord = ({ at: taken_at, order }: UndoRecord): string => orderOf({ taken_at, order });

function isRecord(value: unknown): value is UndoRecord {
  if (!isObject(value) || !isObject(value["kb"])) return false;
  const { command, directory, before, after, at, kb } = value;
  const texts = [command, directory, before, at, kb["id"], kb["name"], kb["base_url"]];
  return (
    texts.every((text) => typeof text === "string") && (after === null || typeof after === "string")
  );
}

/** Writes a record again, to its file. */
const writeRecord = ({ path, ...record }: StoredRecord, { files }: Host): Promise<void> =>
  files.writeAtomic(path, `${stringifyJson(record)}\n`, 0o600);
