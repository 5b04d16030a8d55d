import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { ApiError, CliError } from "../../../errors.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { deleteKnowledgeBase, getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { lockWork } from "../../task/files.ts";
import { findKb } from "../knowledge/index.ts";

/** A knowledge base that is removed at the end, or by the next drill. */
interface Temporary {
  readonly name: string;
  readonly description: string;
  /** Deletes it, if it was created. */
  remove(): Promise<void>;
  /** Leaves it to the next drill. */
  leave(): void;
}

const folderOf = ({ host }: Context): string => join(host.directories.state, "drills");

const marksOf = (token: string) => ({
  name: `kb drill ${token}`,
  description: `Temporary: made by kb backup drill ${token}, which removes it`,
});

/** Notes a new temporary knowledge base, before anything creates it. */
export async function newTemporary(context: Context): Promise<Temporary> {
  const { files } = context.host;
  const token = randomBytes(8).toString("hex");
  const path = join(folderOf(context), `${token}.json`);
  await files.makeDirectory(folderOf(context), 0o700);
  const release = await lockWork(path, "another drill uses this name", context.host);
  const base_url = await context.api.baseUrl();
  await files.writeAtomic(path, `${JSON.stringify({ token, base_url })}\n`, 0o600);
  return {
    ...marksOf(token),
    leave: release,
    async remove() {
      try {
        await removeNoted(token, context);
        await files.remove(path);
      } finally {
        release();
      }
    },
  };
}

/**
 * Removes what interrupted drills of this machine have left on this server: knowledge bases with exactly the name
 * and the description that were noted. One that has another description by now is not touched.
 */
export async function removeLeft(context: Context): Promise<void> {
  const { files } = context.host;
  const folder = folderOf(context);
  const base_url = await context.api.baseUrl();
  const entries = (await files.stat(folder)) ? await files.entries(folder) : [];
  for (const { name, isFile } of entries) {
    if (!isFile || !/^[0-9a-f]{16}\.json$/.test(name)) continue;
    const path = join(folder, name);
    const note = tryParseJson(new TextDecoder().decode(await files.read(path)));
    const token = name.slice(0, 16);
    if (isObject(note) && note["base_url"] !== base_url) continue; // that of another server
    let release: () => void;
    try {
      release = await lockWork(path, "", context.host);
    } catch (error) {
      if (error instanceof CliError && error.kind === "failure") continue; // it is running
      throw error;
    }
    try {
      if (await removeNoted(token, context))
        await context.notice(`removed ${marksOf(token).name}, which an interrupted drill had left`);
      await files.remove(path);
    } finally {
      release();
    }
  }
}

/** Deletes the knowledge base of a token; false if there is none, or one that was changed. */
async function removeNoted(token: string, context: Context): Promise<boolean> {
  const { name, description } = marksOf(token);
  const dataset_id = await findKb(name, context);
  if (dataset_id === undefined) return false;
  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  if (kb.description !== description) {
    await context.notice(`kept ${name} (${dataset_id}): its description is not that of a drill`);
    return false;
  }
  try {
    await context.api.call(deleteKnowledgeBase, { dataset_id });
  } catch (error) {
    if (!(error instanceof ApiError) || error.kind !== "not-found") throw error;
  }
  return true;
}
