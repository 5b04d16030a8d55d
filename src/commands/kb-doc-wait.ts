import { CliError } from "../errors.ts";
import * as documents from "../operations/documents.ts";
import type { Context } from "./task.ts";

/** ms between two looks (server §9.6). */
const between = 2000;
const firstLook = 300;

/** One document as it stands. */
interface Standing {
  readonly id: string;
  readonly name: string;
  readonly indexing_status: string;
  readonly error: string | null;
}

const isDone = ({ indexing_status }: Standing) =>
  indexing_status === "completed" || indexing_status === "error" || indexing_status === "paused";

/**
 * Waits until documents are indexed: those named, those of a batch, or every one of the knowledge
 * base. Yields how each ended. Throws remote-failed when one ended in error, with the server's text.
 */
export async function* run(
  input: {
    readonly dataset_id: string;
    readonly document_id?: readonly string[] | undefined;
    readonly batch?: string | undefined;
  },
  context: Context,
): AsyncGenerator<Standing> {
  const told = new Set<string>();
  const failed: Standing[] = [];
  for (let wait = firstLook; ; wait = Math.min(between, wait * 2)) {
    let open = 0;
    const standings = (await look(input, context)).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const standing of standings) {
      if (!isDone(standing)) open++;
      else if (!told.has(standing.id)) {
        told.add(standing.id);
        if (standing.indexing_status !== "completed") failed.push(standing);
        yield standing;
      }
    }
    if (open === 0) break;
    await context.trace(1, `${open} documents are not indexed yet`);
    await context.host.sleep(wait, context.signal).catch(() => {
      throw context.interrupted();
    });
  }
  const [first] = failed;
  if (first === undefined) return;
  const why = first.error ?? `it is ${first.indexing_status}`;
  throw new CliError(
    "remote-failed",
    `${failed.length} of ${told.size} documents were not indexed; ${first.name}: ${why}`,
    {
      verdict: true,
      details: { failed },
      hint: "a document in error is replaced by adding it again under the same name",
    },
  );
}

async function look(input: Parameters<typeof run>[0], context: Context): Promise<Standing[]> {
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
