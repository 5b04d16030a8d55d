import { notFound, refused, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Context } from "../../task/command-spec.ts";
import { readSnapshots, requireBackup } from "./store.ts";
import type { Snapshot } from "./store.ts";

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
