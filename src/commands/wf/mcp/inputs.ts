import { usage } from "../../../errors.ts";
import { own } from "../../../lib/json.ts";
import { checkValues, parseAssignments } from "../forms/index.ts";
import type { Field } from "../forms/index.ts";

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

const isPlain = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

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
