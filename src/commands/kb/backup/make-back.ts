import { groupBy } from "../../../lib/collect.ts";
import {
  archiveDocuments,
  disableDocuments,
  enableDocuments,
  unarchiveDocuments,
} from "../../../operations/documents.ts";
import { updateKnowledgeBase } from "../../../operations/knowledge.ts";
import { deleteMetadataField, listMetadataFields } from "../../../operations/metadata.ts";
import type { Context } from "../../task/command-spec.ts";
import { applySettings, documentRow, makeDocuments } from "../changes/index.ts";
import type { Change, DocumentChange } from "../changes/index.ts";
import { chunkRules, makeChunks, readChunksOf } from "../chunk-lists/index.ts";
import { readKbState, restoreValues } from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import { embeddingModel } from "../../models/index.ts";
import { sourceDocuments } from "../snapshot/index.ts";
import type { BundledDocument, Manifest } from "../snapshot/index.ts";
import { madeAgain } from "./undo-compare.ts";
import type { CurrentDocument } from "./undo-compare.ts";

/** What leads back to the state before a command. */
export interface BackPlan {
  /** Directory of the backup. */
  readonly directory: string;
  readonly dataset_id: string;
  readonly before: Manifest;
  readonly state: KbState;
  readonly documents: readonly CurrentDocument[];
  /** Changes of settings, tags and fields. */
  readonly back: readonly Change[];
}

/** The rows of a dry run. */
export function* plannedRows({ back, documents }: BackPlan): Generator<Change> {
  yield* back;
  for (const { before, after, current, differs } of documents) {
    const document = current ?? before ?? after;
    if (!document || differs.length === 0) continue;
    const action = current ? "update" : "create";
    if (isUnstored({ before, differs })) yield unstoredRow(document);
    else if (!before) yield documentRow("delete", document);
    else yield documentRow(action, document, current ? differs.join(", ") : null);
  }
}

/** Does it differ in a content that no snapshot has, as the server had no file of it? */
const isUnstored = ({ before, differs }: Pick<CurrentDocument, "before" | "differs">): boolean =>
  before?.file === null && differs.includes("content");

const unstoredRow = (document: { readonly name: string; readonly id: string }): Change =>
  documentRow("skip", document, "the server had no file of it");

/** Settings that no request changes back (server §8). */
const fixed = ["doc_form", "summary_index_setting"];

/**
 * Makes the changes that lead back. Each step changes only what differs now, so that the same command continues
 * after a kill: settings and fields first, since values need them, chunks after contents, and statuses last,
 * since a disabled document cannot be changed. What cannot be made back is a row `skip`.
 */
export async function* makeBack(plan: BackPlan, context: Context): AsyncGenerator<Change> {
  const { dataset_id, documents } = plan;
  yield* settings(plan, context);
  await setStatus(dataset_id, documents, { enabled: true, archived: false }, context);
  yield* contents(plan, context);
  const state = await readKbState(dataset_id, context, { exact: true });
  const restored = await pairsNow(plan, state, context);
  await restoreValues(dataset_id, restored, context);
  yield* chunks(plan, restored, context);
  const now = restored.map(([before, current]) => ({ before, current }));
  await setStatus(dataset_id, now, { enabled: false, archived: true }, context);
  for (const each of documents) {
    const { before, current, differs } = each;
    if (before && isUnstored(each)) yield unstoredRow(current ?? before);
    else if (before && !restored.some(([found]) => found === before))
      yield documentRow("skip", current ?? before, "was stored under another name");
    const rest = differs.filter((part) => part === "metadata" || part === "status");
    if (before && current && rest.length === differs.length && rest.length > 0)
      yield documentRow("metadata", current, rest.join(", "));
  }
  yield* unwantedFields(plan, context);
}

async function* settings(
  { dataset_id, before, state, back }: BackPlan,
  context: Context,
): AsyncGenerator<Change> {
  const name = back.find(({ what, name: each }) => what === "setting" && each === "name");
  if (name) {
    await context.api.call(updateKnowledgeBase, { dataset_id, name: String(name.to) });
    yield name;
  }
  const isFixed = ({ what, name: each, to }: Change) =>
    what === "setting" && (fixed.includes(each.split(".")[0] ?? "") || to === null);
  for (const each of back.filter(isFixed))
    yield { ...each, action: "skip", note: "the server cannot change it back" };
  const changes = back.filter(
    (each) =>
      each !== name && !isFixed(each) && !(each.what === "field" && each.action !== "create"),
  );
  const isModel = changes.some(({ name: each }) => each === "embedding_model");
  const model = isModel
    ? await embeddingModel(before.state.settings.embedding_model ?? "", context)
    : undefined;
  const desired = { ...before.state, name: before.state.settings.name };
  yield* applySettings(dataset_id, { desired, current: state, changes, model }, context);
}

/** Fields that the command created, with their values. */
async function* unwantedFields({ dataset_id, back }: BackPlan, context: Context) {
  const unwanted = back.filter(({ what, action }) => what === "field" && action === "delete");
  if (unwanted.length === 0) return;
  const fields = await context.api.call(listMetadataFields, { dataset_id });
  for (const row of unwanted) {
    const id = fields.find(({ name }) => name === row.name)?.id;
    if (id !== undefined)
      await context.api.call(deleteMetadataField, { dataset_id, metadata_id: id });
    yield row;
  }
}

/** Creates, updates and deletes documents. */
async function* contents(plan: BackPlan, context: Context): AsyncGenerator<Change> {
  const { directory, dataset_id, before, state, documents } = plan;
  const sources = new Map(
    sourceDocuments(directory, before, before.state.fields).map((source, index) => [
      before.state.documents[index]?.id,
      source,
    ]),
  );
  const names = groupBy(state.documents, ({ name }) => name);
  const changes = documents.flatMap((each): DocumentChange[] => {
    const { current } = each;
    if (!each.before) {
      if (!current) return [];
      return [{ ...documentRow("delete", current), source: undefined, document: current }];
    }
    const source = sources.get(each.before.id);
    if (!source?.exported || !each.differs.includes("content") || isUnstored(each)) return [];
    // A create by text would replace another document of its name (server §9.1).
    const isBeside = !current && (names.get(source.path)?.length ?? 0) > 0;
    const exported = { ...source.exported, enabled: true, archived: false };
    const sent = isBeside
      ? { ...source, kind: "file" as const, exported: { ...exported, isLater: true } }
      : { ...source, exported };
    const row = current
      ? documentRow("update", current)
      : documentRow("create", { name: source.path, id: null });
    return [{ ...row, source: sent, document: current }];
  });
  if (changes.length === 0) return;
  const target = { dataset_id, settings: state.settings, documents: state.documents };
  const wording = { verb: "restore", noun: "document", count: changes.length } as const;
  yield* makeDocuments(changes, target, wording, context);
}

type RestoredPair = readonly [before: BundledDocument, current: KbState["documents"][number]];

/** The documents that existed before, as they are now. */
async function pairsNow(
  { dataset_id, documents, state }: BackPlan,
  now: KbState,
  context: Context,
): Promise<RestoredPair[]> {
  const known = new Set(state.documents.map(({ id }) => id));
  const others = now.documents.filter(({ id }) => !known.has(id));
  const gone = documents.flatMap(({ before, current }) => (before && !current ? [before] : []));
  const again = await madeAgain(dataset_id, gone, others, context);
  return documents.flatMap(({ before, current }) => {
    if (!before) return [];
    const found = now.documents.find(({ id }) => id === current?.id) ?? again.get(before.id);
    return found ? [[before, found] as const] : [];
  });
}

async function* chunks(
  { directory, dataset_id, before }: BackPlan,
  pairs: readonly RestoredPair[],
  context: Context,
): AsyncGenerator<Change> {
  const { settings: kbSettings } = before.state;
  const rules = chunkRules(kbSettings, kbSettings.doc_form);
  for (const [stored, document] of pairs) {
    const list = await readChunksOf(directory, stored, context);
    if (!list) continue;
    const target = { dataset_id, document_id: document.id, ...rules };
    const { updated, added, deleted, children } = await makeChunks(target, list, context);
    const count = updated + added + deleted + children;
    if (count > 0) yield documentRow("update", document, `chunks: ${count} changed`);
  }
}

/** The status changes of one direction. */
async function setStatus(
  dataset_id: string,
  documents: readonly Partial<Pick<CurrentDocument, "before" | "current">>[],
  to: { readonly enabled: boolean; readonly archived: boolean },
  context: Context,
): Promise<void> {
  const steps = [
    ["archived", to.archived ? archiveDocuments : unarchiveDocuments],
    ["enabled", to.enabled ? enableDocuments : disableDocuments],
  ] as const;
  // An archived document takes no other change.
  for (const [flag, operation] of to.archived ? steps.toReversed() : steps) {
    const document_ids = documents.flatMap(({ before, current }) =>
      before && current && before[flag] === to[flag] && current[flag] !== to[flag]
        ? [current.id]
        : [],
    );
    if (document_ids.length > 0) await context.api.call(operation, { dataset_id, document_ids });
  }
}
