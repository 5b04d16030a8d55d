import * as tags from "../operations/tags.ts";
import type { Context } from "./task.ts";

/**
 * Takes tags off a knowledge base, one request per tag with both field names: servers before
 * 1.14.1 know only the old one (server §19).
 */
export async function run(
  { target_id, tag_ids }: { readonly target_id: string; readonly tag_ids: readonly string[] },
  context: Context,
): Promise<void> {
  for (const tag_id of tag_ids) {
    await context.call(tags.unbind, { tag_ids: [tag_id], tag_id, target_id });
  }
}
