import type { Host } from "../../host/host.ts";
import { abortError, usage } from "../../errors.ts";
import type { ConfirmOptions } from "../../commands/task/command-spec.ts";
import { wrapMessage } from "../../output/table/text-lines.ts";
import { visible } from "../../output/display-width.ts";
import type { Options } from "../parse/options.ts";

/** Writes a message to stderr; text of a server cannot add another line. */
export async function writeLine(text: string, host: Host): Promise<void> {
  await host.stderr.write(`${wrapMessage(visible(text), host.stderr.columns)}\n`);
}

/**
 * Prompts before something is deleted, and backs it up first on request. Throws usage when declined or when no
 * prompt is possible.
 */
export async function confirm(
  question: string,
  { type, declined = "nothing was deleted", backUp }: ConfirmOptions,
  { globals, input }: Options,
  host: Host,
): Promise<void> {
  if (globals.yes) return;
  if (!input) {
    throw usage(
      `confirmation required: cannot prompt without a terminal: ${question}`,
      `pass --yes to skip the prompt${backUp ? ", and --backup so that it can be undone" : ""}`,
      { code: "confirmation-needed" },
    );
  }
  if (type !== undefined) await writeLine(question, host);
  const { signal } = host;
  const prompt = async (asked: string) =>
    (
      await host.prompt(asked, { signal }).catch((error: unknown) => {
        throw signal.aborted ? abortError(signal) : error;
      })
    ).trim();
  const askType = `Type ${type} to delete`;
  let reply =
    type === undefined
      ? await prompt(`${question} [y/N${backUp ? ", b to back up first" : ""}] `)
      : await prompt(`${askType}${backUp ? ", or b to back up first" : ""}: `);
  if (backUp && /^b$/i.test(reply) && type?.trim() !== reply) {
    await backUp();
    reply = type === undefined ? "y" : await prompt(`${askType}: `);
  }
  const isConfirmed = type === undefined ? /^(y|yes)$/i.test(reply) : reply === type.trim();
  if (!isConfirmed) throw usage(declined, undefined, { code: "declined" });
}
