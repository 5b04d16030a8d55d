import { join } from "node:path";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { ApiError, CliError } from "../../../errors.ts";
import { isObject, own, valueAt, withoutNulls } from "../../../lib/json.ts";
import {
  archiveDocuments,
  createDocumentByFile,
  createDocumentByText,
  disableDocuments,
  listDocuments,
} from "../../../operations/documents.ts";
import { createKnowledgeBase, getKnowledgeBase } from "../../../operations/knowledge.ts";
import {
  createMetadataField,
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
} from "../../../operations/metadata.ts";
import type { ResponseOf } from "../../../operations/operation.ts";
import { bindTags, createTag, listTags } from "../../../operations/tags.ts";
import { activeModels } from "../models/embedding-model.ts";
import { fittingValues } from "../documents/field-values.ts";
import type { FieldTypes } from "../documents/field-values.ts";
import { waitForIndexing, isIndexed, standingOf } from "../documents/indexing-status.ts";
import { modelName } from "../../../lib/model-names.ts";
import type { DocumentProgress } from "../documents/indexing-status.ts";
import { contentIn, readManifest, requireWhole, sha256 } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";
import { readContents } from "./contents.ts";
import { stateOf } from "./state.ts";
import type { DocumentState, FieldState, KbState } from "./state.ts";
import { ruleFor } from "../documents/process-rule.ts";
import { decodeText } from "../sync/local-files.ts";
import { waitOnRateLimit } from "../sync/rate-limit.ts";
import { metadataWriter, valuesBefore } from "../sync/metadata-writer.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb import`. */
export interface ImportInput {
  readonly directory: string;
  readonly name?: string | undefined;
  readonly into?: string | undefined;
  readonly map_model?: readonly string[] | undefined;
}

/** One thing that was made. */
interface Made {
  readonly action: "created" | "there" | "failed";
  readonly what: "knowledge base" | "field" | "tag" | "document";
  readonly name: string;
  readonly id: string | null;
  readonly note: string | null;
}

/** Uploads at once: a stock server serves ten connections (server §20). */
const lanes = 3;

/** Makes a knowledge base from an export, as `imported` does, and says how to compare the two. */
export async function* run(input: ImportInput, context: Context): AsyncGenerator<Made> {
  const done = yield* importBundle(input, context);
  if (!done) return;
  await context.notice(
    `${done.documents} documents; kb verify ${input.directory} id:${done.id} compares them`,
  );
}

/**
 * Makes a knowledge base from an export and gives its id; undefined in a dry run. The whole folder
 * is checked before anything is sent. An import that was ended early goes on when it is repeated:
 * what is there with the same content is left as it is.
 */
export async function* importBundle(
  input: ImportInput,
  context: Context,
): AsyncGenerator<Made, { readonly id: string; readonly documents: number } | undefined> {
  const { directory } = input;
  const { files } = context.host;
  const manifest = await readManifest(directory, files);
  if (!manifest) {
    throw new CliError("usage", `${directory} holds no export`, {
      sideEffect: "none",
      hint: "kb export <kb> <dir> makes one",
    });
  }
  await requireWhole(directory, manifest, files);
  requireFitting(directory, manifest.state.documents, typesOf(manifest.state));
  if (context.options.dryRun) {
    yield* planImport(input, manifest.state, context);
    return undefined;
  }
  const model = await modelFor(manifest.state, input.map_model ?? [], context);
  const target = await targetFor(input, manifest, model, context);
  const before = await context.call(getMetadataOverview, { dataset_id: target.id });
  const types = new Map([...typesOf(manifest.state), ...typesOf({ fields: before.doc_metadata })]);
  requireFitting(directory, manifest.state.documents, types);
  yield made("knowledge base", target.name, target.id, target.created);
  yield* fieldsAndTags(target.id, manifest, before, context);
  yield* content(directory, target.id, manifest, context);
  if (target.note !== undefined) await files.remove(target.note);
  return { id: target.id, documents: manifest.state.documents.length };
}

const typesOf = ({ fields }: { readonly fields: readonly FieldState[] }): FieldTypes =>
  new Map(fields.map(({ name, type }) => [name, type]));

/** Throws usage for a value that its field cannot hold: searches that compare the field would fail. */
function requireFitting(directory: string, all: readonly DocumentState[], types: FieldTypes): void {
  for (const { name, metadata: values } of all)
    fittingValues(values, types, `${join(directory, "manifest.json")}: ${name}`);
}

const made = (what: Made["what"], name: string, id: string | null, created = true): Made => ({
  action: created ? "created" : "there",
  what,
  name,
  id,
  note: null,
});

/** What an import of this state would make; the embedding model is checked as an import does. */
export async function* planImport(
  input: Omit<ImportInput, "directory">,
  state: KbState,
  context: Context,
): AsyncGenerator<Made> {
  await modelFor(state, input.map_model ?? [], context);
  const name = input.into ?? input.name ?? state.settings.name;
  yield { ...made("knowledge base", name, null, input.into === undefined), note: "not sent" };
  for (const { name: field } of state.fields)
    yield { ...made("field", field, null), note: "not sent" };
  for (const tag of state.tags) yield { ...made("tag", tag, null), note: "not sent" };
  for (const document of state.documents)
    yield { ...made("document", document.name, null), note: "not sent" };
}

/** The embedding model under its name at the target; refuses one that is not active there. */
async function modelFor(
  { settings }: Pick<KbState, "settings">,
  mappings: readonly string[],
  context: Context,
): Promise<string | undefined> {
  const { embedding_model: model, indexing_technique } = settings;
  const mapping = new Map(
    mappings.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new CliError("usage", `--map-model ${JSON.stringify(text)} is no old=new`);
      return [text.slice(0, at), text.slice(at + 1)] as const;
    }),
  );
  if (model === null || indexing_technique !== "high_quality") return undefined;
  const wanted = mapping.get(model) ?? model;
  const names = (await activeModels("text-embedding", context)).map(modelName);
  if (names.includes(wanted)) return wanted;
  throw new CliError("refused", `the embedding model ${wanted} is not active there`, {
    sideEffect: "none",
    details: { active: names },
    hint:
      names.length > 0
        ? `--map-model '${model}=${names[0]}' takes another one`
        : "activate an embedding model in the workspace first",
  });
}

interface Target {
  readonly id: string;
  readonly name: string;
  readonly created: boolean;
  readonly note?: string;
}

/** The knowledge base to fill: a new one, the one of --into, or the one of an import that was cut. */
async function targetFor(
  input: ImportInput,
  manifest: Manifest,
  model: string | undefined,
  context: Context,
): Promise<Target> {
  const { settings } = manifest.state;
  if (input.into !== undefined) {
    return { id: await context.resolveId("kb", input.into), name: input.into, created: false };
  }
  const name = input.name ?? settings.name;
  const note = await noteOf(name, manifest.source.id, context);
  const begun = await noted(note, name, context);
  if (begun !== undefined) {
    await context.notice(`an import into ${name} was begun; it goes on`);
    return { id: begun, name, created: false, note };
  }
  const slash = model?.lastIndexOf("/") ?? -1;
  const create = {
    name,
    description: settings.description,
    ...(settings.indexing_technique && {
      indexing_technique: settings.indexing_technique as "economy",
    }),
    // Whom it was shared with is not known there: rather too few may see it than too many.
    permission: settings.permission === "all_team_members" ? "all_team_members" : "only_me",
    ...(model !== undefined && {
      embedding_model_provider: model.slice(0, slash),
      embedding_model: model.slice(slash + 1),
    }),
    ...(isObject(settings.retrieval_model) && {
      retrieval_model: withoutNulls(settings.retrieval_model),
    }),
    ...(isObject(settings.summary_index_setting) && {
      summary_index_setting: withoutNulls(settings.summary_index_setting),
    }),
  } as const;
  const { files, directories } = context.host;
  await files.makeDirectory(join(directories.state, "imports"), 0o700);
  // Noted before it is sent: its answer may be lost.
  await files.writeAtomic(note, `${JSON.stringify({ name })}\n`);
  const { id } = await context.call(createKnowledgeBase, create).catch(async (error: unknown) => {
    if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
    await files.remove(note);
    throw new ApiError(error.kind, error.message, error.response, {
      ...error.info,
      hint: `--name gives it another name, --into ${JSON.stringify(name)} fills the one that is there`,
    });
  });
  await files.writeAtomic(note, `${JSON.stringify({ dataset_id: id, name })}\n`);
  if (settings.permission === "partial_members") {
    await context.notice(
      `${settings.name} is for some members; ${name} is for its owner alone until they are named: kb update id:${id} --permission partial_members`,
    );
  }
  return { id, name, created: true, note };
}

/** File that says which knowledge base an import made, until the import has ended. */
export async function noteOf(name: string, source: string, context: Context): Promise<string> {
  const key = sha256([await context.baseUrl(), source, name].join("\n")).slice(0, 32);
  return join(context.host.directories.state, "imports", `${key}.json`);
}

/**
 * The knowledge base that an import of the same export made, if it is still there. Where the answer
 * to its creation was lost, that is the empty one of the name.
 */
async function noted(note: string, name: string, context: Context): Promise<string | undefined> {
  if ((await context.host.files.stat(note)) === null) return undefined;
  const text = new TextDecoder().decode(await context.host.files.read(note));
  const known = valueAt(JSON.parse(text), "dataset_id");
  try {
    const dataset_id =
      typeof known === "string" ? known : await context.resolveId("kb", `name:${name}`);
    const { document_count } = await context.call(getKnowledgeBase, { dataset_id });
    return typeof known === "string" || document_count === 0 ? dataset_id : undefined;
  } catch (error) {
    if (error instanceof CliError && error.kind === "not-found") return undefined;
    throw error;
  }
}

async function* fieldsAndTags(
  dataset_id: string,
  { state }: Manifest,
  before: ResponseOf<typeof getMetadataOverview>,
  context: Context,
): AsyncGenerator<Made> {
  for (const { name, type } of state.fields) {
    if (before.doc_metadata.some((field) => field.name === name)) continue;
    const { id } = await context.call(createMetadataField, { dataset_id, name, type });
    yield made("field", name, id);
  }
  if (before.built_in_field_enabled !== state.built_in_fields) {
    const row = state.built_in_fields ? enableBuiltInFields : disableBuiltInFields;
    await context.call(row, { dataset_id });
  }
  if (state.tags.length === 0) return;
  const all = await context.call(listTags, {});
  const ids: string[] = [];
  for (const name of state.tags) {
    const there = all.find((tag) => tag.name === name);
    const { id } = there ?? (await context.call(createTag, { name }));
    ids.push(id);
    yield made("tag", name, id, !there);
  }
  await context.call(bindTags, { tag_ids: ids, target_id: dataset_id });
}

/** Documents with their values and marks; those that are there with the same content stay. */
async function* content(
  directory: string,
  dataset_id: string,
  manifest: Manifest,
  context: Context,
): AsyncGenerator<Made> {
  const there = await contentThere(dataset_id, context);
  const ids = new Map<BundledDocument, string>();
  const failures: Made[] = [];
  const names = new Set<string>();
  const wanted: Wanted[] = [];
  for (const document of manifest.state.documents) {
    if (document.file === null) {
      failures.push(failed(document, "the export holds no content of it"));
      continue;
    }
    const again = names.has(document.name);
    const same = there.take(document, again);
    if (same && same.indexing_status !== "error") ids.set(document, same.id);
    else if (same && !there.isReplaced(same)) {
      // Sent again it would stand beside the one in error, or replace another one.
      const note = `it is there in error: kb doc delete id:${dataset_id} id:${same.id}, then repeat the import`;
      failures.push(failed(document, note));
    } else wanted.push({ document, again, heals: same !== undefined });
    names.add(document.name);
  }
  const send = async ({ document, again, heals }: Wanted): Promise<Made> => {
    try {
      const sent = await upload(directory, dataset_id, manifest, document, again, context);
      ids.set(document, sent.id);
      const notes = [
        ...(heals ? ["it was there in error"] : []),
        ...(sent.name === document.name ? [] : [`it became ${sent.name}`]),
      ];
      const note = notes.length > 0 ? notes.join("; ") : null;
      return { ...made("document", document.name, sent.id), note };
    } catch (error) {
      const one =
        error instanceof CliError && (error.kind === "refused" || error.kind === "failure");
      if (!one || context.signal.aborted) throw error;
      return failed(document, error.message);
    }
  };
  // A second document of a name is sent after the first: at once they would become one.
  for (const [group, atOnce] of [
    [wanted.filter(({ again }) => !again), context.limitConcurrency(lanes)],
    [wanted.filter(({ again }) => again), 1],
  ] as const) {
    for await (const result of mapConcurrent(group, atOnce, send)) {
      if (result.action === "failed") failures.push(result);
      else yield result;
    }
  }
  const ours = new Map([...ids].map(([document, id]) => [id, document]));
  const look = async () => {
    const found: DocumentProgress[] = [];
    for await (const document of context.each(listDocuments, { dataset_id }))
      if (ours.has(document.id)) found.push(standingOf(document));
    return found;
  };
  for await (const standing of waitForIndexing(look, context)) {
    if (isIndexed(standing)) continue;
    const { name, id, indexing_status, error } = standing;
    failures.push({ action: "failed", what: "document", name, id, note: error ?? indexing_status });
    const document = ours.get(id);
    if (document) ids.delete(document); // what is not indexed cannot be disabled
  }
  const patient = waitOnRateLimit(false, context);
  const writer = await metadataWriter(
    dataset_id,
    context.limitConcurrency(lanes),
    patient,
    context,
  );
  await writer.set(
    [...ids].flatMap(([{ metadata: values }, id]) =>
      Object.keys(values).length > 0
        ? [{ id, before: valuesBefore(there.documents.get(id)), values }]
        : [],
    ),
  );
  await setMarks(dataset_id, ids, context);
  yield* failures;
  if (failures.length > 0) {
    throw new CliError(
      "partial",
      `${failures.length} of ${manifest.state.documents.length} documents are not there: ${failures[0]?.name}: ${failures[0]?.note}`,
      { isResult: true, hint: "repeat the import: what is there is left as it is" },
    );
  }
}

/** A document to send; `again`: another one of its name comes before; `heals`: it is there in error. */
interface Wanted {
  readonly document: BundledDocument;
  readonly again: boolean;
  readonly heals: boolean;
}

const failed = ({ name }: BundledDocument, note: string): Made => ({
  action: "failed",
  what: "document",
  name,
  id: null,
  note,
});

/** The documents that are there. */
interface There {
  /** By id. */
  readonly documents: ReadonlyMap<string, DocumentState>;
  /** One of this content and name, or the name that sending it gives; each once. */
  take(document: BundledDocument, again: boolean): DocumentState | undefined;
  /** Does a create of its name replace it, and no other one (server §9.1)? */
  isReplaced(document: DocumentState): boolean;
}

async function contentThere(dataset_id: string, context: Context): Promise<There> {
  const { documents: found } = await stateOf(dataset_id, context);
  const same = new Map<string, DocumentState[]>();
  for await (const { document, bytes } of readContents(dataset_id, found, context)) {
    if (!bytes) continue;
    const key = `${document.name}\n${sha256(bytes)}`;
    same.set(key, [...(same.get(key) ?? []), document]);
  }
  return {
    documents: new Map(found.map((document) => [document.id, document])),
    take(document, again) {
      const sentName = isSentAsText(document, again) ? document.name : fileName(document.name);
      const keys = [document.name, sentName].map((name) => `${name}\n${document.sha256}`);
      return keys
        .map((key) => same.get(key))
        .find((some) => some?.length)
        ?.shift();
    },
    isReplaced: ({ name, enabled }) =>
      enabled && found.filter((document) => document.name === name).length === 1,
  };
}

/** A create by text replaces the one of its name, a file can stand beside it (server §9.2). */
const isSentAsText = ({ from_text }: BundledDocument, again: boolean): boolean =>
  from_text && !again;

/** What an uploaded file is called: no slash stays in its name. */
const fileName = (name: string): string => name.replaceAll(/[/\\]/g, "∕");

/** Sends one document as it was made; `again`: another one of this name is there already. */
async function upload(
  directory: string,
  dataset_id: string,
  { state, rules }: Manifest,
  document: BundledDocument,
  again: boolean,
  context: Context,
): Promise<{ readonly id: string; readonly name: string }> {
  const { doc_form, indexing_technique } = state.settings;
  const file = document.file ?? "";
  const shared = {
    dataset_id,
    indexing_technique: (indexing_technique ?? "economy") as "economy",
    ...(doc_form && { doc_form: doc_form as "text_model" }),
    process_rule: ruleFor(
      doc_form,
      (document.rule !== null && own(rules, document.rule)) || { mode: "automatic" },
    ) as { mode: "automatic" },
  };
  const content = isSentAsText(document, again)
    ? await contentIn(directory, file, context.host.files)
    : undefined;
  const text = content && decodeText(content);
  if (text !== undefined) {
    const answer = await context.call(createDocumentByText, {
      ...shared,
      name: document.name,
      text,
    });
    return answer.document;
  }
  const answer = await context.call(createDocumentByFile, {
    ...shared,
    file: { path: join(directory, file), name: fileName(document.name) },
    ...(again && { duplicate: false }),
  });
  return answer.document;
}

/** Disabled and archived documents become so last: as such they could not be indexed. */
async function setMarks(
  dataset_id: string,
  ids: ReadonlyMap<BundledDocument, string>,
  context: Context,
): Promise<void> {
  const marked = (is: (document: BundledDocument) => boolean) =>
    [...ids].filter(([document]) => is(document)).map(([, id]) => id);
  for (const [row, document_ids] of [
    [disableDocuments, marked(({ enabled }) => !enabled)],
    [archiveDocuments, marked(({ archived }) => archived)],
  ] as const) {
    if (document_ids.length > 0) await context.call(row, { dataset_id, document_ids });
  }
}
