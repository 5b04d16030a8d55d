import { define } from "../../../lib/json.ts";
import { basename } from "node:path";
import { CliError } from "../../../errors.ts";
import { uploadFile } from "../../../operations/files.ts";
import { isPending } from "./form-fields.ts";
import type { Context } from "../../command-spec.ts";

/** Refuses local files that are not there, before anything is sent. */
export async function requireFiles(
  values: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    for (const file of [value].flat()) {
      if (!isPending(file)) continue;
      const found = await context.host.files.stat(file.path);
      if (found && !found.isDirectory) continue;
      throw new CliError(
        "usage",
        `--input ${name}: ${file.path} is ${found ? "a folder" : "not there"}`,
        { sideEffect: "none" },
      );
    }
  }
}

/**
 * The values with every local file uploaded, once, and named by its id. Should what follows fail,
 * the uploaded files stay behind: there is no call that deletes one.
 */
export async function uploadInputFiles(
  values: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<Record<string, unknown>> {
  const one = async (value: unknown): Promise<unknown> => {
    if (!isPending(value)) return value;
    const { path, type } = value;
    const { id } = await context.call(uploadFile, { file: { path, name: basename(path) } });
    await context.trace(1, `${path} is uploaded as ${id}`);
    return { type, transfer_method: "local_file", upload_file_id: id };
  };
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    if (!Array.isArray(value)) define(result, name, await one(value));
    else {
      const list: unknown[] = [];
      for (const each of value) list.push(await one(each));
      define(result, name, list);
    }
  }
  return result;
}
