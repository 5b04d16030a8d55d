import type { OnSent } from "../../../api/exchange.ts";
import type { AdaptiveLimit } from "../../../api/adaptive-limit.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, ignoring } from "../../../errors.ts";
import { deleteDocument } from "../../../operations/documents.ts";
import {
  isDone,
  isIndexed,
  metadataWriter,
  waitForIndexing,
  waitOnRateLimit,
  pendingHash,
} from "../documents/index.ts";
import type { MetadataWriter, RateLimitWaiter } from "../documents/index.ts";
import { isContentIndexed, rowOf } from "./change.ts";
import type { Action, Change, DocumentChange } from "./change.ts";
import {
  failed,
  isRecoverable,
  isReplaceable,
  mayGetChunks,
  pendingOf,
  setStatus,
  statusesOf,
  waitUntilEditable,
} from "./indexing.ts";
import type { Unindexed } from "./indexing.ts";
import {
  newOwners,
  newMarker,
  isSent,
  isUpload,
  noted,
  sendDocument,
  unsent,
  valuesOf,
} from "./upload.ts";
import type { Marker, SentDocument, UploadTarget } from "./upload.ts";
import type { DocumentFlags } from "./params.ts";
import { countEnded, countOf, countSent, deleteActions, largeFile } from "./tally.ts";
import { progressOf, updateActions, uploadActions, withoutRequest } from "./tally.ts";
import type { ChangeCount, RunTally } from "./tally.ts";
import type { Context } from "../../task/command-spec.ts";

/** The knowledge base whose documents change, and how. */
export interface DocumentTarget extends UploadTarget, DocumentFlags {
  /** Marks of this source are written to the documents; without it, none are. */
  readonly source?: string;
  /** Requests at a time at first (default 3). */
  readonly start?: number | undefined;
  /** Gives an indexed document its chunks, before it gets its values and is disabled. */
  readonly giveChunks?: (sent: SentDocument) => Promise<void>;
}

/** Uploads before their indexing is looked at; as many may still be indexed while the next ones are sent. */
const uploadBatch = 500;

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
  tally: RunTally,
  context: Context,
): AsyncGenerator<Change> {
  const limiter = context.api.limitConcurrency({ start: target.start });
  const waiter = waitOnRateLimit(target.wait_for_limit ?? false, context);
  const writer = await metadataWriter(target.dataset_id, limiter, waiter, context);
  const run = new DocumentRun({ changes, target, limiter, waiter, writer, tally, context });
  try {
    yield* run.run();
  } finally {
    await run.marker.end();
  }
}

/** What a run works with. */
interface RunTools {
  readonly changes: readonly DocumentChange[];
  readonly target: DocumentTarget;
  readonly limiter: AdaptiveLimit;
  readonly waiter: RateLimitWaiter;
  readonly writer: MetadataWriter;
  readonly tally: RunTally;
  readonly context: Context;
}

class DocumentRun {
  readonly #tools: RunTools;
  /** The rate limit after which nothing more is sent. */
  #limit: CliError | undefined;
  readonly marker: Marker;
  /** Documents that were being indexed when last looked at. */
  readonly #indexing: SentDocument[] = [];
  readonly #owners: ReturnType<typeof newOwners>;

  constructor(tools: RunTools) {
    this.#tools = tools;
    this.#owners = newOwners([...tools.target.documents, ...tools.changes]);
    // Should it fail, the write of their hashes fails in the same way.
    const mark = (sent: readonly SentDocument[]) => this.#try(() => this.#write(sent, pendingOf));
    this.marker = newMarker(mark, tools.context.host);
  }

  async *run(): AsyncGenerator<Change> {
    const { limiter, tally } = this.#tools;
    const withContent = this.#changesWith(updateActions);
    yield* this.#finish(withContent.map((each) => unsent(each, each.document?.stored)));
    const uploads = this.#changesWith(uploadActions);
    for (let at = 0; at < uploads.length; at += uploadBatch) {
      const isLast = at + uploadBatch >= uploads.length;
      yield* this.#upload(uploads.slice(at, at + uploadBatch), isLast ? 0 : uploadBatch);
    }
    const remove = (change: DocumentChange) =>
      this.#counted(tally.deletes, "Deleting", change, () => this.#delete(change));
    yield* mapConcurrent(this.#changesWith(deleteActions), limiter, remove);
    for (const change of this.#changesWith(withoutRequest)) yield rowOf(change);
    if (this.#limit) throw this.#limit;
  }

  #changesWith(actions: readonly Action[]): DocumentChange[] {
    return this.#tools.changes.filter(({ action }) => actions.includes(action));
  }

  /** Makes one of the changes that `count` has the number of, and reports it when it is done. */
  async #counted<T extends SentDocument | Change>(
    count: ChangeCount,
    verb: string,
    change: DocumentChange,
    make: (onSent: OnSent) => Promise<T>,
  ): Promise<T> {
    const { context, tally } = this.#tools;
    const unit = `${tally.noun}s`;
    const report = (current?: string) =>
      context.progress({ ...progressOf(count), verb, unit, current });
    const large = largeFile(change);
    if (large !== undefined || count.done + count.failed === 0) report(large);
    try {
      const result = await make((sent, total) => report(countSent(count, change, { sent, total })));
      countEnded(count, change, isSent(result) ? change.action : result.action);
      report(change.name);
      return result;
    } catch (error) {
      if (error instanceof CliError && error.info.sideEffect === "unknown") tally.unknown++;
      throw error;
    }
  }

  /** Sends changes, and waits until at most `left` documents are being indexed. */
  async *#upload(changes: readonly DocumentChange[], left: number): AsyncGenerator<Change> {
    const { target, context, tally } = this.#tools;
    const { dataset_id, no_wait, journal, source } = target;
    const updates = changes.filter(({ document }) => document).map((each) => unsent(each));
    const markUpdates = () => this.#write(source === undefined ? [] : updates, pendingOf);
    const problem = this.#limit ?? (await this.#try(markUpdates));
    if (!problem) await waitUntilEditable(updates, dataset_id, context);
    const created = changes.filter(({ document }) => !document);
    if (!this.#limit) await journal?.note(created.flatMap((change) => noted(change)));
    const sent: SentDocument[] = [];
    let unsentCount = changes.length;
    const send = async (change: DocumentChange) => {
      const make = async (onSent: OnSent) =>
        problem && change.document ? failed(change, problem) : this.#send(change, false, onSent);
      const result = await this.#counted(tally.uploads, "Uploading", change, make);
      const isMarked = no_wait || (source !== undefined && !change.document);
      const marked = isMarked && isSent(result) ? this.marker.add(result) : undefined;
      if (--unsentCount === 0) this.marker.writeNow();
      return { result, marked: await marked };
    };
    // Two documents of one name that are sent at the same time become one.
    const isLater = ({ source }: DocumentChange) => source?.exported?.isLater === true;
    const groups = [
      [changes.filter((change) => !isLater(change)), this.#tools.limiter],
      [changes.filter(isLater), 1],
    ] as const;
    for (const [group, limit] of groups) {
      for await (const { result, marked } of mapConcurrent(group, limit, send)) {
        if (!isSent(result)) yield result;
        else if (no_wait) yield this.#resultOf(result, await marked?.written);
        else sent.push(result);
      }
    }
    await this.marker.flush();
    yield* this.#finish(sent, left);
  }

  /** Writes the values of documents: those of their source, and the marks with this hash. */
  async #write(
    sent: readonly SentDocument[],
    hashOf: (sent: SentDocument) => string,
  ): Promise<void> {
    const { writer, target } = this.#tools;
    const changes = sent.map((each) => ({
      id: each.id,
      before: each.change.document?.metadata ?? {},
      values: valuesOf(each, target.source, hashOf(each)),
    }));
    const total = this.#changesWith([...updateActions, ...uploadActions]).length;
    await writer.set(
      changes.filter(({ values }) => Object.keys(values).length > 0),
      total,
    );
    for (const { change } of sent) target.journal?.settled(change.name);
  }

  /** Waits until at most `left` are being indexed, sends failed ones once more, and writes values and status. */
  async *#finish(sent: readonly SentDocument[], left = 0): AsyncGenerator<Change> {
    if (this.#tools.target.no_wait) return yield* this.#complete(sent);
    const unindexed = yield* this.#awaitIndexing([...this.#indexing.splice(0), ...sent], left);
    const resent: SentDocument[] = [];
    const again = unindexed.filter(isReplaceable);
    const count = countOf(again.map(({ sent }) => sent.change));
    const resend = ({ sent: { change } }: Unindexed) =>
      this.#counted(count, "Retrying", change, (onSent) => this.#send(change, true, onSent));
    for await (const result of mapConcurrent(again, this.#tools.limiter, resend)) {
      if (isSent(result)) resent.push(result);
      else yield result;
    }
    const failures = unindexed.filter((each) => !isReplaceable(each));
    failures.push(...(yield* this.#awaitIndexing(resent)));
    for (const { sent: each, status } of failures) {
      const note = `indexing failed: ${status.error ?? status.indexing_status}`;
      yield rowOf(each.change, { action: "failed", id: each.id, note });
    }
  }

  /** Yields the results of indexed documents; returns those that failed, and keeps those that are being indexed. */
  async *#awaitIndexing(
    sent: readonly SentDocument[],
    left = 0,
  ): AsyncGenerator<Change, Unindexed[]> {
    if (sent.length === 0) return [];
    const byId = new Map(sent.map((each) => [each.id, each]));
    const missing = new Set(sent);
    const indexed: SentDocument[] = [];
    const unindexed: Unindexed[] = [];
    const { context, tally, target } = this.#tools;
    const poll = () => statusesOf(byId, target.dataset_id, context);
    context.progress({ verb: "Indexing", done: 0, total: sent.length, unit: "documents" });
    tally.isIdle = true;
    for await (const status of waitForIndexing(poll, context, left)) {
      const each = byId.get(status.id);
      if (!each) continue;
      missing.delete(each);
      if (!isDone(status)) this.#indexing.push(each);
      else if (isIndexed(status) || mayGetChunks(status, target)) indexed.push(each);
      else unindexed.push({ sent: each, status });
      if (isIndexed(status) && isUpload(each)) tally.indexed++;
    }
    tally.isIdle = false;
    yield* this.#complete(indexed);
    for (const { change, id } of missing)
      yield rowOf(change, { action: "failed", id, note: "no longer in the knowledge base" });
    return unindexed;
  }

  /** Gives documents their chunks; yields the failures, and returns the others. */
  async *#giveChunks(all: readonly SentDocument[]): AsyncGenerator<Change, SentDocument[]> {
    const { target, limiter } = this.#tools;
    const { giveChunks } = target;
    if (!giveChunks) return [...all];
    const given: SentDocument[] = [];
    const give = (sent: SentDocument) =>
      this.#attempt(sent.change, async () => {
        await giveChunks(sent);
        return sent;
      });
    for await (const result of mapConcurrent(all, limiter, give)) {
      if (isSent(result)) given.push(result);
      else yield result;
    }
    return given;
  }

  /** Writes the chunks and values of documents, and then their status. */
  async *#complete(indexed: readonly SentDocument[]): AsyncGenerator<Change> {
    const { context, target, waiter } = this.#tools;
    const { dataset_id, no_wait } = target;
    const lost = new Map(indexed.map((each) => [each, this.#owners.lost(each.change, each.id)]));
    for (const row of lost.values()) if (row) yield row;
    const sent = yield* this.#giveChunks(indexed.filter((each) => !lost.get(each)));
    const isReady = ({ change }: SentDocument) => !no_wait || isContentIndexed(change);
    const problem = await this.#try(async () => {
      await this.#write(sent, (each) => (isReady(each) ? each.hash : pendingHash(each.hash)));
      await setStatus(sent.filter(isReady), dataset_id, waiter, context);
    });
    for (const each of sent) yield this.#resultOf(each, problem);
  }

  #resultOf(sent: SentDocument, problem: CliError | undefined): Change {
    const { change, id, note } = sent;
    const result = problem ? failed(change, problem) : rowOf(change, { note });
    if (!problem && !isUpload(sent)) this.#tools.tally.updates.done++;
    return { ...result, id };
  }

  async #send(change: DocumentChange, replace: boolean, onSent: OnSent) {
    const { context, target } = this.#tools;
    const to = { target, onSent };
    const sent = await this.#attempt(change, () => sendDocument(change, replace, to, context));
    return (isSent(sent) && this.#owners.taken(sent)) || sent;
  }

  #delete(change: DocumentChange): Promise<Change> {
    const { context, target } = this.#tools;
    const input = { dataset_id: target.dataset_id, document_id: change.id ?? "" };
    return this.#attempt<Change>(change, async () => {
      const lost = this.#owners.lost(change);
      if (lost) return lost;
      await context.api.call(deleteDocument, input).catch(ignoring("not-found")); // deleted already
      target.journal?.settled(change.name);
      return rowOf(change);
    });
  }

  /** Sends a request for one document; a recoverable failure or an earlier rate limit is its result. */
  async #attempt<T>(change: DocumentChange, request: () => Promise<T>): Promise<T | Change> {
    if (this.#limit) return rowOf(change, { action: "left", note: "not sent" });
    let result: T | undefined;
    const problem = await this.#try(async () => {
      result = await this.#tools.waiter(request);
    });
    if (!problem) return result as T;
    if (!change.document && problem.info.sideEffect !== "unknown")
      this.#tools.target.journal?.settled(change.name);
    return failed(change, problem);
  }

  /** Returns a recoverable failure, after noting a rate limit, and throws any other. */
  async #try(act: () => Promise<void>): Promise<CliError | undefined> {
    try {
      await act();
      return undefined;
    } catch (error) {
      if (!isRecoverable(error, this.#tools.context.host.signal)) throw error;
      const hint =
        "run the same command again to resume, or add --wait-for-limit to wait for the limit";
      if (error.kind === "limited") this.#limit ??= error.with({ isResult: true, hint });
      return error;
    }
  }
}
