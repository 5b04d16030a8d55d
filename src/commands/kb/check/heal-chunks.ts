import { CliError } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { openJournal } from "../../../lib/journal.ts";
import { listChunks } from "../../../operations/chunks.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { documentRow } from "../changes/index.ts";
import type { Change } from "../changes/index.ts";
import { isInUse, unindexed } from "./findings.ts";
import { changeChunks, readChunks } from "../chunk-lists/index.ts";
import type { ChunkPlace, ChunkStep, ExistingChunk } from "../chunk-lists/index.ts";
import { indexingStatusOf, readKb, waitOnRateLimit } from "../documents/index.ts";
import type { healParams } from "../check/command.ts";

type HealInput = Input<typeof healParams> & { readonly dataset_id: string };

/**
 * Adds the chunks of indexed documents that are not indexed again, each at the end, and deletes the failed ones.
 * The journal has the chunks of the same text before, so that an interrupted run adds none twice.
 */
export async function* healChunks(
  input: HealInput,
  {
    documents,
    journalPath,
  }: { readonly documents: readonly Document[]; readonly journalPath: string },
  context: Context,
): AsyncGenerator<Change> {
  const { dataset_id } = input;
  const { doc_form } = (await readKb(dataset_id, context)).settings;
  const journal = await openJournal(journalPath, context.host.files);
  const noted = new Map(journal.entries.map(({ chunk, others }) => [chunk, others]));
  let isUnknown = false;
  const indexed = documents.filter(
    (each) => isInUse(each) && indexingStatusOf(each).indexing_status === "completed",
  );
  for (const [done, { id: document_id, name }] of indexed.entries()) {
    context.progress({ verb: "Checking", done, total: indexed.length, unit: "documents" });
    const place = { dataset_id, document_id, doc_form };
    const of = { dataset_id, document_id, status: unindexed };
    for (const { id } of await collect(context.api.rows(listChunks, of))) {
      const all = await collect(readChunks(place, context));
      const chunk = all.find((each) => each.id === id);
      if (!chunk) continue;
      const row = (action: "update" | "skip" | "failed", note: string) =>
        documentRow(action, { name, id: document_id }, `chunk ${chunk.position} ${note}`);
      const lost = lostParts(chunk);
      if (lost.length > 0) yield row("skip", `has what a new one would lack: ${lost.join(", ")}`);
      else if (context.options.dryRun)
        yield row("update", `is added again: ${chunk.error ?? chunk.status}`);
      else {
        let others = noted.get(id);
        if (!Array.isArray(others)) {
          others = sameText(chunk, all).map((each) => each.id);
          await journal.append([{ chunk: id, others }]);
        }
        const again = { place, chunk, others: others as string[] };
        const outcome = await addAgain(again, input, context);
        isUnknown ||= outcome === "unknown";
        if (outcome === "added") yield row("update", "added again at the end");
        else if (outcome === "failed") yield row("failed", "failed again");
        else yield row("failed", "may be added later: no response");
      }
    }
  }
  if (!context.options.dryRun && !isUnknown) await journal.remove();
}

/** What a chunk has that cannot be given to a new one. */
const lostParts = ({ children, attachments, summary }: ExistingChunk): readonly string[] => [
  ...(children.some(({ type }) => type === "customized") ? ["edited child chunks"] : []),
  ...(attachments > 0 ? ["attachments"] : []),
  ...(summary ? ["its summary"] : []),
];

/** The chunks with the text of a chunk, itself included. */
const sameText = (chunk: ExistingChunk, all: readonly ExistingChunk[]): readonly ExistingChunk[] =>
  all.filter(({ content, answer }) => content === chunk.content && answer === chunk.answer);

/** Adds a chunk at the end and deletes it at its place then; the list says what an earlier try has done. */
async function addAgain(
  given: {
    readonly place: ChunkPlace;
    readonly chunk: ExistingChunk;
    /** IDs of the chunks of the same text before it was added first. */
    readonly others: readonly string[];
  },
  { wait_for_limit }: HealInput,
  context: Context,
): Promise<"added" | "failed" | "unknown"> {
  const { place, chunk, others } = given;
  const send = waitOnRateLimit(wait_for_limit ?? false, context);
  const make = (plan: (existing: readonly ExistingChunk[]) => readonly ChunkStep[]) =>
    send(() => changeChunks({ ...place, summaries: false }, plan, context));
  const made = (existing: readonly ExistingChunk[]) =>
    sameText(chunk, existing).filter(({ id }) => !others.includes(id));
  const removal = ({ id }: ExistingChunk) => ({ action: "delete", id }) as const;
  // Servers since 1.16 store one that fails again, too (server §9.7).
  const failures = (existing: readonly ExistingChunk[]) =>
    made(existing).filter(({ status }) => status === "error");
  try {
    await make((existing) =>
      made(existing).some(({ status }) => status === "completed")
        ? [...failures(existing), ...existing.filter(({ id }) => id === chunk.id)].map(removal)
        : [{ action: "append", to: chunk }],
    );
    return "added";
  } catch (error) {
    if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
    if (error.info.sideEffect === "unknown") return "unknown";
    if (error.kind !== "remote-failed") throw error;
    await make((existing) => failures(existing).map(removal));
    return "failed";
  }
}
