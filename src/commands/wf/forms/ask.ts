import { CliError } from "../../../errors.ts";
import { askChoice, askUntil } from "../../ask.ts";
import type { Context } from "../../command-spec.ts";
import { checkValues, parseAssignments } from "./fields.ts";
import type { Field } from "./fields.ts";
import { requireFiles } from "./files.ts";

/** Prompts for the value of a field until it is valid. Returns it as `name=value`, files each. */
export async function askField(field: Field, context: Context): Promise<readonly string[]> {
  const { label, options, control } = field;
  if (options.length > 0) {
    await context.promptLine(`${label}:`);
    const choices = options.map((each) => ({ label: each, names: [each], value: each }));
    const preset = choices.find(({ value }) => value === defaultText(field));
    return [assignment(field, await askChoice(label, choices, context, preset))];
  }
  if (control === "file-list") return askFiles(field, context);
  const preset = defaultText(field);
  const shown = preset === undefined ? "" : ` [${shortened(preset)}]`;
  const question = `${label} (${kindOf(field)})${shown}: `;
  const read = async (typed: string) => {
    const text = typed === "" && preset !== undefined ? preset : typed;
    return checked(field, [assignment(field, text)], text, context);
  };
  return askUntil(question, read, context, { multiline: control === "paragraph" });
}

/** Prompts for the files of a list one by one, up to an empty reply. */
async function askFiles(field: Field, context: Context): Promise<readonly string[]> {
  const { label, max = Infinity } = field;
  const assignments: string[] = [];
  while (assignments.length < max) {
    const hint = assignments.length > 0 ? "; Enter to finish" : "";
    const question = `${label} (file ${assignments.length + 1}: path or URL${hint}): `;
    const read = async (typed: string) => {
      if (typed === "" && assignments.length > 0) return [];
      return checked(field, [...assignments, assignment(field, typed)], typed, context);
    };
    const next = await askUntil(question, read, context);
    if (next.length === 0) break;
    assignments.splice(0, assignments.length, ...next);
  }
  return assignments;
}

const isFile = ({ control }: Field): boolean => control === "file" || control === "file-list";

/** The default as text; undefined for a file or JSON. */
const defaultText = ({ default: value }: Field): string | undefined =>
  ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;

/** Characters of a default in a prompt. */
const MAX_DEFAULT = 50;

/** The beginning of a default; Enter takes all of it. */
function shortened(text: string): string {
  const [line = ""] = text.split("\n", 1);
  const start = line.slice(0, MAX_DEFAULT);
  return start === text ? text : `${start} …`;
}

/** The kind of a value, for a prompt. */
function kindOf({ control, max }: Field): string {
  if (control === "number") return "number";
  if (control === "checkbox") return "yes or no";
  if (control === "json_object") return "JSON";
  if (control === "file") return "path or URL of a file";
  return max === undefined ? "text" : `text, at most ${max} characters`;
}

/** A reply as an argument of `--input`: a path gets its `@`, yes and no become true and false. */
function assignment(field: Field, typed: string): string {
  const { variable, control } = field;
  const isPath = isFile(field) && typed !== "" && !/^(@|https?:\/\/|\{)/.test(typed);
  if (isPath) return `${variable}=@${typed}`;
  if (control === "checkbox" && /^y(es)?$/i.test(typed)) return `${variable}=true`;
  if (control === "checkbox" && /^no?$/i.test(typed)) return `${variable}=false`;
  return `${variable}=${typed}`;
}

/** The assignments if they are valid, or what is wrong with them. */
async function checked(
  field: Field,
  assignments: readonly string[],
  typed: string,
  context: Context,
): Promise<readonly string[] | string> {
  if (typed === "" && (field.required || isFile(field))) return `${field.label} is required`;
  try {
    const values = parseAssignments(assignments, [field], {});
    checkValues([field], values);
    await requireFiles(values, context);
    return assignments;
  } catch (error) {
    if (error instanceof CliError && error.kind === "usage") return error.message;
    throw error;
  }
}
