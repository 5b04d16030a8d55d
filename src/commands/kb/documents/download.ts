import { requireField } from "../../../api/response-fields.ts";
import { CliError } from "../../../errors.ts";
import { downloadDocumentsZip, getDocument } from "../../../operations/documents.ts";
import type { Files } from "../../../host/host.ts";
import { newPathInside, safePath, uniquePath } from "../../../host/safe-path.ts";
import { unzip, wrongFileCount } from "../../../lib/unzip.ts";
import type { Context } from "../../command-spec.ts";

/** Documents a server puts into one ZIP (server §9.3). */
const most = 100;

/** Input of `kb doc download`. */
export interface DownloadInput {
  readonly dataset_id: string;
  readonly document_id: readonly string[];
  readonly dir?: string | undefined;
  readonly zip?: string | undefined;
  readonly overwrite?: boolean | undefined;
}

/** One file that was written. */
interface Written {
  readonly document_id: string | null;
  readonly path: string;
  readonly bytes: number;
}

/**
 * Fetches documents byte for byte as a ZIP, and unpacks it. Entries come in the order asked and
 * under base names only, so the documents' own names are put back by order (server §18).
 */
export async function* run(
  input: DownloadInput,
  context: Context,
): AsyncGenerator<Written | Uint8Array> {
  const { dataset_id, document_id, dir, zip } = input;
  if ((dir === undefined) === (zip === undefined)) {
    throw new CliError("usage", "give --dir for files or --zip for one ZIP", {
      sideEffect: "none",
    });
  }
  if (zip !== undefined) {
    if (document_id.length > most) {
      throw new CliError("usage", `one ZIP holds ${most} documents at most`, { hint: "use --dir" });
    }
    const bytes = await fetchZip(dataset_id, document_id, context);
    if (zip === "-") yield* bytes;
    else yield await written(zip, bytes, context);
    return;
  }
  yield* unpacked(input, dir ?? ".", context);
}

/** Writes the ZIP as it comes. */
async function written(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { host }: Context,
): Promise<Written> {
  let bytes = 0;
  await host.files.writeAtomic(
    path,
    counted(pieces, (more) => (bytes += more)),
  );
  return { document_id: null, path, bytes };
}

/**
 * Writes the files below the folder, a hundred documents at a time. A file that is there with other
 * content stays as it is, which ends the command after the others.
 */
async function* unpacked(
  { dataset_id, document_id, overwrite = false }: DownloadInput,
  folder: string,
  context: Context,
): AsyncGenerator<Written> {
  const { files } = context.host;
  const taken = new Set<string>();
  const kept: string[] = [];
  for (let at = 0; at < document_id.length; at += most) {
    const ids = document_id.slice(at, at + most);
    const names: string[] = [];
    for (const id of ids) {
      const { name } = await context.call(getDocument, { dataset_id, document_id: id });
      names.push(requireField(name, "name"));
    }
    let index = 0;
    for await (const bytes of unzip(await fetchZip(dataset_id, ids, context))) {
      const id = ids[index];
      if (id === undefined) throw wrongFileCount(ids.length);
      const own = names[index] ?? id;
      const name = uniquePath(safePath(own), taken);
      const path = `${folder}/${name}`;
      const place = await newPathInside(folder, name, files);
      index++;
      if (!overwrite && (await differs(place, bytes, files))) {
        kept.push(path);
        continue;
      }
      await files.writeAtomic(place, bytes);
      if (name !== own) await context.notice(`document ${own} is written to ${path}`);
      yield { document_id: id, path, bytes: bytes.length };
    }
    if (index !== ids.length) throw wrongFileCount(ids.length);
  }
  if (kept.length > 0) throw notOverwritten(kept);
}

/** Is there a file with other content? */
async function differs(path: string, bytes: Uint8Array, files: Files): Promise<boolean> {
  const there = await files.stat(path);
  if (!there?.isFile) return false; // nothing, or what the write itself refuses
  return there.size !== bytes.length || Buffer.compare(await files.read(path), bytes) !== 0;
}

const notOverwritten = (paths: readonly string[]): CliError => {
  const [first = ""] = paths;
  const others = paths.length > 1 ? ` (and ${paths.length - 1} more)` : "";
  return new CliError("usage", `${first} already exists with other content${others}`, {
    isResult: true,
    sideEffect: "none",
    details: { paths },
    hint: "move it away, or add --overwrite",
  });
};

async function fetchZip(
  dataset_id: string,
  document_ids: readonly string[],
  context: Context,
): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await context.call(downloadDocumentsZip, { dataset_id, document_ids });
  return bytes as AsyncIterable<Uint8Array>; // a file row answers with its bytes
}

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  count: (size: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    count(chunk.length);
    yield chunk;
  }
}
