import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { snapshotListParams } from "./command.ts";
import { allSnapshots, snapshotsOf } from "./find.ts";
import type { Snapshot } from "./store.ts";

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

export async function* run(
  { directory, kb }: Input<typeof snapshotListParams>,
  context: Context,
): AsyncGenerator<ReturnType<typeof snapshotRow>> {
  const all = await allSnapshots(directory, context);
  const shown = kb === undefined ? all : snapshotsOf(kb, all, directory);
  for (const snapshot of shown.toReversed()) yield snapshotRow(snapshot);
}
