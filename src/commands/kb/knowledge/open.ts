import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { openPage } from "../../task/open-page.ts";
import type { kbOpenParams } from "./command.ts";

/** `kb open`: the page of all knowledge bases, of one, or of a document. */
export async function* run(
  { dataset_id, document_id, print }: Input<typeof kbOpenParams>,
  context: Context,
): AsyncGenerator<string> {
  const inside = dataset_id === undefined ? [] : [dataset_id, "documents"];
  const document = document_id === undefined ? [] : [document_id];
  yield* openPage({ kind: "dataset", path: ["datasets", ...inside, ...document], print }, context);
}
