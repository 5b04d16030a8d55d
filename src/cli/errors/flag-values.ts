/* What the value behind a flag of another program is for ours. */
import { commandLine, shellQuote } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { isFileName } from "../../lib/text.ts";
import { formatsOf } from "../../output/style.ts";
import { choiceFor } from "../parse/choice-words.ts";
import type { Command } from "../parse/command.ts";
import { ownFlags } from "../parse/shared-flags.ts";
import { requiredFlagsLeft } from "./argument-places.ts";
import { usageHint } from "./failure.ts";
import type { Failure, UnknownFlag } from "./failure.ts";

const fileFlags = ["-f", "-F", "-d", "--file", "--files", "--csv", "--data"];

/** The hint for our flag with the value of an unknown one, where another flag or value is meant; undefined elsewhere. */
export function hintOfValue(unknown: UnknownFlag, near: string): string | undefined {
  const { value, command } = unknown;
  const isTime = near === "--since" || (near === "--by" && /^\d/.test(value));
  const since = isTime ? sinceFor(unknown) : undefined;
  if (since !== undefined) return `did you mean ${since}?`;
  // `--filter error`
  const choice = command && choiceFor(command, value);
  if (choice) return `did you mean --${choice.flag} ${choice.value}?`;
  if (near === "--output" && value !== "") return hintOfFormat(unknown);
  const other = flagFor(unknown, near);
  if (other !== undefined) return `did you mean ${other}?`;
  if (near.endsWith("=VALUE") && /^[^-]/.test(value))
    return `did you mean --input ${shellQuote(near.replace(/^--input |VALUE$/g, "") + value)}?`;
  const takesNumber = ["--limit", "--top-k"].includes(near);
  if (takesNumber && /^[^\d-]/.test(value)) return `${near} takes a number; ${usageHint(unknown)}`;
  return undefined;
}

/** Spans of time by their name, as --since takes them. */
const spans: Readonly<Record<string, string>> = {
  hour: "1h",
  day: "1d",
  week: "7d",
  month: "30d",
  year: "365d",
};

/** A time in our words: `--last month`, `--days 7`, `--last 7days`; a number alone is of rows. */
function sinceFor({ flag, value, known }: UnknownFlag): string | undefined {
  const ago = own(spans, value);
  const [, count, unit] = /^(\d+) ?(d|h|w|m)(?:ays?|ours?|eeks?|in(?:utes?)?)?$/.exec(value) ?? [];
  const isNumber = /^\d+$/.test(value);
  if (flag === "--last" && isNumber && known.includes("--limit")) return `--limit ${value}`;
  if (["--days", "--last"].includes(flag) && isNumber) return `--since ${value}d`;
  if (count && unit) return `--since ${count}${unit}`;
  return ago && `--since ${ago}`;
}

function hintOfFormat({ value, command }: UnknownFlag): string | undefined {
  const formats: readonly string[] = command ? formatsOf(command.returns) : [];
  if (formats.includes(value)) return `did you mean --output ${value}?`;
  return command && `--output is how results are printed: ${formats.join(", ")}`;
}

/** The flag for a value of a certain form: `-f doc=a.pdf`, `--csv rows.csv`, `--filter name=Hand`. */
function flagFor({ flag, value, known }: UnknownFlag, near: string): string | undefined {
  const [, name = "", text = ""] = /^([\w-]+)=(.+)$/s.exec(value) ?? [];
  const takesInput = known.includes("--input");
  const isFile = fileFlags.includes(flag);
  if (isFile && known.includes("--each") && /\.(csv|jsonl)$/.test(value))
    return `--each ${shellQuote(value.replace(/^@/, ""))}`;
  if (text === "") return undefined;
  if (isFile && takesInput && isFileName(text))
    return `--input ${shellQuote(`${name}=@${text.replace(/^@/, "")}`)}`;
  if (takesInput && near.startsWith("--inputs")) return `--input ${shellQuote(value)}`;
  if (takesInput) return undefined;
  if (known.includes(`--${name}`)) return `--${name} ${shellQuote(text)}`;
  return near === "--keyword" ? `--keyword ${shellQuote(text)}` : undefined;
}

/** The hint for a time of several words without quotes: `--since 7 days`. */
export function hintOfTime(failure: Failure, command: Command): string | undefined {
  const { node } = failure;
  const words = node.args.slice(node.registeredArguments.length);
  const name = ["since", "until", "timeout"].find((each) => typeof node.opts()[each] === "string");
  const [, unit] = /^(s|m|h)(?:ec(?:ond)?|in(?:ute)?|our)s?$/.exec(words[0] ?? "") ?? [];
  if (name === "timeout")
    return unit && `a duration is one word: --timeout ${String(node.opts()[name])}${unit}`;
  if (name === undefined) return sinceOf(failure, command);
  if (!/^(minute|hour|day|week|month)s?$|^ago$/.test(words[0] ?? "")) return undefined;
  const text = [String(node.opts()[name]), ...words.filter((word) => word !== "ago"), "ago"];
  return `quote a time of several words: --${name} ${shellQuote(text.join(" "))}`;
}

/** The line for a time without its flag: `wf stats last week`. */
function sinceOf({ node }: Failure, command: Command): string | undefined {
  const takesSince = ownFlags(command).some(({ long }) => long === "--since");
  const time = command.positionals.length === 0 && takesSince ? timeOfWords(node.args) : undefined;
  if (time === undefined) return undefined;
  const left = requiredFlagsLeft(command, flagsTyped(node));
  return `did you mean ${commandLine(command.words.join(" "), [], { since: time, ...left })}?`;
}

/** A time of several words, as --since takes it: `7d` for `last week`. */
function timeOfWords(words: readonly string[]): string | undefined {
  const text = words.join(" ");
  if (["yesterday", "today"].includes(text)) return text;
  const pattern = /^(?:(?:last|past) )?(\d+ )?(hour|day|week|month)s?(?: ago)?$/;
  const [, count = "1", unit = ""] = pattern.exec(text) ?? [];
  const [, size, letter] = /^(\d+)(\w)$/.exec(own(spans, unit) ?? "") ?? [];
  return size === undefined ? undefined : `${Number(count) * Number(size)}${letter}`;
}

/** The flags of a line, in full. */
export const flagsTyped = (node: Failure["node"]): readonly string[] =>
  Object.keys(node.opts()).map((name) => `--${kebab(name)}`);

/** `noWait`, as commander names a flag, is `no-wait`. */
export const kebab = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
