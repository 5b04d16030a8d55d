import { readKb } from "../documents/index.ts";
import { kbFileOf, kbFileText } from "./file.ts";
import type { Context } from "../../task/command-spec.ts";

/** Prints a knowledge base as the YAML that plan and apply read. */
export async function* run(
  input: { readonly dataset_id: string },
  context: Context,
): AsyncGenerator<string> {
  yield await kbFileText(kbFileOf(await readKb(input.dataset_id, context)));
}
