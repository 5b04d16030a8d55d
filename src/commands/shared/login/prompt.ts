import { CliError } from "../../../errors.ts";
import { signsFor } from "../../../lib/environment.ts";
import { ask } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";

/** A question that is asked until its reply is accepted. */
interface Question<T> {
  /** The question without its default and colon. */
  readonly text: string;
  /** What Enter means at the first time. */
  readonly fallback?: string | undefined;
  /** The reply is a key: it is not echoed, and masked from then on. */
  readonly hidden?: true;
  /** Checks the reply. Throws CliError if it is wrong. */
  accept(reply: string): Promise<T>;
}

/**
 * Asks until `accept` takes the reply, saying each time what is wrong with it. Undefined if the reply
 * is empty. Throws interrupted on Ctrl-C.
 */
export async function askUntilAccepted<T>(
  { text, fallback, hidden, accept }: Question<T>,
  context: Context,
): Promise<T | undefined> {
  let enter = fallback;
  for (;;) {
    const question = enter === undefined ? `${text}: ` : `${text} [${enter}]: `;
    const reply = (await ask(question, context, { hidden: hidden === true })) || enter;
    if (reply === undefined) return undefined;
    if (hidden) context.host.secrets.learn(reply);
    try {
      return await accept(reply);
    } catch (error) {
      const isWrong = error instanceof CliError && error.kind !== "interrupted";
      if (!isWrong || context.signal.aborted) throw error;
      await tellProblem(error, context);
    }
    enter = undefined;
  }
}

/** Says what is wrong, and what to do about it. */
async function tellProblem(
  { message, info }: CliError,
  { host, promptLine }: Context,
): Promise<void> {
  await promptLine(`${signsFor(host.env).fail}${message}`);
  if (info.hint !== undefined) await promptLine(`  ${info.hint}`);
}
