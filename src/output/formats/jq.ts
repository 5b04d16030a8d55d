import type { Worker } from "node:worker_threads";
import { CliError } from "../../errors.ts";
import { jsonLine, prettyJson } from "./text-formats.ts";
import type { Style } from "./text-formats.ts";
import { visible } from "../table/display-width.ts";

/** jq in a thread of its own. */
interface Jq {
  readonly worker: Worker;
  /** What was asked and is not yet answered, by its number. */
  readonly open: Map<number, Waiting>;
}

interface Waiting {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** What the thread answers. */
interface Result {
  readonly id: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Bundled, the thread's file is one of dist. */
const script = new URL(
  `./jq-worker.${import.meta.url.endsWith(".ts") ? "mjs" : "cjs"}`,
  import.meta.url,
);

/** Started with the first filter and kept: starting jq takes longer than most filters. */
let thread: Promise<Jq> | undefined;

async function start(): Promise<Jq> {
  const { Worker } = await import("node:worker_threads"); // 2 ms that only filters need
  // What jq says by itself, as when its memory is used up, is no output of ours.
  const worker = new Worker(script, { env: {}, execArgv: [], stdout: true, stderr: true });
  const open: Jq["open"] = new Map();
  worker.unref();
  worker.on("message", (result: Result) => {
    open.get(result.id)?.resolve(result);
  });
  worker.on("error", (error) => {
    thread = undefined;
    for (const { reject } of open.values()) reject(error);
  });
  return { worker, open };
}

let asked = 0;

/** What the filter gives, as text. Throws jq's words, or what the style says once it is stopped. */
async function run(input: string, filter: string, { stop }: Style): Promise<string> {
  const { worker, open } = await (thread ??= start());
  const id = asked++;
  // A filter that starts with a dash would be read as a flag.
  const query = filter.startsWith("-") ? ` ${filter}` : filter;
  const end = (why: unknown) => {
    thread = undefined;
    void worker.terminate();
    open.get(id)?.reject(why);
  };
  const stopped = () => end(stop?.error());
  const answer = new Promise<Result>((resolve, reject) => {
    open.set(id, { resolve, reject });
    worker.ref();
    worker.postMessage({ id, input, query });
    stop?.signal.addEventListener("abort", stopped, { once: true });
    if (stop?.signal.aborted) stopped();
  });
  try {
    const { stdout, stderr, exitCode } = await answer;
    if (exitCode === 0) return stdout;
    if (noMemory.test(stderr)) end(undefined); // what is left of it is of no use
    throw new Error(stderr);
  } finally {
    stop?.signal.removeEventListener("abort", stopped);
    open.delete(id);
    if (open.size === 0) worker.unref();
  }
}

/** Compiles the filter without running it. Throws usage with jq's message. */
export async function checkFilter(filter: string, style: Style): Promise<void> {
  try {
    await run("", filter, style);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError("usage", `--jq: ${messageOf(error)}`, { sideEffect: "none" });
  }
}

/**
 * What the filter makes of a value: strings raw, other results as JSON, on a terminal over several
 * lines; one after the other. Throws failure when the filter fails, whatever it gave until then.
 */
export async function filtered(
  value: unknown,
  filter: string,
  terminal: boolean,
  style: Style,
): Promise<string> {
  let results: unknown[];
  try {
    // Results are gathered by jq itself: output before an error would hide the error. The line end
    // closes a comment at the end of the filter.
    const output = await run(JSON.stringify(value), `[${filter}\n]`, style);
    results = output === "" ? [] : (JSON.parse(output) as unknown[]); // the brackets make it a list
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

/** How jq, or the thread, says that there is no memory left for it. */
const noMemory = /^(Aborted\(|RuntimeError|Worker terminated due to reaching memory)[^]*/;

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(/(?<!\s)\s*\njq: \d+ compile errors?$/, "")
    .replace(/^jq: (parse )?error( \(at [^)]*\))?: /, "")
    .replace(noMemory, "the filter used up its memory")
    .trim();
