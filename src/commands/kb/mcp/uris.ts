import { notFound } from "../../../errors.ts";

/** A knowledge base, or a document in it. */
export interface KbPlace {
  readonly kb: string;
  readonly document?: string | undefined;
}

/** `kb://Handbook/leave.md`; `/` in a name is written `%2F`. */
export const uriOf = ({ kb, document }: KbPlace): string =>
  `kb://${[kb, document].flatMap((part) => (part === undefined ? [] : [encoded(part)])).join("/")}`;

/** Parentheses and the like would be read as the end of a link. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The place of a URI. Throws not-found for any other text. */
export function placeOf(uri: string): KbPlace {
  const [, kb = "", document] = /^kb:\/\/([^/?#]+)(?:\/([^/?#]+))?\/?$/.exec(uri) ?? [];
  try {
    if (kb !== "")
      return {
        kb: decodeURIComponent(kb),
        document: document === undefined ? undefined : decodeURIComponent(document),
      };
  } catch {
    // not percent-encoded
  }
  throw notFound(`${uri} is not the URI of a document`, "such as kb://Handbook/leave.md");
}
