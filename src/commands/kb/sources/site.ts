import { usage } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { attempt } from "../../../lib/json.ts";
import { isPublicAddress } from "../../../lib/addresses.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { uploadKind } from "./content.ts";
import { decodePage } from "./charset.ts";
import { newFetcher, USER_AGENT } from "./fetcher.ts";
import type { Fetched, Fetcher } from "./fetcher.ts";
import { convertPage, readRobots } from "./in-thread.ts";
import { newPages, addressOf, pathOfPage, readSitemap, urlsFor } from "./page-list.ts";
import type { SitePages } from "./page-list.ts";
import { entryMaker } from "./paths.ts";
import { sourceError } from "./program.ts";
import { omitted, unsure } from "./source.ts";
import type { Content, Doubt, Source, SourceOptions } from "./source.ts";

/** Sitemaps and pages that are read at most. */
const MAX_SITEMAPS = 1000;
const MAX_PAGES = 100_000;
/** ms between two looks at a page that seems to be gone: a site is deployed meanwhile. */
const DEPLOY_MS = 90_000;

/** The pages that a site lists; without a problem, these are all of them. */
interface PageList {
  readonly pages: ReadonlySet<string>;
  /** Those of other hosts, which are not asked. */
  readonly others: ReadonlySet<string>;
  readonly problem?: string | undefined;
}

/**
 * A site as a source: `web+https://HOST/sitemap.xml`, or a start page whose links are the pages. Those below a path
 * count: `web+https://HOST/sitemap.xml#/docs/`, which for a start page is its own directory by default.
 */
export function siteSource(address: string, context: Context, options: SourceOptions): Source {
  const { start, prefix } = startOf(address);
  const { origin } = start;
  const fetcher = newFetcher(origin, context, options);
  const known = newPages(fetcher);
  let allowed: ReadonlySet<string> | undefined;
  const none: PageList = { pages: new Set(), others: new Set() };
  const listPages = async (): Promise<PageList> => {
    const list = await attempted(() => pagesOf(start.href, prefix, fetcher, context));
    const { pages, others, problem = list.problem } = list.value ?? none;
    if (allowed !== undefined || pages.size === 0) return { pages, others, problem };
    const rules = await attempted(() => rulesFor(pages, origin, fetcher, context));
    if (!rules.value) return { ...none, problem: rules.problem };
    allowed = new Set(rules.value.allowed);
    await fetcher.slowDown(rules.value.delay);
    return { pages, others, problem };
  };
  return {
    address,
    concurrency: 4,
    async list(filter) {
      const { pages, others, problem } = await listPages();
      const entryOf = await entryMaker(filter);
      const entries = [...groupBy(others, (url) => new URL(url).host)].map(([host, urls]) => {
        const what = `${counted(urls.length, "page")} skipped, such as ${urls[0]}`;
        return entryOf(host, () => omitted(host, `not on the host of the site: ${what}`), true);
      });
      for (const url of pages) {
        const path = pathOfPage(url, (name) => uploadKind(name) !== undefined);
        const other = known.urlOf(path);
        const isAllowed = allowed?.has(url) === true;
        if (other !== undefined && isAllowed && (await areOnePage(other, url, known))) continue;
        const entry = entryOf(path, () => {
          if (!isAllowed) return { kind: "excluded", path };
          if (other !== undefined) return unsure(path, `${other} and ${url} have the same path`);
          known.add(path, url);
          return { kind: "file", path, metadata: { url } };
        });
        entries.push(entry);
      }
      return { entries, problem };
    },
    get: ({ path }, fingerprint) => readPage(path, fingerprint, known, context),
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
            `checking ${counted(left.size, "missing page")} again in ${DEPLOY_MS / 1000} s`,
          );
          await context.pause(DEPLOY_MS);
        }
        const { pages, problem } = isFirst ? { pages: undefined } : await listPages();
        for (const [path, url = ""] of left) {
          const why = problem ?? (await whyNotGone(url, { origin, pages, path, known }));
          if (why !== undefined) doubt(path, why);
        }
      }
      return { gone: new Set(left.keys()), doubts };
    },
  };
}

/** Do two addresses of one path lead to one page by redirects? */
async function areOnePage(one: string, other: string, { look }: SitePages) {
  const { value } = await attempted(async () => [await look(one), await look(other)] as const);
  return value !== undefined && value[0].url === value[1].url;
}

/** Parses `web+URL#PREFIX`. Throws usage. */
function startOf(address: string): { readonly start: URL; readonly prefix: string } {
  const start = attempt(() => new URL(address.slice("web+".length)));
  const wrong = (why: string) =>
    usage(`invalid site: ${why}`, "for example web+https://docs.example.com/sitemap.xml");
  if (!start) throw wrong("its address");
  if (start.protocol === "http:" ? isPublicAddress(start.hostname) : start.protocol !== "https:")
    throw wrong("web+https, or web+http for this machine");
  const given = attempt(() => decodeURIComponent(start.hash.slice(1)));
  if (given === undefined) throw wrong("what follows # is not a path in UTF-8, e.g. #/%C3%A4/");
  start.hash = "";
  if (given !== "" && !given.startsWith("/")) throw wrong("what follows # is a path, e.g. #/docs/");
  const own = isSitemap(start.href) ? "/" : start.pathname.replace(/[^/]*$/, "");
  return { start, prefix: given || own };
}

const isSitemap = (url: string): boolean => /\.xml(\.gz)?$/i.test(new URL(url).pathname);

/** Reads; a failure is the problem. */
async function attempted<T>(
  read: () => Promise<T>,
): Promise<{ readonly value?: T; readonly problem?: string }> {
  try {
    return { value: await read() };
  } catch (error) {
    if (!isFailure(error)) throw error;
    return { problem: error.message };
  }
}

const isFailure = (error: unknown): error is Error =>
  error instanceof Error && "kind" in error && error.kind === "failure";

/** Lists the pages below a path. What a sitemap does not tell is the problem; the others are read all the same. */
async function pagesOf(start: string, prefix: string, fetcher: Fetcher, context: Context) {
  const { origin } = new URL(start);
  const [pages, others] = [new Set<string>(), new Set<string>()];
  const add = (url: string, elsewhere?: Set<string>) => {
    if (pages.size + others.size >= MAX_PAGES) throw sourceError(`more than ${MAX_PAGES} pages`);
    if (url.startsWith(origin + prefix)) pages.add(url);
    else if (!url.startsWith(`${origin}/`) && new URL(url).pathname.startsWith(prefix))
      elsewhere?.add(url);
  };
  if (!isSitemap(start)) {
    const { url, bytes, headers } = whole(await fetcher.get(start));
    const html = decodePage(bytes, headers["content-type"] ?? "", true);
    const { links } = await convertPage(html, url, context);
    for (const each of [start, ...links]) add(each);
    return { pages, others };
  }
  const seen = new Set([start]);
  const problems: string[] = [];
  for (const url of seen) {
    const { value, problem } = await attempted(() => sitemapAt(url, fetcher));
    if (problem !== undefined) problems.push(problem);
    for (const each of value?.pages ?? []) add(each, others);
    for (const each of value?.sitemaps ?? [])
      if (new URL(each).origin === origin) seen.add(each);
      else problems.push(`${url} leads to another host`);
    if (seen.size > MAX_SITEMAPS) throw sourceError(`more than ${MAX_SITEMAPS} sitemaps`);
  }
  return { pages, others, ...(problems.length > 0 && { problem: firstNames(problems, 3) }) };
}

/** The absolute addresses that a sitemap lists. Throws failure for one that is not whole. */
async function sitemapAt(url: string, fetcher: Fetcher) {
  const { bytes, headers } = whole(await fetcher.get(url));
  const found = await readSitemap(bytes, headers["content-type"]);
  if (!found.complete) throw sourceError(`${url} is not a complete sitemap`);
  const absolute = (list: readonly string[]) => new Set(list.map((each) => addressOf(each, url)));
  return { pages: absolute(found.pages), sitemaps: absolute(found.sitemaps) };
}

/** What robots.txt says of pages; without one, all are allowed. Throws failure if it cannot be read. */
async function rulesFor(
  pages: ReadonlySet<string>,
  origin: string,
  fetcher: Fetcher,
  context: Context,
) {
  const url = `${origin}/robots.txt`;
  const { status, bytes } = await fetcher.get(url);
  if (status === 404 || status === 410) return { allowed: [...pages], delay: 0 };
  if (status !== 200) throw sourceError(`${url}: HTTP ${status}`);
  const robots = new TextDecoder().decode(bytes);
  return readRobots({ robots, url, agent: USER_AGENT, pages }, context);
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
  path: string,
  fingerprint: string | undefined,
  known: SitePages,
  context: Context,
): Promise<Content | undefined> {
  const headers: Record<string, string> = {};
  if (fingerprint?.startsWith("e:")) headers["if-none-match"] = fingerprint.slice(2);
  if (fingerprint?.startsWith("m:")) headers["if-modified-since"] = fingerprint.slice(2);
  const response = await known.get(known.urlOf(path) ?? "", headers);
  if (response.status === 304 && Object.keys(headers).length > 0) return undefined;
  const { headers: received, bytes, url } = whole(response);
  const mediaType = received["content-type"] ?? "";
  const type = /^[^;]*/.exec(mediaType)?.[0].trim().toLowerCase() ?? "";
  const print = fingerprintOf(received);
  const more = print === undefined ? {} : { fingerprint: print };
  const encoded = (text: string) => new TextEncoder().encode(text);
  if (type === "text/html" || type === "application/xhtml+xml") {
    if (!/\.(md|html?)$/.test(path)) throw sourceError("a page in place of a file");
    const html = decodePage(bytes, mediaType, true);
    const { markdown, metadata } = await convertPage(html, url, context);
    return { bytes: encoded(markdown), metadata, ...more };
  }
  const isText = type.startsWith("text/");
  if (path.endsWith(".md") && !isText) throw sourceError(`not a page, but ${type || "unknown"}`);
  if (uploadKind(path) !== "text") return { bytes, ...more };
  return { bytes: encoded(decodePage(bytes, mediaType, type === "text/xml")), ...more };
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
    readonly path: string;
    readonly known: SitePages;
  },
): Promise<string | undefined> {
  const { origin, pages, path, known } = given;
  // A sync that was killed may have left a document without the address of its page.
  const urls = url.startsWith(`${origin}/`) ? [url] : urlsFor(path, origin);
  if (urls.some((each) => pages?.has(each) && !known.isAlias(each))) return "listed again";
  try {
    for (const each of urls) {
      const { status, url: final } = await known.look(each);
      if (status === 404 || status === 410) continue;
      if (final !== each && known.has(final)) continue; // that one has the document
      return `not listed, but not gone either: HTTP ${status}`;
    }
    return undefined;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return error.message;
  }
}
