import { join } from "node:path";
import { CliError, reasonOf } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { GuardedChange } from "../../task/command-rules.ts";
import type { Context, Ending } from "../../task/command-spec.ts";

/**
 * Carries out a command that changes a knowledge base, with backups around it if --backup asks for them, or the
 * reply to the prompt before a delete.
 */
export async function* withBackups(
  { object, line, writes, values }: GuardedChange,
  context: Context,
): AsyncGenerator<unknown, Ending | void> {
  const { host, options } = context;
  const { backup, backupDir } = options.flags;
  const ownDirectory = join(host.directories.data, "backups");
  let end: ((wrote: boolean) => Promise<void>) | undefined;
  const backUp = async (directory = ownDirectory) => {
    const dataset_id = await context.resolveId("kb", object);
    const { startRecord } = await import("./undo.ts"); // 10 ms that a change without backups saves
    end ??= await startRecord({ directory, dataset_id, command: line }, context);
  };
  if (backup || backupDir !== undefined) await backUp(backupDir);
  const confirm: Context["confirm"] = (question, how) =>
    // After a write, it would not be the state before the command.
    context.confirm(question, writes() > 0 ? how : { ...how, backUp: () => backUp() });
  let ending: Ending | void;
  try {
    ending = yield* values(end ? context : { ...context, confirm });
  } catch (error) {
    const isUnknown = error instanceof CliError && error.info.sideEffect === "unknown";
    // Stopped, it reads nothing more: the record stays that of a command that did not end.
    if (!host.signal.aborted)
      await end?.(isUnknown || writes() > 0).catch((failure: unknown) =>
        context.notice(`${noBackupAfter}: ${reasonOf(failure)}`),
      );
    throw error;
  }
  try {
    await end?.(writes() > 0);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const hint = `do not run the command again; to see how to restore the earlier state: ${commandLine("kb undo")}`;
    throw error.with({ sideEffect: "applied", hint }, `${noBackupAfter}: ${error.message}`);
  }
  return ending;
}

/** Then `kb undo` says that the command did not end. */
const noBackupAfter = "the command was carried out, but the backup after it failed";
