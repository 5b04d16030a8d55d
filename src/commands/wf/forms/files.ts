import { define, isObject } from "../../../lib/json.ts";
import { basename } from "node:path";
import { usage } from "../../../errors.ts";
import { requireNear } from "../../../host/safe-path.ts";
import { uploadFile } from "../../../operations/files.ts";
import { isLocalFile, appFields, parseAssignments } from "./fields.ts";
import type { Context } from "../../task/command-spec.ts";
import { getAppParameters } from "../../../operations/apps.ts";

/** The inputs that a file of rows has. */
export interface NamedInputs {
  readonly file: string;
  readonly names: { has(name: string): boolean };
}

/** Throws `usage` if a local file does not exist, or if a file that names it may not. */
export async function requireFiles(
  values: Readonly<Record<string, unknown>>,
  { host, options: { flags } }: Context,
  from?: NamedInputs,
): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    for (const file of [value].flat()) {
      if (!isLocalFile(file)) continue;
      if (from?.names.has(name))
        await requireNear(file.path, { file: from.file, allowed: flags.allowFiles }, host);
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
    const { id } = await context.api.call(uploadFile, { file: { path, name: basename(path) } });
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

/**
 * The values of --inputs with those of --input over them, which the form of the application types and
 * whose files are uploaded. Throws `usage` for an unknown name or an invalid value.
 */
export async function assignedInputs(
  {
    input = [],
    inputs,
  }: { readonly input?: readonly string[] | undefined; readonly inputs?: unknown },
  context: Context,
): Promise<Record<string, unknown>> {
  const given = isObject(inputs) ? inputs : {};
  if (input.length === 0) return given;
  const { user_input_form } = await context.api.call(getAppParameters, {});
  const values = parseAssignments(input, appFields(user_input_form ?? []), given);
  await requireFiles(values, context);
  return uploadInputFiles(values, context);
}
