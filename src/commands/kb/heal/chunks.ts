import { join } from "node:path";
import { CliError } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { openJournal } from "../../../lib/journal.ts";
import { createChunks, deleteChunk, listChunks } from "../../../operations/chunks.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { change } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import { unindexed } from "../check/index.ts";
import { readChunks } from "../chunk-lists/index.ts";
import type { ExistingChunk } from "../chunk-lists/index.ts";
import { indexingStatusOf, readKb, waitOnRateLimit } from "../documents/index.ts";
import type { healParams } from "./command.ts";

type HealInput = Input<typeof healParams>;

/**
 * Adds the chunks of indexed documents that are not indexed again, each at the end, and deletes the failed ones.
 * The journal has how many equal chunks there were before, so that an interrupted run adds none twice.
 */
export async function* healChunks(
  input: HealInput,
  documents: readonly Document[],
  context: Context,
): AsyncGenerator<Change> {
  const { dataset_id } = input;
  const { doc_form } = (await readKb(dataset_id, context)).settings;
  const path = join(context.host.directories.state, "heal", `${dataset_id}.jsonl`);
  const journal = await openJournal(path, context.host.files);
  const before = new Map(
    journal.entries.map((entry) => [String(entry["chunk"]), Number(entry["equal"])]),
  );
  const isOpen = (each: Document) => each.enabled === true && !each.archived;
  const indexed = documents.filter(
    (each) => isOpen(each) && indexingStatusOf(each).indexing_status === "completed",
  );
  for (const [done, { id: document_id, name }] of indexed.entries()) {
    context.progress({ verb: "Checking", done, total: indexed.length, unit: "documents" });
    const of = { dataset_id, document_id, status: unindexed };
    const failed = await collect(context.api.rows(listChunks, of));
    for (const { id, position } of failed) {
      const row = { what: "document", name, id: document_id } as const;
      const place = { dataset_id, document_id, doc_form };
      const all = await collect(readChunks(place, context));
      const chunk = all.find((each) => each.id === id);
      if (!chunk) continue;
      if (chunk.children.some(({ type }) => type === "customized")) {
        yield change({ action: "skip", ...row, note: `chunk ${position} has edited child chunks` });
        continue;
      }
      if (context.options.dryRun) {
        yield change({
          action: "update",
          ...row,
          note: `chunk ${position} is added again: ${chunk.error ?? chunk.status}`,
        });
        continue;
      }
      let equal = before.get(id);
      if (equal === undefined) {
        equal = equalTo(chunk, all).length;
        await journal.append([{ chunk: id, equal }]);
      }
      yield await addAgain({ ...place, chunk, equal, row }, input, context);
    }
  }
  if (!context.options.dryRun) await journal.remove();
}

/** The indexed chunks with the text of a chunk. */
const equalTo = (chunk: ExistingChunk, all: readonly ExistingChunk[]): readonly ExistingChunk[] =>
  all.filter(
    ({ content, answer, status }) =>
      content === chunk.content && answer === chunk.answer && status === "completed",
  );

async function addAgain(
  given: {
    readonly dataset_id: string;
    readonly document_id: string;
    readonly doc_form: string | null;
    readonly chunk: ExistingChunk;
    readonly equal: number;
    readonly row: { readonly what: "document"; readonly name: string; readonly id: string };
  },
  { wait_for_limit }: HealInput,
  context: Context,
): Promise<Change> {
  const { dataset_id, document_id, doc_form, chunk, equal, row } = given;
  const send = waitOnRateLimit(wait_for_limit ?? false, context);
  const isAdded = async () =>
    equalTo(chunk, await collect(readChunks(given, context))).length > equal;
  if (!(await isAdded())) {
    const { content, answer, keywords } = chunk;
    const segment = {
      content,
      ...(doc_form === "qa_model" && { answer: answer ?? "" }),
      ...(keywords.length > 0 && { keywords }),
    };
    try {
      const input = { dataset_id, document_id, segments: [segment] };
      await send(() => context.api.call(createChunks, input));
    } catch (error) {
      if (!(error instanceof CliError) || error.info.sideEffect !== "unknown") throw error;
    }
    // One that fails again is not stored (server §9.7), so the failed one stays.
    if (!(await isAdded()))
      return change({ action: "failed", ...row, note: `chunk ${chunk.position} failed again` });
  }
  await send(() =>
    context.api.call(deleteChunk, { dataset_id, document_id, segment_id: chunk.id }),
  );
  return change({
    action: "update",
    ...row,
    note: `chunk ${chunk.position} added again at the end`,
  });
}
