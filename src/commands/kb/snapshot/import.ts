import { join } from "node:path";
import { usage, refused } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { isObject, own } from "../../../lib/json.ts";
import { modelName } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import {
  applySettings,
  documentRow,
  lossesIn,
  makeDocuments,
  planDocuments,
  planSettings,
  withLosses,
} from "../changes/index.ts";
import type { Change, DocumentChange, SettingsPlan, SourceDocument } from "../changes/index.ts";
import { confirmLosses, contentHashes, convertValues, readKbState } from "../documents/index.ts";
import type { FieldState, KbProperties, KbSettings, KbState } from "../documents/index.ts";
import { activeModels } from "../../models/index.ts";
import { readManifest, requireUndamaged } from "./bundle.ts";
import type { BundledDocument, Manifest } from "./bundle.ts";
import { asIsOf, chunkGiver, chunkSummary, confirmAsIs, withChunkChanges } from "./as-is.ts";
import { createTarget, findTarget, lockImport } from "./import-target.ts";
import type { ImportTarget } from "./import-target.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { importParams } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";

type ImportInput = Input<typeof importParams>;

/** An import of what may be no export of the directory. */
interface BundleInput extends ImportInput {
  readonly manifest?: Manifest;
  /** What to do where chunks are missing, unless it is to export again. */
  readonly otherwise?: string;
  /** Only these documents, by ID, of the manifest, which has all of their names; `into` gets nothing else. */
  readonly only?: ReadonlySet<string> | undefined;
}

export async function* run(input: ImportInput, context: Context): AsyncGenerator<Change> {
  const made = yield* importBundle(input, context);
  if (made === undefined) return;
  const target = input.into ?? `name:${made.name}`;
  const verify = commandLine("kb verify", [input.directory, target], {
    chunks: input.as_is ? true : undefined,
  });
  context.summary(`imported to ${made.name}; to compare: ${verify}`);
}

/**
 * Creates a knowledge base from an export and returns what became of it; undefined in a dry run. All files are
 * checked before anything is sent. The next import resumes one that was interrupted before the end of
 * `beforeEnd`.
 */
export async function* importBundle(
  input: BundleInput,
  context: Context,
  beforeEnd?: () => Promise<void>,
): AsyncGenerator<Change, KbSettings | undefined> {
  const { directory } = input;
  const manifest = input.manifest ?? (await readManifest(directory, context.host.files));
  if (!manifest) {
    const exports = commandLine("kb export", ["KB", directory]);
    const { files } = context.host;
    const facts = await files.stat(directory);
    const hint = facts?.isFile
      ? `to add a file to a knowledge base: ${commandLine("kb doc upload", ["KB", directory])}`
      : `${exports} makes one`;
    const sync = commandLine("kb sync", ["KB", directory]);
    const isFull = facts?.isDirectory && (await files.list(directory)).length > 0;
    throw usage(
      `no export found in ${directory}`,
      isFull ? `to add its files to a knowledge base: ${sync}; ${hint}` : hint,
    );
  }
  const { state } = manifest;
  await requireUndamaged(directory, manifest, context);
  if (input.as_is && input.no_wait)
    throw usage(
      "--as-is and --no-wait exclude each other",
      "chunks follow their document once it is indexed",
    );
  sourceDocuments(directory, manifest, []); // throws for an invalid value before any request
  const settings = await targetSettings(state, input.map_model, context);
  const target =
    input.into === undefined
      ? { name: input.name ?? state.settings.name }
      : { name: input.into, id: await context.resolveId("kb", input.into) };
  const release = await lockImport(target, manifest, context);
  try {
    const found = await findTarget(target, manifest, context);
    yield* fillTarget(found, input, { manifest, settings }, context);
    if (context.options.dryRun) return undefined;
    await beforeEnd?.();
    // Without the wait, the same command finishes the import.
    if (found.note !== undefined && !input.no_wait) await context.host.files.remove(found.note);
    return { ...state.settings, name: found.name };
  } finally {
    release();
  }
}

/** Creates the knowledge base of an import if there is none yet, and makes what it lacks. */
async function* fillTarget(
  found: ImportTarget,
  input: BundleInput,
  { manifest, settings }: { readonly manifest: Manifest; readonly settings: TargetSettings },
  context: Context,
): AsyncGenerator<Change> {
  const { directory, only, into } = input;
  const { state } = manifest;
  const current = found.id === undefined ? undefined : await readKbState(found.id, context);
  const sources = sourceDocuments(directory, manifest, current?.fields ?? []);
  const names = new Set(sources.flatMap(({ path, name }) => [path, name]));
  const documents = current?.documents.filter(({ name }) => names.has(name)) ?? [];
  const hashes = await contentHashes(found.id ?? "", documents, context);
  const all = planDocuments(sources, { documents, hashes }, { single: only !== undefined });
  const planned = all.filter((_, at) => !only || only.has(state.documents[at]?.id ?? ""));
  const asIs = input.as_is ? asIsOf(input, manifest, current) : undefined;
  const checked = asIs && (await withChunkChanges(planned, asIs, found, context));
  if (checked) await confirmAsIs(checked.survey, { state, rules: asIs.rules }, context);
  const { id = "" } = found;
  const place = { dataset_id: id, settings: state.settings };
  const changes = await withLosses(checked?.changes ?? planned, place, context);
  const question = (lost: string) => `Replace chunks of ${found.name} and lose ${lost}?`;
  await confirmLosses(lossesIn(changes), { question, declined: "nothing was imported" }, context);
  const isPart = only && into !== undefined && current;
  const properties = isPart ? neededBy(changes, state, current) : state;
  const plan = planTarget(found.name, properties, settings, current);
  const wording = { verb: "import", noun: "document", count: planned.length } as const;
  const { dryRun } = context.options;
  const dataset_id = found.id ?? (dryRun ? "" : await createTarget(found, plan, state, context));
  for await (const row of applySettings(dataset_id, plan, context))
    if (row.what !== "setting") yield row; // they would only repeat the export
  // Every document brings its rule, so those of the target do not matter.
  const target = { ...input, dataset_id, settings: state.settings, documents: [] };
  const chunks = asIs && chunkGiver(asIs, dataset_id, context);
  yield* makeDocuments(changes, { ...target, ...chunks?.giver }, wording, context);
  if (chunks && !dryRun) context.summary(chunkSummary(chunks.total));
}

/** Yields what an import would create; checks the embedding model as an import does. */
export async function* planImport(
  { name, map_model }: Pick<ImportInput, "name" | "map_model">,
  state: KbState,
  context: Context,
): AsyncGenerator<Change> {
  const settings = await targetSettings(state, map_model, context);
  const { changes } = planTarget(name ?? state.settings.name, state, settings, undefined);
  yield* changes.filter(({ what }) => what !== "setting");
  yield* state.documents.map(({ name }) => documentRow("create", { name, id: null }));
}

/** What single documents bring into a knowledge base: the fields of the values that are written. */
function neededBy(changes: readonly DocumentChange[], { fields }: KbProperties, current: KbState) {
  const made = changes.filter(({ action }) => action !== "skip" && action !== "failed");
  const used = new Set(made.flatMap(({ source }) => Object.keys(source?.metadata ?? {})));
  return { ...current, tags: [], fields: fields.filter(({ name }) => used.has(name)) };
}

/** Plans everything but documents: existing settings, tags and fields are kept. */
function planTarget(
  name: string,
  { tags, fields, built_in_fields }: Omit<KbProperties, "settings">,
  { settings, model }: TargetSettings,
  current: KbState | undefined,
): SettingsPlan {
  const known = new Set(current?.fields.map((field) => field.name));
  const desired = {
    name,
    settings: current ? {} : settings,
    tags: [...(current?.tags ?? []), ...tags],
    fields: fields.filter((field) => !known.has(field.name)),
    built_in_fields,
  };
  return { desired, current, changes: planSettings(desired, current), model };
}

/** The settings of a copy and its embedding model. */
interface TargetSettings {
  readonly settings: SettingsPlan["desired"]["settings"];
  readonly model: Model | undefined;
}

/** The settings of the copy. Throws refused if its embedding model is not active in the workspace. */
async function targetSettings(
  { settings }: Pick<KbProperties, "settings">,
  mappings: readonly string[] | undefined,
  context: Context,
): Promise<TargetSettings> {
  const { description, permission, indexing_technique } = settings;
  const { retrieval_model, summary_index_setting } = settings;
  const model = await targetModel(settings, mappings ?? [], context);
  const copied = {
    description,
    ...(indexing_technique !== null && { indexing_technique }),
    // The members of another workspace are unknown, so rather too few than too many have access.
    permission: permission === "all_team_members" ? "all_team_members" : "only_me",
    ...(model && { embedding_model: modelName(model) }),
    ...(isObject(retrieval_model) && { retrieval_model }),
    ...(isObject(summary_index_setting) && { summary_index_setting }),
  };
  return { settings: copied, model };
}

async function targetModel(
  { embedding_model: source, indexing_technique }: KbState["settings"],
  mappings: readonly string[],
  context: Context,
): Promise<Model | undefined> {
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
  const name = mapping.get(source) ?? source;
  const models = await activeModels("text-embedding", context);
  const model = models.find((each) => modelName(each) === name);
  if (model) return model;
  const active = models.map(modelName);
  throw refused(
    `embedding model ${name} is not active in the target workspace`,
    active.length > 0
      ? `use another one with --map-model '${source}=${active[0]}'`
      : "activate an embedding model in the workspace first",
    { details: { active } },
  );
}

/**
 * The documents of an export, with values as the fields of the target hold them; pure. Throws usage for a
 * value that its field cannot hold: searches that compare the field would fail.
 */
export function sourceDocuments(
  directory: string,
  { state: { fields, documents }, rules }: Pick<Manifest, "state" | "rules">,
  existing: readonly FieldState[],
): SourceDocument[] {
  const types = new Map([...fields, ...existing].map(({ name, type }) => [name, type]));
  const withFile = documents.filter(({ file }) => file !== null);
  const byName = groupBy(withFile, sentName);
  return documents.map((document) => {
    const { name, file, from_text, rule, enabled, archived } = document;
    const sameName = byName.get(sentName(document)) ?? [];
    const isLater = file !== null && sameName[0] !== document;
    // A create by text replaces the document of its name, an upload can be added to it (server §9.2).
    const kind = from_text && !isLater ? "text" : "file";
    const place = `${join(directory, "manifest.json")}: ${name}`;
    return {
      path: name,
      name: sentName({ name, from_text: kind === "text" }),
      kind,
      location: join(directory, file ?? ""),
      hash: file === null ? null : document.sha256,
      size: document.bytes,
      metadata: convertValues(document.metadata, types, place),
      exported: {
        rule: rule === null ? undefined : own(rules, rule),
        enabled,
        archived,
        sharesName: sameName.length > 1,
        isLater,
        chunks: document.chunks?.file,
      },
    };
  });
}

/** The name that a create gives a document: that of an upload is the name of a file. */
const sentName = ({ name, from_text }: Pick<BundledDocument, "name" | "from_text">): string =>
  from_text ? name : name.replaceAll(/[/\\]/g, "∕");
