import { CliError } from "../errors.ts";
import * as documents from "../operations/documents.ts";
import { indexed } from "./indexed.ts";
import type { Standing } from "./indexed.ts";
import type { Context } from "./task.ts";

/** Input of `kb doc wait`. */
interface WaitInput {
  readonly dataset_id: string;
  readonly document_id?: readonly string[] | undefined;
  readonly batch?: string | undefined;
}

/**
 * Waits until documents are indexed: those named, those of a batch, or every one of the knowledge
 * base. Yields how each ended. Throws remote-failed when one ended in error, with the server's text.
 */
export async function* run(input: WaitInput, context: Context): AsyncGenerator<Standing> {
  const failed: Standing[] = [];
  let count = 0;
  for await (const standing of indexed(() => look(input, context), context)) {
    count++;
    if (standing.indexing_status !== "completed") failed.push(standing);
    yield standing;
  }
  const [first] = failed;
  if (first === undefined) return;
  const why = first.error ?? `it is ${first.indexing_status}`;
  throw new CliError(
    "remote-failed",
    `${failed.length} of ${count} documents were not indexed; ${first.name}: ${why}`,
    {
      verdict: true,
      details: { failed },
      hint: "a document in error is replaced by adding it again under the same name",
    },
  );
}

async function look(input: WaitInput, context: Context): Promise<Standing[]> {
  const { dataset_id, document_id, batch } = input;
  const found: Standing[] = [];
  if (document_id !== undefined) {
    for (const id of document_id) {
      const document = await context.call(documents.show, { dataset_id, document_id: id });
      found.push(standingOf(document));
    }
    return found;
  }
  if (batch !== undefined) {
    const inBatch = await context.call(documents.indexingStatus, { dataset_id, batch });
    return inBatch.map((each) => ({
      id: each.id,
      name: each.id,
      indexing_status: each.indexing_status,
      error: each.error,
      chunks: [each.completed_segments, each.total_segments],
    }));
  }
  for await (const document of context.each(documents.list, { dataset_id }))
    found.push(standingOf(document));
  return found;
}

const standingOf = ({ id, name, indexing_status, error }: Standing): Standing => ({
  id,
  name,
  indexing_status,
  error,
});
