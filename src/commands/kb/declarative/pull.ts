import { readKb } from "../documents/index.ts";
import { kbFileOf } from "./file.ts";
import type { Context } from "../../task/command-spec.ts";

/** Prints a knowledge base as the YAML that plan and apply read. */
export async function* run(
  input: { readonly dataset_id: string },
  context: Context,
): AsyncGenerator<string> {
  const { stringify } = await import("yaml");
  yield stringify(kbFileOf(await readKb(input.dataset_id, context)), { lineWidth: 0 });
}
