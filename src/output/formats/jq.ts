import { CliError, usage } from "../../errors.ts";
import { newThread } from "../../lib/thread.ts";
import { jsonLine, prettyJson } from "./text-formats.ts";
import type { Style } from "./text-formats.ts";
import { visible } from "../display-width.ts";
import { parseJson, stringifyJson } from "../../lib/json.ts";

interface JqResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** In the bundle, the script of the thread is a file of its own. */
const script = new URL(
  `./jq-worker.${import.meta.url.endsWith(".ts") ? "mjs" : "cjs"}`,
  import.meta.url,
);

/** Reused: starting jq takes longer than most filters. */
const thread = newThread(script);

/** Resolves to the output of the filter. Throws jq's message, or the style's error when it is stopped. */
async function run(input: string, filter: string, { stop }: Style): Promise<string> {
  // A filter that starts with a dash would be read as a flag.
  const query = filter.startsWith("-") ? ` ${filter}` : filter;
  const result = thread.ask({ input, query }, stop?.signal).catch((error: unknown) => {
    throw stop?.signal.aborted ? stop.error() : error;
  });
  const { stdout, stderr, exitCode } = (await result) as JqResult;
  if (exitCode === 0) return stdout;
  if (outOfMemory.test(stderr)) thread.end(); // its state is unusable
  throw new Error(stderr);
}

/** Compiles the filter without running it. Throws usage with the message of jq. */
export async function checkFilter(filter: string, style: Style): Promise<void> {
  try {
    await run("", filter, style);
  } catch (error) {
    if (error instanceof CliError) throw error;
    // The rest is a picture of the filter over several lines, which the user can see already.
    const [message = ""] = messageOf(error).split(":\n");
    throw usage(`--jq: ${message.replace("at <top-level>, line 1, ", "at ")}`);
  }
}

/**
 * The results of a filter, one after the other: strings raw, other values as JSON, indented on a
 * terminal. Throws failure when the filter fails, even after results.
 */
export async function applyFilter(
  value: unknown,
  filter: string,
  terminal: boolean,
  style: Style,
): Promise<string> {
  let results: unknown[];
  try {
    // jq collects the results itself, since output before an error would hide the error. The line end
    // terminates a comment at the end of the filter.
    const output = await run(stringifyJson(value), `[${filter}\n]`, style);
    // The brackets make it a list.
    results = output === "" ? [] : (parseJson(output) as unknown[]);
  } catch (error) {
    if (error instanceof CliError) throw error;
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

/** Messages of jq or the thread about a lack of memory. */
const outOfMemory = /^(Aborted\(|RuntimeError|Worker terminated due to reaching memory)[^]*/;

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(/(?<!\s)\s*\njq: \d+ compile errors?$/, "")
    .replace(/^jq: (parse )?error( \(at [^)]*\))?: /, "")
    .replace(outOfMemory, "the filter ran out of memory")
    .trim();
