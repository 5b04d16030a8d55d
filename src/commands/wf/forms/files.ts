import { define } from "../../../lib/json.ts";
import { basename } from "node:path";
import { usage } from "../../../errors.ts";
import { requireNear } from "../../../host/safe-path.ts";
import { uploadFile } from "../../../operations/files.ts";
import { isLocalFile } from "./fields.ts";
import type { Context } from "../../command-spec.ts";

/** The inputs that a file of rows has. */
export interface NamedInputs {
  readonly file: string;
  readonly names: { has(name: string): boolean };
}

/** Throws `usage` if a local file does not exist, or if a file that names it may not. */
export async function requireFiles(
  values: Readonly<Record<string, unknown>>,
  { host, options: { allowed } }: Context,
  from?: NamedInputs,
): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    for (const file of [value].flat()) {
      if (!isLocalFile(file)) continue;
      if (from?.names.has(name)) await requireNear(file.path, { file: from.file, allowed }, host);
      const stat = await host.files.stat(file.path);
      if (stat && !stat.isDirectory) continue;
      const problem = stat ? "is a directory" : "not found";
      throw usage(`input ${name}: ${file.path} ${problem}`);
    }
  }
}

/**
 * Uploads local files and returns the values with the IDs of the files. If a later request fails, the
 * uploaded files stay on the server, which has no way to delete them.
 */
export async function uploadInputFiles(
  values: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<Record<string, unknown>> {
  const upload = async (value: unknown): Promise<unknown> => {
    if (!isLocalFile(value)) return value;
    const { path, type } = value;
    const { id } = await context.call(uploadFile, { file: { path, name: basename(path) } });
    await context.trace(1, `uploaded ${path} as ${id}`);
    return { type, transfer_method: "local_file", upload_file_id: id };
  };
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const uploaded: unknown[] = [];
    for (const each of [value].flat()) uploaded.push(await upload(each));
    define(result, name, Array.isArray(value) ? uploaded : uploaded[0]);
  }
  return result;
}
