import { walkXml } from "./markup.ts";

/** Characters that elements stand for. */
const SIGNS: Readonly<Record<string, string>> = { tab: "\t", br: "\n", cr: "\n" };

/**
 * The paragraphs of an Office text, a line each, and the rows of its tables with ` | ` between cells.
 * Word and PowerPoint use the same element names, in different namespaces.
 */
export function paragraphsOf(xml: string): string {
  const lines: string[] = [];
  let line = "";
  let [texts, cells, fallbacks] = [0, 0, 0];
  const endLine = () => {
    const text = line.trim();
    if (text !== "") lines.push(text);
    line = "";
  };
  walkXml(xml, {
    open(name) {
      if (name === "t") texts++;
      else if (name === "tc") cells++;
      else if (name === "Fallback") fallbacks++; // repeats a text for older versions
      else line += SIGNS[name] ?? "";
    },
    text(text) {
      if (texts > 0 && fallbacks === 0) line += text;
    },
    close(name) {
      if (name === "t") texts--;
      else if (name === "Fallback") fallbacks--;
      else if (name === "tc") {
        cells--;
        line = `${line.trimEnd()} | `;
      } else if (name === "tr" && cells === 0) {
        line = line.replace(/ \| $/, "");
        endLine();
      } else if (name === "p") {
        if (cells === 0) endLine();
        else line += " ";
      }
    },
  });
  endLine();
  return lines.join("\n");
}
