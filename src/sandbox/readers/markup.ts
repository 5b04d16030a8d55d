import { Parser } from "htmlparser2";
import { UnreadableFile } from "./limits.ts";

/** Which elements of a format show text, and where its lines end; names have no prefix. */
export interface Markup {
  /** HTML is not: its elements need no end. */
  readonly isXml: boolean;
  /** Elements whose content is not shown. */
  readonly hidden: ReadonlySet<string>;
  /** The only elements with text, where others have values that are none. */
  readonly texts?: ReadonlySet<string>;
  readonly breaksLine: (name: string) => boolean;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Elements that continue a line; all others of a page begin a new one. */
const INLINE = words(
  "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q rp rt ruby s samp small " +
    "span strong sub sup td th time tt u var wbr",
);

/** Web pages, and the chapters of books. */
export const HTML: Markup = {
  isXml: false,
  hidden: words("script style template noscript"),
  breaksLine: (name) => !INLINE.has(name),
};

/** XML of any kind: a line for the text of each element. */
export const XML: Markup = { isXml: true, hidden: new Set(), breaksLine: () => true };

const OFFICE_LINES = words("p br cr");

/** What Word, PowerPoint and Excel write; hidden are copies for older versions, and reading aids. */
export const OFFICE: Markup = {
  isXml: true,
  hidden: words("Fallback rPh"),
  texts: words("t v"),
  breaksLine: (name) => OFFICE_LINES.has(name),
};

/** What to do with the elements and the shown texts of a document, in their order. */
interface Visitor {
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly close?: (name: string) => void;
  readonly text: (text: string) => void;
}

/** The parser searches the open elements at each tag: many thousands would take it minutes. */
const MAX_DEPTH = 500;

const localName = (name: string) => name.slice(name.indexOf(":") + 1);

/** Visits a document; throws UnreadableFile if its elements are nested too deeply. */
export function walk(source: string, markup: Markup, { open, close, text }: Visitor): void {
  const { isXml, hidden, texts } = markup;
  let [depth, hiding, innermost] = [0, 0, ""];
  const visitor = {
    onopentag(name: string, attributes: Readonly<Record<string, string>>) {
      if (++depth > MAX_DEPTH) throw new UnreadableFile("its elements are nested too deeply");
      innermost = localName(name);
      if (hidden.has(innermost)) hiding++;
      open?.(innermost, attributes);
    },
    onclosetag(name: string) {
      depth--;
      innermost = "";
      if (hidden.has(localName(name))) hiding--;
      close?.(localName(name));
    },
    ontext(part: string) {
      if (hiding === 0 && (texts?.has(innermost) ?? true)) text(part);
    },
  };
  new Parser(visitor, { xmlMode: isXml, recognizeSelfClosing: true }).end(source);
}

/** Elements that keep the words beside them apart. */
const SPACES = words("td th tab");

/** The text of a document, without empty lines. */
export function shownText(source: string, markup: Markup): string {
  const lines: string[] = [];
  let line = "";
  const endLine = () => {
    const text = line.replace(/\s+/g, " ").trim();
    if (text !== "") lines.push(text);
    line = "";
  };
  const breakLine = (name: string) => {
    if (markup.breaksLine(name)) endLine();
    else if (SPACES.has(name)) line += " ";
  };
  walk(source, markup, { open: breakLine, close: breakLine, text: (part) => (line += part) });
  endLine();
  return lines.join("\n");
}
