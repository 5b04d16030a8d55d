/* Arguments in the places that a command has for them. */
import { isFileName, isPath } from "../../lib/text.ts";
import type { Command } from "../parse/command.ts";
import { flagsOf } from "../parse/shared-flags.ts";

type Words = readonly string[];

/** `kb search leave` and `kb cat a.md` lack the knowledge base: `kb search KB leave`. */
export function withKb({ words, positionals }: Command, args: Words): Words | undefined {
  const [first, second, ...others] = positionals;
  if (args.length !== 1 || first?.word !== "kb" || !second || others.length > 0) return undefined;
  const isFile = ["file", "doc"].includes(second.word) && isFileName(args[0] ?? "");
  const isSource = second.word === "source" && isPath(args[0]);
  return isFile || isSource || second.word === "query" ? [...words, "KB", ...args] : undefined;
}

/** Arguments with those in their place that are written as flags: `Handbook --name a.md`; undefined without any. */
export function argumentsOfFlags(command: Command, args: Words): Words | undefined {
  const known = new Set(flagsOf(command).map(({ long }) => long));
  const flags = command.positionals.map(({ word }) => `--${word}`);
  const [at, flag] = [...args.entries()].find(
    ([, word]) => flags.includes(word) && !known.has(word),
  ) ?? [-1, ""];
  const value = args[at + 1];
  if (at === -1 || value === undefined || value.startsWith("-")) return undefined;
  const others = args.toSpliced(at, 2);
  const firstFlag = others.findIndex((word) => word.startsWith("-"));
  const place = Math.min(flags.indexOf(flag), firstFlag === -1 ? others.length : firstFlag);
  const placed = others.toSpliced(place, 0, value);
  return argumentsOfFlags(command, placed) ?? placed;
}
