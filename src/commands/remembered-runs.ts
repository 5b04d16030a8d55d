import { join } from "node:path";
import { isObject } from "../json.ts";
import type { Context } from "./task.ts";

/** Runs that are remembered; older ones are forgotten. */
const most = 200;

/** Which task a run is: only its stream tells, and only the task can be stopped (server §13). */
interface Remembered {
  readonly run: string;
  readonly task: string;
  readonly base_url: string;
}

const pathOf = (context: Context) => join(context.host.folders.state, "runs.json");

/** Remembers the task of a run. A folder that cannot be written is no reason to fail. */
export async function remember(run: string, task: string, context: Context): Promise<void> {
  try {
    const before = await remembered(context);
    if (before.some((each) => each.run === run && each.task === task)) return;
    const base_url = await context.baseUrl();
    const { files, folders } = context.host;
    await files.makeFolder(folders.state, 0o700);
    const kept = [{ run, task, base_url }, ...before.filter((each) => each.run !== run)];
    await files.writeAtomic(
      pathOf(context),
      `${JSON.stringify(kept.slice(0, most), null, 1)}\n`,
      0o600,
    );
  } catch (error) {
    await context.trace(1, `the run could not be remembered: ${String(error)}`);
  }
}

/** The task of a run that was started or followed on this machine, on the same server. */
export async function taskOf(run: string, context: Context): Promise<string | undefined> {
  const base_url = await context.baseUrl();
  const found = await remembered(context).catch(() => []); // then it is one of another machine
  return found.find((each) => each.run === run && each.base_url === base_url)?.task;
}

async function remembered(context: Context): Promise<readonly Remembered[]> {
  const { files } = context.host;
  if ((await files.stat(pathOf(context))) === null) return [];
  const bytes = await files.read(pathOf(context));
  try {
    const list: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(list) ? (list.filter(isObject) as unknown as Remembered[]) : [];
  } catch {
    return []; // damaged: what it held can only be looked up by hand now
  }
}
