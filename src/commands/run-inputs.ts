import { ApiError, CliError } from "../errors.ts";
import { isObject } from "../json.ts";
import * as apps from "../operations/apps.ts";
import type { Context } from "./task.ts";

/** A field of an application's input form: `{ "text-input": { variable, label, required, … } }`. */
interface FormField {
  readonly control: string;
  readonly variable: string;
  readonly required: boolean;
  readonly options: readonly string[];
  readonly maxLength: number | undefined;
  readonly hasDefault: boolean;
}

/**
 * Values of `--inputs` and `--input name=value`, typed by the application's own form and checked
 * against it before anything starts. Throws usage for an unknown, missing or unfitting input,
 * unsupported when the key opens no workflow.
 */
export async function runInputs(
  given: { readonly input?: readonly string[] | undefined; readonly inputs?: unknown },
  context: Context,
): Promise<Record<string, unknown>> {
  const fields = await formOf(context);
  try {
    return fitted(given, fields);
  } catch (error) {
    // Another kind of application has another form, or none: then that is the mistake.
    await requireWorkflow(context);
    throw error;
  }
}

function fitted(
  given: { readonly input?: readonly string[] | undefined; readonly inputs?: unknown },
  fields: readonly FormField[],
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...(isObject(given.inputs) ? given.inputs : {}) };
  for (const assignment of given.input ?? []) {
    const at = assignment.indexOf("=");
    if (at < 1) throw wrong(`--input ${JSON.stringify(assignment)} is no name=value`);
    const name = assignment.slice(0, at);
    values[name] = typed(
      fields.find((field) => field.variable === name),
      assignment.slice(at + 1),
    );
  }
  for (const name of Object.keys(values)) {
    if (!fields.some((field) => field.variable === name)) {
      const names = fields.map((field) => field.variable).join(", ");
      throw wrong(
        `the application has no input ${JSON.stringify(name)}`,
        names === "" ? "it takes none" : `it has: ${names}`,
      );
    }
  }
  for (const field of fields) check(field, values[field.variable]);
  return values;
}

async function formOf(context: Context): Promise<FormField[]> {
  try {
    const { user_input_form } = await context.call(apps.parameters, {});
    return (user_input_form ?? []).flatMap((entry) =>
      Object.entries(entry as Record<string, unknown>).map(([control, field]) =>
        fieldOf(control, field),
      ),
    );
  } catch (error) {
    if (error instanceof ApiError && error.kind !== "auth") await requireWorkflow(context);
    throw error;
  }
}

async function requireWorkflow(context: Context): Promise<void> {
  const { mode } = await context.call(apps.info, {});
  if (mode === "workflow") return;
  throw new CliError(
    "unsupported",
    `this key opens an application of mode ${mode}, not a workflow`,
    { changed: "nothing", hint: "chat applications are used with `wf chat send`" },
  );
}

function fieldOf(control: string, value: unknown): FormField {
  const field = isObject(value) ? value : {};
  return {
    control,
    variable: String(field["variable"]),
    required: field["required"] === true,
    options: Array.isArray(field["options"]) ? field["options"].map(String) : [],
    maxLength:
      typeof field["max_length"] === "number" && field["max_length"] > 0
        ? field["max_length"]
        : undefined,
    hasDefault:
      field["default"] !== undefined && field["default"] !== null && field["default"] !== "",
  };
}

/** What the form makes of a text: numbers, yes or no, JSON; everything else stays text. */
function typed(field: FormField | undefined, text: string): unknown {
  switch (field?.control) {
    case "number": {
      const value = Number(text);
      if (text.trim() === "" || !Number.isFinite(value)) {
        throw wrong(`--input ${field.variable}=${JSON.stringify(text)} is not a number`);
      }
      return value;
    }
    case "checkbox":
      if (text !== "true" && text !== "false") {
        throw wrong(`--input ${field.variable}=${JSON.stringify(text)} is neither true nor false`);
      }
      return text === "true";
    case "file":
    case "file-list":
    case "json_object":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw wrong(
          `--input ${field.variable} is not JSON`,
          'files are {"type", "transfer_method", "upload_file_id"}',
        );
      }
    default:
      return text;
  }
}

function check(field: FormField, value: unknown): void {
  const name = field.variable;
  if (value === undefined || value === null || value === "") {
    if (field.required && !field.hasDefault) {
      throw wrong(`the input ${JSON.stringify(name)} is required`, `add --input ${name}=…`);
    }
    return;
  }
  if (field.options.length > 0 && !field.options.includes(String(value))) {
    throw wrong(
      `the input ${name} ${JSON.stringify(value)} is not one of ${field.options.join(", ")}`,
    );
  }
  if (
    field.maxLength !== undefined &&
    typeof value === "string" &&
    [...value].length > field.maxLength
  ) {
    throw wrong(
      `the input ${name} has ${[...value].length} characters; ${field.maxLength} are allowed`,
    );
  }
}

const wrong = (message: string, hint?: string) =>
  new CliError("usage", message, { changed: "nothing", hint });
