import { helpFor } from "../../src/cli/help/help.ts";
import { MAX_WIDTH } from "../../src/cli/help/layout.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";

/**
 * The help pages of a program in one text, for src/main.ts. Each follows a form feed and a line
 * with its words; a vertical tab separates what -h shows from what --help shows.
 */
export async function helpPages(program: "kb" | "wf"): Promise<string> {
  const commands = await commandsOf(program);
  const paths = new Set(
    commands.flatMap(({ words }) => words.map((_, index) => words.slice(1, index + 1).join(" "))),
  );
  for (const { words } of commands) paths.add(words.slice(1).join(" "));
  const page = (path: string): string => {
    const words = path === "" ? [] : path.split(" ");
    const style = { width: MAX_WIDTH };
    const full = helpFor(program, words, commands, style);
    const brief = helpFor(program, words, commands, { ...style, brief: true });
    return `\f${[program, ...words].join(" ")}\n${brief}\v${full}`;
  };
  return [...paths].map(page).join("");
}
