import type { CliError } from "../../../errors.ts";
import { usage } from "../../../errors.ts";
import { fieldText } from "../../../lib/json.ts";
import { commandLine, shellQuote, shownLine } from "../../../lib/command-line.ts";

interface NamedField {
  readonly variable: string;
  readonly required: boolean;
}

/** Is this `name=value`, with a name? */
export const isAssignment = (text: string): boolean => text.indexOf("=") > 0;

/**
 * The error for values of --input without a name. Its hint shows them as one value of the first required field
 * that has none, or as what else they may be: an application of the profile, or all inputs as JSON.
 */
export function notAssigned(
  assignments: readonly string[],
  fields: readonly NamedField[],
  apps: readonly string[] = [],
): CliError {
  const bare = assignments.filter((each) => !isAssignment(each));
  const [first = ""] = bare;
  const named = assignments.filter(isAssignment);
  return usage(
    `--input ${JSON.stringify(first)}: expected name=value`,
    `${meantBy(bare, named, { fields, apps })}; ${inputNames(fields)}`,
  );
}

function meantBy(
  bare: readonly string[],
  named: readonly string[],
  { fields, apps }: { readonly fields: readonly NamedField[]; readonly apps: readonly string[] },
): string {
  const [first = "", ...others] = bare;
  if (apps.includes(first)) {
    const [input] = fields;
    // `text: hello`, whose last word comes first
    const name = others.find((word) => /^[\w-]+:$/.test(word))?.slice(0, -1);
    const text = others.filter((word) => word !== `${name}:`).join(" ");
    const values = text === "" || !input ? [] : [`${name ?? input.variable}=${text}`];
    return `applications are named by --app: ${shownLine(["wf", "--app", first, "run", ...values, ...named])}`;
  }
  const text = bare.join(" ");
  // `wf run query = hi`, `wf run query hi`
  const value = others[0] === "=" ? others.slice(1) : others;
  const isOf = (word: string | undefined) => fields.some(({ variable }) => variable === word);
  // `-i query hi`: the value of the flag comes last.
  if (bare.length === 2 && isOf(others[0]) && !isOf(first))
    return `use --input ${shellQuote(`${others[0]}=${first}`)}`;
  const isField = isOf(first);
  if (others.length > 0 && (isField || others[0] === "="))
    return `use --input ${shellQuote(`${first}=${value.join(" ")}`)}`;
  if (/\.jsonl?$/.test(text))
    return `all inputs from a file: --inputs ${shellQuote(`@${text.replace(/^@/, "")}`)}`;
  if (text.endsWith(".csv")) return `a run for each row of a file: --each ${shellQuote(text)}`;
  if (/\.ya?ml$/.test(text)) return `tests of a file: ${commandLine("wf test run", [text])}`;
  if (/^(second|minute|hour)s?$/.test(text)) return "a duration is one word: --timeout 5m";
  const pairs = pairsIn(text);
  if (pairs.every(([name]) => isOf(name)))
    return `use ${pairs.map(([name, each]) => `--input ${shellQuote(`${name}=${each}`)}`).join(" ")}`;
  if (text.startsWith("{"))
    return `all inputs as JSON: --inputs ${shellQuote(fieldText(text, "inputs"))}`;
  // `text=hello world`
  if (named.length === 1 && !bare.some(isOf))
    return `quote values with spaces: --input ${shellQuote(`${named[0]} ${text}`)}`;
  const given = new Set(named.map((each) => each.split("=", 1)[0]));
  const open = fields.filter(({ variable }) => !given.has(variable));
  const field = open.find(({ required }) => required) ?? open[0];
  if (!field) return "quote values with spaces, and select an application with --app";
  return `use --input ${isOf(text) ? `${text}=VALUE` : shellQuote(`${field.variable}=${text}`)}`;
}

/** Names and values of `query:hi` or `{query:hi,n:1}`, which a shell leaves of JSON without quotes. */
function pairsIn(text: string): readonly (readonly [name: string | undefined, value: string])[] {
  const inner = /^\{(.*)\}$/.exec(text)?.[1]?.split(",") ?? [text];
  return inner.map((each) => {
    const [, name, value = ""] = /^\s*([\w-]+):\s*([^"]*)$/.exec(each) ?? [];
    return [name, value];
  });
}

/** Names the inputs for a hint. */
export const inputNames = (fields: readonly NamedField[]): string =>
  fields.length === 0
    ? "it takes no inputs"
    : `inputs: ${fields.map(({ variable }) => variable).join(", ")}`;
