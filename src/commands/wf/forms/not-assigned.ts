import type { CliError } from "../../../errors.ts";
import { usage } from "../../../errors.ts";
import { commandLine, shellQuote } from "../../../lib/command-line.ts";
import { own } from "../../../lib/json.ts";

interface NamedField {
  readonly variable: string;
  readonly required: boolean;
}

/** Commands that other programs have below `run`. */
const belowRun: Readonly<Record<string, string>> = {
  list: "wf logs",
  ls: "wf logs",
  view: "wf show",
  show: "wf show",
  watch: "wf events",
  rerun: "wf retry",
  retry: "wf retry",
  cancel: "wf stop",
  stop: "wf stop",
};

/**
 * The error for a value of --input without a name: its hint shows it as the value of the first required field, or
 * what else it may be.
 */
export function notAssigned(value: string, fields: readonly NamedField[]): CliError {
  const command = own(belowRun, value);
  const field = fields.find(({ required }) => required) ?? fields[0];
  const use = field ? `use --input ${shellQuote(`${field.variable}=${value}`)}; ` : "";
  const isObject = value.startsWith("{");
  const meant = isObject ? `all inputs as JSON: --inputs ${shellQuote(value)}; ` : use;
  const first = command === undefined ? meant : `did you mean ${commandLine(command)}? `;
  return usage(
    `--input ${JSON.stringify(value)}: expected name=value`,
    `${first}${inputNames(fields)}`,
  );
}

/** Names the inputs for a hint. */
export const inputNames = (fields: readonly NamedField[]): string =>
  fields.length === 0
    ? "it takes no inputs"
    : `inputs: ${fields.map(({ variable }) => variable).join(", ")}`;
