import { CliError } from "../../../errors.ts";
import { stopMessage } from "../../../operations/chats.ts";
import type { Context } from "../../task/command-spec.ts";
import type { ReplyPrinter } from "./reply-events.ts";

/** Stops a reply that is being printed. */
export interface ReplyStop {
  /** Has the server taken the stop? What ends the reply is then no failure. */
  readonly isSent: boolean;
  /** Gives Ctrl-C back. */
  release(): void;
}

/**
 * The next Ctrl-C stops a reply instead of the command: at once, or, as only events name its task, with
 * the first of them. Another one ends the command.
 */
export function stopByInterrupt(printer: ReplyPrinter, context: Context): ReplyStop {
  let isWanted = false;
  let isSent = false;
  const stop = async () => {
    const task_id = printer.reply.id("task_id");
    if (!isWanted || task_id === undefined) return;
    isWanted = false;
    try {
      await context.api.call(stopMessage, { task_id });
      isSent = true;
    } catch (error) {
      if (!(error instanceof CliError) || context.signal.aborted) throw error;
      await context.notice(`${error.message}; Ctrl-C leaves the conversation`);
    }
  };
  printer.onBatch = stop;
  const release = context.host.takeInterrupt(() => {
    isWanted = true;
    void stop().catch(() => {}); // aborted: the reply itself ends with that
  });
  return {
    get isSent() {
      return isSent;
    },
    release,
  };
}
