import { join } from "node:path";
import { sum } from "../lib/numbers.ts";
import type { AppendFile, Host } from "./host.ts";

/** Bytes of one run; more of it is not remembered. */
const MAX_RUN = 10_000_000;
/** Bytes that are kept when a run begins: with ten runs at a time, all together stay below 200 MB. */
const MAX_KEPT = 100_000_000;

/** Where the events of runs are remembered. */
export const rememberedIn = ({ directories }: Host): string =>
  join(directories.state, "remembered-runs");

/** The files of the remembered runs, oldest first: `1764406800000-RUN.jsonl`, the ID encoded as in URLs. */
export async function rememberedRuns(host: Host) {
  const names = await host.files.list(rememberedIn(host)).catch(() => []);
  const files = names.map(async (name) => {
    const [, at, run = ""] = /^(\d+)-(.+)\.jsonl$/.exec(name) ?? [];
    const path = join(rememberedIn(host), name);
    const stat = at === undefined ? null : await host.files.stat(path);
    return stat ? [{ path, run, at: Number(at), size: stat.size }] : [];
  });
  return (await Promise.all(files)).flat();
}

/**
 * Creates the file of a run, after removing runs older than `ms` and the oldest above the limit. No process removes
 * it while this one has it open. Throws the system error, also from `write`, which throws for a run that is too large.
 */
export async function rememberRun(run: string, ms: number, host: Host): Promise<AppendFile> {
  const { files, now, process } = host;
  await files.makeDirectory(rememberedIn(host), 0o700);
  await removeOld(now().getTime() - ms, host);
  const path = join(rememberedIn(host), `${now().getTime()}-${encodeURIComponent(run)}.jsonl`);
  const lock = await files.lock(`${path}.lock`, process);
  const release = () => "release" in lock && lock.release();
  const file = await files.create(path, 0o600).catch((error: unknown) => {
    release();
    throw error;
  });
  let size = 0;
  return {
    async write(text) {
      size += Buffer.byteLength(text);
      if (size > MAX_RUN) throw new Error(`run ${run} has more than ${MAX_RUN / 1_000_000} MB`);
      await file.write(text);
    },
    close: () => file.close().finally(release),
  };
}

/** Removes runs that began before a time, and the oldest above the limit, but none in use. */
async function removeOld(before: number, host: Host): Promise<void> {
  const runs = await rememberedRuns(host);
  let total = sum(runs.map(({ size }) => size));
  for (const { path, at, size } of runs) {
    if (at >= before && total <= MAX_KEPT) break;
    const lock = await host.files.lock(`${path}.lock`, host.process);
    if (!("release" in lock)) continue;
    await host.files.remove(path).finally(lock.release);
    total -= size;
  }
}
