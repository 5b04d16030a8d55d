import { join } from "node:path";
import { isObject, parsedJson } from "../json.ts";
import type { Context } from "./task.ts";

/** Runs that are remembered; older ones are forgotten. */
const most = 200;

/** Which task a run is: only its stream tells, and only the task can be stopped (server §13). */
interface Remembered {
  readonly task: string;
  readonly base_url: string;
}

/** Each run is a file of its own, so that runs which begin at the same time cannot lose each other. */
const folderOf = ({ host }: Context) => join(host.folders.state, "runs");

/** Its file, after the time at which it was remembered. The server's id of a run is no path. */
const endOf = (run: string) => `-${encodeURIComponent(run)}.json`;

/** Remembers the task of a run. A folder that cannot be written is no reason to fail. */
export async function remember(run: string, task: string, context: Context): Promise<void> {
  try {
    const { files, now } = context.host;
    const folder = folderOf(context);
    const base_url = await context.baseUrl();
    await files.makeFolder(folder, 0o700);
    const names = await namesIn(context);
    const known = await remembered(run, names, context);
    if (known?.task === task && known.base_url === base_url) return;
    const path = join(folder, `${now().getTime()}${endOf(run)}`);
    await files.writeAtomic(path, `${JSON.stringify({ task, base_url })}\n`, 0o600);
    // Another process may forget the same ones.
    for (const old of names.slice(most - 1)) await files.remove(join(folder, old));
  } catch (error) {
    await context.trace(1, `the run could not be remembered: ${String(error)}`);
  }
}

/** The task of a run that was started or followed on this machine, on the same server. */
export async function taskOf(run: string, context: Context): Promise<string | undefined> {
  const base_url = await context.baseUrl();
  const names = await namesIn(context).catch(() => []); // then it is one of another machine
  const found = await remembered(run, names, context).catch(() => undefined);
  return found?.base_url === base_url ? found.task : undefined;
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
  const name = names.find((each) => each.replace(/^\d+/, "") === endOf(run));
  if (name === undefined) return undefined;
  const bytes = await context.host.files.read(join(folderOf(context), name));
  const value = parsedJson(new TextDecoder().decode(bytes));
  // A damaged one says nothing: what it held can only be looked up by hand now.
  return isObject(value) ? (value as unknown as Remembered) : undefined;
}
