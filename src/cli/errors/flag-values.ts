/* What the value behind a flag of another program is for ours. */
import { shellQuote } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { isFileName } from "../../lib/text.ts";
import { formatsOf } from "../../output/style.ts";
import { choiceFor } from "../parse/choice-words.ts";
import { usageHint } from "./failure.ts";
import type { UnknownFlag } from "./failure.ts";

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
  const takesNumber = ["--limit", "--top-k"].includes(near);
  if (takesNumber && /^[^\d-]/.test(value)) return `${near} takes a number; ${usageHint(unknown)}`;
  return undefined;
}

/** A time in our words: `--last month`, `--days 7`, `--last 7days`; a number alone is of rows. */
function sinceFor({ flag, value, known }: UnknownFlag): string | undefined {
  const ago = own({ hour: "1h", day: "1d", week: "7d", month: "30d", year: "365d" }, value);
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
    return `--each ${shellQuote(value)}`;
  if (text === "") return undefined;
  if (isFile && takesInput && isFileName(text))
    return `--input ${shellQuote(`${name}=@${text.replace(/^@/, "")}`)}`;
  if (takesInput && near.startsWith("--inputs")) return `--input ${shellQuote(value)}`;
  if (takesInput) return undefined;
  if (known.includes(`--${name}`)) return `--${name} ${shellQuote(text)}`;
  return near === "--keyword" ? `--keyword ${shellQuote(text)}` : undefined;
}
