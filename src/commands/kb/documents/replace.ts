import { ApiError } from "../../../errors.ts";
import { replaceDocument, updateDocumentByFile } from "../../../operations/documents.ts";
import type { DocumentInBatch } from "../../../operations/documents.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Context } from "../../command-spec.ts";

/**
 * Replaces the file of a document; a server before 1.14.0 refuses the route and gets the older one
 * (server §9.4, §19). A refused route has changed nothing, so trying the other is no repeat.
 */
export async function* run(
  input: InputOf<typeof replaceDocument>,
  context: Context,
): AsyncGenerator<DocumentInBatch> {
  try {
    yield await context.call(replaceDocument, input);
  } catch (error) {
    const older = error instanceof ApiError && error.response.status === 405;
    if (!older) throw error;
    await context.trace(1, "the server lacks this route; the older one is used");
    yield await context.call(updateDocumentByFile, input);
  }
}
