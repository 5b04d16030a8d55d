import { join } from "node:path";
import { usage, refused } from "../../../errors.ts";
import { modelName } from "../../../lib/model-names.ts";
import { shellQuote } from "../../../lib/shell-quote.ts";
import {
  createMetadataField,
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
} from "../../../operations/metadata.ts";
import type { ResponseOf } from "../../../operations/operation.ts";
import { bindTags, createTag, listTags } from "../../../operations/tags.ts";
import { convertValues } from "../documents/index.ts";
import type { DocumentState, FieldState, FieldTypes, KbState } from "../documents/index.ts";
import { activeModels } from "../models/index.ts";
import { readManifest, requireUndamaged } from "./bundle.ts";
import type { Manifest } from "./bundle.ts";
import { importDocuments } from "./import-documents.ts";
import type { ImportedItem } from "./import-documents.ts";
import { importTarget } from "./import-target.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb import`. */
export interface ImportInput {
  readonly directory: string;
  readonly name?: string | undefined;
  readonly into?: string | undefined;
  readonly map_model?: readonly string[] | undefined;
}

export async function* run(input: ImportInput, context: Context): AsyncGenerator<ImportedItem> {
  const imported = yield* importBundle(input, context);
  if (!imported) return;
  const { id, documents } = imported;
  await context.notice(
    `imported ${documents} documents; to compare: kb verify ${shellQuote(input.directory)} id:${id}`,
  );
}

/**
 * Creates a knowledge base from an export and returns its ID; undefined in a dry run. All files are
 * checked before anything is sent. Running an interrupted import again resumes it.
 */
export async function* importBundle(
  input: ImportInput,
  context: Context,
): AsyncGenerator<ImportedItem, { readonly id: string; readonly documents: number } | undefined> {
  const { directory } = input;
  const { files } = context.host;
  const manifest = await readManifest(directory, files);
  if (!manifest) {
    throw usage(`no export found in ${directory}`, "create one with kb export <kb> <dir>");
  }
  const { state } = manifest;
  await requireUndamaged(directory, manifest, files);
  requireValidValues(directory, state.documents, typesOf(state.fields));
  if (context.options.dryRun) {
    yield* planImport(input, state, context);
    return undefined;
  }
  const model = await targetModel(state, input.map_model ?? [], context);
  const target = await importTarget(input, manifest, model, context);
  const before = await context.call(getMetadataOverview, { dataset_id: target.id });
  const types = new Map([...typesOf(state.fields), ...typesOf(before.doc_metadata)]);
  requireValidValues(directory, state.documents, types);
  yield item("knowledge base", target.name, target.id, target.created);
  yield* importFields(target.id, manifest, before, context);
  yield* importTags(target.id, manifest, context);
  yield* importDocuments(directory, target.id, manifest, context);
  if (target.note !== undefined) await files.remove(target.note);
  return { id: target.id, documents: state.documents.length };
}

const typesOf = (fields: readonly FieldState[]): FieldTypes =>
  new Map(fields.map(({ name, type }) => [name, type]));

/** Throws usage for a value that its field cannot hold: searches that compare the field would fail. */
function requireValidValues(
  directory: string,
  documents: readonly DocumentState[],
  types: FieldTypes,
): void {
  for (const { name, metadata: values } of documents)
    convertValues(values, types, `${join(directory, "manifest.json")}: ${name}`);
}

const item = (
  what: ImportedItem["what"],
  name: string,
  id: string | null,
  isCreated = true,
): ImportedItem => ({ action: isCreated ? "created" : "there", what, name, id, note: null });

/** Yields what an import would create; checks the embedding model as an import does. */
export async function* planImport(
  input: Omit<ImportInput, "directory">,
  state: KbState,
  context: Context,
): AsyncGenerator<ImportedItem> {
  await targetModel(state, input.map_model ?? [], context);
  const kbName = input.into ?? input.name ?? state.settings.name;
  const items = [
    item("knowledge base", kbName, null, input.into === undefined),
    ...state.fields.map(({ name }) => item("field", name, null)),
    ...state.tags.map((tag) => item("tag", tag, null)),
    ...state.documents.map(({ name }) => item("document", name, null)),
  ];
  yield* items.map((each) => ({ ...each, note: "not sent" }));
}

/** The embedding model to use in the target workspace. Throws refused if it is not active there. */
async function targetModel(
  { settings }: Pick<KbState, "settings">,
  mappings: readonly string[],
  context: Context,
): Promise<string | undefined> {
  const { embedding_model: source, indexing_technique } = settings;
  const mapping = new Map(
    mappings.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) {
        const problem = "expected provider/model=provider/model";
        throw usage(`invalid --map-model ${JSON.stringify(text)}: ${problem}`);
      }
      return [text.slice(0, at), text.slice(at + 1)] as const;
    }),
  );
  if (source === null || indexing_technique !== "high_quality") return undefined;
  const model = mapping.get(source) ?? source;
  const active = (await activeModels("text-embedding", context)).map(modelName);
  if (active.includes(model)) return model;
  throw refused(
    `embedding model ${model} is not active in the target workspace`,
    active.length > 0
      ? `use another one with --map-model '${source}=${active[0]}'`
      : "activate an embedding model in the workspace first",
    { details: { active } },
  );
}

async function* importFields(
  dataset_id: string,
  { state }: Manifest,
  before: ResponseOf<typeof getMetadataOverview>,
  context: Context,
): AsyncGenerator<ImportedItem> {
  for (const { name, type } of state.fields) {
    if (before.doc_metadata.some((field) => field.name === name)) continue;
    const { id } = await context.call(createMetadataField, { dataset_id, name, type });
    yield item("field", name, id);
  }
  if (before.built_in_field_enabled !== state.built_in_fields) {
    const operation = state.built_in_fields ? enableBuiltInFields : disableBuiltInFields;
    await context.call(operation, { dataset_id });
  }
}

async function* importTags(
  dataset_id: string,
  { state }: Manifest,
  context: Context,
): AsyncGenerator<ImportedItem> {
  if (state.tags.length === 0) return;
  const all = await context.call(listTags, {});
  const tag_ids: string[] = [];
  for (const name of state.tags) {
    const existing = all.find((tag) => tag.name === name);
    const { id } = existing ?? (await context.call(createTag, { name }));
    tag_ids.push(id);
    yield item("tag", name, id, !existing);
  }
  await context.call(bindTags, { tag_ids, target_id: dataset_id });
}
