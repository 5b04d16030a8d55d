import { decodeBytes } from "./decode.ts";
import { walkHtml } from "./markup.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Elements whose content is not shown. */
const HIDDEN = words("script style template noscript");
/** Elements that continue a line; all others begin a new one. */
const INLINE = words(
  "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q rp rt ruby s samp small " +
    "span strong sub sup td th time tt u var wbr",
);
const CELLS = words("td th");

/** The text of a page: a line for each block, with the cells of a row in one line. */
export function htmlText(source: string): string {
  const lines: string[] = [];
  let line = "";
  let hidden = 0;
  let kept = 0; // elements that keep their line breaks
  const endLine = () => {
    const text = line.replace(/\s+/g, " ").trim();
    if (text !== "") lines.push(text);
    line = "";
  };
  const breakLine = (name: string) => {
    if (!INLINE.has(name)) endLine();
    else if (CELLS.has(name)) line += " ";
  };
  walkHtml(source, {
    open(name) {
      if (HIDDEN.has(name)) hidden++;
      if (name === "pre") kept++;
      breakLine(name);
    },
    close(name) {
      if (HIDDEN.has(name)) hidden--;
      if (name === "pre") kept--;
      breakLine(name);
    },
    text(part) {
      if (hidden > 0) return;
      const [first = "", ...others] = kept > 0 ? part.split("\n") : [part];
      line += first;
      for (const other of others) {
        endLine();
        line = other;
      }
    },
  });
  endLine();
  return lines.join("\n");
}

/** The encoding that a page declares in its first bytes, as browsers look for it. */
function declaredEncoding(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 1024));
  return /<meta[^>]*?charset\s*=\s*["']?([\w-]+)/i.exec(start)?.[1];
}

/** Reads a web page. */
export const readHtml = (bytes: Uint8Array): readonly string[] => [
  htmlText(decodeBytes(bytes, declaredEncoding(bytes))),
];
