import { join } from "node:path";
import type { Values } from "../../api/request.ts";
import { CliError, reasonOf } from "../../errors.ts";
import { commandLine, shellQuote } from "../../lib/command-line.ts";
import { recordKbChange } from "../parse/command-list.ts";
import { changedKb } from "../parse/shared-flags.ts";
import type { Session } from "./session.ts";

/**
 * The values of a command that changes a knowledge base, with backups around it if --backup asks for them, or
 * the prompt before a delete.
 */
export async function recorded(
  session: Session,
  input: Values,
  values: () => AsyncGenerator<unknown>,
): Promise<AsyncGenerator<unknown>> {
  const { command, options, context } = session;
  const name = changedKb(command);
  const text = name === undefined ? undefined : input[name];
  const { backup } = options.globals;
  if (typeof text !== "string" || context.options.dryRun) return values();
  let end: ((wrote: boolean) => Promise<void>) | undefined;
  const start = async (directory: string) => {
    const dataset_id = await context.resolveId("kb", text);
    end ??= await recordKbChange(
      { directory, dataset_id, command: lineOf(session, input) },
      context,
    );
  };
  if (backup === undefined)
    session.backUp = () => start(join(context.host.directories.data, "backups"));
  if (backup !== undefined) await start(backup);
  return around(values(), session, async (wrote) => end?.(wrote));
}

async function* around(
  values: AsyncGenerator<unknown>,
  session: Session,
  end: (wrote: boolean) => Promise<void>,
): AsyncGenerator<unknown> {
  try {
    yield* values;
  } catch (error) {
    const isUnknown = error instanceof CliError && error.info.sideEffect === "unknown";
    // Stopped, it reads nothing more: the record stays that of a command that did not end.
    if (!session.context.signal.aborted)
      await end(isUnknown || session.writes() > 0).catch((failure: unknown) =>
        session.context.notice(`${noBackupAfter}: ${reasonOf(failure)}`),
      );
    throw error;
  }
  try {
    await end(session.writes() > 0);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const hint = `do not repeat the command; how to restore the state before it: ${commandLine("kb undo")}`;
    throw error.with({ sideEffect: "applied", hint }, `${noBackupAfter}: ${error.message}`);
  }
}

/** Then `kb undo` says that the command did not end. */
const noBackupAfter = "the command was carried out, but the backup after it failed";

/** The command with its arguments, not its flags, whose values may be long or private. */
const lineOf = ({ command }: Session, input: Values): string =>
  [
    ...command.words,
    ...command.positionals.flatMap(({ name }) => {
      const value = input[name];
      const all: readonly unknown[] = Array.isArray(value) ? value : [value];
      return all.filter((each) => typeof each === "string").map(shellQuote);
    }),
  ].join(" ");
