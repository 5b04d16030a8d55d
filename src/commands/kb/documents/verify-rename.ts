import { join } from "node:path";
import { CliError } from "../../../errors.ts";
import { safePath } from "../../../host/safe-path.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { getDocument } from "../../../operations/documents.ts";
import { setDocumentMetadata } from "../../../operations/metadata.ts";
import type { Input, ResponseOf } from "../../../operations/operation.ts";
import { responseValues } from "./field-values.ts";
import type { ResponseValue } from "./field-values.ts";
import { sendableRule } from "./state.ts";
import type { Context } from "../../task/command-spec.ts";
import type { renameParams } from "./command.ts";
import { stringifyJson } from "../../../lib/json.ts";

export type RenameInput = Input<typeof renameParams>;
export type DocumentDetail = ResponseOf<typeof getDocument>;

/** A rename that nothing is known to prevent. */
export interface Rename {
  readonly input: RenameInput;
  /** The document as it is. */
  readonly before: DocumentDetail;
  /** What of it would be lost, which is confirmed. */
  readonly losses: readonly string[];
}

/** A content that was sent, and the size that the server must report for it. */
export interface SentContent {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly isText: boolean;
}

/** Reads the renamed document and returns it; throws remote-failed if something was lost. */
export async function verifiedRename(
  { input, before }: Rename,
  sent: SentContent,
  context: Context,
): Promise<DocumentDetail> {
  const { dataset_id, document_id } = input;
  const renamed = await context.api.call(getDocument, { dataset_id, document_id });
  await requireSameSize(input, sent, renamed, context);
  const after = await restoreMetadata(input, before, renamed, context);
  requireSameState(before, after);
  return after;
}

/** Throws if the server stored less than was sent, after keeping the content in a file. */
async function requireSameSize(
  { dataset_id, document_id, name }: RenameInput,
  { bytes, size, isText }: SentContent,
  { data_source_info }: DocumentDetail,
  { host }: Context,
): Promise<void> {
  const stored = data_source_info?.upload_file?.size;
  if (stored === size) return;
  const path = join(host.directories.state, "renames", document_id, safePath(name));
  await host.files.writeAtomic(path, bytes);
  throw incomplete(
    `the server stored ${stored ?? "nothing"} of a content of size ${size}; it is kept in ${path}`,
    isText
      ? commandLine("kb doc update", [dataset_id, document_id], { "text-file": path })
      : commandLine("kb doc replace", [dataset_id, document_id, path]),
  );
}

/** The error of a rename that the server made differently than announced. */
export const incomplete = (message: string, hint?: string) =>
  new CliError("remote-failed", `renamed, but ${message}`, { sideEffect: "applied", hint });

/** Sets metadata values again that an update did not keep, and returns the document with them. */
async function restoreMetadata(
  { dataset_id, document_id }: RenameInput,
  before: DocumentDetail,
  after: DocumentDetail,
  context: Context,
): Promise<DocumentDetail> {
  if (lostValues(before, after).length === 0) return after;
  const metadata_list = responseValues(before.doc_metadata);
  const operation_data = [{ document_id, metadata_list, partial_update: true }];
  let now = after;
  let cause: unknown;
  try {
    await context.api.call(setDocumentMetadata, { dataset_id, operation_data });
    now = await context.api.call(getDocument, { dataset_id, document_id });
  } catch (error) {
    cause = error;
  }
  const lost = lostValues(before, now);
  if (lost.length === 0) return now;
  const set = lost.map(({ name, value }) => `${name}=${value}`);
  throw incomplete(
    `the server lost the metadata ${lost.map(({ name }) => name).join(", ")}`,
    commandLine("kb metadata set", [dataset_id, document_id], { set }),
  ).with({ cause });
}

function lostValues(before: DocumentDetail, after: DocumentDetail): readonly ResponseValue[] {
  const kept = new Map(responseValues(after.doc_metadata).map(({ id, value }) => [id, value]));
  return responseValues(before.doc_metadata).filter(
    ({ id, value }) => value !== null && kept.get(id) !== value,
  );
}

/** What an update must not change, by its name in messages. */
const stateOf = (document: DocumentDetail): Readonly<Record<string, unknown>> => ({
  enabled: document.enabled,
  archived: document.archived,
  "chunk structure": document.doc_form,
  language: document.doc_language,
  "chunking rule": stringifyJson(sendableRule(document.document_process_rule)),
});

function requireSameState(before: DocumentDetail, after: DocumentDetail): void {
  const now = stateOf(after);
  const changed = Object.entries(stateOf(before)).filter(([name, value]) => now[name] !== value);
  if (changed.length === 0) return;
  throw incomplete(`the server changed: ${changed.map(([name]) => name).join(", ")}`);
}
