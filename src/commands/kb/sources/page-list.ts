import { gunzipSync } from "node:zlib";
import { attempt } from "../../../lib/json.ts";
import { decodePage } from "./charset.ts";
import { sourceError } from "./program.ts";
import type { Fetched, Fetcher } from "./fetcher.ts";
import { SameObject } from "./source.ts";

/** Most bytes of a sitemap that was compressed, and elements inside each other; closing one looks at all of them. */
const MAX_SITEMAP = 2 ** 28;
const MAX_DEPTH = 100;

/**
 * Reads the pages or further sitemaps that a sitemap lists, also of a compressed one; `complete` if it ends where one
 * ends. Throws failure for bytes that cannot be decoded.
 */
export async function readSitemap(bytes: Uint8Array, contentType = "") {
  const { Parser } = await import("htmlparser2");
  const open: string[] = [];
  const pages: string[] = [];
  const sitemaps: string[] = [];
  let isRoot = false;
  let complete = false;
  let text = "";
  const parser = new Parser(
    {
      onopentag(name) {
        if (open.length === 0) isRoot = name === "urlset" || name === "sitemapindex";
        if (open.push(name) > MAX_DEPTH) throw sourceError("a sitemap with too many levels");
        text = "";
      },
      ontext: (data) => void (text += data),
      onclosetag(_, isImplied) {
        const [, parent, child] = open;
        if (open.length === 3 && child === "loc" && !isImplied)
          (parent === "sitemap" ? sitemaps : pages).push(text.trim());
        open.pop();
        if (open.length === 0 && isRoot) complete = !isImplied;
      },
    },
    { xmlMode: true },
  );
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const plain = isPacked
    ? attempt(() => gunzipSync(bytes, { maxOutputLength: MAX_SITEMAP }))
    : bytes;
  parser.end(decodePage(plain ?? new Uint8Array(), contentType, true));
  return { pages, sitemaps, complete };
}

/** An address of a list, without its fragment. That of a site with HTTPS is the same with it. Throws failure. */
export function addressOf(text: string, base: string): string {
  const [url, { host, protocol }] = [attempt(() => new URL(text, base)), new URL(base)];
  if (!url) throw sourceError(`${base} lists an invalid address`);
  url.hash = "";
  if (url.protocol === "http:" && url.host === host) url.protocol = protocol;
  return url.href;
}

/** What the forms of an address of one page share: its path without `/`, `index.html` or `.html`, in lower case. */
export function pageForm(url: string): string {
  const { pathname, search } = new URL(url);
  const path = pathname.toLowerCase().replace(/\/(index(\.\w+)?)?$|\.x?html?$/, "");
  return path + search;
}

/**
 * The path of the document of a page, as its address has it: `/docs/` → `docs/index.md`, `/a.html` → `a.md`,
 * `/a.pdf` → `a.pdf`, `/a?page=2` → `a?page=2.md`.
 */
export function pathOfPage(url: string, isKnown: (path: string) => boolean): string {
  const { pathname, search } = new URL(url);
  const steps = pathname.split("/").slice(1).map(decoded);
  const last = steps.pop() ?? "";
  const name = (last === "" ? "index" : last) + decoded(search);
  const path = [...steps.filter((step) => step !== ""), name].join("/");
  if (/\.x?html?$/i.test(path)) return path.replace(/\.x?html?$/i, ".md");
  return isKnown(path) ? path : `${path}.md`;
}

/** A part of an address for people, unless that would make another path of it. */
function decoded(part: string): string {
  const text = attempt(() => decodeURIComponent(part)) ?? part;
  // oxlint-disable-next-line no-control-regex -- addresses may have them
  return /[/\\\u0000-\u001f\u007f]/.test(text) ? part : text;
}

/** All addresses on a site whose page has this path. */
export function urlsFor(path: string, origin: string): string[] {
  const [first = path, ...others] = [
    ...[".md", ".html", ".htm", ".xhtml"].map((end) => path.replace(/\.md$/, end)),
    path.replace(/\.md$/, ""),
    ...(/(^|\/)index\.md$/.test(path) ? [path.replace(/index\.md$/, "")] : []),
  ];
  const all = new Set(path.endsWith(".md") ? [first, ...others] : [path]);
  return [...all].map((each) => {
    const [start = "", ...query] = each.split("?");
    const steps = start.split("/").map(encodeURIComponent).join("/");
    return new URL(`${origin}/${[steps, ...query].join("?")}`).href;
  });
}

/** The pages of a site that become documents; two addresses of one page become one. */
export type SitePages = ReturnType<typeof newPages>;

/** Collects listed pages, and tells by redirects which of them are the same one. */
export function newPages(fetcher: Fetcher) {
  const paths = new Map<string, string>();
  const urls = new Map<string, string>();
  /** Addresses of the same form, in the order of the list. */
  const alike = new Map<string, string[]>();
  const aliases = new Set<string>();
  /** Does an address differ only in its form, such as a slash at its end? */
  const isLike = (url: string) => (target: string) => pageForm(target) === pageForm(url);
  /** What an address leads to in its other forms. */
  const look = (url: string) => fetcher.get(url, {}, isLike(url));
  /** The listed page that an address leads to in place of its own; undefined if it leads to none. */
  const otherOf = async (url: string, { url: final, isMoved }: Fetched) => {
    if (paths.has(final)) {
      if (isMoved || isLike(url)(final)) return final;
      throw sourceError(`redirected to ${final}`);
    }
    for (const each of alike.get(pageForm(url)) ?? []) {
      if (each === url) break;
      if ((await look(each)).url === final) return each;
    }
    return undefined;
  };
  return {
    add(path: string, url: string) {
      paths.set(url, path);
      urls.set(path, url);
      const form = pageForm(url);
      alike.set(form, [...(alike.get(form) ?? []), url]);
    },
    urlOf: (path: string) => urls.get(path),
    has: (url: string) => paths.has(url),
    /** Was it found to be the address of another listed page? */
    isAlias: (url: string) => aliases.has(url),
    look,
    /** The response for a page. Throws SameObject if it is that of another address that is listed. */
    async get(url: string, headers: Readonly<Record<string, string>>): Promise<Fetched> {
      const follow = (target: string) => isLike(url)(target) || paths.has(target);
      const response = await fetcher.get(url, headers, follow);
      const other = response.url === url ? undefined : await otherOf(url, response);
      if (other === undefined) return response;
      aliases.add(url);
      throw new SameObject(paths.get(other) ?? other);
    },
  };
}
