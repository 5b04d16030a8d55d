import type { CliError } from "../../../errors.ts";
import { usage } from "../../../errors.ts";
import { shellQuote, shownLine } from "../../../lib/command-line.ts";

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
    const text = others.join(" ");
    const values = text === "" || !input ? [] : [`${input.variable}=${text}`];
    return `applications are named by --app: ${shownLine(["wf", "--app", first, "run", ...values, ...named])}`;
  }
  const text = bare.join(" ");
  // `wf run query = hi`, `wf run query hi`
  const value = others[0] === "=" ? others.slice(1) : others;
  const isField = fields.some(({ variable }) => variable === first);
  if (others.length > 0 && (isField || others[0] === "="))
    return `use --input ${shellQuote(`${first}=${value.join(" ")}`)}`;
  if (/\.jsonl?$/.test(text)) return `all inputs from a file: --inputs ${shellQuote(`@${text}`)}`;
  if (text.startsWith("{")) return `all inputs as JSON: --inputs ${shellQuote(text)}`;
  const given = new Set(named.map((each) => each.split("=", 1)[0]));
  const open = fields.filter(({ variable }) => !given.has(variable));
  const field = open.find(({ required }) => required) ?? open[0];
  if (!field) return "quote values with spaces, and select an application with --app";
  const isName = fields.some(({ variable }) => variable === text);
  return `use --input ${isName ? `${text}=VALUE` : shellQuote(`${field.variable}=${text}`)}`;
}

/** Names the inputs for a hint. */
export const inputNames = (fields: readonly NamedField[]): string =>
  fields.length === 0
    ? "it takes no inputs"
    : `inputs: ${fields.map(({ variable }) => variable).join(", ")}`;
