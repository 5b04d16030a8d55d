/** Widest help page; a narrower terminal narrows it further. */
export const MAX_WIDTH = 80;
/** Widest left column; a longer term has its text on the next line. */
const MAX_TERM = 30;

/** A term and its meaning: a flag, an argument, a command. */
export type HelpRow = readonly [term: string, text: string];

/** A part of a help page: a paragraph, a table of two columns, or lines that stay as they are. */
export type HelpBlock =
  | string
  | { readonly title?: string; readonly rows: readonly HelpRow[] }
  | { readonly title?: string; readonly lines: readonly string[] };

/** The text of a page, its blocks separated by empty lines; empty blocks are skipped. */
export const renderPage = (blocks: readonly HelpBlock[], width: number): string =>
  `${blocks
    .map((block) => renderBlock(block, Math.min(width, MAX_WIDTH)).join("\n"))
    .filter((text) => text !== "")
    .join("\n\n")}\n`;

function renderBlock(block: HelpBlock, width: number): string[] {
  if (typeof block === "string") return wrapWords(block, width);
  const { title } = block;
  const indent = title === undefined ? "" : "  ";
  const lines = "rows" in block ? twoColumns(block.rows, width - indent.length) : [...block.lines];
  if (lines.length === 0) return [];
  return [...(title === undefined ? [] : [`${title}:`]), ...lines.map((line) => indent + line)];
}

/**
 * Breaks text at blanks, and paths that are too long after a slash. Other long words stay whole.
 *
 *     wrapWords("one two three", 8) → ["one two", "three"]
 *     wrapWords("/a/bc/def", 6)     → ["/a/bc/", "def"]
 */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).flatMap((each) => brokenPath(each, width))) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else if (word !== "") lines.push(word);
  }
  return lines;
}

function brokenPath(word: string, width: number): string[] {
  const end = word.length > width ? word.lastIndexOf("/", width - 1) + 1 : 0;
  return end < 2 ? [word] : [word.slice(0, end), ...brokenPath(word.slice(end), width)];
}

/**
 * Two columns, the text of the second wrapped below itself.
 *
 *     -n, --dry-run  Print the request
 *                    without sending it
 */
export function twoColumns(rows: readonly HelpRow[], width: number): string[] {
  const terms = rows.map(([term]) => term.length).filter((length) => length <= MAX_TERM);
  const left = Math.max(0, ...terms) + 2;
  const margin = " ".repeat(left);
  return rows.flatMap(([term, text]) => {
    const [first = "", ...rest] = wrapWords(text, width - left);
    const below = rest.map((line) => margin + line);
    if (term.length <= left - 2) return [`${term.padEnd(left)}${first}`.trimEnd(), ...below];
    return [term, ...(first === "" ? [] : [margin + first]), ...below];
  });
}

/**
 * A command for a shell, continued with backslashes where it is too long. Quoted blanks are kept.
 *
 *     kb doc add Handbook leave.md \
 *         --text 'Thirty days'
 */
export function wrapCommand(line: string, width: number): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|\\.|\S)+/g) ?? [];
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length + 2 <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(last === undefined ? word : `    ${word}`);
  }
  return lines.map((text, index) => (index < lines.length - 1 ? `${text} \\` : text));
}
