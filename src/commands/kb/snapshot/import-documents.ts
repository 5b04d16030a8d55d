import { join } from "node:path";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError } from "../../../errors.ts";
import { own } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { decodeText } from "../../../lib/utf8.ts";
import {
  archiveDocuments,
  createDocumentByFile,
  createDocumentByText,
  disableDocuments,
  listDocuments,
} from "../../../operations/documents.ts";
import {
  indexingStatusOf,
  isIndexed,
  metadataWriter,
  readContents,
  readKbState,
  ruleFor,
  waitForIndexing,
  waitOnRateLimit,
} from "../documents/index.ts";
import type { DocumentState, DocumentStatus } from "../documents/index.ts";
import { readBundledFile } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";
import type { Context } from "../../command-spec.ts";

/** One row of the result of an import. */
export interface ImportedItem {
  readonly action: "created" | "there" | "failed";
  readonly what: "knowledge base" | "field" | "tag" | "document";
  readonly name: string;
  readonly id: string | null;
  readonly note: string | null;
}

/** Number of uploads at a time; a default server handles ten connections (server §20). */
const concurrency = 3;

interface DocumentImport {
  readonly directory: string;
  readonly dataset_id: string;
  readonly manifest: Manifest;
  /** IDs of the documents that exist now. */
  readonly ids: Map<BundledDocument, string>;
  readonly failures: ImportedItem[];
}

/** Imports documents with their values and status; documents with the same content are kept. */
export async function* importDocuments(
  directory: string,
  dataset_id: string,
  manifest: Manifest,
  context: Context,
): AsyncGenerator<ImportedItem> {
  const existing = await readExisting(dataset_id, context);
  const { documents: all } = manifest.state;
  const { uploads, ids, failures } = planUploads(all, existing, dataset_id);
  const run: DocumentImport = { directory, dataset_id, manifest, ids, failures };
  yield* sendUploads(run, uploads, context);
  await awaitIndexing(run, context);
  await writeMetadata(run, existing, context);
  await setStatuses(run, context);
  yield* failures;
  if (failures.length > 0) {
    const [first] = failures;
    throw new CliError(
      "partial",
      `failed to import ${failures.length} of ${all.length} documents: ${first?.name}: ${first?.note}`,
      { isResult: true, hint: "run the same import again; existing documents are kept" },
    );
  }
}

/** A document of the knowledge base and the hash of its content; null if it has none. */
export interface ExistingDocument extends Pick<
  DocumentState,
  "id" | "name" | "enabled" | "indexing_status" | "metadata"
> {
  readonly hash: string | null;
}

async function readExisting(dataset_id: string, context: Context): Promise<ExistingDocument[]> {
  const { documents: all } = await readKbState(dataset_id, context);
  const existing: ExistingDocument[] = [];
  for await (const { document, bytes } of readContents(dataset_id, all, context))
    existing.push({ ...document, hash: bytes ? sha256(bytes) : null });
  return existing;
}

/** A document to send. */
export interface PlannedUpload {
  readonly document: BundledDocument;
  /** A document of the same name comes before it. */
  readonly isDuplicate: boolean;
  /** It replaces an existing document in error. */
  readonly replacesFailed: boolean;
}

/** Decides which documents of an export to send; pure. */
export function planUploads(
  all: readonly BundledDocument[],
  existing: readonly ExistingDocument[],
  dataset_id: string,
): Pick<DocumentImport, "ids" | "failures"> & { readonly uploads: readonly PlannedUpload[] } {
  const unused = new Map<string | null, ExistingDocument[]>();
  for (const each of existing) unused.set(each.hash, [...(unused.get(each.hash) ?? []), each]);
  const names = new Set<string>();
  const plan = {
    uploads: [] as PlannedUpload[],
    ids: new Map<BundledDocument, string>(),
    failures: [] as ImportedItem[],
  };
  for (const document of all) {
    if (document.file === null) {
      plan.failures.push(failed(document, "the export has no content for it"));
      continue;
    }
    const isDuplicate = names.has(document.name);
    names.add(document.name);
    const same = takeSame(document, isDuplicate, unused.get(document.sha256) ?? []);
    if (same && same.indexing_status !== "error") plan.ids.set(document, same.id);
    else if (same && !isReplaceable(same, existing)) {
      // A new document would not replace the one in error, but another one or none.
      const remedy = `kb doc delete id:${dataset_id} id:${same.id}`;
      const note = `exists with an indexing error: run \`${remedy}\`, then import again`;
      plan.failures.push(failed(document, note));
    } else plan.uploads.push({ document, isDuplicate, replacesFailed: same !== undefined });
  }
  return plan;
}

/** Takes a document of the same name, or of the name that an upload gives, from those of its content. */
function takeSame(
  document: BundledDocument,
  isDuplicate: boolean,
  candidates: ExistingDocument[],
): ExistingDocument | undefined {
  const uploadName = isSentAsText(document, isDuplicate) ? document.name : fileName(document.name);
  const index = [document.name, uploadName]
    .map((name) => candidates.findIndex((candidate) => candidate.name === name))
    .find((at) => at !== -1);
  return index === undefined || document.sha256 === null
    ? undefined
    : candidates.splice(index, 1)[0];
}

/** Does a new document of its name replace it and no other one (server §9.1)? */
const isReplaceable = (
  { name, enabled }: ExistingDocument,
  existing: readonly ExistingDocument[],
): boolean => enabled && existing.filter((document) => document.name === name).length === 1;

const failed = ({ name }: BundledDocument, note: string): ImportedItem => ({
  action: "failed",
  what: "document",
  name,
  id: null,
  note,
});

async function* sendUploads(
  run: DocumentImport,
  uploads: readonly PlannedUpload[],
  context: Context,
): AsyncGenerator<ImportedItem> {
  const send = (upload: PlannedUpload) => trySend(run, upload, context);
  const unique = uploads.filter(({ isDuplicate }) => !isDuplicate);
  const duplicates = uploads.filter(({ isDuplicate }) => isDuplicate);
  // Two documents of one name that are sent at the same time become one.
  for (const [group, limit] of [
    [unique, context.limitConcurrency(concurrency)],
    [duplicates, 1],
  ] as const) {
    for await (const result of mapConcurrent(group, limit, send)) {
      if (result.action === "failed") run.failures.push(result);
      else yield result;
    }
  }
}

async function trySend(
  run: DocumentImport,
  upload: PlannedUpload,
  context: Context,
): Promise<ImportedItem> {
  const { document, replacesFailed } = upload;
  try {
    const { id, name } = await sendDocument(run, upload, context);
    run.ids.set(document, id);
    const notes = [
      ...(replacesFailed ? ["replaced a document with an indexing error"] : []),
      ...(name === document.name ? [] : [`stored as ${name}`]),
    ];
    const note = notes.length > 0 ? notes.join("; ") : null;
    return { action: "created", what: "document", name: document.name, id, note };
  } catch (error) {
    const isRecoverable =
      error instanceof CliError && (error.kind === "refused" || error.kind === "failure");
    if (!isRecoverable || context.signal.aborted) throw error;
    return failed(document, error.message);
  }
}

/** A create by text replaces the document of its name, an upload can be added to it (server §9.2). */
const isSentAsText = ({ from_text }: BundledDocument, isDuplicate: boolean): boolean =>
  from_text && !isDuplicate;

/** The name of an uploaded file, which has no slashes. */
const fileName = (name: string): string => name.replaceAll(/[/\\]/g, "∕");

async function sendDocument(
  { directory, dataset_id, manifest }: DocumentImport,
  { document, isDuplicate }: PlannedUpload,
  context: Context,
): Promise<{ readonly id: string; readonly name: string }> {
  const { doc_form, indexing_technique } = manifest.state.settings;
  const file = document.file ?? "";
  const rule = document.rule === null ? undefined : own(manifest.rules, document.rule);
  const shared = {
    dataset_id,
    indexing_technique: (indexing_technique ?? "economy") as "economy",
    ...(doc_form && { doc_form: doc_form as "text_model" }),
    process_rule: ruleFor(doc_form, rule || { mode: "automatic" }) as { mode: "automatic" },
  };
  const content = isSentAsText(document, isDuplicate)
    ? await readBundledFile(directory, file, context.host.files)
    : undefined;
  const text = content && decodeText(content);
  if (text !== undefined) {
    const { name } = document;
    return (await context.call(createDocumentByText, { ...shared, name, text })).document;
  }
  const response = await context.call(createDocumentByFile, {
    ...shared,
    file: { path: join(directory, file), name: fileName(document.name) },
    ...(isDuplicate && { duplicate: false }),
  });
  return response.document;
}

async function awaitIndexing(
  { dataset_id, ids, failures }: DocumentImport,
  context: Context,
): Promise<void> {
  const byId = new Map([...ids].map(([document, id]) => [id, document]));
  const poll = async () => {
    const statuses: DocumentStatus[] = [];
    for await (const document of context.each(listDocuments, { dataset_id }))
      if (byId.has(document.id)) statuses.push(indexingStatusOf(document));
    return statuses;
  };
  for await (const status of waitForIndexing(poll, context)) {
    if (isIndexed(status)) continue;
    const { name, id, indexing_status, error } = status;
    failures.push({ action: "failed", what: "document", name, id, note: error ?? indexing_status });
    const document = byId.get(id);
    if (document) ids.delete(document); // only indexed documents can be disabled
  }
}

async function writeMetadata(
  { dataset_id, ids }: DocumentImport,
  existing: readonly ExistingDocument[],
  context: Context,
): Promise<void> {
  const before = new Map(existing.map(({ id, metadata }) => [id, metadata]));
  const limiter = context.limitConcurrency(concurrency);
  const waiter = waitOnRateLimit(false, context);
  const writer = await metadataWriter(dataset_id, limiter, waiter, context);
  const changes = [...ids]
    .filter(([{ metadata: values }]) => Object.keys(values).length > 0)
    .map(([{ metadata: values }, id]) => ({ id, before: before.get(id) ?? {}, values }));
  await writer.set(changes);
}

/** Disables and archives documents last, as indexing needs them enabled. */
async function setStatuses({ dataset_id, ids }: DocumentImport, context: Context): Promise<void> {
  const idsWhere = (matches: (document: BundledDocument) => boolean) =>
    [...ids].filter(([document]) => matches(document)).map(([, id]) => id);
  for (const [operation, document_ids] of [
    [disableDocuments, idsWhere(({ enabled }) => !enabled)],
    [archiveDocuments, idsWhere(({ archived }) => archived)],
  ] as const) {
    if (document_ids.length > 0) await context.call(operation, { dataset_id, document_ids });
  }
}
