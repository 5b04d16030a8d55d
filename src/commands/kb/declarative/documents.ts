import { dirname, isAbsolute, join } from "node:path";
import type { KbFile } from "./file.ts";
import type { ApplyStep } from "./steps.ts";
import { isMissed, run as sync } from "../sync/sync.ts";
import type { Context } from "../../command-spec.ts";

/** Actions of a sync in the words of a plan; all others change a document. */
const words: Readonly<Record<string, ApplyStep["action"]>> = {
  create: "create",
  delete: "delete",
  failed: "failed",
  left: "failed",
  skip: "failed",
  conflict: "failed",
};

/**
 * Keeps the documents of a file's directory in step; with --dry-run it only tells how. The directory
 * is seen from the file.
 */
export async function* documentsOf(
  path: string,
  { documents }: KbFile,
  dataset_id: string,
  context: Context,
): AsyncGenerator<ApplyStep> {
  if (!documents) return;
  const { directory, max_delete, ...rest } = documents;
  const place = isAbsolute(directory) ? directory : join(dirname(path), directory);
  for await (const done of sync(
    {
      dataset_id,
      directory: place,
      ...(max_delete !== undefined && { max_delete: String(max_delete) }),
      ...rest,
    },
    context,
  )) {
    const { action, path: name, note } = done;
    if (action === "unchanged" || (action === "skip" && !isMissed(done))) continue;
    yield { action: words[action] ?? "change", what: "document", name, from: null, to: null, note };
  }
}
