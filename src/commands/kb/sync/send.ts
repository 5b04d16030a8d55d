import { CliError, reasonOf, usage } from "../../../errors.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { decodeText } from "../../../lib/utf8.ts";
import {
  createDocumentByFile,
  createDocumentByText,
  updateDocumentByText,
} from "../../../operations/documents.ts";
import { replaceFile, ruleFor, ruleOf, storedFile } from "../documents/index.ts";
import type { DocumentState } from "../documents/index.ts";
import type { LocalFile } from "./local-files.ts";
import type { SyncStep } from "./plan.ts";
import type { Context } from "../../command-spec.ts";

/** Settings of the knowledge base for uploads. */
export interface UploadOptions {
  readonly dataset_id: string;
  readonly indexing_technique: "high_quality" | "economy";
  readonly doc_form: string | null;
  /** Has the knowledge base no documents? Then an upload must bring its chunking rule. */
  readonly isEmpty: boolean;
  /** ID of the newest document. */
  readonly newestId: string | undefined;
}

/** A document that was sent. */
export interface SentDocument {
  readonly step: SyncStep;
  readonly id: string;
  /** Hash of the bytes that were sent. */
  readonly hash: string;
  /** ID of the stored file, if the server returns it. */
  readonly stored: string | null;
}

/**
 * Sends the content of a file: creates its document or updates it in place. A document in error is
 * replaced by creating one of its name, which keeps its ID (server §9.1); so does `replace`.
 */
export async function sendFile(
  step: SyncStep,
  replace: boolean,
  options: UploadOptions,
  context: Context,
): Promise<SentDocument> {
  const file = step.file as LocalFile; // every create and update has one
  const isReplaced = replace || step.document?.indexing_status === "error";
  const document = isReplaced ? undefined : step.document;
  const form = await formFor(document, options, context);
  // The bytes are read once, so that the hash is that of what is sent.
  const bytes = await context.host.files.read(file.location).catch((error: unknown) => {
    if (error instanceof CliError) throw error; // interrupted
    throw usage(`failed to read the file: ${reasonOf(error)}`, undefined, { cause: error });
  });
  if (bytes.length === 0) throw usage("the file is empty");
  const text = file.kind === "text" ? decodeText(bytes) : undefined;
  if (file.kind === "text" && text === undefined)
    throw usage("the file is no longer valid UTF-8 text");
  const { dataset_id, indexing_technique, isEmpty } = options;
  const { name, location } = file;
  const upload = { path: location, name, bytes };
  let response: { readonly document: { readonly id: string } };
  if (document) {
    const target = { dataset_id, document_id: document.id, ...form };
    response =
      text === undefined
        ? await replaceFile({ ...target, file: upload }, context)
        : await context.call(updateDocumentByText, { ...target, name, text });
  } else {
    const target = { dataset_id, indexing_technique, ...form };
    const rule = isEmpty && { process_rule: { mode: "automatic" } as const };
    response =
      text === undefined
        ? await context.call(createDocumentByFile, { ...rule, ...target, file: upload })
        : await context.call(createDocumentByText, { ...target, name, text });
  }
  const { id } = response.document;
  return { step, id, hash: sha256(bytes), stored: storedFile(response.document) };
}

/**
 * The form of a document and, for hierarchical ones, its chunking rule: that of the document itself, or
 * of the newest one. Without a rule, the server applies its last one, whatever that is.
 */
async function formFor(
  document: DocumentState | undefined,
  { dataset_id, doc_form, newestId }: UploadOptions,
  context: Context,
) {
  if (doc_form === null) return {};
  const form = { doc_form: doc_form as "text_model" };
  if (doc_form !== "hierarchical_model") return form;
  const model = document?.id ?? newestId;
  const rule = model === undefined ? undefined : await ruleOf(dataset_id, model, context);
  return { ...form, process_rule: ruleFor(doc_form, rule) as { mode: "hierarchical" } };
}
