import robotsParser from "robots-parser";
import { usage } from "../../../errors.ts";
import { attempt } from "../../../lib/json.ts";
import { isPublicAddress } from "../../../lib/addresses.ts";
import { counted } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { uploadKind } from "./file-kinds.ts";
import { newFetcher, USER_AGENT } from "./fetcher.ts";
import type { Fetched, Fetcher } from "./fetcher.ts";
import { pathOfPage, readSitemap, urlsFor } from "./page-list.ts";
import { entryMaker } from "./paths.ts";
import { sourceError } from "./program.ts";
import { unsure } from "./source.ts";
import type { Content, Doubt, Source, SourceOptions } from "./source.ts";

/** Sitemaps and pages that are read at most. */
const MAX_SITEMAPS = 1000;
const MAX_PAGES = 100_000;
/** ms between two looks at a page that seems to be gone: a site is deployed meanwhile. */
const DEPLOY_MS = 90_000;

/** The pages that a site lists; without a problem, these are all of them. */
interface PageList {
  readonly pages: ReadonlySet<string>;
  readonly problem?: string;
}

/**
 * A site as a source: `web+https://HOST/sitemap.xml`, or a start page whose links are the pages. Those below a path
 * count: `web+https://HOST/sitemap.xml#/docs/`, which for a start page is its own directory by default.
 */
export function siteSource(address: string, context: Context, options: SourceOptions): Source {
  const { start, prefix } = startOf(address);
  const { origin } = start;
  const fetcher = newFetcher(origin, context, options);
  const urls = new Map<string, string>();
  let isAllowed: ((url: string) => boolean) | undefined;
  const listPages = async (): Promise<PageList> => {
    const isBelow = (url: string) => url.startsWith(origin + prefix);
    const list = await attemptList(() => pagesOf(start.href, fetcher, isBelow));
    if (list.problem !== undefined || isAllowed) return list;
    const robots = await attemptList(async () => ({ allowed: await robotsOf(origin, fetcher) }));
    if ("problem" in robots) return { pages: new Set(), problem: robots.problem };
    isAllowed = robots.allowed;
    return list;
  };
  return {
    label: address,
    address,
    concurrency: 4,
    async list(filter) {
      const { pages, problem } = await listPages();
      const entryOf = await entryMaker(filter);
      const entries = [...pages].map((url) => {
        const path = pathOfPage(url, (name) => uploadKind(name) !== undefined);
        return entryOf(path, () => {
          if (isAllowed?.(url) !== true) return { kind: "excluded", path };
          const other = urls.get(path);
          if (other !== undefined) return unsure(path, `${other} and ${url} have the same path`);
          urls.set(path, url);
          return { kind: "file", path, metadata: { url } };
        });
      });
      return { entries, ...(problem !== undefined && { problem }) };
    },
    get: ({ path }, known) => readPage(urls.get(path) ?? "", path, { known, fetcher }),
    async gone(objects) {
      const left = new Map(objects.map(({ path, url }) => [path, url]));
      const doubts: Doubt[] = [];
      const doubt = (path: string, problem: string) => {
        left.delete(path);
        doubts.push({ path, problem });
      };
      for (const isFirst of [true, false]) {
        if (left.size === 0 || (!isFirst && context.options.dryRun)) break;
        if (!isFirst) {
          await context.notice(
            `looking at ${counted(left.size, "missing page")} again in ${DEPLOY_MS / 1000} s`,
          );
          await context.pause(DEPLOY_MS);
        }
        const { pages, problem } = isFirst ? { pages: undefined } : await listPages();
        for (const [path, url = ""] of left) {
          const why = problem ?? (await whyNotGone(url, { origin, pages, fetcher, path }));
          if (why !== undefined) doubt(path, why);
        }
      }
      return { gone: new Set(left.keys()), doubts };
    },
  };
}

/** Parses `web+URL#PREFIX`. Throws usage. */
function startOf(address: string): { readonly start: URL; readonly prefix: string } {
  const start = attempt(() => new URL(address.slice("web+".length)));
  const wrong = (why: string) =>
    usage(`invalid site: ${why}`, "for example web+https://docs.example.com/sitemap.xml");
  if (!start) throw wrong("its address");
  if (start.protocol === "http:" ? isPublicAddress(start.hostname) : start.protocol !== "https:")
    throw wrong("web+https, or web+http for this machine");
  const given = decodeURIComponent(start.hash.slice(1));
  start.hash = "";
  if (given !== "" && !given.startsWith("/")) throw wrong("what follows # is a path, e.g. #/docs/");
  const own = isSitemap(start.href) ? "/" : start.pathname.replace(/[^/]*$/, "");
  return { start, prefix: given || own };
}

const isSitemap = (url: string): boolean => /\.xml(\.gz)?$/i.test(new URL(url).pathname);

/** The failure of a list is the reason why it is incomplete. */
async function attemptList<T extends object>(read: () => Promise<T>) {
  try {
    return { pages: new Set<string>(), ...(await read()) };
  } catch (error) {
    if (!isFailure(error)) throw error;
    return { pages: new Set<string>(), problem: error.message };
  }
}

const isFailure = (error: unknown): error is Error =>
  error instanceof Error && "kind" in error && error.kind === "failure";

async function pagesOf(
  start: string,
  fetcher: Fetcher,
  isBelow: (url: string) => boolean,
): Promise<PageList> {
  const pages = new Set<string>();
  const add = (url: string) => {
    if (pages.size >= MAX_PAGES) throw sourceError(`more than ${MAX_PAGES} pages`);
    if (isBelow(url)) pages.add(url);
  };
  if (!isSitemap(start)) {
    const { markdownOf } = await import("./markdown.ts");
    const { links } = markdownOf(whole(await fetcher.get(start)).bytes, start);
    for (const url of [start, ...links]) add(url);
    return { pages };
  }
  const seen = new Set([start]);
  for (const url of seen) {
    const {
      pages: found,
      sitemaps,
      complete,
    } = await readSitemap(whole(await fetcher.get(url)).bytes);
    if (!complete) throw sourceError(`${url} is not a complete sitemap`);
    for (const each of found) add(addressOf(each, url));
    for (const each of sitemaps) {
      const other = addressOf(each, url);
      if (!other.startsWith(`${new URL(start).origin}/`))
        throw sourceError(`${url} leads to another host`);
      seen.add(other);
    }
    if (seen.size > MAX_SITEMAPS) throw sourceError(`more than ${MAX_SITEMAPS} sitemaps`);
  }
  return { pages };
}

function addressOf(text: string, base: string): string {
  const url = attempt(() => new URL(text, base));
  if (!url) throw sourceError(`${base} lists an invalid address`);
  url.hash = "";
  return url.href;
}

interface Robots {
  isAllowed(url: string, agent: string): boolean | undefined;
  getCrawlDelay(agent: string): number | undefined;
}

/** The package is CommonJS, and its types say that it is not. */
type ParseRobots = (url: string, text: string) => Robots;

/** Which pages robots.txt allows; without one, all. Throws failure if it cannot be read. */
async function robotsOf(origin: string, fetcher: Fetcher): Promise<(url: string) => boolean> {
  const parser = robotsParser as unknown as ParseRobots;
  const url = `${origin}/robots.txt`;
  const { status, bytes } = await fetcher.get(url);
  if (status === 404 || status === 410) return () => true;
  if (status !== 200) throw sourceError(`${url}: HTTP ${status}`);
  const robots = parser(url, new TextDecoder().decode(bytes));
  fetcher.slowDown(robots.getCrawlDelay(USER_AGENT) ?? 0);
  return (page) => robots.isAllowed(page, USER_AGENT) !== false;
}

/** Throws failure for a response that is not 200, or whose body may be incomplete. */
function whole(response: Fetched): Fetched {
  const { status, headers, bytes, url } = response;
  if (status !== 200) throw sourceError(`${url}: HTTP ${status}`);
  // Such a body ends with the connection, whether it is complete or not.
  const isOpen =
    headers["content-length"] === undefined && headers["transfer-encoding"] === undefined;
  const text =
    isOpen && /html|xml/.test(headers["content-type"] ?? "") ? new TextDecoder().decode(bytes) : "";
  if (/<html/i.test(text) && !/<\/html>\s*$/i.test(text)) throw sourceError(`${url}: incomplete`);
  return response;
}

/** The content of a page; undefined if it still has the fingerprint. */
async function readPage(
  url: string,
  path: string,
  { known, fetcher }: { readonly known: string | undefined; readonly fetcher: Fetcher },
): Promise<Content | undefined> {
  const headers: Record<string, string> = {};
  if (known?.startsWith("e:")) headers["if-none-match"] = known.slice(2);
  if (known?.startsWith("m:")) headers["if-modified-since"] = known.slice(2);
  const isItself = (target: string) => target.replace(/\/$/, "") === url.replace(/\/$/, "");
  const response = await fetcher.get(url, headers, isItself);
  if (response.status === 304 && Object.keys(headers).length > 0) return undefined;
  const { headers: received, bytes } = whole(response);
  const [, type = "", charset] =
    /^\s*([^;\s]*)(?:.*charset="?([\w-]+))?/i.exec(received["content-type"] ?? "") ?? [];
  const fingerprint = fingerprintOf(received);
  const more = fingerprint === undefined ? {} : { fingerprint };
  const isHtml = /^(text\/html|application\/xhtml\+xml)$/i.test(type);
  if (!isHtml) {
    if (path.endsWith(".md") && !/^text\//i.test(type))
      throw sourceError(`not a page, but ${type || "unknown"}`);
    return { bytes, ...more };
  }
  if (!/\.(md|html?)$/.test(path)) throw sourceError("a page in place of a file");
  const { markdownOf } = await import("./markdown.ts");
  const { markdown, metadata } = markdownOf(bytes, url, charset);
  return { bytes: new TextEncoder().encode(markdown), metadata, ...more };
}

/** ETag, or a time that is not so new that a second change would have the same. */
function fingerprintOf(headers: Fetched["headers"]): string | undefined {
  const { etag, date = "", "last-modified": modified } = headers;
  if (etag !== undefined && etag.length <= 198) return `e:${etag}`;
  const age = Date.parse(date) - Date.parse(modified ?? "");
  return modified !== undefined && age > 2000 ? `m:${modified}` : undefined;
}

/** Why a page may exist; undefined if it is gone: not listed, and the site says so. */
async function whyNotGone(
  url: string,
  given: {
    readonly origin: string;
    readonly pages: ReadonlySet<string> | undefined;
    readonly fetcher: Fetcher;
    readonly path: string;
  },
): Promise<string | undefined> {
  const { origin, pages, fetcher, path } = given;
  // A sync that was killed may have left a document without the address of its page.
  const urls = url.startsWith(`${origin}/`) ? [url] : urlsFor(path, origin);
  if (urls.some((each) => pages?.has(each))) return "listed again";
  try {
    for (const each of urls) {
      const { status } = await fetcher.get(each, {}, () => false);
      if (status === 404 || status === 410) continue;
      return `not listed, but not gone either: HTTP ${status}`;
    }
    return undefined;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return error.message;
  }
}
