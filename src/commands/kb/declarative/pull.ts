import { kbFileOf } from "./file.ts";
import { stateOf } from "../snapshot/state.ts";
import type { Context } from "../../command-spec.ts";

/** A knowledge base as YAML, as plan and apply read it. */
export async function* run(
  input: { readonly dataset_id: string },
  context: Context,
): AsyncGenerator<string> {
  const { stringify } = await import("yaml");
  yield stringify(kbFileOf(await stateOf(input.dataset_id, context)), { lineWidth: 0 });
}
