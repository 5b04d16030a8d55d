import { unzipSync } from "fflate";
import type { SimulatedServer } from "./server.ts";

/** A document as the server has it. */
export interface StoredDocument {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly status: string;
  /** ID of the stored file: another one after each change of the content. */
  readonly file: string;
  /** Values of its metadata fields by name. */
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly indexing_status: string;
  readonly data_source_info: { readonly upload_file_id: string };
  readonly doc_metadata: readonly { readonly name: string; readonly value: unknown }[] | null;
}

/** Creates a knowledge base without an embedding model; returns its ID. */
export async function createKb(server: SimulatedServer, name: string): Promise<string> {
  const body = { name, indexing_technique: "economy" };
  return (await server.call<{ id: string }>("POST", "/v1/datasets", body)).id;
}

/** Adds a document as another program would; returns its ID. */
export async function addText(
  server: SimulatedServer,
  kb: string,
  document: { readonly name: string; readonly text: string },
): Promise<string> {
  const path = `/v1/datasets/${kb}/document/create-by-text`;
  const body = { ...document, indexing_technique: "economy", process_rule: { mode: "automatic" } };
  return (await server.call<{ document: { id: string } }>("POST", path, body)).document.id;
}

/** The documents that a knowledge base has, with their content. */
export async function documentsOf(server: SimulatedServer, kb: string): Promise<StoredDocument[]> {
  const path = `/v1/datasets/${kb}/documents`;
  const all: StoredDocument[] = [];
  for (let page = 1; ; page++) {
    const { data, has_more } = await server.call<{ data: Listed[]; has_more: boolean }>(
      "GET",
      `${path}?limit=100&page=${page}`,
    );
    if (data.length === 0) break; // an archive of nothing is rejected
    const body = { document_ids: data.map(({ id }) => id) };
    const zip = await server.call<Uint8Array>("POST", `${path}/download-zip`, body);
    const texts = Object.values(unzipSync(zip)).map((bytes) => new TextDecoder().decode(bytes));
    all.push(
      ...data.map(
        ({ id, name, indexing_status: status, data_source_info, doc_metadata }, index) => ({
          id,
          name,
          text: texts[index] ?? "",
          status,
          file: data_source_info.upload_file_id,
          fields: Object.fromEntries((doc_metadata ?? []).map((each) => [each.name, each.value])),
        }),
      ),
    );
    if (!has_more) break;
  }
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}
