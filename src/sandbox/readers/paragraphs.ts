import { walkXml } from "./markup.ts";

/** Characters that elements stand for. */
const SIGNS: Readonly<Record<string, string>> = { tab: "\t", br: "\n", cr: "\n" };

/** Elements without text of their own: a copy for older versions, and the stops of tabulators. */
const IGNORED = new Set(["Fallback", "tabs"]);

/**
 * The paragraphs of an Office text, a line each, and the rows of its tables with ` | ` between cells.
 * Word and PowerPoint use the same element names, in different namespaces.
 */
export function paragraphsOf(xml: string): string {
  const lines: string[] = [];
  let row: string[] = [];
  let line = "";
  let [texts, cells, ignored] = [0, 0, 0];
  const take = () => {
    const text = line.trim();
    line = "";
    return text;
  };
  const addLine = (text: string) => {
    if (text !== "") lines.push(text);
  };
  const endParagraph = () => {
    if (cells > 0) line += " ";
    else addLine(take());
  };
  walkXml(xml, {
    open(name) {
      if (IGNORED.has(name)) ignored++;
      else if (name === "t") texts++;
      else if (name === "tc") cells++;
      else if (name === "p") endParagraph(); // a text box is inside of another paragraph
      else if (ignored === 0) line += SIGNS[name] ?? "";
    },
    text(text) {
      if (texts > 0 && ignored === 0) line += text;
    },
    close(name) {
      if (IGNORED.has(name)) ignored--;
      else if (name === "t") texts--;
      else if (name === "p") endParagraph();
      else if (name === "tc" && --cells === 0) row.push(take().replace(/\s+/g, " "));
      else if (name === "tr" && cells === 0) {
        addLine(row.join(" | "));
        row = [];
      }
    },
  });
  return [...lines, take()].join("\n").trim();
}
