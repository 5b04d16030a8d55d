import { CliError, notFound, refused } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { allSnapshots, readManifestOf, snapshotById } from "../backup/index.ts";
import { change } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import { readKbState } from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import { importBundle } from "../snapshot/index.ts";
import type { Manifest } from "../snapshot/index.ts";
import type { undoParams } from "./command.ts";
import { currentDocuments, settingsBack, touchedDocuments } from "./compare.ts";
import type { CurrentDocument } from "./compare.ts";
import { makeBack, plannedRows } from "./make-back.ts";
import { lockRecords, readRecords, writeRecord } from "./record.ts";
import type { StoredRecord } from "./record.ts";

/**
 * Takes back the last recorded command. Throws refused, and changes nothing, if others changed the same, and
 * failure while another undo is at work: both would create what is missing.
 */
export async function* run(
  { list = false }: Input<typeof undoParams>,
  context: Context,
): AsyncGenerator<Change> {
  if (list) return yield* (await ownRecords(context)).toReversed().map(recordRow);
  const release = context.options.dryRun ? () => {} : await lockRecords(context.host);
  try {
    yield* takeBack(context);
  } finally {
    release();
  }
}

async function* takeBack(context: Context): AsyncGenerator<Change> {
  const record = (await ownRecords(context)).at(-1);
  if (!record)
    throw notFound(
      "no command to take back on this server",
      "only commands that were run with --backup are recorded; other machines have their own records",
    );
  const { directory, kb } = record;
  const before = await manifestOf(record, record.before, context);
  if (record.after === null) throw unfinished(record);
  const state = await stateOf(kb.id, context);
  if (record.after === "deleted") return yield* restoreDeleted(record, before, state, context);
  if (!state)
    throw refused(
      `knowledge base ${JSON.stringify(kb.name)} no longer exists`,
      restoreLine(record),
    );
  const after = await manifestOf(record, record.after, context);
  const touched = await touchedDocuments(directory, before, after, context);
  const documents = await currentDocuments(
    directory,
    touched,
    { id: kb.id, state, after },
    context,
  );
  const { back, conflicts } = settingsBack(before.state, after.state, state);
  // What an interrupted undo has made so far is neither.
  if (record.undoing)
    await context.notice(
      "continuing: what others changed in the same documents since cannot be told apart",
    );
  const rows = record.undoing
    ? []
    : [...conflicts.map(conflictOf), ...documents.flatMap(changedRows)];
  yield* rows;
  if (rows.length > 0)
    throw refused(
      `${counted(rows.length, "part")} changed since ${record.command}: nothing was taken back`,
      restoreLine(record),
      { isResult: true },
    );
  const plan = { record, before, state, documents, back };
  if (context.options.dryRun) return yield* plannedRows(plan);
  await confirmed(record, context);
  await writeRecord({ ...record, undoing: true }, context.host);
  let left = 0;
  for await (const row of makeBack(plan, context)) {
    if (row.action === "skip") left++;
    yield row;
  }
  await context.host.files.remove(record.path);
  if (left === 0)
    return context.summary(
      `took back ${record.command}; IDs, hit counts and times did not come back`,
    );
  throw new CliError(
    "partial",
    `took back ${record.command}, except for ${counted(left, "part")}`,
    { isResult: true, hint: "why is in the rows" },
  );
}

const confirmed = ({ command, at }: StoredRecord, { confirm, options }: Context): Promise<void> =>
  confirm(`Take back ${command} of ${options.timeText(new Date(at))}?`, {
    declined: "nothing was taken back",
  });

/** The records of the server of this line. */
async function ownRecords(context: Context): Promise<readonly StoredRecord[]> {
  const base_url = await context.api.baseUrl();
  return (await readRecords(context.host)).filter(({ kb }) => kb.base_url === base_url);
}

const recordRow = ({ command, kb, at, after }: StoredRecord): Change =>
  change({
    action: after === null ? "left" : "unchanged",
    what: "knowledge base",
    name: kb.name,
    id: kb.id,
    note: `${at} ${command}${after === null ? " (did not end)" : ""}`,
  });

async function manifestOf(record: StoredRecord, id: string, context: Context): Promise<Manifest> {
  const { directory } = record;
  const snapshot = snapshotById(id, await allSnapshots(directory, context), directory);
  return readManifestOf(directory, snapshot, context.host.files);
}

/** The state of a knowledge base; undefined if it does not exist. */
const stateOf = (dataset_id: string, context: Context): Promise<KbState | undefined> =>
  readKbState(dataset_id, context, { exact: true }).catch((error: unknown) => {
    if (error instanceof CliError && error.kind === "not-found") return undefined;
    throw error;
  });

const restoreLine = ({ directory, kb, before }: StoredRecord): string =>
  commandLine("kb backup restore", [directory, kb.id], {
    snapshot: before,
    name: `${[...kb.name].slice(0, 30).join("")} before`,
  });

/** What such a command left is not known, so nothing can be compared with it. */
const unfinished = (record: StoredRecord): CliError =>
  refused(
    `${record.command} did not end, so what it left is not known`,
    `to have the knowledge base as it was before, beside this one: ${restoreLine(record)}`,
  );

/** Creates a deleted knowledge base again, with a new ID. */
async function* restoreDeleted(
  record: StoredRecord,
  manifest: Manifest,
  state: KbState | undefined,
  context: Context,
): AsyncGenerator<Change> {
  if (state) throw refused("the knowledge base exists", "nothing has to be taken back");
  const { directory, kb, command } = record;
  if (!context.options.dryRun) await confirmed(record, context);
  yield* importBundle({ directory, manifest, name: kb.name, as_is: true }, context);
  if (context.options.dryRun) return;
  await context.host.files.remove(record.path);
  context.summary(`took back ${command}: ${kb.name} has a new ID; applications do not use it yet`);
}

const conflictOf = ({ action, what, name, from }: Change): Change => {
  const note =
    action === "delete" ? "has values that were set since" : `is now ${JSON.stringify(from)}`;
  return change({ action: "conflict", what, name, note });
};

const changedRows = ({ before, after, current, changed }: CurrentDocument): Change[] => {
  const { name = "", id = null } = current ?? after ?? before ?? {};
  if (changed.length === 0) return [];
  const note = current ? `changed since: ${changed.join(", ")}` : "was deleted since";
  return [change({ action: "conflict", what: "document", name, id, note })];
};
