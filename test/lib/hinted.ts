import { mapCommands } from "../../src/lib/command-line.ts";

/** The words of each command that errors, hints and notices in a text show. */
export function hintedCommands(text: string): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  for (const line of text.split("\n")) {
    mapCommands(line, (words) => {
      found.push(words);
      return words;
    });
  }
  return found;
}
