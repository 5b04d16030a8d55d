import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Change } from "../changes/index.ts";
import { importBundle } from "../snapshot/index.ts";
import type { restoreParams } from "./command.ts";
import { allSnapshots, snapshotAt } from "./find.ts";
import { readManifestOf } from "./store.ts";

/** Creates or fills a knowledge base from a snapshot. */
export async function* run(
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
