import { join } from "node:path";
import { ApiError, CliError } from "../../../errors.ts";
import { isObject, valueAt, withoutNulls } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { shellQuote } from "../../../lib/shell-quote.ts";
import { createKnowledgeBase, getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KbState } from "../documents/index.ts";
import type { Manifest } from "./bundle.ts";
import type { Context } from "../../command-spec.ts";

/** The knowledge base that an import fills. */
export interface ImportTarget {
  readonly id: string;
  readonly name: string;
  readonly created: boolean;
  /** File that notes the import until it ends. */
  readonly note?: string;
}

/** Finds the knowledge base to fill: that of --into, that of an interrupted import, or a new one. */
export async function importTarget(
  input: { readonly name?: string | undefined; readonly into?: string | undefined },
  { source, state: { settings } }: Manifest,
  model: string | undefined,
  context: Context,
): Promise<ImportTarget> {
  if (input.into !== undefined)
    return { id: await context.resolveId("kb", input.into), name: input.into, created: false };
  const name = input.name ?? settings.name;
  const note = await importNotePath(name, source.id, context);
  const earlier = await interruptedImport(note, name, context);
  if (earlier !== undefined) {
    await context.notice(`resuming the import into ${name}`);
    return { id: earlier, name, created: false, note };
  }
  const { files, directories } = context.host;
  await files.makeDirectory(join(directories.state, "imports"), 0o700);
  // Written before the request, whose response may be lost.
  await files.writeAtomic(note, `${JSON.stringify({ name })}\n`);
  const request = createInput(name, settings, model);
  const { id } = await context.call(createKnowledgeBase, request).catch(async (error: unknown) => {
    if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
    await files.remove(note);
    throw error.with({
      hint: `use --name for another name, or --into ${shellQuote(name)} to fill the existing one`,
    });
  });
  await files.writeAtomic(note, `${JSON.stringify({ dataset_id: id, name })}\n`);
  if (settings.permission === "partial_members") {
    await context.notice(
      `permissions for selected members are not imported; ${name} is private to its owner (kb update id:${id} --permission partial_members)`,
    );
  }
  return { id, name, created: true, note };
}

const createInput = (name: string, settings: KbState["settings"], model: string | undefined) => {
  const slash = model?.lastIndexOf("/") ?? -1;
  return {
    name,
    description: settings.description,
    ...(settings.indexing_technique && {
      indexing_technique: settings.indexing_technique as "economy",
    }),
    // The members of another workspace are unknown, so rather too few than too many have access.
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
};

/** Path of the file that notes which knowledge base an import created, until the import ends. */
export async function importNotePath(
  name: string,
  sourceId: string,
  context: Context,
): Promise<string> {
  const key = sha256([await context.baseUrl(), sourceId, name].join("\n")).slice(0, 32);
  return join(context.host.directories.state, "imports", `${key}.json`);
}

/**
 * The ID of the knowledge base that an interrupted import created, if it still exists. If the response
 * to its creation was lost, that is the empty one of the name.
 */
async function interruptedImport(
  note: string,
  name: string,
  context: Context,
): Promise<string | undefined> {
  const { files } = context.host;
  if ((await files.stat(note)) === null) return undefined;
  const text = new TextDecoder().decode(await files.read(note));
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
