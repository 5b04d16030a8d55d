import { isSpace, strip } from "./clean.ts";
import type { ProcessRule } from "./rule.ts";

/** Kinds of files that servers read as Markdown. */
const MARKDOWN: ReadonlySet<string> = new Set(["md", "markdown", "mdx"]);

/** The texts that a server reads from the text of an uploaded file, by its extension (server §9.2). */
export function textsOfUpload(extension: string, text: string): readonly string[] {
  const lines = text.replace(/\r\n?/g, "\n");
  return MARKDOWN.has(extension) ? sectionsOf(lines) : [lines];
}

/** What a server splits of a file, each on its own: its texts, or one if the parent is the whole document. */
export const textsToSplit = (texts: readonly string[], { rules }: ProcessRule): readonly string[] =>
  rules.parent_mode === "full-doc" ? [texts.join("\n")] : texts;

/**
 * The sections of a Markdown text, without tags and the `#` of headings; the first is what is above all headings. Code
 * in fences of backquotes has no headings, but loses what looks like a tag, too.
 */
function sectionsOf(text: string): string[] {
  const sections: string[] = [];
  let heading = "";
  let lines: string[] = [];
  let isCode = false;
  const endSection = () => sections.push(heading + strip(lines.join("\n")));
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    if (!isCode && isHeading(line)) {
      endSection();
      heading = `\n\n${strip(line.replaceAll("#", ""))}\n`;
      lines = [];
    } else lines.push(withoutTags(line));
  }
  endSection();
  return sections;
}

/** Does a line begin with `#` and white space? Any number of `#` makes a heading. */
function isHeading(line: string): boolean {
  const marks = /^#+/.exec(line)?.[0].length ?? 0;
  return marks > 0 && isSpace(line, marks);
}

/** A line without everything from each `<` to the next `>`; linear in its length. */
function withoutTags(line: string): string {
  const parts = line.split(">");
  const last = parts.pop() ?? "";
  const kept = parts.map((part) => {
    const open = part.indexOf("<");
    return open === -1 ? `${part}>` : part.slice(0, open);
  });
  return kept.join("") + last;
}
