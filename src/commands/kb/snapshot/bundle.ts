import { basename, dirname, join } from "node:path";
import { problemIn } from "../../../api/response.ts";
import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isBelow, pathInside, readRegular, safePath } from "../../../host/safe-path.ts";
import { isObject, tryParseJson, valueAt, stringifyJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { RequiredFields } from "../../../operations/operation.ts";
import { docForms } from "../../../operations/shared.ts";
import { chunkRules } from "../chunk-lists/index.ts";
import { fieldValue } from "../documents/index.ts";
import type { DocumentState, FieldValues, KbProperties, KbSettings } from "../documents/index.ts";
import type { Context } from "../../task/command-spec.ts";

/** A document of an export and its file. */
export interface BundledDocument extends Omit<DocumentState, "error" | "from_api"> {
  /** Path below the directory, with `/`; null if the server has no file for it. */
  readonly file: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  /** Its chunks; not in exports with --no-chunks. */
  readonly chunks?: ChunkFile | undefined;
}

/** A JSON Lines file with the chunks of a document. */
export interface ChunkFile {
  /** Path below the directory, with `/`. */
  readonly file: string;
  /** The hash of the file; null in exports of version 1, which have none. */
  readonly sha256: string | null;
}

/** The content of `manifest.json`. */
export interface Manifest {
  /** Version of the format; 1 had no hashes of chunks, and child chunks as mere texts. */
  readonly kb_export: 1 | 2;
  readonly source: { readonly base_url: string; readonly id: string; readonly name: string };
  readonly exported_at: string;
  readonly state: KbProperties & { readonly documents: readonly BundledDocument[] };
  /** Chunking rules by key, as create takes them. */
  readonly rules: Readonly<Record<string, unknown>>;
}

/** What imports and comparisons do not include unless they are told to, as an import chunks the documents again. */
export function notImported(settings: KbSettings): string {
  const { doc_form, summaries } = chunkRules(settings, settings.doc_form);
  const parts = ["edited chunks"];
  if (doc_form === "hierarchical_model") parts.push("child chunks");
  if (doc_form === "qa_model") parts.push("questions and answers");
  if (summaries) parts.push("summaries");
  return parts.join(", ");
}

const fileName = "manifest.json";

/** Is the directory an export? */
export const isBundle = async (directory: string, files: Files): Promise<boolean> =>
  (await files.stat(join(directory, fileName))) !== null;

/** Writes the manifest atomically, with a checksum over its content. */
export async function writeManifest(
  directory: string,
  manifest: Manifest,
  files: Files,
): Promise<void> {
  const sum = sha256(stringifyJson(manifest));
  await files.writeAtomic(join(directory, fileName), `${stringifyJson({ ...manifest, sum }, 2)}\n`);
}

/** Reads the manifest of an export; undefined if there is none. Throws usage for an invalid one. */
export async function readManifest(directory: string, files: Files): Promise<Manifest | undefined> {
  const path = join(directory, fileName);
  const bytes = await readRegular(path, files);
  if (!bytes) return undefined;
  const invalid = (why: string) =>
    usage(
      `invalid manifest ${path}: ${why}`,
      "export again into an empty directory: kb export <kb> <dir>",
    );
  const value = tryParseJson(new TextDecoder().decode(bytes));
  if (value === undefined) throw invalid("not valid JSON");
  if (!isObject(value) || typeof value["kb_export"] !== "number")
    throw invalid("not written by kb export");
  if (![1, 2].includes(value["kb_export"]))
    throw invalid(`version ${value["kb_export"]} is newer than this program`);
  const { sum, ...stored } = value;
  if (sum !== sha256(stringifyJson(stored))) throw invalid("modified after the export");
  return checkedManifest(value["kb_export"] === 1 ? withChunkFiles(stored) : stored, invalid);
}

/** Checks the fields and paths of a manifest. Throws what `invalid` makes of the reason. */
export function checkedManifest(manifest: object, invalid: (why: string) => CliError): Manifest {
  // A checksum only proves that the manifest is complete, not who wrote it.
  const problem = problemIn(manifestFields, manifest, "");
  if (problem !== undefined) throw invalid(problem);
  const checked = manifest as unknown as Manifest;
  const outside = checked.state.documents
    .flatMap(({ file, chunks }) => [file, chunks?.file])
    .find((file) => typeof file === "string" && !isBelow(file));
  if (outside) throw invalid(`file outside the directory: ${outside}`);
  return { ...checked, state: typedState(checked.state) };
}

/**
 * What the encoded paths of an export stand for, by path below a directory: that of the export, or its
 * `documents`. Other paths, and those of any other directory, are not in it.
 */
export async function documentNames(
  directory: string,
  files: Files,
): Promise<ReadonlyMap<string, string>> {
  const path = await files.realPath(directory);
  // Not a pipe, which may have no end.
  const hasManifest = async (at: string) => (await files.stat(join(at, fileName)))?.isFile === true;
  const isInner = basename(path) === "documents" && !(await hasManifest(path));
  const top = isInner ? dirname(path) : path;
  const names = new Map<string, string>();
  if (!(await hasManifest(top))) return names;
  const text = new TextDecoder().decode(await files.read(join(top, fileName)));
  // Other programs have a manifest.json, too.
  if (typeof valueAt(tryParseJson(text), "kb_export") !== "number") return names;
  const before = isInner ? "" : "documents/";
  for (const { name, file } of (await readManifest(top, files))?.state.documents ?? []) {
    if (file !== `documents/${safePath(name)}`) continue; // numbered, or of a former version
    const ends = [...name.matchAll(/\//g)].map(({ index }) => index);
    for (const part of [name, ...ends.map((end) => name.slice(0, end))])
      names.set(before + safePath(part), before + part);
  }
  return names;
}

/** A manifest of version 1, which had only the paths of the files with chunks, as one of version 2. */
function withChunkFiles(manifest: Record<string, unknown>): Record<string, unknown> {
  const { state } = manifest;
  const documents = valueAt(state, "documents");
  if (!isObject(state) || !Array.isArray(documents)) return manifest;
  const converted = documents.map((document: unknown) =>
    isObject(document) && typeof document["chunks"] === "string"
      ? { ...document, chunks: { file: document["chunks"], sha256: null } }
      : document,
  );
  return { ...manifest, state: { ...state, documents: converted } };
}

/** Nulls for missing parts, and values as their fields store them: they may have been exported as text. */
function typedState(state: Manifest["state"]): Manifest["state"] {
  const types = new Map(state.fields.map(({ name, type }) => [name, type]));
  const typed = (metadata: FieldValues) =>
    Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [
        name,
        fieldValue(types.get(name) ?? "string", value) ?? value,
      ]),
    );
  const settings = { indexing_technique: null, doc_form: null, embedding_model: null };
  const noFile = { stored: null, rule: null, file: null, sha256: null };
  const documents = state.documents.map((each) => ({
    ...noFile,
    ...each,
    chunks: each.chunks ?? undefined,
    metadata: typed(each.metadata),
  }));
  return { ...state, settings: { ...settings, ...state.settings }, documents };
}

/** The parts of a manifest that must be there; it may have others. */
const manifestFields = {
  source: { base_url: "text", id: "text", name: "text" },
  rules: { "*": {} },
  state: {
    settings: {
      name: "text",
      description: "text",
      permission: "text",
      "indexing_technique?": "=high_quality|economy",
      "doc_form?": `=${docForms.join("|")}`,
      "embedding_model?": "text",
      "summary_index_setting?": {},
    },
    tags: ["text"],
    fields: [{ name: "text", type: "=string|number|time" }],
    built_in_fields: "flag",
    documents: [
      {
        id: "text",
        name: "text",
        "stored?": "text",
        from_text: "flag",
        enabled: "flag",
        archived: "flag",
        indexing_status: "text",
        metadata: { "*": "scalar" },
        "rule?": "text",
        "file?": "text",
        bytes: "number",
        "sha256?": "text",
        "chunks?": { file: "text", "sha256?": "text" },
      },
    ],
  },
} as const satisfies RequiredFields;

/** The hash of a file of an export as it is now; null if it is missing. Throws usage for a symlink to the outside. */
export async function fileHash(
  directory: string,
  file: string | null,
  files: Files,
  hashOf: (bytes: Uint8Array) => string = sha256,
): Promise<string | null> {
  if (file === null) return null;
  const path = await pathInside(directory, file, files);
  // A pipe or a directory counts as missing; reading a pipe may never end.
  return (await files.stat(path))?.isFile ? hashOf(await files.read(path)) : null;
}

/** The documents of an export with the hashes of their files as they are now. */
export async function hashedDocuments(
  directory: string,
  { documents }: Pick<Manifest["state"], "documents">,
  { host: { files }, progress }: Context,
  hashOf?: (bytes: Uint8Array) => string,
): Promise<readonly (BundledDocument & { readonly hash: string | null })[]> {
  const hashed: (BundledDocument & { readonly hash: string | null })[] = [];
  for (const document of documents) {
    hashed.push({ ...document, hash: await fileHash(directory, document.file, files, hashOf) });
    progress({ verb: "Checking", done: hashed.length, total: documents.length, unit: "files" });
  }
  return hashed;
}

/** Throws usage for files that do not match the manifest. */
export async function requireUndamaged(
  directory: string,
  { state }: { readonly state: Pick<Manifest["state"], "documents"> },
  context: Context,
): Promise<void> {
  const damages: { readonly file: string; readonly problem: "missing" | "changed" }[] = [];
  const check = (file: string, expected: string | null, hash: string | null) => {
    if (hash !== expected) damages.push({ file, problem: hash === null ? "missing" : "changed" });
  };
  for (const { file, sha256: expected, hash, chunks } of await hashedDocuments(
    directory,
    state,
    context,
  )) {
    if (file !== null) check(file, expected, hash);
    if (chunks === undefined) continue;
    const found = await fileHash(directory, chunks.file, context.host.files);
    check(chunks.file, chunks.sha256 ?? found ?? "", found);
  }
  const [first] = damages;
  if (first === undefined) return;
  throw usage(
    `${damages.length} files of ${directory} do not match the manifest: ${first.file} is ${first.problem}`,
    "restore the files, or export again",
    { details: { damages } },
  );
}
