import { codeOf } from "../../../errors.ts";
import { newThread } from "../../../lib/thread.ts";
import type { Context } from "../../task/command-spec.ts";
import { sourceError } from "./program.ts";

/** A web page as Markdown. */
export interface WebPage {
  readonly markdown: string;
  readonly metadata: { readonly title?: string };
  /** Addresses of its links, without fragments. */
  readonly links: readonly string[];
}

/** What a robots.txt says. */
interface RobotsRules {
  readonly allowed: readonly string[];
  /** Seconds between requests. */
  readonly delay: number;
}

/** Most characters of a page, ms for it, and MB of objects. */
const MAX_PAGE = 16 * 1024 * 1024;
const MAX_TIME = 30_000;
const MAX_MEMORY = 1024;

/** In the bundle, the script of the thread is a file of its own. */
const script = new URL(
  `./site-worker.${import.meta.url.endsWith(".ts") ? "mjs" : "cjs"}`,
  import.meta.url,
);
const thread = newThread(script, { time: MAX_TIME, memory: MAX_MEMORY });

/** Converts a page to Markdown. Throws failure for one that is beyond the limits. */
export async function convertPage(html: string, url: string, context: Context): Promise<WebPage> {
  if (html.length > MAX_PAGE)
    throw sourceError(`cannot be converted: it has more than ${MAX_PAGE} characters`);
  return (await ask({ html, url }, "cannot be converted", context)) as WebPage;
}

/** Applies a robots.txt to pages. Throws failure for one that is beyond the limits. */
export const readRobots = (
  given: Readonly<Record<"robots" | "url" | "agent", string>> & {
    readonly pages: Iterable<string>;
  },
  context: Context,
): Promise<RobotsRules> =>
  ask({ ...given, pages: [...given.pages] }, given.url, context) as Promise<RobotsRules>;

async function ask(request: object, what: string, context: Context): Promise<object> {
  const failed = (problem: string) => sourceError(`${what}: ${problem}`);
  try {
    const answer = (await thread.ask(request, context.host.signal)) as object;
    if ("problem" in answer) throw failed(String(answer.problem));
    return answer;
  } catch (error) {
    if (context.host.signal.aborted) throw context.abortError();
    if (error instanceof DOMException) throw failed(`it takes more than ${MAX_TIME / 1000} s`);
    if (codeOf(error) !== "ERR_WORKER_OUT_OF_MEMORY") throw error;
    throw failed(`it takes more than ${MAX_MEMORY} MB of memory`);
  }
}
