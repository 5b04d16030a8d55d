import { dirname, isAbsolute, join } from "node:path";
import { isOutOfSync, syncDirectory } from "../sync/index.ts";
import type { KbFile } from "./file.ts";
import type { ApplyStep } from "./steps.ts";
import type { Context } from "../../command-spec.ts";

/** Actions of a sync as actions of a plan; all others change a document. */
const actions: Readonly<Record<string, ApplyStep["action"]>> = {
  create: "create",
  delete: "delete",
  failed: "failed",
  left: "failed",
  skip: "failed",
  conflict: "failed",
};

/** Syncs the directory of a file, which is relative to the file; a dry run only yields the steps. */
export async function* syncDocuments(
  path: string,
  { documents }: KbFile,
  dataset_id: string,
  context: Context,
): AsyncGenerator<ApplyStep> {
  if (!documents) return;
  const { directory, max_delete, ...rest } = documents;
  const input = {
    dataset_id,
    directory: isAbsolute(directory) ? directory : join(dirname(path), directory),
    ...(max_delete !== undefined && { max_delete: String(max_delete) }),
    ...rest,
  };
  for await (const result of syncDirectory(input, context)) {
    const { action, path: name, note } = result;
    if (action === "unchanged" || (action === "skip" && !isOutOfSync(result))) continue;
    const planned = actions[action] ?? "change";
    yield { action: planned, what: "document", name, from: null, to: null, note };
  }
}
