import { sourceError } from "./program.ts";
import type { Fetched, Fetcher } from "./fetcher.ts";
import { pageForm } from "./page-list.ts";
import { SameObject } from "./source.ts";

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
