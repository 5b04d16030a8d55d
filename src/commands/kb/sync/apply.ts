import type { ConcurrencyLimiter } from "../../../api/concurrent-map.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { ApiError, CliError } from "../../../errors.ts";
import type { FailureKind } from "../../../errors.ts";
import { deleteDocument, listDocuments } from "../../../operations/documents.ts";
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
import { pendingHash, syncFields } from "./plan.ts";
import type { SyncStep } from "./plan.ts";
import { sendFile } from "./send.ts";
import type { SentDocument, UploadOptions } from "./send.ts";
import type { Context } from "../../command-spec.ts";

export interface SyncOptions extends UploadOptions {
  readonly source: string;
  readonly limiter: ConcurrencyLimiter;
  /** Wait until documents are indexed. */
  readonly wait: boolean;
  readonly waitForLimit: boolean;
}

/** The result of one step. */
export interface SyncResult {
  readonly action: SyncStep["action"] | "failed" | "left";
  readonly path: string;
  readonly document_id: string | null;
  readonly note: string | null;
}

/** Number of uploads before their indexing is awaited. */
const uploadBatch = 1000;
const withoutRequest: ReadonlySet<SyncStep["action"]> = new Set(["unchanged", "skip", "conflict"]);
/** Failures that every further request would have, too. */
const fatalKinds: readonly FailureKind[] = ["auth", "unsupported", "not-found"];

/**
 * Carries out the steps of a sync and yields the result of each. A failure of one document is a result;
 * a rate limit stops further requests and is thrown at the end.
 *
 * A hash is valid only while its content is indexed (server §11), so that a kill at any moment leaves
 * no wrong one:
 *
 *     update: write "pending:<hash>" → send the content → wait for indexing → write "<hash>"
 *     create: send the content → write "pending:<hash>" → wait for indexing → write "<hash>"
 */
export async function* applySync(
  steps: readonly SyncStep[],
  options: SyncOptions,
  context: Context,
): AsyncGenerator<SyncResult> {
  const waiter = waitOnRateLimit(options.waitForLimit, context);
  const writer = await metadataWriter(options.dataset_id, options.limiter, waiter, context);
  yield* new SyncRun(steps, options, waiter, writer, context).run();
}

class SyncRun {
  readonly #steps: readonly SyncStep[];
  readonly #options: SyncOptions;
  readonly #waiter: RateLimitWaiter;
  readonly #writer: MetadataWriter;
  readonly #context: Context;
  readonly #total: number;
  #done = 0;
  /** The rate limit after which nothing more is sent. */
  #limit: CliError | undefined;

  constructor(
    steps: readonly SyncStep[],
    options: SyncOptions,
    waiter: RateLimitWaiter,
    writer: MetadataWriter,
    context: Context,
  ) {
    this.#steps = steps;
    this.#options = options;
    this.#waiter = waiter;
    this.#writer = writer;
    this.#context = context;
    this.#total = steps.filter(({ action }) => !withoutRequest.has(action)).length;
  }

  async *run(): AsyncGenerator<SyncResult> {
    const { limiter } = this.#options;
    yield* this.#finish(this.#withContent());
    const uploads = this.#stepsOf("create", "update");
    for (let at = 0; at < uploads.length; at += uploadBatch)
      yield* this.#upload(uploads.slice(at, at + uploadBatch));
    const deleteDocument = (step: SyncStep) => this.#tryDelete(step);
    for await (const result of mapConcurrent(this.#stepsOf("delete"), limiter, deleteDocument))
      yield this.#counted(result);
    for (const step of this.#stepsOf("skip", "conflict")) yield resultOf(step);
    if (this.#limit) throw this.#limit;
  }

  #stepsOf(...actions: readonly SyncStep["action"][]): SyncStep[] {
    return this.#steps.filter(({ action }) => actions.includes(action));
  }

  /** Documents that have the right content already. */
  #withContent(): SentDocument[] {
    return this.#stepsOf("adopt", "metadata").flatMap((step) =>
      step.document && step.file
        ? [{ step, id: step.document.id, hash: step.file.hash, stored: step.document.stored }]
        : [],
    );
  }

  #counted(result: SyncResult): SyncResult {
    this.#context.progress({ done: ++this.#done, total: this.#total, unit: "documents" });
    return result;
  }

  async *#upload(steps: readonly SyncStep[]): AsyncGenerator<SyncResult> {
    const updates = steps.flatMap((step) =>
      step.document ? [{ step, id: step.document.id, stored: null }] : [],
    );
    const pending = updates.map((each) =>
      this.#change(each, pendingHash(each.step.file?.hash ?? "")),
    );
    const problem = this.#limit ?? (await this.#tryWrite(pending));
    if (!problem) await this.#waitUntilEditable(updates.map(({ id }) => id));
    const sent: SentDocument[] = [];
    const unmarked: SentDocument[] = [];
    const send = async (step: SyncStep) =>
      problem && step.document ? failed(step, problem) : this.#trySend(step, false);
    for await (const result of mapConcurrent(steps, this.#options.limiter, send)) {
      if (!("hash" in result)) {
        yield this.#counted(result);
        continue;
      }
      sent.push(result);
      if (!result.step.document) unmarked.push(result);
      if (unmarked.length === METADATA_BATCH) await this.#markPending(unmarked.splice(0));
    }
    await this.#markPending(unmarked);
    yield* this.#finish(sent);
  }

  /** New values of a document: those of its file, and the sync fields. */
  #change({ step, id, stored }: Omit<SentDocument, "hash">, hash: string): MetadataChange {
    return {
      id,
      before: step.document?.metadata ?? {},
      values: {
        ...step.file?.metadata,
        [syncFields.path]: step.path,
        [syncFields.source]: this.#options.source,
        [syncFields.hash]: hash,
        ...(stored !== null && { [syncFields.stored]: stored }),
      },
    };
  }

  /**
   * Marks new documents before they are indexed, so that a kill leaves few without sync fields. Should
   * it fail, the write of their hashes fails in the same way.
   */
  async #markPending(sent: readonly SentDocument[]): Promise<void> {
    if (!this.#options.wait || sent.length === 0) return;
    const changes = sent.map((each) => this.#change(each, pendingHash(each.hash)));
    await this.#writer.set(changes).catch((error: unknown) => {
      if (!this.#isRecoverable(error)) throw error;
    });
  }

  /** Waits for documents, sends those that failed once more, and writes the hashes. */
  async *#finish(sent: readonly SentDocument[]): AsyncGenerator<SyncResult> {
    if (!this.#options.wait) {
      const hashFor = ({ step, hash }: SentDocument) =>
        isContentIndexed(step) ? hash : pendingHash(hash);
      yield* this.#writeHashes(sent, hashFor);
      return;
    }
    const unindexed = yield* this.#awaitIndexing(sent);
    const resent: SentDocument[] = [];
    const resend = ({ sent: { step } }: Unindexed) => this.#trySend(step, true);
    for await (const result of mapConcurrent(unindexed, this.#options.limiter, resend)) {
      if ("hash" in result) resent.push(result);
      else yield this.#counted(result);
    }
    for (const { sent: each, status } of yield* this.#awaitIndexing(resent)) {
      const note = `indexing failed: ${status.error ?? status.indexing_status}`;
      yield this.#counted({ ...failure(each.step, note), document_id: each.id });
    }
  }

  /** Yields the results of indexed documents, with their hashes written; returns the others. */
  async *#awaitIndexing(sent: readonly SentDocument[]): AsyncGenerator<SyncResult, Unindexed[]> {
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
    yield* this.#writeHashes(indexed, ({ hash }) => hash);
    for (const { step, id } of missing) {
      const note = "no longer in the knowledge base";
      yield this.#counted({ ...failure(step, note), document_id: id });
    }
    return unindexed;
  }

  async *#writeHashes(
    sent: readonly SentDocument[],
    hashFor: (sent: SentDocument) => string,
  ): AsyncGenerator<SyncResult> {
    const problem = await this.#tryWrite(sent.map((each) => this.#change(each, hashFor(each))));
    for (const { step, id } of sent) {
      const result = problem ? failed(step, problem) : resultOf(step);
      yield this.#counted({ ...result, document_id: id });
    }
  }

  /** Writes values; returns a recoverable failure and throws any other. */
  async #tryWrite(changes: readonly MetadataChange[]): Promise<CliError | undefined> {
    try {
      await this.#writer.set(changes);
      return undefined;
    } catch (error) {
      return this.#recovered(error);
    }
  }

  async #statusesOf(byId: ReadonlyMap<string, unknown>): Promise<DocumentStatus[]> {
    const { dataset_id } = this.#options;
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
      this.#steps.flatMap(({ document }) => (document && !isDone(document) ? [document.id] : [])),
    );
    const waiting = new Map(ids.filter((id) => busy.has(id)).map((id) => [id, id]));
    if (waiting.size === 0) return;
    for await (const _ of waitForIndexing(() => this.#statusesOf(waiting), this.#context)) {
      // any status will do
    }
  }

  async #trySend(step: SyncStep, replace: boolean): Promise<SentDocument | SyncResult> {
    if (this.#limit) return notSent(step);
    try {
      return await this.#waiter(() => sendFile(step, replace, this.#options, this.#context));
    } catch (error) {
      return failed(step, this.#recovered(error));
    }
  }

  async #tryDelete(step: SyncStep): Promise<SyncResult> {
    if (this.#limit) return notSent(step);
    const { dataset_id } = this.#options;
    const document_id = step.document?.id ?? "";
    try {
      await this.#waiter(() => this.#context.call(deleteDocument, { dataset_id, document_id }));
    } catch (error) {
      const isDeleted = error instanceof ApiError && error.kind === "not-found";
      if (!isDeleted) return failed(step, this.#recovered(error));
    }
    return resultOf(step);
  }

  /** Can requests for other documents still succeed? */
  #isRecoverable(error: unknown): error is CliError {
    const { aborted } = this.#context.signal;
    return error instanceof CliError && !aborted && !fatalKinds.includes(error.kind);
  }

  /** Returns a recoverable failure and notes a rate limit; throws any other. */
  #recovered(error: unknown): CliError {
    if (!this.#isRecoverable(error)) throw error;
    if (error.kind === "limited") this.#limit ??= limitError(error);
    return error;
  }
}

/** A document whose indexing failed. */
interface Unindexed {
  readonly sent: SentDocument;
  readonly status: DocumentStatus;
}

/** Is the content of the document known to be indexed? */
const isContentIndexed = ({ action, document }: SyncStep): boolean =>
  action === "metadata" || (action === "adopt" && document?.indexing_status === "completed");

const resultOf = ({ action, path, document, note }: SyncStep): SyncResult => ({
  action,
  path,
  document_id: document?.id ?? null,
  note,
});

const failure = (step: SyncStep, note: string): SyncResult => ({
  ...resultOf(step),
  action: "failed",
  note,
});

const notSent = (step: SyncStep): SyncResult => ({
  ...resultOf(step),
  action: "left",
  note: "not sent",
});

const failed = (step: SyncStep, { kind, message }: CliError): SyncResult => ({
  ...failure(step, message),
  ...(kind === "limited" && { action: "left" }),
});

const limitError = (error: CliError) =>
  new CliError("limited", error.message, {
    ...error.info,
    isResult: true,
    hint: "run the same command again to resume, or add --wait-for-limit to wait for the limit",
  });
