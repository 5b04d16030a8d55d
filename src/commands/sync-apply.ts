import type { Lanes } from "../api/lanes.ts";
import { mapped } from "../api/mapped.ts";
import { ApiError, CliError } from "../errors.ts";
import * as documents from "../operations/documents.ts";
import { indexed, isDone } from "./indexed.ts";
import type { Standing } from "./indexed.ts";
import { sha256 } from "./kb-bundle.ts";
import { textOf } from "./sync-files.ts";
import type { LocalFile } from "./sync-files.ts";
import { metadataWriter, valuesBefore } from "./sync-metadata.ts";
import { fields, pendingHash } from "./sync-plan.ts";
import type { Step } from "./sync-plan.ts";
import type { Context } from "./task.ts";

/** How steps are carried out. */
export interface Applying {
  readonly dataset_id: string;
  readonly source: string;
  readonly indexing_technique: "high_quality" | "economy";
  readonly doc_form: string | null;
  /** The knowledge base holds no document yet, so a file has to bring its chunking rules. */
  readonly first: boolean;
  readonly lanes: Lanes;
  readonly wait: boolean;
  readonly waitForLimit: boolean;
}

/** What became of one step. */
export interface Done {
  readonly action: Step["action"] | "failed" | "left";
  readonly path: string;
  readonly document_id: string | null;
  readonly note: string | null;
}

/** Uploads between two looks at what was indexed. */
const wave = 1000;
/** ms that a knowledge rate limit lasts (server §4). */
const limitLasts = 60_000;

/** A document that was sent, and what was really in the file. */
interface Sent {
  readonly step: Step;
  readonly id: string;
  readonly hash: string;
}

/**
 * Carries steps out and yields what became of each. A hash is marked as pending before its content
 * changes and becomes valid when that content is indexed (server §11), so a kill at any moment
 * leaves none that lies. What fails is collected; a limit stops the sending.
 */
export async function* apply(
  steps: readonly Step[],
  how: Applying,
  context: Context,
): AsyncGenerator<Done> {
  const { dataset_id } = how;
  const writer = await metadataWriter(dataset_id, how.lanes, context);
  const valuesOf = (step: Step, hash: string) => ({
    ...step.file?.metadata,
    [fields.path]: step.path,
    [fields.source]: how.source,
    [fields.hash]: hash,
  });
  const change = (step: Step, id: string, hash: string) => ({
    id,
    before: valuesBefore(step.document),
    values: valuesOf(step, hash),
  });
  const of = (...actions: readonly Step["action"][]) =>
    steps.filter(({ action }) => actions.includes(action));
  const total = steps.filter(({ action }) => action !== "unchanged" && action !== "skip").length;
  let done = 0;
  const told = (result: Done): Done => {
    context.progress({ done: ++done, total, unit: "documents" });
    return result;
  };

  const right = of("adopt", "metadata").flatMap((step) =>
    step.document && step.file ? [{ step, id: step.document.id, hash: step.file.hash }] : [],
  );
  yield* settled(right);

  const sends = of("create", "update");
  let stopped: CliError | undefined;
  for (let at = 0; at < sends.length && !stopped; at += wave) {
    const part = sends.slice(at, at + wave);
    const updates = part.flatMap((step) => (step.document ? [{ step, id: step.document.id }] : []));
    await writer.set(
      updates.map(({ step, id }) => change(step, id, pendingHash(step.file?.hash ?? ""))),
    );
    await untilAvailable(updates.map(({ id }) => id));
    const sent: Sent[] = [];
    for await (const result of mapped(part, how.lanes, (step) => attempt(step, false))) {
      if ("hash" in result) sent.push(result);
      else yield told(result);
    }
    yield* settled(sent);
  }
  for await (const result of mapped(of("delete"), how.lanes, removed)) yield told(result);
  for (const step of of("skip")) yield doneOf(step);
  if (stopped) throw stopped;

  /** Waits for documents, repeats once what was not indexed, and makes their hashes valid. */
  async function* settled(sent: readonly Sent[]): AsyncGenerator<Done> {
    if (!how.wait) {
      await writer.set(sent.map(({ step, id, hash }) => change(step, id, pendingHash(hash))));
      for (const { step, id } of sent) yield told({ ...doneOf(step), document_id: id });
      return;
    }
    const failed = yield* completed(sent);
    const again: Sent[] = [];
    for await (const result of mapped(failed, how.lanes, ([{ step }]) => attempt(step, true))) {
      if ("hash" in result) again.push(result);
      else yield told(result);
    }
    for (const [{ step, id }, { error, indexing_status }] of yield* completed(again)) {
      const note = `not indexed: ${error ?? indexing_status}`;
      yield told({ action: "failed", path: step.path, document_id: id, note });
    }
  }

  /** Yields those that are indexed, with their values written; returns the others. */
  async function* completed(
    sent: readonly Sent[],
  ): AsyncGenerator<Done, (readonly [Sent, Standing])[]> {
    if (sent.length === 0) return [];
    const byId = new Map(sent.map((each) => [each.id, each]));
    const good: Sent[] = [];
    const bad: (readonly [Sent, Standing])[] = [];
    for await (const standing of indexed(() => standingsOf(byId), context)) {
      const each = byId.get(standing.id);
      if (!each) continue;
      if (standing.indexing_status === "completed") good.push(each);
      else bad.push([each, standing]);
    }
    await writer.set(good.map(({ step, id, hash }) => change(step, id, hash)));
    for (const { step, id } of good) yield told({ ...doneOf(step), document_id: id });
    return bad;
  }

  async function standingsOf(wanted: ReadonlyMap<string, unknown>): Promise<Standing[]> {
    const found: Standing[] = [];
    // Newest first: a first sync finds all it made before the list is at its end.
    for await (const document of context.each(documents.list, { dataset_id })) {
      if (wanted.has(document.id)) found.push(document);
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
    for await (const _ of indexed(() => standingsOf(wanted), context)) {
      // only the end counts
    }
  }

  async function attempt(step: Step, repair: boolean): Promise<Sent | Done> {
    if (stopped) return { ...doneOf(step), action: "left", note: "not sent" };
    for (;;) {
      try {
        return await send(step, repair, how, context);
      } catch (error) {
        if (!(error instanceof CliError) || context.signal.aborted) throw error;
        if (error.kind === "auth" || error.kind === "unsupported" || error.kind === "not-found")
          throw error;
        if (error.kind !== "limited")
          return { ...doneOf(step), action: "failed", note: error.message };
        const passes = error instanceof ApiError && error.told.retryable === true;
        if (!how.waitForLimit || !passes) {
          stopped ??= limited(error);
          return { ...doneOf(step), action: "left", note: error.message };
        }
        await context.notice(`${error.message}; waiting a minute`);
        await context.host.sleep(limitLasts, context.signal).catch(() => {
          throw context.interrupted();
        });
      }
    }
  }

  async function removed(step: Step): Promise<Done> {
    try {
      await context.call(documents.remove, { dataset_id, document_id: step.document?.id ?? "" });
    } catch (error) {
      if (!(error instanceof CliError) || context.signal.aborted) throw error;
      if (error.kind !== "not-found")
        return { ...doneOf(step), action: "failed", note: error.message };
    }
    return doneOf(step);
  }
}

const limited = (error: CliError) =>
  new CliError("limited", error.message, {
    ...error.told,
    verdict: true,
    hint: "what was not sent is told as left; the same command goes on, --wait-for-limit waits by itself",
  });

const doneOf = ({ action, path, document, note }: Step): Done => ({
  action,
  path,
  document_id: document?.id ?? null,
  note,
});

/** Sends the content of a file; `repair` replaces a document that could not be indexed. */
async function send(
  step: Step,
  repair: boolean,
  { dataset_id, indexing_technique, doc_form, first }: Applying,
  context: Context,
): Promise<Sent> {
  const file = step.file as LocalFile; // creates and updates are of files
  const form = doc_form === null ? {} : { doc_form: doc_form as "text_model" };
  // A document in error is replaced by another one of its name, under its id (server §9.1).
  const document = repair || step.document?.indexing_status === "error" ? undefined : step.document;
  if (file.kind === "text") {
    const bytes = await context.host.files.read(file.place);
    const text = textOf(bytes);
    if (text === undefined) throw new CliError("refused", "it is no UTF-8 text any more");
    const answer = document
      ? await context.call(documents.updateByText, {
          dataset_id,
          document_id: document.id,
          name: file.name,
          text,
          ...form,
        })
      : await context.call(documents.createByText, {
          dataset_id,
          name: file.name,
          text,
          indexing_technique,
          ...form,
        });
    return { step, id: answer.document.id, hash: sha256(bytes) };
  }
  const source = { path: file.place, name: file.name };
  const { id } = document
    ? await replaced(dataset_id, document.id, source, context)
    : (
        await context.call(documents.createByFile, {
          dataset_id,
          file: source,
          indexing_technique,
          ...form,
          ...(first && { process_rule: { mode: "automatic" } }),
        })
      ).document;
  return { step, id, hash: file.hash };
}

/** A server before 1.14.0 has the older route only (server §9.4). */
async function replaced(
  dataset_id: string,
  document_id: string,
  file: { readonly path: string; readonly name: string },
  context: Context,
): Promise<{ readonly id: string }> {
  const input = { dataset_id, document_id, file };
  try {
    return (await context.call(documents.replace, input)).document;
  } catch (error) {
    if (!(error instanceof ApiError) || error.refusal.status !== 405) throw error;
    return (await context.call(documents.updateByFile, input)).document;
  }
}
