import type { CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { escapeControls, visible } from "../../output/display-width.ts";
import { errorText } from "./error-text.ts";
import type { ErrorStyle } from "./error-text.ts";
import type { Globals } from "../parse/shared-flags.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { wantsColor } from "../../output/terminal.ts";

interface Line {
  readonly argv: readonly string[];
  /** Empty if the line cannot be parsed. */
  readonly globals: Globals;
}

/** Prints an error to stderr, as text or as one JSON line. */
export async function printError(
  failure: CliError,
  line: Line,
  log: RequestLog,
  host: Host,
): Promise<void> {
  // A command that ran another program exits with its code and prints no error.
  if (failure.message === "") return;
  await host.stderr.write(errorText(failure, errorStyle(line, log, host)));
}

/** The style of errors, also for a command line that cannot be parsed. */
function errorStyle({ argv, globals }: Line, { output }: RequestLog, host: Host): ErrorStyle {
  const format = globals.output ?? (globals.json ? "json" : undefined);
  const typed = argv.some(
    (word, index) =>
      /^--json(=|$)/.test(word) ||
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
    // an invalid --color is the error to print
  }
  return {
    json:
      host.env["KB_ERROR_FORMAT"] === "json" ||
      chosen === "json" ||
      chosen === "jsonl" ||
      globals.jq !== undefined ||
      (format === undefined && typed),
    color,
    columns: host.stderr.columns,
    verbosity: Math.max(debug || 0, letters.replaceAll("-", "").length),
    visible,
    escaped: escapeControls,
  };
}
