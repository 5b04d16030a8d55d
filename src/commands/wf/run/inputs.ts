import { settingsFor } from "../../../config/settings.ts";
import { ApiError } from "../../../errors.ts";
import { isObject, stringifyJson } from "../../../lib/json.ts";
import { requireKind } from "../app/index.ts";
import {
  applicationFields,
  checkValues,
  isAssignment,
  parseAssignments,
  requireFiles,
  askFields,
} from "../forms/index.ts";
import type { Field, NamedInputs } from "../forms/index.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine, shellQuote } from "../../../lib/command-line.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { runParams } from "./command.ts";

type RunInput = Input<typeof runParams>;

export type MakeInputs = (
  raw: Pick<RunInput, "input" | "inputs">,
  from?: NamedInputs,
) => Promise<Record<string, unknown>>;

/**
 * Reads the input form of the workflow. `makeInputs` parses and checks inputs of the command line or a
 * row, before anything is sent or uploaded; it throws `usage` for an unknown, missing or invalid input,
 * and `unsupported` if the key does not belong to a workflow.
 */
export async function readInputForm(context: Context) {
  const fields = await readFields(context);
  const makeInputs: MakeInputs = async ({ input = [], inputs }, from) => {
    try {
      const apps = await appsFor(input, context);
      if (from === undefined) await noticeLiterals(input, fields, context);
      const values = parseAssignments(input, fields, isObject(inputs) ? inputs : {}, apps);
      checkValues(fields, values);
      await requireFiles(values, context, from);
      return values;
    } catch (error) {
      // With the key of another type of application, that is the actual mistake.
      await requireKind("workflow", context);
      throw error;
    }
  };
  return { fields, makeInputs };
}

async function readFields(context: Context): Promise<readonly Field[]> {
  try {
    return await applicationFields(context);
  } catch (error) {
    if (error instanceof ApiError && error.kind !== "auth") await requireKind("workflow", context);
    throw error;
  }
}

/** Tells that `query=@a.md` is sent as it is where the input is a text, as curl would read the file. */
async function noticeLiterals(
  assignments: readonly string[],
  fields: readonly Field[],
  { host, notice }: Context,
): Promise<void> {
  for (const assignment of assignments) {
    const [, name, path = ""] = /^([^=]+)=@(.+)$/s.exec(assignment) ?? [];
    const isText = fields.some(
      ({ variable, control }) => variable === name && !/^file|json/.test(control),
    );
    if (!isText || !/[./\\]/.test(path)) continue;
    const isFile = (await host.files.stat(path).catch(() => undefined))?.isFile === true;
    const content = `--input ${name}="$(cat ${shellQuote(path)})"`;
    const instead = isFile ? `; with the content of the file: ${content}` : "";
    await notice(`${name} is a text: @${path} is sent as it is${instead}`);
  }
}

/** Names of the applications of the profile, if a value without a name may be one: `wf run echo query=hi`. */
async function appsFor(assignments: readonly string[], context: Context) {
  if (assignments.every(isAssignment)) return [];
  return (await settingsFor(context.options.flags, context.host, { key: "app" })).apps;
}

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
  parseAssignments(typed, fields, {}, await appsFor(typed, context)); // a mistake shows before the prompts
  await promptLine(`${counted(missing.length, "required input")}${optionalText(open)}:`);
  const asked = await askFields(missing, context);
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
  return isTexts ? value : stringifyJson(value);
}
