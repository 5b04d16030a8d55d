import type { ConcurrencyLimiter } from "../../../api/concurrency-limit.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { ApiError, CliError, reasonOf } from "../../../errors.ts";
import type { FailureKind } from "../../../errors.ts";
import {
  createDocumentByFile,
  createDocumentByText,
  deleteDocument,
  listDocuments,
  replaceDocument,
  updateDocumentByFile,
  updateDocumentByText,
} from "../../../operations/documents.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { waitForIndexing, isDone, isIndexed, standingOf } from "../documents/indexing-status.ts";
import type { DocumentProgress } from "../documents/indexing-status.ts";
import { sha256 } from "../snapshot/bundle.ts";
import type { DocumentState } from "../snapshot/state.ts";
import { ruleFor, ruleOf } from "../documents/process-rule.ts";
import { storedFile } from "../snapshot/state.ts";
import { decodeText } from "./local-files.ts";
import type { LocalFile } from "./local-files.ts";
import { waitOnRateLimit } from "./rate-limit.ts";
import { atOnce, metadataWriter, valuesBefore } from "./metadata-writer.ts";
import type { Writer } from "./metadata-writer.ts";
import { fields, pendingHash } from "./plan.ts";
import type { SyncStep } from "./plan.ts";
import type { Context } from "../../command-spec.ts";

/** How steps are carried out. */
export interface SyncOptions {
  readonly dataset_id: string;
  readonly source: string;
  readonly indexing_technique: "high_quality" | "economy";
  readonly doc_form: string | null;
  /** The knowledge base holds no document yet, so a file has to bring its chunking rules. */
  readonly first: boolean;
  /** Id of its newest document. */
  readonly newest: string | undefined;
  readonly lanes: ConcurrencyLimiter;
  readonly wait: boolean;
  readonly waitForLimit: boolean;
}

/** What became of one step. */
export interface SyncResult {
  readonly action: SyncStep["action"] | "failed" | "left";
  readonly path: string;
  readonly document_id: string | null;
  readonly note: string | null;
}

/** Uploads between two looks at what was indexed. */
const wave = 1000;
/** What needs no request. */
const idle: ReadonlySet<SyncStep["action"]> = new Set(["unchanged", "skip", "conflict"]);
/** Failures that every further request would meet, too. */
const endsAll: readonly FailureKind[] = ["auth", "unsupported", "not-found"];

/** A document that was sent, and what was really in the file. */
interface Sent {
  readonly step: SyncStep;
  readonly id: string;
  readonly hash: string;
  /** Id of the stored file, where the server says it. */
  readonly stored: string | null;
}

/**
 * Carries steps out and yields what became of each. A hash is marked as pending before its content
 * changes and becomes valid when that content is indexed (server §11), so a kill at any moment
 * leaves none that lies. What fails is collected; a limit stops the sending.
 */
export async function* applySync(
  steps: readonly SyncStep[],
  how: SyncOptions,
  context: Context,
): AsyncGenerator<SyncResult> {
  const { dataset_id } = how;
  const patient = waitOnRateLimit(how.waitForLimit, context);
  const writer = await metadataWriter(dataset_id, how.lanes, patient, context);
  const change = ({ step, id, stored }: Omit<Sent, "hash">, hash: string) => ({
    id,
    before: valuesBefore(step.document),
    values: {
      ...step.file?.metadata,
      [fields.path]: step.path,
      [fields.source]: how.source,
      [fields.hash]: hash,
      ...(stored !== null && { [fields.stored]: stored }),
    },
  });
  const of = (...actions: readonly SyncStep["action"][]) =>
    steps.filter(({ action }) => actions.includes(action));
  const total = steps.filter(({ action }) => !idle.has(action)).length;
  let done = 0;
  const info = (result: SyncResult): SyncResult => {
    context.progress({ done: ++done, total, unit: "documents" });
    return result;
  };

  const right = of("adopt", "metadata").flatMap((step) =>
    step.document && step.file
      ? [{ step, id: step.document.id, hash: step.file.hash, stored: step.document.stored }]
      : [],
  );
  yield* settled(right);

  const sends = of("create", "update");
  let stopped: CliError | undefined;
  for (let at = 0; at < sends.length; at += wave) {
    const part = sends.slice(at, at + wave);
    const updates = part.flatMap((step) =>
      step.document ? [{ step, id: step.document.id, stored: null }] : [],
    );
    const pending = updates.map((each) => change(each, pendingHash(each.step.file?.hash ?? "")));
    const problem = stopped ?? (await unwritten(pending));
    if (!problem) await untilAvailable(updates.map(({ id }) => id));
    const sent: Sent[] = [];
    const unmarked: Sent[] = [];
    const tried = async (step: SyncStep) =>
      problem && step.document ? failed(step, problem) : attempt(step, false);
    for await (const result of mapConcurrent(part, how.lanes, tried)) {
      if (!("hash" in result)) {
        yield info(result);
        continue;
      }
      sent.push(result);
      if (!result.step.document) unmarked.push(result);
      if (unmarked.length === atOnce) await begun(unmarked.splice(0));
    }
    await begun(unmarked);
    yield* settled(sent);
  }
  for await (const result of mapConcurrent(of("delete"), how.lanes, removed)) yield info(result);
  for (const step of of("skip", "conflict")) yield doneOf(step);
  if (stopped) throw stopped;

  /**
   * Marks new documents as ours long before they are indexed: a kill leaves few that nobody knows.
   * Where that fails, the same is tried with their hashes.
   */
  async function begun(sent: readonly Sent[]): Promise<void> {
    if (!how.wait || sent.length === 0) return;
    const changes = sent.map((each) => change(each, pendingHash(each.hash)));
    await writer.set(changes).catch((error: unknown) => {
      if (!isBearable(error)) throw error;
    });
  }

  /** Waits for documents, repeats once what was not indexed, and makes their hashes valid. */
  async function* settled(sent: readonly Sent[]): AsyncGenerator<SyncResult> {
    if (!how.wait) {
      yield* marked(sent, ({ step, hash }) => (isRight(step) ? hash : pendingHash(hash)));
      return;
    }
    const unfit = yield* completed(sent);
    const again: Sent[] = [];
    for await (const result of mapConcurrent(unfit, how.lanes, ([{ step }]) =>
      attempt(step, true),
    )) {
      if ("hash" in result) again.push(result);
      else yield info(result);
    }
    for (const [{ step, id }, { error, indexing_status }] of yield* completed(again)) {
      const note = `not indexed: ${error ?? indexing_status}`;
      yield info({ action: "failed", path: step.path, document_id: id, note });
    }
  }

  /** Yields those that are indexed, with their values written; returns the others. */
  async function* completed(
    sent: readonly Sent[],
  ): AsyncGenerator<SyncResult, (readonly [Sent, DocumentProgress])[]> {
    if (sent.length === 0) return [];
    const byId = new Map(sent.map((each) => [each.id, each]));
    const gone = new Set(sent);
    const good: Sent[] = [];
    const bad: (readonly [Sent, DocumentProgress])[] = [];
    for await (const standing of waitForIndexing(() => standingsOf(byId), context)) {
      const each = byId.get(standing.id);
      if (!each) continue;
      gone.delete(each);
      if (isIndexed(standing)) good.push(each);
      else bad.push([each, standing]);
    }
    yield* marked(good, ({ hash }) => hash);
    for (const { step, id } of gone) {
      const note = "it is not in the knowledge base any more";
      yield info({ action: "failed", path: step.path, document_id: id, note });
    }
    return bad;
  }

  /** Writes hashes with the other values of documents, and tells what became of each. */
  async function* marked(
    sent: readonly Sent[],
    hashFor: (sent: Sent) => string,
  ): AsyncGenerator<SyncResult> {
    const problem = await unwritten(sent.map((each) => change(each, hashFor(each))));
    for (const { step, id } of sent)
      yield info({ ...(problem ? failed(step, problem) : doneOf(step)), document_id: id });
  }

  /** Writes values; gives why that was not done, unless it ends everything. */
  async function unwritten(changes: Parameters<Writer["set"]>[0]): Promise<CliError | undefined> {
    try {
      await writer.set(changes);
      return undefined;
    } catch (error) {
      return bearable(error);
    }
  }

  async function standingsOf(wanted: ReadonlyMap<string, unknown>): Promise<DocumentProgress[]> {
    const found: DocumentProgress[] = [];
    // Newest first: a first sync finds all it made before the list is at its end.
    for await (const document of context.each(listDocuments, { dataset_id })) {
      if (wanted.has(document.id)) found.push(standingOf(document));
      if (found.length === wanted.size) break;
    }
    return found;
  }

  /** A document that is being indexed cannot be changed (server §9.4). */
  async function untilAvailable(ids: readonly string[]): Promise<void> {
    const busy = new Set(
      steps.flatMap(({ document }) => (document && !isDone(document) ? [document.id] : [])),
    );
    const wanted = new Map(ids.filter((id) => busy.has(id)).map((id) => [id, id]));
    if (wanted.size === 0) return;
    for await (const _ of waitForIndexing(() => standingsOf(wanted), context)) {
      // only the end counts
    }
  }

  async function attempt(step: SyncStep, repair: boolean): Promise<Sent | SyncResult> {
    if (stopped) return left(step);
    try {
      return await patient(() => send(step, repair, how, context));
    } catch (error) {
      return failed(step, bearable(error));
    }
  }

  async function removed(step: SyncStep): Promise<SyncResult> {
    if (stopped) return left(step);
    const document_id = step.document?.id ?? "";
    try {
      await patient(() => context.call(deleteDocument, { dataset_id, document_id }));
    } catch (error) {
      const gone = error instanceof ApiError && error.kind === "not-found";
      if (!gone) return failed(step, bearable(error));
    }
    return doneOf(step);
  }

  /** Is it the failure of one request, after which others may work? */
  function isBearable(error: unknown): error is CliError {
    return error instanceof CliError && !context.signal.aborted && !endsAll.includes(error.kind);
  }

  /** The failure of a step, after which others go on; a limit stops them. Throws any other. */
  function bearable(error: unknown): CliError {
    if (!isBearable(error)) throw error;
    if (error.kind === "limited") stopped ??= limited(error);
    return error;
  }
}

const failed = (step: SyncStep, { kind, message }: CliError): SyncResult => ({
  ...doneOf(step),
  action: kind === "limited" ? "left" : "failed",
  note: message,
});

const left = (step: SyncStep): SyncResult => ({
  ...doneOf(step),
  action: "left",
  note: "not sent",
});

/** Is the document known to be indexed with this very content? */
const isRight = ({ action, document }: SyncStep): boolean =>
  action === "metadata" || (action === "adopt" && document?.indexing_status === "completed");

const limited = (error: CliError) =>
  new CliError("limited", error.message, {
    ...error.info,
    isResult: true,
    hint: "what is told as left is not done; the same command goes on, --wait-for-limit waits by itself",
  });

const doneOf = ({ action, path, document, note }: SyncStep): SyncResult => ({
  action,
  path,
  document_id: document?.id ?? null,
  note,
});

/** Sends the content of a file; `repair` replaces a document that could not be indexed. */
async function send(
  step: SyncStep,
  repair: boolean,
  how: SyncOptions,
  context: Context,
): Promise<Sent> {
  const { dataset_id, indexing_technique, first } = how;
  const file = step.file as LocalFile; // creates and updates are of files
  // A document in error is replaced by another one of its name, under its id (server §9.1).
  const document = repair || step.document?.indexing_status === "error" ? undefined : step.document;
  const form = await formFor(document, how, context);
  // Read once: what is sent and what the hash is of cannot differ.
  const bytes = await context.host.files.read(file.place).catch((error: unknown) => {
    if (error instanceof CliError) throw error; // interrupted
    throw new CliError("usage", `it cannot be read: ${reasonOf(error)}`, { cause: error });
  });
  if (bytes.length === 0) throw new CliError("usage", "it is empty");
  const hash = sha256(bytes);
  if (file.kind === "text") {
    const text = decodeText(bytes);
    if (text === undefined) throw new CliError("usage", "it is no UTF-8 text any more");
    const answer = document
      ? await context.call(updateDocumentByText, {
          dataset_id,
          document_id: document.id,
          name: file.name,
          text,
          ...form,
        })
      : await context.call(createDocumentByText, {
          dataset_id,
          name: file.name,
          text,
          indexing_technique,
          ...form,
        });
    return { step, id: answer.document.id, hash, stored: storedFile(answer.document) };
  }
  const source = { path: file.place, name: file.name, bytes };
  const answer = document
    ? await replaced({ dataset_id, document_id: document.id, file: source, ...form }, context)
    : (
        await context.call(createDocumentByFile, {
          dataset_id,
          file: source,
          indexing_technique,
          ...(first && { process_rule: { mode: "automatic" } }),
          ...form,
        })
      ).document;
  return { step, id: answer.id, hash, stored: storedFile(answer) };
}

/**
 * The form of a document and, for hierarchical ones, how they are cut: as the document was before, a
 * new one as the newest one was. Without a rule the server takes its last one, whatever that is.
 */
async function formFor(
  document: DocumentState | undefined,
  { dataset_id, doc_form, newest }: SyncOptions,
  context: Context,
) {
  if (doc_form === null) return {};
  const form = { doc_form: doc_form as "text_model" };
  if (doc_form !== "hierarchical_model") return form;
  const model = document?.id ?? newest;
  const rule = model === undefined ? undefined : await ruleOf(dataset_id, model, context);
  return { ...form, process_rule: ruleFor(doc_form, rule) as { mode: "hierarchical" } };
}

/** A server before 1.14.0 has the older route only (server §9.4). */
async function replaced(
  input: InputOf<typeof replaceDocument>,
  context: Context,
): Promise<{ readonly id: string }> {
  try {
    return (await context.call(replaceDocument, input)).document;
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.status !== 405) throw error;
    return (await context.call(updateDocumentByFile, input)).document;
  }
}
