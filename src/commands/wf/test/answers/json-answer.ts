import { tryParseJson } from "../../../../lib/json.ts";

/** The JSON value in an answer: all of it, or that of its first fenced block that holds one. */
export function jsonIn(answer: string): unknown {
  return [answer, ...fencedBlocks(answer)].map(tryParseJson).find((value) => value !== undefined);
}

/**
 * The JSON value that an answer consists of, fenced or not. A block beside other text may be quoted
 * from elsewhere, so it is none.
 */
export function onlyJsonIn(answer: string): unknown {
  const lines = answer.trim().split(/\r?\n/);
  const isFenced = lines[0]?.startsWith("```") === true && lines.at(-1)?.trim() === "```";
  return tryParseJson((isFenced ? lines.slice(1, -1) : lines).join("\n"));
}

/** The contents of the fenced blocks of a Markdown text; the last one may be open. */
function fencedBlocks(text: string): string[] {
  const blocks: string[][] = [];
  let open: string[] | undefined;
  for (const line of text.split(/\r?\n/)) {
    const fence = /^ {0,3}```(.*)$/.exec(line);
    if (fence && open) open = undefined;
    else if (fence) blocks.push((open = []));
    else open?.push(line);
  }
  return blocks.map((lines) => lines.join("\n"));
}
