import { CliError } from "../errors.ts";
import { jsonLine, prettyJson } from "./formats.ts";
import { visible } from "./text.ts";

/** Compiles the filter without running it. Throws usage with jq's message. */
export async function checkFilter(filter: string): Promise<void> {
  try {
    await run("", filter);
  } catch (error) {
    throw new CliError("usage", `--jq: ${messageOf(error)}`, { changed: "nothing" });
  }
}

/**
 * What the filter makes of a value: strings raw, other results as JSON, on a terminal over several
 * lines; one after the other. Throws failure when the filter fails, whatever it gave until then.
 */
export async function filtered(value: unknown, filter: string, terminal: boolean): Promise<string> {
  let results: unknown[];
  try {
    // Results are gathered by jq itself: output before an error would hide the error. The line end
    // closes a comment at the end of the filter.
    const output = await run(JSON.stringify(value), `[${filter}\n]`);
    results = output === "" ? [] : (JSON.parse(output) as unknown[]); // the brackets make it a list
  } catch (error) {
    throw new CliError("failure", `--jq: ${messageOf(error)}`);
  }
  return results
    .map((result) => {
      if (typeof result === "string")
        return `${terminal ? visible(result, { newlines: true }) : result}\n`;
      return terminal ? prettyJson(result, terminal) : jsonLine(result, terminal);
    })
    .join("");
}

async function run(input: string, filter: string): Promise<string> {
  // The entry that carries its WebAssembly inside can be bundled.
  const { raw } = await import("jq-wasm/inline");
  // A filter that starts with a dash would be read as a flag.
  const query = filter.startsWith("-") ? ` ${filter}` : filter;
  const { stdout, stderr, exitCode } = await raw(input, query, ["-c"]);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(/\s*\njq: \d+ compile errors?$/, "")
    .replace(/^jq: (parse )?error( \(at [^)]*\))?: /, "")
    .trim();
