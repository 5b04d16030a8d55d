import type { CallOptions } from "../../../api/calls.ts";
import { CliError, reasonOf, usage } from "../../../errors.ts";
import { valueAt } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { decodeText, withoutMark } from "../../../lib/text.ts";
import {
  createDocumentByFile,
  createDocumentByText,
  updateDocumentByText,
} from "../../../operations/documents.ts";
import { automaticProcessRule } from "../../../operations/shared.ts";
import type { Context } from "../../task/command-spec.ts";
import { replaceFile, ruleFor, ruleOf, storedFile, syncFields } from "../documents/index.ts";
import type { DocumentState, FieldValues, KbSettings } from "../documents/index.ts";
import type { Change, DocumentChange, SourceDocument } from "./change.ts";
import { uploadActions } from "./tally.ts";
import type { Host } from "../../../host/host.ts";
import { rowOf } from "./change.ts";

/** The knowledge base that documents are sent to. */
export interface UploadTarget {
  readonly dataset_id: string;
  readonly settings: Pick<KbSettings, "indexing_technique" | "doc_form">;
  /** The documents that it has, in the order of their creation. */
  readonly documents: readonly DocumentState[];
  /** How documents are split (default: as the last one of them). */
  readonly process_rule?: unknown;
  /** Notes new documents on this machine until they have their marks. */
  readonly journal?: MadeJournal;
}

/** A document in the journal; without an ID it may not exist yet. */
export interface Noted {
  readonly path: string;
  readonly name: string;
  readonly hash: string;
  readonly id?: string;
}

/** A journal of the documents that a run makes. */
export interface MadeJournal {
  /** Notes documents that are about to be made, or have an ID now; resolves when it is on disk. */
  note(documents: readonly Noted[]): Promise<void>;
  /** The document of this path has its marks, or does not exist. */
  settled(path: string): void;
}

/** A document that has the content of its source. */
export interface SentDocument {
  readonly change: DocumentChange;
  readonly id: string;
  /** Hash of the bytes that were sent. */
  readonly hash: string;
  /** ID of the stored file, if the server returns it. */
  readonly stored: string | null;
  readonly note: string | null;
}

/** Where a content is sent. */
interface Sending extends Pick<CallOptions, "onSent"> {
  readonly target: UploadTarget;
}

/**
 * Sends the content of a document: creates it or updates it in place. A document in error is replaced by
 * creating one of its name, which keeps its ID (server §9.1); so does `replace`.
 */
export async function sendDocument(
  change: DocumentChange,
  replace: boolean,
  { target, onSent }: Sending,
  context: Context,
): Promise<SentDocument> {
  const source = change.source as SourceDocument; // every create and update has one
  const isReplaced = replace || change.document?.indexing_status === "error";
  const document = isReplaced ? undefined : change.document;
  const form = (await formFor(source, document?.id, target, context)) as {
    readonly doc_form?: "text_model";
    readonly process_rule?: typeof automaticProcessRule;
  };
  const { bytes, text } = await readContent(source, context);
  const hash = sha256(bytes);
  const { name, exported } = source;
  const file = { path: source.location, name, bytes };
  const { dataset_id, settings } = target;
  const journal = change.document || replace ? undefined : target.journal;
  let response: { readonly document: { readonly id: string; readonly name?: string } };
  if (document) {
    const input = { dataset_id, document_id: document.id, ...form };
    response =
      text === undefined
        ? await replaceFile({ ...input, file }, context, { onSent })
        : await context.api.call(updateDocumentByText, { ...input, name, text }, { onSent });
  } else {
    if (hash !== source.hash) await journal?.note(noted(change, { hash })); // changed meanwhile
    const indexing_technique = (settings.indexing_technique ?? "economy") as "economy";
    const input = { dataset_id, indexing_technique, ...form };
    const beside = exported?.isLater && { duplicate: false };
    response =
      text === undefined
        ? await context.api.call(createDocumentByFile, { ...input, file, ...beside }, { onSent })
        : await context.api.call(createDocumentByText, { ...input, name, text }, { onSent });
  }
  const { id, name: stored } = response.document;
  const isRenamed = exported !== undefined && stored !== undefined && stored !== source.path;
  const note = isRenamed ? `stored as ${stored}` : change.note;
  // Should it fail, the name and the content identify the document.
  journal?.note(noted(change, { hash, id })).catch(() => {});
  return { change, id, hash, stored: storedFile(response.document), note };
}

/** The values of a document: those of its source, and with a source of marks these. */
export const valuesOf = (
  { change: { name, source: file }, stored }: SentDocument,
  source: string | undefined,
  hash: string,
): FieldValues => ({
  ...file?.metadata,
  ...(source !== undefined && {
    [syncFields.path]: name,
    [syncFields.source]: source,
    [syncFields.hash]: hash,
    ...(stored !== null && { [syncFields.stored]: stored }),
    ...(file?.fingerprint !== undefined && { [syncFields.fingerprint]: file.fingerprint }),
  }),
});

/** A document that exists, before or without an upload. */
export const unsent = (change: DocumentChange, stored: string | null = null): SentDocument => ({
  change,
  id: change.id ?? "",
  hash: change.source?.hash ?? "",
  stored,
  note: change.note,
});

/** What the journal has of a document that is made. */
export const noted = (
  { name: path, source }: DocumentChange,
  { hash = source?.hash ?? "", id }: { readonly hash?: string; readonly id?: string } = {},
): Noted[] => (source && hash ? [{ path, name: source.name, hash, ...(id && { id }) }] : []);

/** Does a document have its content now? Otherwise, it is a result. */
export const isSent = (result: SentDocument | Change): result is SentDocument => "hash" in result;

export const isUpload = ({ change }: SentDocument): boolean =>
  uploadActions.includes(change.action);

/** Reads a source once, so that the hash is that of what is sent. Throws usage. */
async function readContent(source: SourceDocument, { host: { files } }: Context) {
  const read = source.read ?? (() => files.read(source.location));
  const content = await read().catch((error: unknown) => {
    if (error instanceof CliError) throw error; // interrupted
    throw usage(`failed to read the file: ${reasonOf(error)}`, undefined, { cause: error });
  });
  if (source.kind === "file") return { bytes: content };
  const bytes = source.exported ? content : withoutMark(content); // an export is restored as it is
  const text = decodeText(bytes);
  if (text === undefined) throw usage("the file is no longer valid UTF-8 text");
  return { bytes, text };
}

/**
 * The form of a document and its chunking rule. Hierarchical documents need a rule: that of the export,
 * of the document itself, or of the newest one. Without a rule, the server applies its last one.
 */
async function formFor(
  { exported }: SourceDocument,
  document_id: string | undefined,
  { dataset_id, settings: { doc_form }, documents, process_rule }: UploadTarget,
  context: Context,
) {
  if (!exported && process_rule !== undefined) {
    const parents = valueAt(process_rule, "mode") === "hierarchical" && "hierarchical_model";
    return { doc_form: doc_form ?? (parents || "text_model"), process_rule };
  }
  const form = doc_form === null ? {} : { doc_form };
  const first = { ...form, process_rule: automaticProcessRule };
  if (exported)
    return { ...form, process_rule: ruleFor(doc_form, exported.rule ?? automaticProcessRule) };
  if (doc_form !== "hierarchical_model") return documents.length === 0 ? first : form;
  const model = document_id ?? documents.at(-1)?.id;
  const rule = model === undefined ? undefined : await ruleOf(dataset_id, model, context);
  return { ...form, process_rule: ruleFor(doc_form, rule) };
}

/** Number of documents that are marked together, and ms after which fewer are. */
const MARK_BATCH = 10;
const MARK_DELAY = 1000;

/** Writes the marks of documents; returns a failure after which the others can still be marked. */
type WriteMarks = (sent: readonly SentDocument[]) => Promise<CliError | undefined>;

/** Documents that are marked together. */
interface Batch {
  readonly sent: SentDocument[];
  /** Ends the wait for more of them. */
  readonly full: AbortController;
  readonly written: ReturnType<WriteMarks>;
}

export type Marker = ReturnType<typeof newMarker>;

/**
 * Marks new documents soon after they were created, so that a kill leaves few without marks: ten at a
 * time, or those of the last second. One request for each would take as long as their upload.
 */
export function newMarker(writeMarks: WriteMarks, host: Host) {
  /** The batch that waits for more documents. */
  let waiting: Batch | undefined;
  /** Batches are written one after the other, because the first one creates the fields. */
  let last: Promise<unknown> = Promise.resolve();
  let isEnded = false;
  const newBatch = (): Batch => {
    const before = last;
    const sent: SentDocument[] = [];
    const full = new AbortController();
    const write = async () => {
      await host.sleep(MARK_DELAY, full.signal).catch(() => {});
      if (waiting?.sent === sent) waiting = undefined;
      await before;
      return isEnded ? undefined : writeMarks(sent);
    };
    const written = write();
    written.catch(() => {}); // thrown by `add` or `flush`
    last = written;
    return { sent, full, written };
  };
  /** Writes the marks of documents that wait for others. */
  const writeNow = (): void => {
    waiting?.full.abort();
    waiting = undefined;
  };
  /** Resolves when all marks are written. */
  const flush = async (): Promise<void> => {
    writeNow();
    await last;
  };
  return {
    writeNow,
    flush,
    /** Adds a document; returns what comes of its marks. The last one of a batch waits for that. */
    async add(sent: SentDocument): Promise<Pick<Batch, "written">> {
      const batch = (waiting ??= newBatch());
      if (batch.sent.push(sent) === MARK_BATCH) {
        writeNow();
        await batch.written;
      }
      return batch;
    },
    /** Writes nothing more; resolves when no request is open. */
    async end(): Promise<void> {
      isEnded = true;
      await flush().catch(() => {}); // thrown before
    },
  };
}

const oneName = "the server does not tell these names apart (by case?), rename one of them";

/** Knows whose document each is: a server that compares names without case may replace another's (server §9.1). */
export function newOwners(known: readonly { readonly id: string | null; readonly name: string }[]) {
  const owners = new Map(known.map(({ id, name }) => [id, name]));
  const takers = new Map<string | null, string>();
  return {
    /** The row of a change that replaced the document of another name. */
    taken({ change, id }: SentDocument): Change | undefined {
      const owner = owners.get(id) ?? change.name;
      owners.set(id, owner);
      if (owner === change.name || owner === change.source?.name) return undefined;
      takers.set(id, change.name);
      return rowOf(change, { action: "failed", note: `it replaced ${owner}: ${oneName}` });
    },
    /** The row of a document that was replaced so. */
    lost(change: DocumentChange, id = change.id): Change | undefined {
      const note = `replaced by ${takers.get(id)}: ${oneName}`;
      return takers.has(id) ? rowOf(change, { action: "failed", id, note }) : undefined;
    },
  };
}
