import type { ConcurrencyLimiter } from "../../../api/concurrent-map.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { ApiError, CliError, isFatal } from "../../../errors.ts";
import {
  archiveDocuments,
  deleteDocument,
  disableDocuments,
  listDocuments,
} from "../../../operations/documents.ts";
import {
  indexingStatusOf,
  isDone,
  isIndexed,
  METADATA_BATCH,
  metadataWriter,
  waitForIndexing,
  waitOnRateLimit,
} from "../documents/index.ts";
import type {
  DocumentStatus,
  MetadataChange,
  MetadataWriter,
  RateLimitWaiter,
} from "../documents/index.ts";
import { rowOf } from "./change.ts";
import type { Action, Change, DocumentChange } from "./change.ts";
import { pendingHash, syncFields } from "./marks.ts";
import { sendDocument } from "./upload.ts";
import type { SentDocument, UploadOptions } from "./upload.ts";
import type { Context } from "../../command-spec.ts";

/** The knowledge base whose documents change, and how. */
export interface DocumentTarget extends UploadOptions {
  /** Marks of this source are written to the documents; without it, none are. */
  readonly source?: string;
  readonly limiter: ConcurrencyLimiter;
  /** Wait until documents are indexed. */
  readonly wait: boolean;
  readonly waitForLimit: boolean;
}

/** Number of uploads before their indexing is awaited. */
const uploadBatch = 1000;
const withoutRequest: readonly Action[] = ["skip", "conflict", "failed"];

/**
 * Makes the changes of documents and yields the result of each. A failure of one document is a result;
 * a rate limit stops further requests and is thrown at the end.
 *
 * A hash is valid only while its content is indexed (server §11), so that a kill at any moment leaves
 * no wrong one:
 *
 *     update: write "pending:<hash>" → send the content → wait for indexing → write "<hash>"
 *     create: send the content → write "pending:<hash>" → wait for indexing → write "<hash>"
 */
export async function* applyDocuments(
  changes: readonly DocumentChange[],
  target: DocumentTarget,
  context: Context,
): AsyncGenerator<Change> {
  const waiter = waitOnRateLimit(target.waitForLimit, context);
  const writer = await metadataWriter(target.dataset_id, target.limiter, waiter, context);
  yield* new DocumentRun(changes, target, waiter, writer, context).run();
}

class DocumentRun {
  readonly #changes: readonly DocumentChange[];
  readonly #target: DocumentTarget;
  readonly #waiter: RateLimitWaiter;
  readonly #writer: MetadataWriter;
  readonly #context: Context;
  readonly #total: number;
  #done = 0;
  /** The rate limit after which nothing more is sent. */
  #limit: CliError | undefined;

  constructor(
    changes: readonly DocumentChange[],
    target: DocumentTarget,
    waiter: RateLimitWaiter,
    writer: MetadataWriter,
    context: Context,
  ) {
    this.#changes = changes;
    this.#target = target;
    this.#waiter = waiter;
    this.#writer = writer;
    this.#context = context;
    const idle: readonly Action[] = ["unchanged", ...withoutRequest];
    this.#total = changes.filter(({ action }) => !idle.includes(action)).length;
  }

  async *run(): AsyncGenerator<Change> {
    const { limiter } = this.#target;
    yield* this.#finish(this.#withContent());
    const uploads = this.#changesWith("create", "update");
    for (let at = 0; at < uploads.length; at += uploadBatch)
      yield* this.#upload(uploads.slice(at, at + uploadBatch));
    const remove = (change: DocumentChange) => this.#tryDelete(change);
    for await (const result of mapConcurrent(this.#changesWith("delete"), limiter, remove))
      yield this.#counted(result);
    for (const change of this.#changesWith(...withoutRequest)) yield rowOf(change);
    if (this.#limit) throw this.#limit;
  }

  #changesWith(...actions: readonly Action[]): DocumentChange[] {
    return this.#changes.filter(({ action }) => actions.includes(action));
  }

  /** Documents that have the right content already. */
  #withContent(): SentDocument[] {
    return this.#changesWith("adopt", "metadata").flatMap((change) => {
      const { document, source, note } = change;
      if (!document || !source?.hash) return [];
      const { id, stored } = document;
      return [{ change, id, hash: source.hash, stored, note }];
    });
  }

  #counted(result: Change): Change {
    this.#context.progress({ done: ++this.#done, total: this.#total, unit: "documents" });
    return result;
  }

  async *#upload(changes: readonly DocumentChange[]): AsyncGenerator<Change> {
    const updates = changes.filter(({ document }) => document !== undefined);
    const problem = this.#limit ?? (await this.#markUpdates(updates));
    if (!problem) await this.#waitUntilEditable(updates.flatMap(({ id }) => id ?? []));
    const sent: SentDocument[] = [];
    const unmarked: SentDocument[] = [];
    const send = async (change: DocumentChange) =>
      problem && change.document ? failed(change, problem) : this.#trySend(change, false);
    // Two documents of one name that are sent at the same time become one.
    const isLater = ({ source }: DocumentChange) => source?.exported?.isLater === true;
    for (const [group, limit] of [
      [changes.filter((change) => !isLater(change)), this.#target.limiter],
      [changes.filter(isLater), 1],
    ] as const) {
      for await (const result of mapConcurrent(group, limit, send)) {
        if (!("hash" in result)) {
          yield this.#counted(result);
          continue;
        }
        sent.push(result);
        if (!result.change.document) unmarked.push(result);
        if (unmarked.length === METADATA_BATCH) await this.#markCreated(unmarked.splice(0));
      }
    }
    await this.#markCreated(unmarked);
    yield* this.#finish(sent);
  }

  /** New values of a document: those of its source, and the marks. */
  #values(
    { change, id, stored }: Omit<SentDocument, "hash" | "note">,
    hash: string,
  ): MetadataChange {
    const { source } = this.#target;
    return {
      id,
      before: change.document?.metadata ?? {},
      values: {
        ...change.source?.metadata,
        ...(source !== undefined && {
          [syncFields.path]: change.name,
          [syncFields.source]: source,
          [syncFields.hash]: hash,
          ...(stored !== null && { [syncFields.stored]: stored }),
        }),
      },
    };
  }

  /** Marks documents before their content changes. Returns a recoverable failure. */
  async #markUpdates(updates: readonly DocumentChange[]): Promise<CliError | undefined> {
    if (this.#target.source === undefined) return undefined;
    const pending = updates.map((change) =>
      this.#values(
        { change, id: change.id ?? "", stored: null },
        pendingHash(change.source?.hash ?? ""),
      ),
    );
    return this.#tryWrite(pending);
  }

  /**
   * Marks new documents before they are indexed, so that a kill leaves few without marks. Should it
   * fail, the write of their hashes fails in the same way.
   */
  async #markCreated(sent: readonly SentDocument[]): Promise<void> {
    const { wait, source } = this.#target;
    if (!wait || source === undefined || sent.length === 0) return;
    const pending = sent.map((each) => this.#values(each, pendingHash(each.hash)));
    await this.#writer.set(pending).catch((error: unknown) => {
      if (!this.#isRecoverable(error)) throw error;
    });
  }

  /** Waits for documents, sends those that failed once more, and writes values and status. */
  async *#finish(sent: readonly SentDocument[]): AsyncGenerator<Change> {
    if (!this.#target.wait) {
      const hashFor = ({ change, hash }: SentDocument) =>
        isContentIndexed(change) ? hash : pendingHash(hash);
      yield* this.#complete(sent, hashFor);
      return;
    }
    const unindexed = yield* this.#awaitIndexing(sent);
    const resent: SentDocument[] = [];
    const resend = ({ sent: { change } }: Unindexed) => this.#trySend(change, true);
    const again = unindexed.filter(isReplaceable);
    for await (const result of mapConcurrent(again, this.#target.limiter, resend)) {
      if ("hash" in result) resent.push(result);
      else yield this.#counted(result);
    }
    const failures = unindexed.filter((each) => !isReplaceable(each));
    failures.push(...(yield* this.#awaitIndexing(resent)));
    for (const { sent: each, status } of failures) {
      const note = `indexing failed: ${status.error ?? status.indexing_status}`;
      yield this.#counted(rowOf(each.change, { action: "failed", id: each.id, note }));
    }
  }

  /** Yields the results of indexed documents, with their hashes written; returns the others. */
  async *#awaitIndexing(sent: readonly SentDocument[]): AsyncGenerator<Change, Unindexed[]> {
    if (sent.length === 0) return [];
    const byId = new Map(sent.map((each) => [each.id, each]));
    const missing = new Set(sent);
    const indexed: SentDocument[] = [];
    const unindexed: Unindexed[] = [];
    const poll = () => this.#statusesOf(byId);
    for await (const status of waitForIndexing(poll, this.#context)) {
      const each = byId.get(status.id);
      if (!each) continue;
      missing.delete(each);
      if (isIndexed(status)) indexed.push(each);
      else unindexed.push({ sent: each, status });
    }
    yield* this.#complete(indexed, ({ hash }) => hash);
    for (const { change, id } of missing)
      yield this.#counted(
        rowOf(change, { action: "failed", id, note: "no longer in the knowledge base" }),
      );
    return unindexed;
  }

  /** Writes the values of documents, and then their status. */
  async *#complete(
    sent: readonly SentDocument[],
    hashFor: (sent: SentDocument) => string,
  ): AsyncGenerator<Change> {
    const values = sent.map((each) => this.#values(each, hashFor(each)));
    const problem = (await this.#tryWrite(values)) ?? (await this.#trySetStatus(sent));
    for (const { change, id, note } of sent) {
      const result = problem ? failed(change, problem) : rowOf(change, { note });
      yield this.#counted({ ...result, id });
    }
  }

  /** Writes values; returns a recoverable failure and throws any other. */
  async #tryWrite(changes: readonly MetadataChange[]): Promise<CliError | undefined> {
    try {
      await this.#writer.set(changes.filter(({ values }) => Object.keys(values).length > 0));
      return undefined;
    } catch (error) {
      return this.#recovered(error);
    }
  }

  /** Disables and archives documents like those of the export; only indexed ones can be. */
  async #trySetStatus(sent: readonly SentDocument[]): Promise<CliError | undefined> {
    const { dataset_id, wait } = this.#target;
    const ready = sent.filter(({ change }) => wait || isContentIndexed(change));
    try {
      for (const [operation, flag, value] of [
        [disableDocuments, "enabled", false],
        [archiveDocuments, "archived", true],
      ] as const) {
        const document_ids = ready
          .filter(({ change }) => change.source?.exported?.[flag] === value)
          .map(({ id }) => id);
        if (document_ids.length > 0)
          await this.#waiter(() => this.#context.call(operation, { dataset_id, document_ids }));
      }
      return undefined;
    } catch (error) {
      return this.#recovered(error);
    }
  }

  async #statusesOf(byId: ReadonlyMap<string, unknown>): Promise<DocumentStatus[]> {
    const { dataset_id } = this.#target;
    const statuses: DocumentStatus[] = [];
    // The newest come first, so a first sync finds all of its documents early in the list.
    for await (const document of this.#context.each(listDocuments, { dataset_id })) {
      if (byId.has(document.id)) statuses.push(indexingStatusOf(document));
      if (statuses.length === byId.size) break;
    }
    return statuses;
  }

  /** A document cannot be changed while it is being indexed (server §9.4). */
  async #waitUntilEditable(ids: readonly string[]): Promise<void> {
    const busy = new Set(
      this.#changes.flatMap(({ document }) => (document && !isDone(document) ? [document.id] : [])),
    );
    const waiting = new Map(ids.filter((id) => busy.has(id)).map((id) => [id, id]));
    if (waiting.size === 0) return;
    for await (const _ of waitForIndexing(() => this.#statusesOf(waiting), this.#context)) {
      // any status will do
    }
  }

  async #trySend(change: DocumentChange, replace: boolean): Promise<SentDocument | Change> {
    if (this.#limit) return rowOf(change, { action: "left", note: "not sent" });
    try {
      return await this.#waiter(() => sendDocument(change, replace, this.#target, this.#context));
    } catch (error) {
      return failed(change, this.#recovered(error));
    }
  }

  async #tryDelete(change: DocumentChange): Promise<Change> {
    if (this.#limit) return rowOf(change, { action: "left", note: "not sent" });
    const { dataset_id } = this.#target;
    const document_id = change.id ?? "";
    try {
      await this.#waiter(() => this.#context.call(deleteDocument, { dataset_id, document_id }));
    } catch (error) {
      const isDeleted = error instanceof ApiError && error.kind === "not-found";
      if (!isDeleted) return failed(change, this.#recovered(error));
    }
    return rowOf(change);
  }

  /** Can requests for other documents still succeed? After a rate limit, the results say what is left. */
  #isRecoverable(error: unknown): error is CliError {
    if (!(error instanceof CliError) || this.#context.signal.aborted) return false;
    if (error.kind === "limited") return true;
    // All of these requests are for one knowledge base.
    return !isFatal(error) && error.kind !== "auth" && error.kind !== "not-found";
  }

  /** Returns a recoverable failure and notes a rate limit; throws any other. */
  #recovered(error: unknown): CliError {
    if (!this.#isRecoverable(error)) throw error;
    if (error.kind === "limited") {
      const hint =
        "run the same command again to resume, or add --wait-for-limit to wait for the limit";
      this.#limit ??= error.with({ isResult: true, hint });
    }
    return error;
  }
}

/** A document whose indexing failed. */
interface Unindexed {
  readonly sent: SentDocument;
  readonly status: DocumentStatus;
}

/** Does a new document of its name replace it and no other one (server §9.1)? */
const isReplaceable = ({ sent: { change } }: Unindexed): boolean => {
  const { source, document } = change;
  const isEditable = document === undefined || (document.enabled && !document.archived);
  return isEditable && !source?.exported?.sharesName;
};

/** Is the content of the document known to be indexed? */
const isContentIndexed = ({ action, document }: DocumentChange): boolean =>
  action === "metadata" || (action === "adopt" && document?.indexing_status === "completed");

const failed = (change: DocumentChange, { kind, message }: CliError): Change =>
  rowOf(change, { action: kind === "limited" ? "left" : "failed", note: message });
