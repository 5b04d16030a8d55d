import { join } from "node:path";
import { isObject, parsedJson, valueAt } from "../../lib/json.ts";
import type { RunOutcome } from "../../runs/outcome.ts";
import type { Context } from "../command-spec.ts";

/** Runs that are remembered; older ones are forgotten. */
const most = 200;

/** What only the stream of a run tells (server §13). */
interface Remembered {
  /** Which task it is: only the task can be stopped. */
  readonly task?: string | undefined;
  /** How it ended, where it was stopped: its record may say `running` for ever. */
  readonly end?: RememberedEnd | undefined;
  readonly base_url: string;
}

/** The end of a run, as its stream told it. */
type RememberedEnd = Pick<RunOutcome, "status" | "error">;

/** Each run is a file of its own, so that runs which begin at the same time cannot lose each other. */
const folderOf = ({ host }: Context) => join(host.directories.state, "runs");

/**
 * Its file, after the time at which it was remembered. The server's id of a run is no path. Throws for
 * one that is not valid Unicode.
 */
const suffixOf = (run: string) => `-${encodeURIComponent(run)}.json`;

/** Remembers the task of a run. A folder that cannot be written is no reason to fail. */
export const saveTaskId = (run: string, task: string, context: Context): Promise<void> =>
  learn(run, { task }, context);

/** Remembers how a run ended, where its record may not say so. */
export const saveRunEnd = (
  run: string,
  { status, error }: RememberedEnd,
  context: Context,
): Promise<void> => learn(run, { end: { status, error } }, context);

/** Adds to what is known of a run. */
async function learn(
  run: string,
  news: Pick<Remembered, "task" | "end">,
  context: Context,
): Promise<void> {
  try {
    const { files, now } = context.host;
    const folder = folderOf(context);
    const base_url = await context.baseUrl();
    await files.makeDirectory(folder, 0o700);
    const names = await namesIn(context);
    const found = await remembered(run, names, context);
    const known = found?.base_url === base_url ? found : undefined;
    const all: Remembered = { ...known, ...news, base_url };
    if (known && JSON.stringify(all) === JSON.stringify(known)) return;
    const path = join(folder, `${now().getTime()}${suffixOf(run)}`);
    await files.writeAtomic(path, `${JSON.stringify(all)}\n`, 0o600);
    // Another process may forget the same ones.
    for (const old of names.slice(most - 1)) await files.remove(join(folder, old));
  } catch (error) {
    await context.trace(1, `the run could not be remembered: ${String(error)}`);
  }
}

/** The task of a run that was started or followed on this machine, on the same server. */
export async function loadTaskId(run: string, context: Context): Promise<string | undefined> {
  const base_url = await context.baseUrl();
  const names = await namesIn(context).catch(() => []); // then it is one of another machine
  const found = await remembered(run, names, context).catch(() => undefined);
  return found?.base_url === base_url && typeof found.task === "string" ? found.task : undefined;
}

/** How a run ended, where that was seen on this machine, on the same server, and had to be kept. */
export async function loadRunEnd(
  run: string,
  context: Context,
): Promise<RememberedEnd | undefined> {
  const base_url = await context.baseUrl();
  const names = await namesIn(context).catch(() => []);
  const found = await remembered(run, names, context).catch(() => undefined);
  const status: unknown = valueAt(found, "end.status");
  if (found?.base_url !== base_url || typeof status !== "string") return undefined;
  const error: unknown = valueAt(found, "end.error");
  return { status, error: typeof error === "string" ? error : undefined };
}

/** Files of runs, the newest first: their names begin with the time. */
const namesIn = async (context: Context): Promise<string[]> =>
  (await context.host.files.list(folderOf(context)))
    .filter((name) => name.endsWith(".json"))
    .reverse();

async function remembered(
  run: string,
  names: readonly string[],
  context: Context,
): Promise<Remembered | undefined> {
  const name = names.find((each) => each.replace(/^\d+/, "") === suffixOf(run));
  if (name === undefined) return undefined;
  const bytes = await context.host.files.read(join(folderOf(context), name));
  const value = parsedJson(new TextDecoder().decode(bytes));
  // A damaged one says nothing: what it held can only be looked up by hand now.
  return isObject(value) ? (value as unknown as Remembered) : undefined;
}
