import * as documents from "../operations/documents.ts";
import type { Document } from "../operations/documents.ts";
import type { Context } from "./task.ts";

/** ms between two looks (server §9.6). */
const longest = 2000;
const first = 300;

/**
 * Waits until every document of the knowledge base that is wanted has been indexed or has failed to,
 * and gives them as they are then. A document that is not listed is waited for no longer.
 */
export async function indexed(
  dataset_id: string,
  wanted: ReadonlySet<string>,
  context: Context,
): Promise<readonly Document[]> {
  for (let wait = first; ; wait = Math.min(longest, wait * 2)) {
    const found: Document[] = [];
    for await (const document of context.each(documents.list, { dataset_id })) {
      if (wanted.has(document.id)) found.push(document);
    }
    const open = found.filter(
      ({ indexing_status }) => !["completed", "error", "paused"].includes(indexing_status),
    );
    if (open.length === 0) return found;
    await context.trace(1, `${open.length} documents are not indexed yet`);
    await context.host.sleep(wait, context.signal).catch(() => {
      throw context.interrupted();
    });
  }
}
