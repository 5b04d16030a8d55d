import { CliError, usage } from "../../errors.ts";
import { isAccessToken } from "../../lib/api-key.ts";
import { valueAt, own } from "../../lib/json.ts";
import { getAppInfo, getAppParameters } from "../../operations/apps.ts";
import { asText } from "../../operations/operation.ts";
import type { CommandRunner, CallScope } from "../task/command-runner.ts";
import type { Context } from "../task/command-spec.ts";
import { isChatMode } from "../wf/app/index.ts";
import { appFields, checkValues, parseAssignments } from "../wf/forms/index.ts";
import type { Field } from "../wf/forms/index.ts";

/** An application that a server offers as a tool. */
export type OfferedApplication = ReturnType<typeof withToolNames>[number];

/** Reads the applications to offer; a notice names those that cannot be read. Throws if none can be read. */
export async function readOffered(
  runner: CommandRunner<Context>,
  permit: CallScope["permit"],
  context: Context,
): Promise<readonly OfferedApplication[]> {
  const scope = { signal: context.host.signal, permit, progress: () => {} };
  const read = (await namesOf(runner, context)).map(async (app) => {
    const { context: inner, close } = runner.open({ ...scope, app });
    try {
      return { found: await readApplication(app, inner) };
    } catch (error) {
      if (error instanceof CliError) return { failed: { app, error } };
      throw error;
    } finally {
      await close();
    }
  });
  const all = await Promise.all(read);
  const failed = all.flatMap((each) => each.failed ?? []);
  const found = all.flatMap((each) => each.found ?? []);
  if (found.length === 0 && failed[0]) throw failed[0].error;
  for (const { app, error } of failed)
    await context.notice(`application ${app ?? ""} is not offered: ${error.message}`);
  return withToolNames(found);
}

async function namesOf(
  runner: CommandRunner<Context>,
  { options, host }: Context,
): Promise<readonly (string | undefined)[]> {
  const { app, profile } = options.flags;
  if (app !== undefined) return [app];
  // The key of the environment belongs to one application, unless -p selects those of a profile.
  const key = host.env["KB_APP_KEY"] ?? "";
  if (profile === undefined && key !== "" && !isAccessToken(key)) return [undefined];
  const { apps } = await runner.settings();
  return apps.length === 0 ? [undefined] : apps;
}

/** `app` is its name in the profile; undefined for the key of the environment. */
async function readApplication(app: string | undefined, context: Context) {
  const [info, { user_input_form }] = await Promise.all([
    context.api.call(getAppInfo, {}),
    context.api.call(getAppParameters, {}),
  ]);
  const mode = info.mode ?? "workflow";
  return {
    app,
    name: info.name || app || "application",
    description: oneLine(asText(valueAt(info, "description"))),
    kind: kindOf(mode),
    mode,
    fields: appFields(user_input_form ?? []),
  };
}

function kindOf(mode: string): "workflow" | "chat" | "completion" {
  if (isChatMode(mode)) return "chat";
  return mode === "completion" ? "completion" : "workflow";
}

const MAX_DESCRIPTION = 300;

const oneLine = (text: string): string =>
  [...text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()].slice(0, MAX_DESCRIPTION).join("");

/** `run_support`; a number makes equal names different. */
function withToolNames(applications: readonly Awaited<ReturnType<typeof readApplication>>[]) {
  const used = new Map<string, number>();
  return applications.map((application) => {
    const words = (application.app ?? application.name).toLowerCase().replace(/[^a-z\d]+/g, "_");
    const base = `run_${words.replace(/^_|_$/g, "").slice(0, 50) || "application"}`;
    const count = (used.get(base) ?? 0) + 1;
    used.set(base, count);
    return { ...application, tool: count === 1 ? base : `${base}_${count}` };
  });
}

/** A JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

/** The schemas of the inputs of an application, and the names of those that it needs. */
export const inputSchemas = (fields: readonly Field[]) => ({
  properties: Object.fromEntries(fields.map((field) => [field.variable, fieldSchema(field)])),
  required: fields
    .filter((field) => field.required && field.default === undefined)
    .map(({ variable }) => variable),
});

/** The schema of the value of a field. */
function fieldSchema(field: Field): Schema {
  const { label, variable, default: preset, options, max, control } = field;
  const named = { ...(label !== variable && { title: label }), description: descriptionOf(field) };
  const common = { ...named, ...(isPlain(preset) && { default: preset }) };
  if (options.length > 0) return { type: "string", enum: options, ...common };
  switch (control) {
    case "number":
      return { type: "number", ...common };
    case "checkbox":
      return { type: "boolean", ...common };
    case "json_object":
      return { type: "object", ...named };
    case "file":
      return { ...fileSchema, ...named };
    case "file-list":
      return {
        type: "array",
        items: fileSchema,
        ...(max !== undefined && { maxItems: max }),
        ...named,
      };
    default:
      return { type: "string", ...(max !== undefined && { maxLength: max }), ...common };
  }
}

const isPlain = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);

const fileSchema: Schema = { type: "string", pattern: "^https?://" };

function descriptionOf({ label, control, files }: Field): string {
  if (!control.startsWith("file")) return label;
  const kinds = files.types.length === 0 ? "" : ` (${files.types.join(", ")})`;
  return `${label}: URL of a file${kinds}`;
}

/** The values as the server takes them. Throws usage for a missing or invalid one. */
export function inputValues(
  fields: readonly Field[],
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isFile = ({ control }: Field) => control.startsWith("file");
  const urls = fields.filter(isFile).flatMap(({ variable }) =>
    [own(given, variable) ?? []].flat().map((url) => {
      // Files of this machine are never uploaded, however they are written.
      if (typeof url !== "string" || !/^https?:\/\//.test(url))
        throw usage(`input ${variable} is not a URL`, "pass http:// or https://");
      return `${variable}=${url}`;
    }),
  );
  const others = Object.fromEntries(
    fields.flatMap((field) => {
      const value = isFile(field) ? undefined : own(given, field.variable);
      return value === undefined ? [] : [[field.variable, value]];
    }),
  );
  const values = parseAssignments(urls, fields, others);
  checkValues(fields, values);
  return values;
}
