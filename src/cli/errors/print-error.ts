import type { CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { escaped, visible } from "../../output/table/display-width.ts";
import { errorText } from "./error-text.ts";
import type { ErrorStyle } from "./error-text.ts";
import type { Globals } from "../parse/shared-flags.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { wantsColor } from "../../output/terminal.ts";

/** Writes an error to standard error, for people or as one JSON line. */
export async function printError(
  failure: CliError,
  argv: readonly string[],
  globals: Globals,
  trail: RequestLog,
  host: Host,
): Promise<void> {
  // A command run for somebody else ends with that one's code and has nothing to say.
  if (failure.message === "") return;
  await host.stderr.write(errorText(failure, telling(argv, globals, trail, host)));
}

/** How errors are told, also when the line could not be read. */
function telling(
  argv: readonly string[],
  globals: Globals,
  { output }: RequestLog,
  host: Host,
): ErrorStyle {
  const format = globals.output ?? (globals.json ? "json" : undefined);
  const typed = argv.some(
    (word, index) =>
      word === "--json" ||
      /^(-o|--output=?)jsonl?$/.test(word) ||
      (/^(-o|--output)$/.test(word) && /^jsonl?$/.test(argv[index + 1] ?? "")),
  );
  const chosen = format ?? output ?? (host.env["KB_OUTPUT"] || undefined);
  const debug = Number(host.env["KB_DEBUG"] ?? 0);
  const letters = argv.filter((word) => /^-v+$/.test(word)).join("");
  let color = false;
  try {
    color = wantsColor(globals, host, host.stderr);
  } catch {
    // a wrong --color is the error being told
  }
  return {
    json:
      host.env["KB_ERROR_FORMAT"] === "json" ||
      chosen === "json" ||
      chosen === "jsonl" ||
      globals.jq !== undefined ||
      (format === undefined && typed),
    color,
    verbosity: Math.max(debug || 0, letters.replaceAll("-", "").length),
    visible,
    escaped,
  };
}
