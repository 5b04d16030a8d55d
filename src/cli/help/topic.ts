import { CliError } from "../../errors.ts";
import type { Command } from "../parse/command.ts";
import { helpFor } from "./help.ts";
import { helpTree } from "./json.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { topicNames } from "./topic-names.ts";
import { topics } from "./topics.ts";

/**
 * Text of `kb help`, `kb help tag rename`, `kb help exit-codes`, `kb help --json`. Throws usage for
 * an unknown word.
 */
export function helpTopic(argv: readonly string[], commands: readonly Command[]): string {
  const [program = "kb", , ...words] = argv;
  const [first = ""] = words;
  if (words.length === 0 || first === "--help" || first === "-h")
    return helpFor(program, [], commands);
  if (words.length === 1 && first === "--json")
    return `${JSON.stringify(helpTree(program, commands), null, 2)}\n`;
  const topic = topicNames.find((name) => name === first);
  if (words.length === 1 && topic) return `${topics[topic]}\n`;
  const known = commands.some((command) =>
    words.every((word, index) => command.words[index + 1] === word),
  );
  if (known) return helpFor(program, words, commands);
  const near = didYouMean(first, [
    ...topicNames,
    ...new Set(commands.map((command) => command.words[1] ?? "")),
  ]);
  throw new CliError("usage", `there is no help on "${words.join(" ")}"`, {
    hint:
      near === undefined
        ? `\`${program} help\` lists commands and topics`
        : `did you mean ${near}?`,
  });
}
