/** Characters before an end that are enough to see a sentence mark. */
const CONTEXT = 8;

/**
 * Does an end in a text cut a sentence: is it inside a line, and neither behind a sentence mark nor before one that
 * was a separator? Marks of scripts without spaces end sentences anywhere, others before white space.
 */
export function cutsSentence(text: string, end: number): boolean {
  let next = end;
  while (text[next] === " " || text[next] === "\t") next++;
  if (next >= text.length || text[next] === "\n") return false;
  if (/[.!?…。！？｡]/.test(text[end] ?? "")) return false;
  const before = text
    .slice(Math.max(0, end - CONTEXT), end)
    .replace(/(?<!["'”’»)\]*_])["'”’»)\]*_]+$/, "");
  return !/[。！？｡]$/.test(before) && !(next > end && /[.!?…]$/.test(before));
}

/** A block of a text, from the first character of its first line to the last of its last one. */
interface Block {
  readonly start: number;
  end: number;
}

/** The tables and fenced code blocks of a text as Markdown writes them, in order. */
export function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let kind: "code" | "table" | undefined;
  let fence = "";
  let above = { start: 0, hasCells: false };
  for (let start = 0; start < text.length;) {
    const feed = text.indexOf("\n", start);
    const end = feed === -1 ? text.length : feed;
    const line = text.slice(start, end);
    const block = blocks.at(-1);
    if (kind === "table" && line.trim() === "") kind = undefined;
    else if (kind !== undefined && block) block.end = end;
    const [, marks = "", info = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (kind === "code") {
      if (marks.startsWith(fence) && info.trim() === "") kind = undefined;
    } else if (marks !== "") {
      kind = "code";
      fence = marks;
      blocks.push({ start, end });
    } else if (kind === undefined && above.hasCells && isUnderHead(line)) {
      kind = "table";
      blocks.push({ start: above.start, end });
    }
    above = { start, hasCells: line.includes("|") };
    start = end + 1;
  }
  return blocks;
}

/** Is it the line below the head of a table, such as `|---|:-:|`? */
const isUnderHead = (line: string): boolean =>
  /^[\s|:-]+$/.test(line) && line.includes("-") && line.includes("|");
