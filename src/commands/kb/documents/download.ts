import { requireField } from "../../../api/response.ts";
import { CliError, usage } from "../../../errors.ts";
import { getDocument } from "../../../operations/documents.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Files } from "../../../host/host.ts";
import { newPathInside, safePath, uniquePath } from "../../../host/safe-path.ts";
import { unzipDocuments } from "../../../lib/formats/unzip.ts";
import { fetchZip, MAX_ZIP_DOCUMENTS } from "./contents.ts";
import type { Context } from "../../task/command-spec.ts";
import type { downloadParams } from "./command.ts";

type DownloadInput = Input<typeof downloadParams>;

interface WrittenFile {
  readonly document_id: string | null;
  readonly path: string;
  readonly bytes: number;
}

/**
 * Downloads the exact bytes of documents as a ZIP, or as files. Entries of the ZIP are in the order of
 * the request and have base names only, so the names of documents are restored by order (server §18).
 */
export async function* run(
  input: DownloadInput,
  context: Context,
): AsyncGenerator<WrittenFile | Uint8Array> {
  const { dataset_id, document_id, dir, zip } = input;
  if ((dir === undefined) === (zip === undefined)) {
    throw usage("exactly one of --dir and --zip is required");
  }
  if (zip === undefined) {
    yield* writeFiles(input, dir ?? ".", context);
    return;
  }
  if (document_id.length > MAX_ZIP_DOCUMENTS) {
    throw usage(`--zip is limited to ${MAX_ZIP_DOCUMENTS} documents`, "use --dir");
  }
  const bytes = await fetchZip(dataset_id, document_id, context);
  if (zip === "-") yield* bytes;
  else yield await writeZip(zip, bytes, context);
}

async function writeZip(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { host }: Context,
): Promise<WrittenFile> {
  let bytes = 0;
  async function* counted() {
    for await (const piece of pieces) {
      bytes += piece.length;
      yield piece;
    }
  }
  await host.files.writeAtomic(path, counted());
  return { document_id: null, path, bytes };
}

/**
 * Writes documents as files, 100 per request. An existing file with other content is kept, and the
 * command fails after all other files are written.
 */
async function* writeFiles(
  { dataset_id, document_id, overwrite = false }: DownloadInput,
  directory: string,
  context: Context,
): AsyncGenerator<WrittenFile> {
  const { files } = context.host;
  const taken = new Set<string>();
  const conflicts: string[] = [];
  for (let at = 0; at < document_id.length; at += MAX_ZIP_DOCUMENTS) {
    const ids = document_id.slice(at, at + MAX_ZIP_DOCUMENTS);
    const documents: { readonly id: string; readonly name: string }[] = [];
    for (const id of ids) {
      const { name } = await context.api.call(getDocument, { dataset_id, document_id: id });
      documents.push({ id, name: requireField(name, "name") });
    }
    const zip = await fetchZip(dataset_id, ids, context);
    for await (const { document, bytes } of unzipDocuments(zip, documents)) {
      const { id, name: documentName } = document;
      const name = uniquePath(safePath(documentName), taken);
      const path = `${directory}/${name}`;
      const place = await newPathInside(directory, name, files);
      if (!overwrite && (await hasOtherContent(place, bytes, files))) {
        conflicts.push(path);
        continue;
      }
      await files.writeAtomic(place, bytes);
      if (name !== documentName) await context.notice(`wrote document ${documentName} to ${path}`);
      yield { document_id: id, path, bytes: bytes.length };
    }
  }
  if (conflicts.length > 0) throw alreadyExist(conflicts);
}

async function hasOtherContent(path: string, bytes: Uint8Array, files: Files): Promise<boolean> {
  const existing = await files.stat(path);
  if (!existing?.isFile) return false; // nothing, or something that fails the write itself
  return existing.size !== bytes.length || Buffer.compare(await files.read(path), bytes) !== 0;
}

const alreadyExist = (paths: readonly string[]): CliError => {
  const [first = ""] = paths;
  const others = paths.length > 1 ? ` (and ${paths.length - 1} more)` : "";
  return usage(
    `${first} already exists with other content${others}`,
    "move it away, or add --overwrite",
    { isResult: true, details: { paths } },
  );
};
