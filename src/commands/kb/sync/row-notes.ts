import { join } from "node:path";
import { CliError, reasonOf, usage } from "../../../errors.ts";
import { isObject, stringifyJson, tryParseJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { lockJournal, readInput, removeUnfinished } from "../../task/files.ts";
import type { Context } from "../../task/command-spec.ts";

/** What this machine knows of a row that it has sent. */
interface NotedRow {
  readonly chunk?: string | undefined;
  /** Hashes of the chunk as the sync left it, and of texts that may have been sent since. */
  readonly marks: readonly string[];
}

/** What this machine knows of a sheet. */
export interface SheetNotes {
  /** ID of its document. */
  readonly document?: string;
  /** By the ID of the row; empty without IDs, and on another machine. */
  readonly rows: Readonly<Record<string, NotedRow>>;
  /** Chunks that the server made of the placeholder; null if the document was about to be created. */
  readonly generated: readonly string[] | null;
}

/**
 * Opens the notes of a sheet, a JSON file in the state directory that only one sync has at a time. What is about to be
 * sent is noted before, so that a kill leaves no chunk that the next sync takes for that of someone else. A dry run
 * only reads them; damaged ones are an error of usage, because what they have must not be forgotten.
 */
export async function openNotes(dataset_id: string, name: string, context: Context) {
  const { host } = context;
  const key = [await context.api.baseUrl(), dataset_id, name].join("\n");
  const path = join(host.directories.state, `rows-${sha256(key).slice(0, 32)}.json`);
  const busy = `another sync of ${name} is running`;
  const { release } = await lockJournal(path, busy, host, !context.options.dryRun);
  const read = async (): Promise<SheetNotes> => {
    if (!(await host.files.stat(path))) return { rows: {}, generated: [] };
    const notes = tryParseJson(new TextDecoder().decode(await readInput(path, host)));
    if (isObject(notes) && isObject(notes["rows"])) return notes as unknown as SheetNotes;
    throw usage(`${path} is damaged`, "delete it; then rows are matched by their content");
  };
  const write = (notes: SheetNotes): Promise<void> =>
    removeUnfinished(host.directories.state, host.files, (each) => !each.startsWith(`${path}.`))
      .then(() => host.files.writeAtomic(path, stringifyJson(notes), 0o600))
      .catch(async (error: unknown) => {
        if (error instanceof CliError) throw error;
        await context.notice(`nothing noted for the next sync of ${name}: ${reasonOf(error)}`);
      });
  return { read, write, close: release };
}
