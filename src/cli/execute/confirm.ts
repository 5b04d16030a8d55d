import { abortError } from "../../api/abort.ts";
import { usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { Options } from "../parse/options.ts";

/** Prompts before something is deleted. Throws usage when declined or when no prompt is possible. */
export async function confirm(question: string, options: Options, host: Host): Promise<void> {
  if (options.globals.yes) return;
  if (!options.input) {
    throw usage(
      `confirmation required: cannot prompt without a terminal: ${question}`,
      "pass --yes to skip the prompt",
      { code: "confirmation-needed" },
    );
  }
  const { signal } = host;
  const typed = await host.prompt(`${question} [y/N] `, { signal }).catch((error: unknown) => {
    throw signal.aborted ? abortError(signal, false) : error;
  });
  const reply = typed.trim().toLowerCase();
  if (reply === "y" || reply === "yes") return;
  throw usage("not confirmed", undefined, { code: "declined" });
}
