import { visitMarkup } from "../../lib/formats/visit-markup.ts";

/** Which elements of a format show text, and where its lines end; names have no prefix. */
interface Markup {
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

/** Reads a web page. */
export const readHtml = textReader({
  isXml: false,
  hidden: words("script style template noscript"),
  breaksLine: (name) => !INLINE.has(name),
});

/** Reads XML of any kind: a line for the text of each element. */
export const readXml = textReader({ isXml: true, hidden: new Set(), breaksLine: () => true });

const WORD_LINES = words("p br cr");

/** Reads a text of Word; hidden are copies for older versions. */
export const readWordXml = textReader({
  isXml: true,
  hidden: words("Fallback"),
  texts: words("t"),
  breaksLine: (name) => WORD_LINES.has(name),
});

/** Makes a reader of a text in UTF-8, which has one part. */
function textReader(markup: Markup) {
  return (bytes: Uint8Array) => [shownText(new TextDecoder().decode(bytes), markup)] as const;
}

/** Elements that keep the words beside them apart. */
const SPACES = words("td th tab");

/** The text of a document, without empty lines; throws UnreadableFile if its elements are nested too deeply. */
function shownText(source: string, { isXml, hidden, texts, breaksLine }: Markup): string {
  const lines: string[] = [];
  let [line, hiding, innermost] = ["", 0, ""];
  const endLine = () => {
    const text = line.replace(/\s+/g, " ").trim();
    if (text !== "") lines.push(text);
    line = "";
  };
  const breakLine = (name: string) => {
    if (breaksLine(name)) endLine();
    else if (SPACES.has(name)) line += " ";
  };
  visitMarkup(source, isXml, {
    open(name) {
      innermost = name;
      if (hidden.has(name)) hiding++;
      breakLine(name);
    },
    close(name) {
      innermost = "";
      if (hidden.has(name)) hiding--;
      breakLine(name);
    },
    text(part) {
      if (hiding === 0 && (texts?.has(innermost) ?? true)) line += part;
    },
  });
  endLine();
  return lines.join("\n");
}
