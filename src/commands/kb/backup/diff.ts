import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { bundleSide, differenceNote, differencesOf } from "../snapshot/index.ts";
import type { KbDifference } from "../snapshot/index.ts";
import type { snapshotDiffParams } from "./command.ts";
import { allSnapshots, snapshotById } from "./find.ts";
import { readManifestOf } from "./store.ts";
import type { Snapshot } from "./store.ts";

/** Lists what differs between two snapshots, also of different knowledge bases. */
export async function* run(
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
