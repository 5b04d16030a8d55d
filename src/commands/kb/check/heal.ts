import { dirname, join } from "node:path";
import { mapAll } from "../../../api/concurrent-map.ts";
import { CliError, isFatal, usage, verdict } from "../../../errors.ts";
import { collect, groupBy } from "../../../lib/collect.ts";
import { openJournal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { allSnapshots, openBackup, readManifestOf, takeSnapshot } from "../backup/index.ts";
import { change, documentRow, makeDocuments } from "../changes/index.ts";
import type { Change, DocumentChange } from "../changes/index.ts";
import { recounted } from "./check.ts";
import { listFindings, storedAt } from "./findings.ts";
import {
  chunkHash,
  chunkRules,
  makeChunks,
  planChunks,
  readChunks,
  readChunksOf,
} from "../chunk-lists/index.ts";
import type { StoredChunk } from "../chunk-lists/index.ts";
import {
  contentHashes,
  countedDocuments,
  isIndexed,
  lossNames,
  readLosses,
  readKbState,
  restoreValues,
} from "../documents/index.ts";
import type { DocumentState, KbState } from "../documents/index.ts";
import { requestedKbs } from "../knowledge/index.ts";
import { fileHash, sourceDocuments } from "../snapshot/index.ts";
import type { BundledDocument, Manifest } from "../snapshot/index.ts";
import { healChunks } from "./heal-chunks.ts";
import type { healParams } from "../check/command.ts";

type HealInput = Input<typeof healParams> & { readonly dataset_id: string };

/** Problems that a create of the same name repairs. */
const replaced: readonly string[] = ["error", "stuck", "no chunks"];

/** Replaces the documents that failed, and adds failed chunks again, in one knowledge base or in each. */
export async function* run(input: Partial<HealInput>, context: Context): AsyncGenerator<object> {
  const { dryRun, flags } = context.options;
  const { all = false, dataset_id = [] } = input;
  if (all && (flags.backup || flags.backupDir)) throw usage("use --all without --backup");
  let healed = 0;
  const left: Change[] = [];
  const requested = { all, dataset_id: [dataset_id].flat() };
  for await (const { id, name: kb } of requestedKbs({ command: "kb heal" }, requested, context)) {
    try {
      for await (const row of heal({ ...input, dataset_id: id }, context)) {
        yield all ? { kb, ...row } : row;
        if (row.action === "update") healed++;
        else left.push(row);
      }
    } catch (error) {
      const isOfOne = all && error instanceof CliError && !isFatal(error);
      if (!isOfOne || context.host.signal.aborted) throw error;
      const { message: note } = error;
      const row = change({ action: "failed", what: "knowledge base", name: kb, id, note });
      left.push(row);
      yield { kb, ...row };
    }
  }
  const done = `${counted(healed, "repair")}${dryRun ? " planned" : ""}`;
  const failed = left.filter(({ action }) => action === "failed");
  if (failed.some(({ what }) => !dryRun || what === "knowledge base"))
    throw verdict(
      "partial",
      `${done}, ${left.length} left: ${firstNames(failed.map(({ name }) => name))}`,
      { left },
      "remove the cause, such as a model without credit, and run the same command again",
    );
  context.summary(left.length > 0 ? `${done}, ${left.length} left as they are` : done);
}

/** Heals all but the documents that this run has handled already, which an interrupted one had saved. */
async function* heal(
  input: HealInput,
  context: Context,
  handled: ReadonlySet<string> = new Set(),
): AsyncGenerator<Change> {
  const { dataset_id } = input;
  const { host, options } = context;
  const directory = await healPath(dataset_id, context);
  const documents = await collect(countedDocuments(dataset_id, context));
  if (options.dryRun) {
    for (const { row } of await plan(input, documents, context)) yield row;
    return yield* healChunks(input, { documents, journalPath: `${directory}.jsonl` }, context);
  }
  await host.files.makeDirectory(dirname(directory), 0o700);
  const release = await openBackup(directory, host);
  let continued: Manifest | undefined;
  try {
    const unfinished = (await allSnapshots(directory, context)).at(-1);
    const only = new Set<string>();
    const chunks = new Set<string>();
    for (const { row, hasChunks } of unfinished ? [] : await plan(input, documents, context)) {
      if (handled.has(row.id)) continue;
      if (row.action !== "update") yield row;
      else only.add(row.id);
      if (hasChunks) chunks.add(row.id);
    }
    const saved =
      unfinished ??
      (only.size > 0 &&
        (await takeSnapshot(directory, dataset_id, { chunks, only }, context)).snapshot);
    if (unfinished) await context.notice("continuing with what an interrupted run has saved");
    if (saved) {
      const manifest = await readManifestOf(directory, saved, host.files);
      const whole = yield* wholeOf({ directory, manifest }, context);
      const hasEnded = yield* replace(input, whole, context);
      // Chunks that could not be put back yet are nowhere else.
      if (hasEnded) await forget(directory, context);
      if (unfinished && hasEnded) continued = manifest;
      else if (unfinished)
        await context.notice("documents that have failed since are healed after those with edits");
    } else await forget(directory, context);
    if (!continued)
      yield* healChunks(input, { documents, journalPath: `${directory}.jsonl` }, context);
  } finally {
    release();
  }
  await host.files.removeEmptyDirectory(directory);
  if (continued)
    yield* heal(input, context, new Set(continued.state.documents.map(({ id }) => id)));
}

/** Where a run saves what it replaces: servers that were made from one database have the same IDs. */
async function healPath(dataset_id: string, { api, host }: Context): Promise<string> {
  const server = sha256(await api.baseUrl()).slice(0, 8);
  return join(host.directories.state, "heal", `${dataset_id}-${server}`);
}

/** Removes what a run has saved, the mark of the backup last and its lock not at all: a kill may leave a part of it. */
async function forget(directory: string, { host: { files } }: Context): Promise<void> {
  const mark = "kb-backup.json";
  const names = (await files.entries(directory)).map(({ name }) => name);
  const others = names.filter((name) => !name.startsWith(mark));
  for (const name of ["put-back.jsonl", "snapshots", ...others, mark])
    await files.remove(join(directory, name));
}

/** What a run does with a document. */
interface Planned {
  readonly row: Change & { readonly id: string };
  /** Has it chunks of its content, which it gets back? */
  readonly hasChunks: boolean;
}

/** What a run would replace, and what it leaves as it is. Chunks are read first: a replacement deletes them. */
async function plan(
  { dataset_id, stuck_after = Infinity }: HealInput,
  documents: readonly Document[],
  context: Context,
): Promise<readonly Planned[]> {
  const kb = { id: dataset_id, name: "", line: () => "" };
  const limits = { stuckAfter: stuck_after, now: context.host.now().getTime() };
  const names = groupBy(documents, ({ name }) => name);
  const limit = context.api.limitConcurrency();
  const shown = await mapAll(documents, limit, (each) => recounted(dataset_id, each, context));
  const failed = shown.flatMap((document) => {
    const { name, enabled, archived } = document;
    const found = [...listFindings(kb, document, limits)].find((each) =>
      replaced.includes(each.problem),
    );
    if (!found) return [];
    if (!enabled || archived) return { document, found, left: archived ? "archived" : "disabled" };
    const isOnly = names.get(name)?.length === 1;
    return { document, found, left: isOnly ? undefined : "another document has its name" };
  });
  const toReplace = failed.flatMap(({ document, left }) => (left === undefined ? [document] : []));
  const losses = await readLosses(dataset_id, toReplace, context);
  return failed.map(({ document, found: { problem, note: why }, left }) => {
    const { id } = document;
    const planned = (action: "update" | "skip" | "failed", note: string, hasChunks = false) => ({
      row: { ...documentRow(action, document, note), id },
      hasChunks,
    });
    const read = losses.get(id);
    if (read === undefined) return planned("skip", `${left}: ${why}`);
    if (read instanceof CliError) return planned("failed", read.message);
    const { lost, newest } = read;
    const byHand = lost.length > 0 ? lossNames(lost) : undefined;
    // A worker that dies early leaves the chunks of the content from before (server §9.6).
    const isFormer = newest < Math.floor(storedAt(document)) && Number.isFinite(storedAt(document));
    if (isFormer && byHand !== undefined)
      return planned("failed", `its chunks are of its former content: ${byHand}; ${addAgain}`);
    const back = byHand !== undefined ? `; puts back ${byHand}` : "";
    return planned("update", `${problem}: ${why}${back}`, !isFormer);
  });
}

const addAgain = "to drop them, add the document again under its name";

/** Documents as they were saved before they are replaced. */
interface Saved {
  readonly directory: string;
  readonly manifest: Manifest;
}

/** What can replace documents; the others are rows. */
async function* wholeOf({ directory, manifest }: Saved, { host: { files } }: Context) {
  const documents: BundledDocument[] = [];
  const isDamaged = async (file: string | null = null, hash: string | null = null) =>
    hash !== null && (await fileHash(directory, file, files)) !== hash;
  for (const document of manifest.state.documents) {
    const { file, sha256, chunks } = document;
    if ((await isDamaged(file, sha256)) || (await isDamaged(chunks?.file, chunks?.sha256)))
      yield documentRow("failed", document, "its saved copy is damaged");
    else documents.push(document);
  }
  return { directory, manifest: { ...manifest, state: { ...manifest.state, documents } } };
}

/** Replaces the saved documents, and puts back their chunks. */
async function* replace(input: HealInput, saved: Saved, context: Context): AsyncGenerator<Change> {
  const { dataset_id, wait_for_limit } = input;
  const { manifest } = saved;
  const state = await readKbState(dataset_id, context);
  const current = await currentDocuments(saved, state, context);
  const changes = replacements(saved, state, current);
  for (const document of manifest.state.documents) {
    const isStored = document.file !== null;
    const problem = isStored ? current.get(document.id) : "the server has no file of it";
    if (typeof problem === "string") yield leftRow(document, problem);
  }
  const target = { dataset_id, settings: state.settings, documents: [], wait_for_limit };
  const wording = { verb: "restore", noun: "document", count: changes.length } as const;
  const quiet = { ...context, summary: () => {} };
  try {
    if (changes.length > 0) yield* makeDocuments(changes, target, wording, quiet);
  } catch (error) {
    // Those that were made get their values and chunks; a rate limit ends the run.
    if (!(error instanceof CliError) || error.kind !== "partial") throw error;
  }
  const now = await currentDocuments(saved, await readKbState(dataset_id, context), context);
  for (const { document: before } of changes) {
    const problem = before && now.get(before.id);
    if (before && typeof problem === "string") yield leftRow(before, problem);
  }
  const healed = manifest.state.documents.flatMap((before) => {
    const document = now.get(before.id);
    return isDocument(document) && isIndexed(document) ? [[before, document] as const] : [];
  });
  // Values stay with their document (server §9.1): only the mark of the stored file is that of the former one.
  const kept = healed.map(([before, now]) => [{ ...before, metadata: now.metadata }, now] as const);
  await restoreValues(dataset_id, kept, context);
  return yield* putBack({ dataset_id, ...saved }, state.settings, now, context);
}

/** Gives healed documents the chunks that they had; false if a document that fails again would lose some of them. */
async function* putBack(
  { dataset_id, directory, manifest }: Saved & { readonly dataset_id: string },
  settings: KbState["settings"],
  now: ReadonlyMap<string, DocumentState | string>,
  context: Context,
): AsyncGenerator<Change, boolean> {
  const journal = await openJournal(join(directory, "put-back.jsonl"), context.host.files);
  const isPutBack = new Set(journal.entries.map(({ document }) => document));
  const rules = chunkRules(settings, settings.doc_form);
  let hasEnded = true;
  for (const before of manifest.state.documents) {
    const { id } = before;
    const [document, list] = [now.get(id), await readChunksOf(directory, before, context)];
    if (document === notArrived) hasEnded = false;
    // Without chunks it was not split yet. Chunks that were put back before may have been changed since.
    if (!isDocument(document) || !list || list.length === 0 || isPutBack.has(id)) continue;
    const to = { dataset_id, document_id: id, ...rules };
    const stored = list.map(indexed);
    const existing = await collect(readChunks(to, context));
    if (!isIndexed(document)) {
      hasEnded &&= stored.map(chunkHash).join() === existing.map(indexed).map(chunkHash).join();
      continue;
    }
    if (planChunks(stored, existing, rules).length > 0) {
      await makeChunks(to, stored, context);
      yield documentRow("update", before, `chunks put back: ${counted(stored.length, "chunk")}`);
    }
    await journal.append([{ document: id }]);
  }
  return hasEnded;
}

/** A chunk as indexing leaves it: a failed one is not enabled either, but not on purpose. */
const indexed = (chunk: StoredChunk): StoredChunk =>
  chunk.status === "completed" ? chunk : { ...chunk, status: "completed", enabled: true };

const isDocument = (found: DocumentState | string | undefined): found is DocumentState =>
  typeof found === "object";

/** Why it is not known whether a document still has the content that was saved. */
const notArrived = "its content does not arrive";

/** The row of a saved document that is left as it is. */
const leftRow = (document: Pick<DocumentState, "id" | "name">, problem: string) =>
  documentRow(problem === notArrived ? "failed" : "skip", document, problem);

/** Each saved document as it is now, or why it is no longer the one that was saved; none if it was deleted. */
async function currentDocuments({ manifest }: Saved, { documents }: KbState, context: Context) {
  const now = new Map(documents.map((each) => [each.id, each]));
  const names = groupBy(documents, ({ name }) => name);
  const pairs = manifest.state.documents.flatMap((before) => {
    const document = now.get(before.id);
    return document ? [[before, document] as const] : [];
  });
  const written = pairs.flatMap(([before, { id, stored }]) =>
    stored === before.stored ? [] : [{ id }],
  );
  const hashes = await contentHashes(manifest.source.id, written, context);
  return new Map(
    pairs.map(([before, document]) => {
      const { id, name } = document;
      if (name !== before.name || names.get(name)?.length !== 1)
        return [id, "it was renamed, or another document has its name"];
      if (!before.from_text && /[/\\]/.test(name))
        // an upload cannot have such a name
        return [id, "its name has a slash: upload its file again"];
      const hash = hashes.has(id) ? hashes.get(id) : before.sha256;
      if (hash === undefined) return [id, notArrived];
      const isOwn = hash === before.sha256;
      return [id, isOwn ? document : "its content was changed since it was saved"];
    }),
  );
}

/** The creates that replace the saved documents, but those that are healed already. */
function replacements(
  { directory, manifest }: Saved,
  state: KbState,
  current: ReadonlyMap<string, DocumentState | string>,
): readonly DocumentChange[] {
  const sources = sourceDocuments(directory, manifest, state.fields);
  return manifest.state.documents.flatMap((before, index): DocumentChange[] => {
    const [source, document] = [sources[index], current.get(before.id)];
    if (!source || source.hash === null || !isDocument(document)) return [];
    const isHealed = isIndexed(document) && document.stored !== before.stored;
    if (isHealed || !document.enabled || document.archived) return [];
    // As one in error, it is replaced by a create of its name, which needs no available document.
    const failed = { ...document, indexing_status: "error", error: null };
    const content = { ...source, metadata: {} };
    const losses: string[] = []; // its chunks are put back
    return [{ ...documentRow("update", before), source: content, document: failed, losses }];
  });
}
