import { join } from "node:path";
import { CliError, notFound, usage } from "../../../errors.ts";
import { pathInside } from "../../../host/safe-path.ts";
import { groupBy } from "../../../lib/collect.ts";
import { formatBytes } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { pruneParams } from "./command.ts";
import { allSnapshots, isComplete, isLater, listLine, snapshotRow } from "./snapshots.ts";
import {
  readManifestOf,
  objectPath,
  objectsOf,
  openBackup,
  orderOf,
  requireBackup,
  snapshotPath,
} from "./store.ts";
import type { Snapshot } from "./store.ts";

/** Removes the snapshots that no rule keeps, then the objects that none names; a kill leaves those to the next prune. */
export async function* pruneSnapshots(
  { directory, keep }: Input<typeof pruneParams>,
  context: Context,
) {
  const policy = parsePolicy(keep);
  await requireBackup(directory, context.host); // none is made here
  const { dryRun } = context.options;
  const release = dryRun ? () => {} : await openBackup(directory, context.host);
  try {
    const { files } = context.host;
    const all = await allSnapshots(directory, context);
    // As in a copy that is not complete: without a snapshot, no file would be needed.
    if (all.length === 0) throw notFound(`no snapshot found in ${directory}`);
    const timeZone = context.options.timeZone();
    // Their time is not the true one, so no rule can tell whether they are to go.
    const later = all.filter((snapshot) => isLater(snapshot, context.host.now()));
    const kept = new Map(later.map((snapshot) => [snapshot, "later than now"]));
    const timed = all.filter((snapshot) => !kept.has(snapshot));
    for (const own of groupBy(timed, ({ kb }) => `${kb.base_url} ${kb.id}`).values())
      for (const [snapshot, why] of keptSnapshots(own, policy, timeZone)) kept.set(snapshot, why);
    const removed = all.filter((snapshot) => !kept.has(snapshot));
    // Before anything is removed, so that a damaged one keeps all files.
    const needed = await neededObjects(directory, [...kept.keys()], context);
    if (!dryRun && removed.length > 0)
      await context.confirm(`Remove ${counted(removed.length, "snapshot")} from ${directory}?`);
    for (const snapshot of all) {
      const why = kept.get(snapshot);
      if (why === undefined && !dryRun)
        await files.remove(await pathInside(directory, snapshotPath(snapshot), files));
      const action = why === undefined ? "removed" : "kept";
      yield { ...snapshotRow(snapshot), action, note: why ?? null };
    }
    if (!dryRun) {
      const { count, bytes } = await removeObjects(directory, needed, context);
      const what = `${counted(removed.length, "snapshot")} and ${counted(count, "file")}`;
      context.summary(`removed ${what}, ${formatBytes(bytes)}`);
    }
    const [future] = later;
    if (!future) return;
    throw new CliError(
      "partial",
      `kept ${counted(later.length, "snapshot")} with a time later than now: ${future.id} of ${future.taken_at}`,
      { isResult: true, hint: `the clock was ahead; ${listLine(directory)} shows them` },
    );
  } finally {
    release();
  }
}

/** The hashes of what snapshots name. Throws usage for one whose manifest is damaged. */
async function neededObjects(
  directory: string,
  snapshots: readonly Snapshot[],
  { host: { files } }: Context,
): Promise<ReadonlySet<string>> {
  const needed = new Set<string>();
  for (const snapshot of snapshots) {
    if (needed.has(snapshot.manifest)) continue;
    needed.add(snapshot.manifest);
    const { state } = await readManifestOf(directory, snapshot, files);
    for (const document of state.documents)
      for (const hash of objectsOf(document)) needed.add(hash);
  }
  return needed;
}

/** Removes the objects that are not needed. */
async function removeObjects(
  directory: string,
  needed: ReadonlySet<string>,
  { host: { files } }: Context,
): Promise<{ readonly count: number; readonly bytes: number }> {
  let [count, bytes] = [0, 0];
  const top = join(directory, "objects");
  const folders = (await files.stat(top)) ? await files.entries(top) : [];
  for (const folder of folders.filter(
    ({ name, isDirectory }) => isDirectory && name.length === 2,
  )) {
    for (const { name, isFile } of await files.entries(join(top, folder.name))) {
      // Other files than objects are not from a backup.
      if (!isFile || !/^[0-9a-f]{64}$/.test(name) || needed.has(name)) continue;
      const path = join(directory, objectPath(name));
      bytes += (await files.stat(path))?.size ?? 0;
      await files.remove(path);
      count++;
    }
    await files.removeEmptyDirectory(join(top, folder.name));
  }
  return { count, bytes };
}

/** The beginnings of ISO dates that are the same within a period; a week by the day of its Monday. */
const periods = {
  hourly: (local: string) => local.slice(0, 13),
  daily: (local: string) => local.slice(0, 10),
  weekly: (local: string) => mondayOf(local.slice(0, 10)),
  monthly: (local: string) => local.slice(0, 7),
  yearly: (local: string) => local.slice(0, 4),
} as const;

type Rule = "last" | keyof typeof periods;

/** How many snapshots each rule keeps, in the order given. */
type Policy = readonly (readonly [rule: Rule, count: number])[];

const rules: readonly string[] = ["last", ...Object.keys(periods)];

/** Parses `daily=7,weekly=4`. Throws usage. */
export const parsePolicy = (texts: readonly string[]): Policy =>
  texts.flatMap((text) =>
    text.split(",").map((part) => {
      const [, rule = "", count = ""] = /^\s*([a-z]+)=(\d{1,6})\s*$/.exec(part) ?? [];
      if (rules.includes(rule)) return [rule as Rule, Number(count)] as const;
      throw usage(
        `invalid --keep ${JSON.stringify(part)}`,
        `expected rule=number, such as daily=7; rules: ${rules.join(", ")}`,
      );
    }),
  );

/**
 * The snapshots of one knowledge base, given oldest first, that a policy keeps, each with the rules that do;
 * pure. Of each period that has snapshots, the newest one is kept, and always the newest of all and the one that a
 * restore takes.
 */
export function keptSnapshots<S extends Pick<Snapshot, "taken_at" | "order" | "note" | "partial">>(
  snapshots: readonly S[],
  policy: Policy,
  timeZone: string,
): ReadonlyMap<S, string> {
  const newestFirst = snapshots.toReversed();
  const kept = new Map<S, string>();
  const keep = (snapshot: S, why: string) => {
    const before = kept.get(snapshot);
    kept.set(snapshot, before === undefined ? why : `${before}, ${why}`);
  };
  for (const [rule, count] of policy) {
    const seen = new Set<string>();
    for (const snapshot of newestFirst) {
      const period =
        rule === "last" ? orderOf(snapshot) : periods[rule](localTime(snapshot.taken_at, timeZone));
      if (seen.has(period)) continue;
      if (seen.size >= count) break;
      seen.add(period);
      keep(snapshot, rule);
    }
  }
  const [newest] = newestFirst;
  const complete = newestFirst.find(isComplete);
  for (const each of [newest, complete]) if (each && !kept.has(each)) keep(each, "newest");
  return kept;
}

/** `2026-11-27 04:09:51` of an instant; the Swedish format is that of ISO 8601. */
const localTime = (instant: string, timeZone: string): string =>
  new Date(instant).toLocaleString("sv-SE", { timeZone });

function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString();
}
