import { join } from "node:path";
import { isObject, tryParseJson, valueAt } from "../../lib/json.ts";
import type { RunOutcome } from "../../runs/outcome.ts";
import type { Context } from "../command-spec.ts";

/** Number of runs to keep; older ones are deleted. */
const MAX_RUNS = 200;

/** Facts about a run that only its event stream has (server §13). */
interface SavedRun {
  /** The task ID: a run can be stopped only by its task. */
  readonly task?: string | undefined;
  /** The end of a stopped run, whose record may show `running` forever. */
  readonly end?: RunEnd | undefined;
  readonly base_url: string;
}

type RunEnd = Pick<RunOutcome, "status" | "error">;

/** One file per run, so that runs saved at the same time do not overwrite each other. */
const directoryOf = ({ host }: Context) => join(host.directories.state, "runs");

/** Saves the task ID of a run. */
export const saveTaskId = (run: string, task: string, context: Context): Promise<void> =>
  save(run, { task }, context);

/** Saves the end of a run whose record may not show it. */
export const saveRunEnd = (
  run: string,
  { status, error }: RunEnd,
  context: Context,
): Promise<void> => save(run, { end: { status, error } }, context);

/** Merges facts into the file of a run. A directory that is not writable is not an error. */
async function save(
  run: string,
  facts: Pick<SavedRun, "task" | "end">,
  context: Context,
): Promise<void> {
  try {
    const { files, now } = context.host;
    const directory = directoryOf(context);
    const base_url = await context.baseUrl();
    await files.makeDirectory(directory, 0o700);
    const names = await listFiles(context);
    const saved = await load(run, names, context);
    const known = saved?.base_url === base_url ? saved : undefined;
    const merged: SavedRun = { ...known, ...facts, base_url };
    if (known && JSON.stringify(merged) === JSON.stringify(known)) return;
    const path = join(directory, `${now().getTime()}${suffixOf(run)}`);
    await files.writeAtomic(path, `${JSON.stringify(merged)}\n`, 0o600);
    // Another process may remove the same files.
    for (const old of names.slice(MAX_RUNS - 1)) await files.remove(join(directory, old));
  } catch (error) {
    await context.trace(1, `failed to save the run: ${String(error)}`);
  }
}

/** Returns the task ID of a run that was started or followed on this machine. */
export async function loadTaskId(run: string, context: Context): Promise<string | undefined> {
  const task = (await loadFromServer(run, context))?.task;
  return typeof task === "string" ? task : undefined;
}

/** Returns the end of a run, if it was saved on this machine. */
export async function loadRunEnd(run: string, context: Context): Promise<RunEnd | undefined> {
  const saved = await loadFromServer(run, context);
  const status: unknown = valueAt(saved, "end.status");
  if (typeof status !== "string") return undefined;
  const error: unknown = valueAt(saved, "end.error");
  return { status, error: typeof error === "string" ? error : undefined };
}

/** Loads a run if it belongs to the current server. */
async function loadFromServer(run: string, context: Context): Promise<SavedRun | undefined> {
  const base_url = await context.baseUrl();
  const names = await listFiles(context).catch(() => []);
  const saved = await load(run, names, context).catch(() => undefined);
  return saved?.base_url === base_url ? saved : undefined;
}

/** File names, newest first: they start with the time. */
const listFiles = async (context: Context): Promise<string[]> =>
  (await context.host.files.list(directoryOf(context)))
    .filter((name) => name.endsWith(".json"))
    .reverse();

/** End of a file name, after the time. Run IDs may hold any character; throws on invalid Unicode. */
const suffixOf = (run: string) => `-${encodeURIComponent(run)}.json`;

async function load(
  run: string,
  names: readonly string[],
  context: Context,
): Promise<SavedRun | undefined> {
  const name = names.find((each) => each.replace(/^\d+/, "") === suffixOf(run));
  if (name === undefined) return undefined;
  const bytes = await context.host.files.read(join(directoryOf(context), name));
  const value = tryParseJson(new TextDecoder().decode(bytes));
  return isObject(value) ? (value as unknown as SavedRun) : undefined; // ignores damaged files
}
