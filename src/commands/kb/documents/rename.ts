import { requireField } from "../../../api/response.ts";
import { CliError, refused, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { own } from "../../../lib/json.ts";
import { countCharacters, counted, decodeText } from "../../../lib/text.ts";
import { getDocument, listDocuments, updateDocumentByText } from "../../../operations/documents.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context, RowWork } from "../../task/command-spec.ts";
import { editText } from "../../task/edit-text.ts";
import type { Edited } from "../../task/edit-text.ts";
import type { docEditParams } from "./command.ts";
import { contentOf, replaceFile } from "./contents.ts";
import { responseValues, storedValues } from "./field-values.ts";
import { indexingStatusOf, isIndexed, waitForIndexing } from "./indexing-status.ts";
import { hasOwnChunks, syncFields } from "./state.ts";
import { confirmLosses, lossesOf, nameLosses } from "./losses.ts";
import { incomplete, verifiedRename } from "./verify-rename.ts";
import type { DocumentDetail, Rename, RenameInput, SentContent } from "./verify-rename.ts";

interface RenamedDocument {
  readonly id: string;
  readonly name: string;
  readonly previous_name: string;
  readonly indexing_status: string;
  /** As lists show it. */
  readonly display_status: string;
}

/** Renames a document. */
export async function* run(input: RenameInput, context: Context): AsyncGenerator<RenamedDocument> {
  const rename = await checkRename(input, context);
  if (rename.before.name === input.name) await context.notice("it already has this name");
  else if (syncedPath(rename.before)) await context.notice(syncNotice);
  yield await finishRename(rename, context);
}

/** The same for the rows of a file. */
export const rowWork = (context: Context): RowWork<RenameInput, Rename> => {
  const renamed = new Set<string>();
  const earlier = new Set<string>();
  let isNoticed = false;
  return {
    async check(input) {
      const key = `${input.dataset_id} ${input.name}`;
      if (renamed.has(key)) throw usage(`another row has the name ${JSON.stringify(input.name)}`);
      renamed.add(key);
      const rename = await checkRename(input, context, ({ name }) => {
        const now = `${input.dataset_id} ${name}`;
        if (now === key) return;
        // Rows are sent side by side, and a document cannot take a name before another one has lost it.
        if (renamed.has(now) || earlier.has(key))
          throw usage(
            `swaps or chains names: the new name ${JSON.stringify(input.name)}, or the current one, belongs to another row`,
            "rename these documents to unused names first, then to the intended ones with a second file",
          );
        earlier.add(now);
      });
      if (!isNoticed && syncedPath(rename.before)) {
        isNoticed = true;
        await context.notice(syncNotice);
      }
      return rename;
    },
    send: async (rename) => (await finishRename(rename, context)).id,
  };
};

/**
 * Reads what a rename depends on and refuses one that the server rejects or that would lose something.
 * A rename sends the whole content again (server §9.4), so the server splits it into chunks again:
 * changes of chunks by hand are lost, which needs a confirmation.
 */
async function checkRename(
  input: RenameInput,
  context: Context,
  compare?: (before: DocumentDetail) => void,
): Promise<Rename> {
  const rename = await readRename(input, context);
  const { before } = rename;
  compare?.(before);
  if (before.name === input.name) return rename;
  requireAvailable(before, input);
  requireFile(before);
  const extension = extensionOf(before);
  if (extension !== "txt") requireFileName(input.name, extension);
  await requireFreeName(input, context);
  const question = (lost: string) =>
    `Rename ${before.name} to ${input.name} and lose ${lost}? The document is split into chunks again.`;
  await confirmLosses(rename.losses, { question, declined: "nothing was changed" }, context);
  return rename;
}

/** Reads the document and what of it would be lost. */
async function readRename(input: RenameInput, context: Context): Promise<Rename> {
  const { dataset_id, document_id } = input;
  const before = await context.api.call(getDocument, { dataset_id, document_id });
  if (before.name === input.name) return { input, before, losses: [] };
  return { input, before, losses: (await lossesOf(dataset_id, before, context)).lost };
}

async function requireFreeName({ dataset_id, name }: RenameInput, context: Context): Promise<void> {
  // In the pattern that a keyword is (server §5), a backslash does not match itself.
  const keyword = name.includes("\\") ? undefined : name;
  for await (const other of context.api.rows(listDocuments, { dataset_id, keyword })) {
    if (other.name !== name) continue;
    const hint = commandLine("kb doc show", [dataset_id, other.id]);
    throw refused(`document ${JSON.stringify(name)} already exists`, hint);
  }
}

/** The file that a sync made the document from, if one did. */
const syncedPath = ({ doc_metadata }: DocumentDetail): unknown =>
  responseValues(doc_metadata).find(({ name }) => name === syncFields.path)?.value;

const syncNotice = "kb sync names a document after its file again when that file changes";

/** What makes a document of another status available, by status. */
const nextSteps: Readonly<Record<string, string>> = {
  disabled: "kb doc enable",
  archived: "kb doc unarchive",
  queuing: "kb doc wait",
  indexing: "kb doc wait",
};

function requireAvailable({ display_status }: DocumentDetail, input: RenameInput): void {
  const status = display_status ?? "available"; // then the server decides
  if (status === "available") return;
  const { dataset_id, document_id } = input;
  throw refused(
    `the document is ${status}; the server changes only available documents`,
    commandLine(own(nextSteps, status) ?? "kb doc show", [dataset_id, document_id]),
  );
}

/** Throws unsupported for a document that has no file, or whose chunks a pipeline made. */
function requireFile({ data_source_type, created_from }: DocumentDetail): void {
  const isFile = (data_source_type ?? "upload_file") === "upload_file";
  if (isFile && created_from !== "rag-pipeline") return;
  const origin = isFile ? "a pipeline" : data_source_type;
  throw unsupported(`a document from ${origin} has no file that could be sent under another name`);
}

const unsupported = (message: string, hint?: string) =>
  new CliError("unsupported", message, { sideEffect: "none", hint });

/** The extension of the stored file: `txt` for every document that was created from text. */
const extensionOf = ({ data_source_info }: DocumentDetail): string =>
  (data_source_info?.upload_file?.extension ?? "").toLowerCase();

/** Throws usage for a name that the file of a document cannot have. */
function requireFileName(name: string, extension: string): void {
  const shown = JSON.stringify(name);
  if (/[/\\]/.test(name)) throw usage(`the name of a file cannot have slashes: ${shown}`);
  const ending = `.${extension}`;
  if (extension === "" || name.toLowerCase().endsWith(ending)) return;
  throw usage(
    `${shown} does not end in ${ending}`,
    "the server reads the file by its extension, which a rename keeps",
  );
}

/** Makes a checked rename, verifies it, and waits for indexing. Reads the document again, as a prompt takes its time. */
async function finishRename(checked: Rename, context: Context): Promise<RenamedDocument> {
  const { input } = checked;
  const { document_id, name, no_wait } = input;
  const rename = await readRename(input, context);
  const { before } = rename;
  const isRenamed = before.name === name;
  if (!isRenamed && rename.losses.join() !== checked.losses.join())
    throw refused("its chunks were changed meanwhile", "run the same command again");
  if (!isRenamed) requireAvailable(before, input);
  const content = isRenamed ? undefined : await readBytes(input.dataset_id, before, context);
  const sent = content && (await sendContent(rename, content, context));
  const after = sent ? await verifiedRename(rename, sent, context).catch(throwApplied) : before;
  const indexing_status = no_wait
    ? requireField(after.indexing_status, "indexing_status")
    : await waitForDocument(input, context, !isRenamed).catch(isRenamed ? undefined : throwApplied);
  const previous_name = requireField(checked.before.name, "name");
  const display_status = indexing_status === "completed" ? "available" : indexing_status;
  return { id: document_id, name, previous_name, indexing_status, display_status };
}

/** Throws an error of what follows the rename: the document has its name. */
function throwApplied(error: unknown): never {
  throw error instanceof CliError ? error.with({ sideEffect: "applied" }) : error;
}

/** Sends name and content together. */
async function sendContent(
  { input: { dataset_id, document_id, name }, before }: Rename,
  bytes: Uint8Array,
  context: Context,
): Promise<SentContent> {
  const shared = {
    dataset_id,
    document_id,
    // It is required (server §9.4); without a rule, that of the document stays (server §9.8).
    doc_form: (before.doc_form ?? undefined) as "text_model" | undefined,
    doc_language: before.doc_language ?? undefined,
  };
  const text = extensionOf(before) === "txt" ? decodeText(bytes) : undefined;
  try {
    if (text) {
      await context.api.call(updateDocumentByText, { ...shared, name, text });
      return { bytes, size: countCharacters(text), isText: true };
    }
    requireFileName(name, extensionOf(before));
    const type = before.data_source_info?.upload_file?.mime_type ?? undefined;
    await replaceFile({ ...shared, file: { path: name, name, type, bytes } }, context);
    return { bytes, size: bytes.length, isText: false };
  } catch (error) {
    const isUnknown = error instanceof CliError && error.info.sideEffect === "unknown";
    throw isUnknown ? error.with({ hint: "run the same command again to continue" }) : error;
  }
}

/** Edits the text of a document; it is sent as it was made, as a text or as a file. */
export async function* edit(
  { from, ...place }: Input<typeof docEditParams>,
  context: Context,
): AsyncGenerator<DocumentDetail> {
  const args = [place.dataset_id, place.document_id];
  const readDocument = () => context.api.call(getDocument, place);
  const before = await readDocument();
  const input = { ...place, name: requireField(before.name, "name") };
  requireAvailable(before, input);
  requireFile(before);
  if (hasOwnChunks(before, storedValues(before.doc_metadata)[syncFields.source]))
    throw unsupported(
      `the chunks of ${input.name} are not made of its text, which would replace them`,
      `edit the sheet and sync it again, or a chunk: ${commandLine("kb chunk list", args)}`,
    );
  const edited: Edited<DocumentDetail> = {
    line: ["kb doc edit", args, from],
    instead: commandLine("kb doc update", args, { "text-file": "FILE" }),
    name: input.name,
    async read() {
      await nameLosses(place.dataset_id, [place.document_id], context);
      const text = decodeText(await readBytes(place.dataset_id, await readDocument(), context));
      if (text !== undefined && !text.startsWith("%PDF-")) return text;
      throw unsupported(
        `the text of ${input.name} cannot be read`,
        `its chunks can be edited; to see them: ${commandLine("kb chunk list", args)}`,
      );
    },
    async send(text) {
      await sendContent({ input, before, losses: [] }, Buffer.from(text), context);
      return readDocument();
    },
  };
  yield* editText(edited, context);
}

/** The bytes of a document, from a ZIP: a link truncates texts (server §9.7). */
async function readBytes(dataset_id: string, before: DocumentDetail, context: Context) {
  const bytes = await contentOf(dataset_id, before.id, context);
  if (bytes === undefined)
    throw unsupported("the server does not give the content of the document");
  const size = before.data_source_info?.upload_file?.size;
  const characters = countCharacters(decodeText(bytes) ?? "");
  // The size of a text is in characters (server §9.1).
  if (size === undefined || size === bytes.length || size === characters) return bytes;
  throw unsupported(
    `the server gives ${counted(bytes.length, "byte")} of the document, whose size is ${size}`,
  );
}

/** Waits until the document is indexed again, and returns its status. */
async function waitForDocument(
  { dataset_id, document_id }: RenameInput,
  context: Context,
  isRenamed: boolean,
): Promise<string> {
  const poll = async () => [
    indexingStatusOf(await context.api.call(getDocument, { dataset_id, document_id })),
  ];
  let last = "";
  for await (const status of waitForIndexing(poll, context)) {
    last = status.indexing_status;
    if (isIndexed(status)) continue;
    const problem = `indexing failed: ${status.error ?? last}`;
    throw isRenamed ? incomplete(problem) : new CliError("remote-failed", problem);
  }
  return last;
}
