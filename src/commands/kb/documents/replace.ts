import type { CallOptions } from "../../../api/calls.ts";
import { ApiError } from "../../../errors.ts";
import { replaceDocument, updateDocumentByFile } from "../../../operations/documents.ts";
import type { DocumentInBatch } from "../../../operations/documents.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";

/**
 * Replaces the file of a document. A server before 1.14.0 rejects the route and gets the older one
 * (server §9.4, §19); a rejected route changed nothing, so this is not a retry.
 */
export async function replaceFile(
  input: InputOf<typeof replaceDocument>,
  context: Context,
  options?: Pick<CallOptions, "onSent">,
): Promise<DocumentInBatch> {
  try {
    return await context.api.call(replaceDocument, input, options);
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.status !== 405) throw error;
    await context.trace(1, "the server does not have this route; using the older one");
    return context.api.call(updateDocumentByFile, input, options);
  }
}

export async function* run(
  input: InputOf<typeof replaceDocument>,
  context: Context,
): AsyncGenerator<DocumentInBatch> {
  yield await replaceFile(input, context);
}
