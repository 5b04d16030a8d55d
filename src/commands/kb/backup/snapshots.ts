import { notFound, refused, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Input } from "../../../operations/operation.ts";
import { counted } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { bundleSide, differenceNote, differencesOf, importBundle } from "../snapshot/index.ts";
import type { KbDifference } from "../snapshot/index.ts";
import type { Change } from "../changes/index.ts";
import { readSnapshots, requireBackup, readManifestOf } from "./store.ts";
import type { Snapshot } from "./store.ts";
import type { snapshotListParams, snapshotDiffParams, restoreParams } from "./command.ts";

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
export function snapshotsOf(
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

/** The snapshot to restore: that of an ID, or the newest one of a knowledge base, up to a time. */
export function snapshotAt(
  {
    directory,
    kb,
    at,
    snapshot,
  }: {
    readonly directory: string;
    readonly kb: string;
    readonly at?: string | undefined;
    readonly snapshot?: string | undefined;
  },
  all: readonly Snapshot[],
): Snapshot {
  if (at !== undefined && snapshot !== undefined)
    throw usage("use either --at or --snapshot, not both");
  const own = snapshotsOf(kb, all, directory);
  if (snapshot !== undefined) return snapshotById(snapshot, own, directory);
  const until = at === undefined ? Infinity : Date.parse(at.replace(" ", "T"));
  const found = own.findLast(({ taken_at }) => Date.parse(taken_at) <= until);
  if (found) return found;
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
  input: Input<typeof restoreParams>,
  context: Context,
): AsyncGenerator<Change> {
  const { directory, kb: _, at: __, snapshot: ___, split_again, ...flags } = input;
  const { files } = context.host;
  const snapshot = snapshotAt(input, await allSnapshots(directory, context));
  const part = files.untrustedPart(directory);
  if (part)
    await context.notice(
      `hashes show damage, not who wrote a backup: ${part.path} ${part.reason}, who could have replaced it`,
    );
  const manifest = await readManifestOf(directory, snapshot, files);
  const as_is = split_again !== true;
  const made = yield* importBundle({ ...flags, as_is, directory, manifest }, context);
  if (made)
    context.summary(`restored ${snapshot.kb.name} as of ${snapshot.taken_at} to ${made.name}`);
}
