import type { CliError } from "../errors.ts";
import type { Host } from "../host.ts";
import { escaped, visible } from "../render/text.ts";
import { told } from "./failure.ts";
import type { Telling } from "./failure.ts";
import type { Globals } from "./globals.ts";
import type { Trail } from "./trail.ts";
import { wantsColor } from "./color.ts";

/** Writes an error to standard error, for people or as one JSON line. */
export async function tell(
  failure: CliError,
  argv: readonly string[],
  globals: Globals,
  trail: Trail,
  host: Host,
): Promise<void> {
  // A command run for somebody else ends with that one's code and has nothing to say.
  if (failure.message === "") return;
  await host.stderr.write(told(failure, telling(argv, globals, trail, host)));
}

/** How errors are told, also when the line could not be read. */
function telling(
  argv: readonly string[],
  globals: Globals,
  { output }: Trail,
  host: Host,
): Telling {
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
