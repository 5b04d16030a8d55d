import { join } from "node:path";
import { notFound, refused, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Input } from "../../../operations/operation.ts";
import { counted } from "../../../lib/text.ts";
import { pathInside } from "../../../host/safe-path.ts";
import { groupBy } from "../../../lib/collect.ts";
import { formatBytes } from "../../../lib/numbers.ts";
import type { Context } from "../../task/command-spec.ts";
import { bundleSide, differenceNote, differencesOf, importBundle } from "../snapshot/index.ts";
import type { KbDifference } from "../snapshot/index.ts";
import type { Change } from "../changes/index.ts";
import {
  readSnapshots,
  requireBackup,
  readManifestOf,
  objectPath,
  objectsOf,
  openBackup,
  snapshotPath,
} from "./store.ts";
import type { Snapshot } from "./store.ts";
import type {
  snapshotListParams,
  snapshotDiffParams,
  restoreParams,
  pruneParams,
} from "./command.ts";

type RestoreInput = Input<typeof restoreParams>;

/** All snapshots of a backup, oldest first; files that cannot be read are a notice. */
export async function allSnapshots(
  directory: string,
  context: Context,
): Promise<readonly Snapshot[]> {
  await requireBackup(directory, context.host);
  const { snapshots, bad } = await readSnapshots(directory, context.host.files);
  for (const { path, why } of bad) await context.notice(`skipped ${path}: ${why}`);
  return snapshots;
}

const listLine = (directory: string, kb?: string): string =>
  commandLine("kb backup list", [directory], { kb });

/** The snapshots of a knowledge base, by its name or ID. Throws not-found, and refused for a name of several. */
function snapshotsOf(
  text: string,
  all: readonly Snapshot[],
  directory: string,
): readonly Snapshot[] {
  const name = text.replace(/^(name|id):/, "");
  const found = all.filter(({ kb }) => kb.id === name || kb.name === name);
  if (found.length === 0)
    throw notFound(`no snapshot of ${JSON.stringify(name)} in ${directory}`, listLine(directory));
  const ids = new Set(found.map(({ kb }) => kb.id));
  if (ids.size === 1) return found;
  throw refused(
    `${ids.size} knowledge bases in ${directory} were called ${JSON.stringify(name)}`,
    `use an ID: ${[...ids].join(" or ")}`,
  );
}

/** The snapshot with an ID or its beginning. Throws not-found, and refused for several. */
export function snapshotById(text: string, all: readonly Snapshot[], directory: string): Snapshot {
  const found = /^[0-9a-f]{2,8}$/.test(text) ? all.filter(({ id }) => id.startsWith(text)) : [];
  const [only, ...others] = found;
  if (!only)
    throw notFound(
      `snapshot ${JSON.stringify(text)} not found in ${directory}`,
      listLine(directory),
    );
  if (others.length === 0) return only;
  throw refused(`${found.length} snapshots begin with ${text}`, listLine(directory));
}

/**
 * The snapshot to restore: that of an ID, or the newest one of a knowledge base, up to a time. Servers that were made
 * from one database have the same IDs: then it is one of the server of this line.
 */
export async function snapshotAt(
  { directory, kb, at, snapshot }: Pick<RestoreInput, "directory" | "kb" | "at" | "snapshot">,
  context: Context,
): Promise<Snapshot> {
  if (at !== undefined && snapshot !== undefined)
    throw usage("use either --at or --snapshot, not both");
  const found = snapshotsOf(kb, await allSnapshots(directory, context), directory);
  if (snapshot !== undefined) return snapshotById(snapshot, found, directory);
  const servers = groupBy(found, ({ kb: { base_url } }) => base_url);
  const own = servers.size > 1 ? servers.get(await context.api.baseUrl()) : found;
  if (!own)
    throw refused(
      `${servers.size} servers have the knowledge base ${JSON.stringify(kb)}`,
      `choose a snapshot with --snapshot: ${listLine(directory, kb)}`,
    );
  const until = at === undefined ? Infinity : Date.parse(at.replace(" ", "T"));
  const last = own.findLast(({ taken_at }) => Date.parse(taken_at) <= until);
  if (last) return last;
  throw notFound(
    `no snapshot of ${JSON.stringify(kb)} is that old: the first is of ${own[0]?.taken_at}`,
    listLine(directory, kb),
  );
}

/** The row of a snapshot; times in Unix seconds. */
export const snapshotRow = ({ id, kb, taken_at, documents, bytes, note }: Snapshot) => ({
  snapshot: id,
  kb: kb.name,
  taken: Math.floor(Date.parse(taken_at) / 1000),
  documents,
  bytes,
  note: note ?? null,
  kb_id: kb.id,
  server: kb.base_url,
});

export async function* listSnapshots(
  { directory, kb }: Input<typeof snapshotListParams>,
  context: Context,
): AsyncGenerator<ReturnType<typeof snapshotRow>> {
  const all = await allSnapshots(directory, context);
  const shown = kb === undefined ? all : snapshotsOf(kb, all, directory);
  for (const snapshot of shown.toReversed()) yield snapshotRow(snapshot);
}

/** Lists what differs between two snapshots, also of different knowledge bases. */
export async function* diffSnapshots(
  { directory, a, b }: Input<typeof snapshotDiffParams>,
  context: Context,
): AsyncGenerator<KbDifference & { readonly note: string }> {
  const all = await allSnapshots(directory, context);
  const [from, to] = [a, b].map((text) => snapshotById(text, all, directory));
  if (!from || !to) return;
  const { files } = context.host;
  const side = async (snapshot: Snapshot) =>
    bundleSide(directory, await readManifestOf(directory, snapshot, files), context);
  const [left, right] = [await side(from), await side(to)];
  const chunks = [left, right].every((each) => each.documents.every(hasChunks));
  let count = 0;
  for await (const difference of differencesOf(left, right, { chunks }, context)) {
    count++;
    yield { ...difference, note: differenceNote(difference, { a: from.id, b: to.id }) };
  }
  const scope = chunks ? "" : "; chunks not compared, as not all documents have them";
  context.summary(
    `${counted(count, "difference")} from ${from.taken_at} to ${to.taken_at}${scope}`,
  );
}

const hasChunks = (document: object): boolean => "chunks" in document;

/** Creates or fills a knowledge base from a snapshot. */
export async function* restoreSnapshot(
  input: RestoreInput,
  context: Context,
): AsyncGenerator<Change> {
  const { directory, kb: _, at: __, snapshot: ___, split_again, ...flags } = input;
  const { files } = context.host;
  const snapshot = await snapshotAt(input, context);
  const part = files.untrustedPart(directory);
  if (part)
    await context.notice(
      `hashes show damage, not who wrote a backup: ${part.path} ${part.reason}, who could have replaced it`,
    );
  const manifest = await readManifestOf(directory, snapshot, files);
  const as_is = split_again !== true;
  const again = commandLine("kb backup restore", [directory, snapshot.kb.id], {
    name: flags.name,
    into: flags.into,
    "map-model": flags.map_model,
    snapshot: snapshot.id,
    "split-again": true,
  });
  const otherwise = `to let the server split their texts again: ${again}`;
  const made = yield* importBundle({ ...flags, as_is, directory, manifest, otherwise }, context);
  if (made)
    context.summary(`restored ${snapshot.kb.name} as of ${snapshot.taken_at} to ${made.name}`);
}

interface PrunedRow extends ReturnType<typeof snapshotRow> {
  readonly action: "removed" | "kept";
}

/**
 * Removes the snapshots that no rule keeps, and then the objects that no remaining snapshot names. Killed in
 * between, it leaves objects that the next one removes.
 */
export async function* pruneSnapshots(
  { directory, keep }: Input<typeof pruneParams>,
  context: Context,
): AsyncGenerator<PrunedRow> {
  const policy = parsePolicy(keep);
  await requireBackup(directory, context.host);
  const { dryRun } = context.options;
  const release = dryRun ? () => {} : await openBackup(directory, context.host);
  try {
    const { files } = context.host;
    const { snapshots: all, bad } = await readSnapshots(directory, files);
    // As in a copy that is not complete: without a snapshot, no file would be needed.
    if (all.length + bad.length === 0) throw notFound(`no snapshot found in ${directory}`);
    const [unread] = bad;
    if (unread)
      throw refused(
        `${unread.path}: ${unread.why}; which files it needs is not known, so nothing was removed`,
        "get it from a copy of the directory, or delete it",
      );
    const timeZone = context.options.timeZone();
    const kept = new Map<Snapshot, string>();
    for (const own of groupBy(all, ({ kb }) => `${kb.base_url} ${kb.id}`).values())
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
    if (dryRun) return;
    const { count, bytes } = await removeObjects(directory, needed, context);
    const what = `${counted(removed.length, "snapshot")} and ${counted(count, "file")}`;
    context.summary(`removed ${what}, ${formatBytes(bytes)}`);
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
 * pure. Of each period that has snapshots, the newest one is kept, and the newest of all always.
 */
export function keptSnapshots<S extends Pick<Snapshot, "taken_at">>(
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
        rule === "last" ? snapshot.taken_at : periods[rule](localTime(snapshot.taken_at, timeZone));
      if (seen.has(period)) continue;
      if (seen.size >= count) break;
      seen.add(period);
      keep(snapshot, rule);
    }
  }
  const [newest] = newestFirst;
  if (newest && !kept.has(newest)) keep(newest, "newest");
  return kept;
}

/** `2026-11-27 04:09:51` of an instant; the Swedish format is that of ISO 8601. */
const localTime = (instant: string, timeZone: string): string =>
  new Date(instant).toLocaleString("sv-SE", { timeZone });

function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}
