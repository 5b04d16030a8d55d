import { CliError } from "../errors.ts";
import * as documents from "../operations/documents.ts";
import { newPlaceIn, safePath, unique } from "./safe-path.ts";
import { filesIn, otherCount } from "./zip.ts";
import type { Context } from "./task.ts";

/** Documents a server puts into one ZIP (server §9.3). */
const most = 100;

/** Input of `kb doc download`. */
export interface DownloadInput {
  readonly dataset_id: string;
  readonly document_id: readonly string[];
  readonly dir?: string | undefined;
  readonly zip?: string | undefined;
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
export async function* run(input: DownloadInput, context: Context): AsyncGenerator<Written> {
  const { dataset_id, document_id, dir, zip } = input;
  if ((dir === undefined) === (zip === undefined)) {
    throw new CliError("usage", "give --dir for files or --zip for one ZIP", {
      changed: "nothing",
    });
  }
  const { files } = context.host;
  if (zip !== undefined) {
    if (document_id.length > most) {
      throw new CliError("usage", `one ZIP holds ${most} documents at most`, { hint: "use --dir" });
    }
    const bytes = await fetchZip(dataset_id, document_id, context);
    let size = 0;
    await files.writeAtomic(
      zip,
      counted(bytes, (more) => (size += more)),
    );
    yield { document_id: null, path: zip, bytes: size };
    return;
  }
  const folder = dir ?? ".";
  const taken = new Set<string>();
  for (let at = 0; at < document_id.length; at += most) {
    const ids = document_id.slice(at, at + most);
    const names: string[] = [];
    for (const id of ids) {
      names.push((await context.call(documents.show, { dataset_id, document_id: id })).name);
    }
    let index = 0;
    for await (const bytes of filesIn(await fetchZip(dataset_id, ids, context))) {
      const id = ids[index];
      if (id === undefined) throw otherCount(ids.length);
      const name = unique(safePath(names[index] ?? id), taken);
      await files.writeAtomic(await newPlaceIn(folder, name, files), bytes);
      yield { document_id: id, path: `${folder}/${name}`, bytes: bytes.length };
      index++;
    }
    if (index !== ids.length) throw otherCount(ids.length);
  }
}

async function fetchZip(
  dataset_id: string,
  document_ids: readonly string[],
  context: Context,
): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await context.call(documents.downloadZip, { dataset_id, document_ids });
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
