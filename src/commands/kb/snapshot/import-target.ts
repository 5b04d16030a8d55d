import { dirname, join } from "node:path";
import { ApiError, ignoring } from "../../../errors.ts";
import { shellQuote } from "../../../lib/command-line.ts";
import { tryParseJson, valueAt } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { counted } from "../../../lib/text.ts";
import { createKb } from "../changes/index.ts";
import type { SettingsPlan } from "../changes/index.ts";
import { lockWork } from "../../task/files.ts";
import { findKb } from "../knowledge/index.ts";
import type { Manifest } from "./bundle.ts";
import type { Context } from "../../task/command-spec.ts";

/** The knowledge base that an import fills. */
export interface ImportTarget {
  readonly name: string;
  /** Undefined if it must be created. */
  readonly id?: string | undefined;
  /** File that notes the import until it ends. */
  readonly note?: string;
}

/** Finds the knowledge base to fill: that of --into, which has an ID, that of an interrupted import, or none yet. */
export async function findTarget(
  { name, id: existing }: ImportTarget,
  { source }: Manifest,
  context: Context,
): Promise<ImportTarget> {
  if (existing !== undefined) return { name, id: existing };
  const note = await importNotePath(name, source.id, context);
  const id = await interruptedImport(note, name, context);
  if (id !== undefined) await context.notice(`resuming the import into ${name}`);
  return { name, id, note };
}

/**
 * Locks an import into an existing knowledge base, or of this export into a new one of this name, so that no
 * other command creates or fills it, too. Throws failure if it is locked. Returns what releases the lock.
 */
export async function lockImport(
  { name, id }: ImportTarget,
  { source }: Manifest,
  context: Context,
): Promise<() => void> {
  const { host, options } = context;
  if (options.dryRun) return () => {};
  const note = await importNotePath(id === undefined ? name : "", id ?? source.id, context);
  await host.files.makeDirectory(dirname(note), 0o700);
  return lockWork(note, `another command is importing into ${name}`, host);
}

/** Creates the knowledge base of an import and notes its ID. */
export async function createTarget(
  { name, note = "" }: ImportTarget,
  plan: SettingsPlan,
  { settings, documents }: Manifest["state"],
  context: Context,
): Promise<string> {
  const { files } = context.host;
  await files.makeDirectory(dirname(note), 0o700);
  const isRepeated = (await files.stat(note)) !== null;
  // Written before the request, whose response may be lost.
  await files.writeAtomic(note, `${JSON.stringify({ name })}\n`, 0o600);
  const dataset_id = await createKb(plan, context).catch(async (error: unknown) => {
    if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
    // A server under load may create that of a lost response only now.
    const late = isRepeated ? await interruptedImport(note, name, context) : undefined;
    if (late !== undefined) return late;
    await files.remove(note);
    throw error.with({ hint: await takenHint(name, documents.length, context) });
  });
  await noteTarget(note, dataset_id, name, context);
  if (settings.permission === "partial_members") {
    await context.notice(
      `permissions for selected members are not imported; ${name} is private to its owner (kb update id:${dataset_id} --permission partial_members)`,
    );
  }
  return dataset_id;
}

/** What to do about a name that is taken, perhaps by a run that was killed when all was done. */
async function takenHint(name: string, count: number, context: Context): Promise<string> {
  const into = `--into ${shellQuote(name)}`;
  const dataset_id = await findKb(name, context);
  const existing =
    dataset_id === undefined ? undefined : await context.api.call(getKnowledgeBase, { dataset_id });
  return existing?.document_count === count
    ? `it has ${counted(count, "document")}, as after an earlier run of this line: ${into} --dry-run shows what it lacks; for another one, use --name`
    : `use --name for another name, or ${into} to fill the existing one`;
}

const noteTarget = (note: string, dataset_id: string, name: string, { host }: Context) =>
  host.files.writeAtomic(note, `${JSON.stringify({ dataset_id, name })}\n`, 0o600);

/** Path of the file that notes which knowledge base an import created, until the import ends. */
export async function importNotePath(
  name: string,
  sourceId: string,
  context: Context,
): Promise<string> {
  const key = sha256([await context.api.baseUrl(), sourceId, name].join("\n")).slice(0, 32);
  return join(context.host.directories.state, "imports", `${key}.json`);
}

/** The ID of what an interrupted import created; if that response was lost, of the empty knowledge base of the name. */
async function interruptedImport(note: string, name: string, context: Context) {
  const { files } = context.host;
  if ((await files.stat(note)) === null) return undefined;
  const text = new TextDecoder().decode(await files.read(note));
  const known = valueAt(tryParseJson(text), "dataset_id");
  const isKnown = typeof known === "string";
  const dataset_id = isKnown ? known : await findKb(name, context);
  if (dataset_id === undefined) return undefined;
  const kb = await context.api.call(getKnowledgeBase, { dataset_id }).catch(ignoring("not-found"));
  if (!kb || (!isKnown && kb.document_count !== 0)) return undefined;
  // It will not be empty when the next command looks for it.
  if (!isKnown && !context.options.dryRun) await noteTarget(note, dataset_id, name, context);
  return dataset_id;
}
