import { asText } from "../../operations/operation.ts";
import { untrustedMark, untrustedText } from "./results.ts";
import type { ClientRequest, Offer, OfferedResources } from "./schema.ts";
import { readChunk, placeOf, uriOf } from "./kb-documents.ts";
import type { Documents, AllowedBase } from "./kb-documents.ts";

/** Documents of a knowledge base that are listed; the template reaches the others. */
const MAX_LISTED = 100;
const MAX_CHUNKS = 1000;

/** Knowledge bases and their documents as resources. */
export const resourcesOf = (documents: Documents): OfferedResources => ({
  templates: [
    {
      name: "document",
      title: "Document of a knowledge base",
      description: "The text of a document",
      uriTemplate: "kb://{kb}/{document}",
      mimeType: "text/plain",
    },
    {
      name: "knowledge base",
      title: "Knowledge base",
      description: "The names of its documents, newest first",
      uriTemplate: "kb://{kb}",
      mimeType: "text/plain",
    },
  ],
  async list(cursor, request) {
    // One page for each knowledge base, so that a client that reads all of them sends few requests.
    const bases = await basesOf(documents, request);
    const index = Number(cursor ?? 0);
    const base = bases[index];
    if (base === undefined) return { resources: [] };
    const names = await documentNames(documents, { kb: base.id }, request);
    const resources = names.map((document) => ({
      uri: uriOf({ kb: base.name, document }),
      name: document,
      mimeType: "text/plain",
    }));
    const own = { uri: uriOf({ kb: base.name }), name: base.name, mimeType: "text/plain" };
    const next = index + 1 < bases.length ? { nextCursor: String(index + 1) } : {};
    return { resources: [own, ...resources], ...next };
  },
  async read(uri, request) {
    const { kb, document } = placeOf(uri);
    const text =
      document === undefined
        ? (await documentNames(documents, { kb }, request)).join("\n")
        : await textOf(documents, kb, document, request);
    // Marked as in the results of tools.
    return {
      contents: [
        { uri, mimeType: "text/plain", text: untrustedText(text).text, _meta: untrustedMark },
      ],
    };
  },
});

async function basesOf(
  documents: Documents,
  request: ClientRequest,
): Promise<readonly AllowedBase[]> {
  if (documents.allowed) return documents.allowed;
  const { rows } = await documents.list("list", {}, request, { limit: MAX_LISTED });
  return rows.map(({ id, name }) => ({ id: asText(id), name: asText(name) }));
}

async function documentNames(
  documents: Documents,
  values: { readonly kb: string; readonly keyword?: string },
  request: ClientRequest,
): Promise<string[]> {
  const { rows } = await documents.list("doc list", values, request, { limit: MAX_LISTED });
  return rows.map(({ name }) => asText(name));
}

async function textOf(
  documents: Documents,
  kb: string,
  doc: string,
  request: ClientRequest,
): Promise<string> {
  const limit = { limit: MAX_CHUNKS };
  const { rows, total = 0 } = await documents.list("chunk list", { kb, doc }, request, limit);
  const texts = rows.map((row) => readChunk(row).text);
  const rest = total - rows.length;
  return [...texts, ...(rest > 0 ? [`(${rest} more chunks: use the tool read)`] : [])].join("\n\n");
}

/** Completes names of knowledge bases and documents. */
export const completeName =
  (documents: Documents): Offer["complete"] =>
  async (argument, text, { kb }, request) => {
    if (argument === "kb") {
      const names = (await basesOf(documents, request)).map(({ name }) => name);
      return names.filter((name) => startsWith(name, text));
    }
    if (argument !== "document" || kb === undefined) return [];
    const filter = text === "" ? {} : { keyword: text };
    const names = await documentNames(documents, { kb, ...filter }, request);
    return names.filter((name) => startsWith(name, text));
  };

const startsWith = (name: string, text: string) =>
  name.toLowerCase().startsWith(text.toLowerCase());
