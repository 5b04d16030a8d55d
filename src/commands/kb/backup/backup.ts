import { ApiError, CliError, isFatal } from "../../../errors.ts";
import { formatBytes } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { requestedKbs } from "../knowledge/index.ts";
import type { RequestedKb } from "../knowledge/index.ts";
import type { Context } from "../../task/command-spec.ts";
import type { backupParams } from "./command.ts";
import { openBackup } from "./store.ts";
import { lacksOf, takeSnapshot } from "./take.ts";

/** What became of the backup of one knowledge base. */
interface BackedUp {
  readonly action: "stored" | "failed";
  readonly kb: string;
  readonly snapshot: string | null;
  readonly documents: number;
  readonly downloaded: number;
  /** Bytes by which the directory grew. */
  readonly added: number;
  readonly note: string | null;
}

/**
 * Takes a snapshot of each knowledge base. One that the key does not open or that fails does not keep the
 * others from being stored. Throws partial if one failed.
 */
export async function* run(
  input: Input<typeof backupParams>,
  context: Context,
): AsyncGenerator<BackedUp> {
  const kbs: RequestedKb[] = [];
  const line = { command: "kb backup", args: [input.directory] };
  for await (const kb of requestedKbs(line, input, context)) kbs.push(kb);
  const release = await openBackup(input.directory, context.host);
  const rows: BackedUp[] = [];
  try {
    for (const kb of kbs) {
      const row = await backUp(kb, input, context);
      rows.push(row);
      yield row;
    }
  } finally {
    release();
  }
  const failed = rows.filter(({ action }) => action === "failed");
  const added = formatBytes(rows.reduce((sum, row) => sum + row.added, 0));
  const stored = counted(rows.length - failed.length, "snapshot");
  context.summary(`stored ${stored} in ${input.directory}, which grew by ${added}`);
  const [first] = failed;
  if (!first) return;
  throw new CliError(
    "partial",
    `failed to back up ${failed.length} of ${kbs.length}: ${first.kb}`,
    {
      isResult: true,
      details: { failed },
      hint: "the others are stored; a key may open only some knowledge bases",
    },
  );
}

async function backUp(
  { id, name }: RequestedKb,
  { directory, no_chunks = false }: Input<typeof backupParams>,
  context: Context,
): Promise<BackedUp> {
  try {
    const taken = await takeSnapshot(directory, id, { chunks: !no_chunks }, context);
    const { snapshot, downloaded, added } = taken;
    const row = { documents: snapshot.documents, downloaded, added, note: lacksOf(taken) };
    return { action: "stored", kb: snapshot.kb.name, snapshot: snapshot.id, ...row };
  } catch (error) {
    // What the directory does not take, no further one takes either.
    if (context.signal.aborted || !(error instanceof ApiError) || isFatal(error)) throw error;
    const nothing = { snapshot: null, documents: 0, downloaded: 0, added: 0 };
    return { action: "failed", kb: name, ...nothing, note: error.message };
  }
}
