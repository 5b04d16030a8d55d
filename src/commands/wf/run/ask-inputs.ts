import { commandLine } from "../../../lib/command-line.ts";
import { counted } from "../../../lib/plural.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../command-spec.ts";
import { requireKind } from "../application.ts";
import { askField, parseAssignments } from "../forms/index.ts";
import type { Field } from "../forms/index.ts";
import type { runParams } from "../specs.ts";

type RunInput = Input<typeof runParams>;

/**
 * Prompts for required inputs that the command line does not give, if a run could not start without
 * them, and prints the command that needs no prompts. Returns the input with the replies.
 */
export async function withAskedInputs(
  input: RunInput,
  fields: readonly Field[],
  context: Context,
): Promise<RunInput> {
  const { options, notice, promptLine } = context;
  if (!options.input || options.dryRun || input.inputs !== undefined || input.each !== undefined)
    return input;
  const typed = input.input ?? [];
  const given = new Set(typed.map((each) => each.split("=", 1)[0]));
  const open = fields.filter(({ variable }) => !given.has(variable));
  const missing = open.filter(({ required }) => required);
  if (missing.every((field) => field.default !== undefined)) return input;
  await requireKind("workflow", context);
  parseAssignments(typed, fields, {}); // a mistake shows before the prompts
  await promptLine(`${counted(missing.length, "required input")}${optionalText(open)}:`);
  const asked: string[] = [];
  for (const field of missing) asked.push(...(await askField(field, context)));
  const result = { ...input, input: [...typed, ...asked] };
  await notice(`the same without prompts: ${sameCommand(result, context)}`);
  return result;
}

/** How to give the optional inputs. */
function optionalText(open: readonly Field[]): string {
  const names = open.flatMap(({ variable, required }) => (required ? [] : [variable]));
  return names.length === 0 ? "" : `, optional ones with --input: ${names.join(", ")}`;
}

/** The command line of a run with its flags. */
function sameCommand(input: RunInput, { options }: Context): string {
  const { user: _, ...flags } = input;
  const given = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined || value === false
      ? []
      : [[name.replaceAll("_", "-"), flagValue(value)] as const],
  );
  return commandLine("wf run", [], { ...Object.fromEntries(given), user: options.flags.user });
}

function flagValue(value: unknown): string | true | readonly string[] {
  if (value === true || typeof value === "string") return value;
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isTexts ? value : JSON.stringify(value);
}
