import { createHash } from "node:crypto";
import { join } from "node:path";
import { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isObject, own } from "../../../lib/json.ts";
import { docForms } from "../../../operations/shared.ts";
import { fieldValue } from "../documents/field-values.ts";
import type { FieldValues } from "../documents/field-values.ts";
import type { DocumentState, KbState } from "./state.ts";
import { isBelow, pathInside } from "../../../host/safe-path.ts";

/** A document of a bundle: what the server said, and its file. */
export interface BundledDocument extends DocumentState {
  /** Path below the folder, with `/`; null where the server had no content to give. */
  readonly file: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  /** File with its chunks as JSON Lines, where they were asked for. */
  readonly chunks?: string;
}

/** What `manifest.json` holds. */
export interface Manifest {
  /** Version of this layout. */
  readonly kb_export: 1;
  /** Where it came from. */
  readonly source: { readonly base_url: string; readonly id: string; readonly name: string };
  readonly exported_at: string;
  readonly state: Omit<KbState, "documents"> & { readonly documents: readonly BundledDocument[] };
  /** Chunking rules by key, as create takes them. */
  readonly rules: Readonly<Record<string, unknown>>;
}

const fileName = "manifest.json";

/** SHA-256 in hexadecimal digits. */
export const sha256 = (bytes: Uint8Array | string): string =>
  createHash("sha256").update(bytes).digest("hex");

/** Is there a bundle in the folder? */
export const isBundle = async (folder: string, files: Files): Promise<boolean> =>
  (await files.stat(join(folder, fileName))) !== null;

/** Writes the manifest whole or not at all, with a sum over all it says. */
export async function writeManifest(
  folder: string,
  manifest: Manifest,
  files: Files,
): Promise<void> {
  const sum = sha256(JSON.stringify(manifest));
  await files.writeAtomic(
    join(folder, fileName),
    `${JSON.stringify({ ...manifest, sum }, null, 2)}\n`,
  );
}

/**
 * Reads the manifest of a bundle; undefined where there is none. Throws usage for one that is cut,
 * changed or of another version.
 */
export async function readManifest(folder: string, files: Files): Promise<Manifest | undefined> {
  const path = join(folder, fileName);
  if ((await files.stat(path)) === null) return undefined;
  const broken = (why: string) =>
    new CliError("usage", `${path} ${why}`, {
      sideEffect: "none",
      hint: "export again into an empty folder: kb export <kb> <dir>",
    });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(await files.read(path)));
  } catch {
    throw broken("is no JSON: it was cut or changed");
  }
  if (!isObject(value) || value["kb_export"] !== 1) throw broken("is no manifest of an export");
  const { sum, ...manifest } = value;
  if (sum !== sha256(JSON.stringify(manifest))) throw broken("was changed after it was written");
  if (!isWhole(manifest)) throw broken("lacks a part");
  const outside = manifest.state.documents
    .flatMap(({ file, chunks = null }) => [file, chunks])
    .find((place) => place !== null && !isBelow(place));
  if (outside) throw broken(`names a file outside of the folder: ${outside}`);
  return { ...manifest, state: typedState(manifest.state) };
}

/** Values as their fields store them: an export of an earlier version has numbers as text. */
function typedState(state: Manifest["state"]): Manifest["state"] {
  const types = new Map(state.fields.map(({ name, type }) => [name, type]));
  const typed = (metadata: FieldValues) =>
    Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [
        name,
        fieldValue(types.get(name) ?? "string", value) ?? value,
      ]),
    );
  const documents = state.documents.map((each) => ({ ...each, metadata: typed(each.metadata) }));
  return { ...state, documents };
}

type Is = (value: unknown) => boolean;

const isText: Is = (value) => typeof value === "string";
const isFlag: Is = (value) => typeof value === "boolean";
const isNumber: Is = (value) => typeof value === "number";
const isAny: Is = () => true;
const orNull =
  (is: Is): Is =>
  (value) =>
    value === null || is(value);
const orNone =
  (is: Is): Is =>
  (value) =>
    value === undefined || value === null || is(value);
const among =
  (...words: readonly string[]): Is =>
  (value) =>
    words.some((word) => word === value);
const listOf =
  (is: Is): Is =>
  (value) =>
    Array.isArray(value) && value.every(is);
const record =
  (fields: Readonly<Record<string, Is>>): Is =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, is]) => is(own(value, name)));
const valuesOf =
  (is: Is): Is =>
  (value) =>
    isObject(value) && Object.values(value).every(is);

/** The parts of a manifest and what each of them is; more may stand in it. */
const isManifest: Is = record({
  source: record({ base_url: isText, id: isText, name: isText }),
  rules: valuesOf(isObject),
  state: record({
    settings: record({
      name: isText,
      description: isText,
      permission: isText,
      indexing_technique: orNull(among("high_quality", "economy")),
      doc_form: orNull(among(...docForms)),
      embedding_model: orNull(isText),
      retrieval_model: isAny,
      summary_index_setting: orNone(isObject),
    }),
    tags: listOf(isText),
    fields: listOf(record({ name: isText, type: among("string", "number", "time") })),
    built_in_fields: isFlag,
    documents: listOf(
      record({
        id: isText,
        name: isText,
        stored: orNull(isText),
        from_text: isFlag,
        enabled: isFlag,
        archived: isFlag,
        indexing_status: isText,
        metadata: valuesOf((value) => isText(value) || isNumber(value)),
        rule: orNull(isText),
        file: orNull(isText),
        bytes: isNumber,
        sha256: orNull(isText),
        chunks: orNone(isText),
      }),
    ),
  }),
});

/** Has it the parts of which it consists? The sum says only that whoever wrote it was not cut off. */
const isWhole = (value: object): value is Manifest => isManifest(value);

/** A file of a bundle that is not as the manifest says. */
export interface Damage {
  readonly file: string;
  readonly problem: "missing" | "changed";
}

/** Compares every file with the manifest, and yields those that differ. */
export async function* findDamage(
  folder: string,
  { state }: Manifest,
  files: Files,
): AsyncGenerator<Damage> {
  for (const { file, sha256: sum } of state.documents) {
    if (file === null) continue;
    const bytes = await contentIn(folder, file, files);
    if (bytes === undefined) yield { file, problem: "missing" };
    else if (sha256(bytes) !== sum) yield { file, problem: "changed" };
  }
}

/** A file of the bundle; undefined where there is none. Throws usage for a link that leads outside. */
export async function contentIn(
  folder: string,
  file: string,
  files: Files,
): Promise<Uint8Array | undefined> {
  try {
    return await files.read(await pathInside(folder, file, files));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "EISDIR" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Refuses a bundle with damaged files before anything is sent. */
export async function requireWhole(
  folder: string,
  manifest: Manifest,
  files: Files,
): Promise<void> {
  const damages: Damage[] = [];
  for await (const damage of findDamage(folder, manifest, files)) damages.push(damage);
  const [first] = damages;
  if (first === undefined) return;
  throw new CliError(
    "usage",
    `${damages.length} files of ${folder} are not as they were exported; ${first.file} is ${first.problem}`,
    { sideEffect: "none", details: { damages }, hint: "export again, or restore the files" },
  );
}
