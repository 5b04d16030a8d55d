import { basename } from "node:path";
import { usage } from "../../../errors.ts";
import { shellQuote } from "../../../lib/command-line.ts";
import { isFiniteNumber, isNumeric, typedNumber } from "../../../lib/exact-number.ts";
import { define, isObject, own, stringifyJson, parseJson } from "../../../lib/json.ts";
import type { FormInput } from "../../../operations/forms.ts";
import { requireNear } from "../../../host/safe-path.ts";
import { uploadFile } from "../../../operations/files.ts";
import type { Context } from "../../task/command-spec.ts";
import { getAppParameters } from "../../../operations/apps.ts";
import { inputNames, isAssignment, notAssigned } from "./not-assigned.ts";

/** An input field of an application, or of the form of a paused run. */
export interface Field {
  readonly variable: string;
  /** Its name for people. */
  readonly label: string;
  /** text-input, paragraph, number, select, checkbox, file, file-list, json_object. */
  readonly control: string;
  readonly required: boolean;
  /** Undefined if there is none, or an empty one. */
  readonly default: unknown;
  /** Empty if any value is valid. */
  readonly options: readonly string[];
  /** Maximum number of characters, or of files. */
  readonly max: number | undefined;
  readonly files: FileRules;
}

/** Files that a field accepts; an empty list accepts all. */
interface FileRules {
  /** image, document, audio, video, custom. */
  readonly types: readonly string[];
  /** Extensions of custom files, with or without a dot. */
  readonly extensions: readonly string[];
  /** local_file, remote_url. */
  readonly methods: readonly string[];
}

/** Parses the input form of an application: `[{ "text-input": { variable, label, required, … } }]`. */
export function appFields(form: readonly unknown[]): readonly Field[] {
  return form.flatMap((entry) =>
    Object.entries(isObject(entry) ? entry : {}).flatMap(([control, field]) => {
      const variable = isObject(field) ? field["variable"] : undefined;
      if (!isObject(field) || typeof variable !== "string") return [];
      const { max_length: max, label } = field;
      return {
        variable,
        label: typeof label === "string" && label !== "" ? label : variable,
        control,
        required: field["required"] === true,
        default: unlessEmpty(field["default"]),
        options: texts(field["options"]),
        max: typeof max === "number" && max > 0 ? max : undefined,
        files: rulesIn(field),
      };
    }),
  );
}

/** The fields of the application, which one request reads. */
export async function applicationFields({ api }: Context): Promise<readonly Field[]> {
  const { user_input_form } = await api.call(getAppParameters, {});
  return appFields(user_input_form ?? []);
}

/** Fields of the form of a paused run; each requires a value, which may be empty. */
export const formFields = (
  inputs: readonly FormInput[],
  defaults: Readonly<Record<string, unknown>>,
): readonly Field[] =>
  inputs.map((input) => ({
    variable: input.output_variable_name,
    label: input.output_variable_name,
    control: input.type,
    required: false,
    default: unlessEmpty(own(defaults, input.output_variable_name) ?? input.default?.value),
    options: input.option_source?.type === "constant" ? input.option_source.value : [],
    max: input.number_limits,
    files: rulesIn({ ...input }),
  }));

const unlessEmpty = (value: unknown): unknown =>
  value === null || value === "" ? undefined : value;

const rulesIn = (field: Readonly<Record<string, unknown>>): FileRules => ({
  types: texts(field["allowed_file_types"]),
  extensions: texts(field["allowed_file_extensions"]),
  methods: texts(field["allowed_file_upload_methods"]),
});

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

/** A file that is not uploaded yet. */
class LocalFile {
  readonly path: string;
  /** image, document, audio, video, custom. */
  readonly type: string;

  constructor(path: string, type: string) {
    this.path = path;
    this.type = type;
  }
}

/**
 * Parses `name=value` by the types of the fields and merges them over the initial values. A list of
 * files may be set several times. Throws `usage` for an unknown name or an invalid value; its hint knows the
 * applications in `apps`.
 */
export function parseAssignments(
  assignments: readonly string[],
  fields: readonly Field[],
  initial: Readonly<Record<string, unknown>>,
  apps?: readonly string[],
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...initial };
  const assigned = new Map<string, string>();
  for (const assignment of assignments) {
    const at = assignment.indexOf("=");
    if (!isAssignment(assignment)) throw notAssigned(assignments, fields, apps);
    const name = assignment.slice(0, at);
    const field = requireField(name, fields);
    if ((assigned.get(name) ?? assignment) !== assignment && field.control !== "file-list")
      throw usage(
        `input ${JSON.stringify(name)} has different values`,
        `${name}=VALUE and --input ${name}=VALUE are the same; give it once`,
      );
    assigned.set(name, assignment);
    const value = parseValue(field, assignment.slice(at + 1));
    const list = own(values, name);
    const next =
      field.control === "file-list"
        ? [...(Array.isArray(list) ? list : []), ...(Array.isArray(value) ? value : [value])]
        : value;
    define(values, name, next);
  }
  return values;
}

function requireField(name: string, fields: readonly Field[]): Field {
  const field = fields.find(({ variable }) => variable === name);
  if (field) return field;
  throw usage(`input ${JSON.stringify(name)} not found`, inputNames(fields));
}

/** Throws `usage` for unknown, missing or invalid values. */
export function checkValues(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
): void {
  for (const name of Object.keys(values)) requireField(name, fields);
  const open = fields.filter(({ variable }) => isEmpty(own(values, variable)));
  requireNone(open.filter((field) => field.required && field.default === undefined));
  for (const field of fields)
    if (!open.includes(field)) checkValue(field, own(values, field.variable));
}

const isEmpty = (value: unknown): boolean =>
  (value ?? "") === "" || (Array.isArray(value) && value.length === 0);

/** Throws `usage` that names all required fields without a value, with a value that each accepts. */
function requireNone(missing: readonly Field[]): void {
  if (missing.length === 0) return;
  const names = missing.map(({ variable }) => JSON.stringify(variable));
  const [noun, verb] = missing.length === 1 ? ["input", "is"] : ["inputs", "are"];
  const flags = missing.map((field) => {
    const [value = placeholders[field.control] ?? "…"] = field.options;
    return `--input ${shellQuote(`${field.variable}=`)}${value === "…" ? value : shellQuote(value)}`;
  });
  const all = new Intl.ListFormat("en-GB").format(names);
  throw usage(`${noun} ${all} ${verb} required`, `add ${flags.join(" ")}`);
}

/** What is typed for the types of fields that do not accept any text. */
const placeholders: Readonly<Record<string, string>> = {
  number: "1",
  checkbox: "true",
  file: "@FILE",
  "file-list": "@FILE",
  json_object: "{}",
};

function checkValue(field: Field, value: unknown): void {
  const { variable: name, max, options } = field;
  if (options.length > 0 && !options.includes(String(value)))
    throw usage(`input ${name}: ${stringifyJson(value)} is not one of ${options.join(", ")}`);
  if (max !== undefined && typeof value === "string" && [...value].length > max)
    throw usage(`input ${name} has ${[...value].length} characters (maximum ${max})`);
  if (max !== undefined && Array.isArray(value) && value.length > max)
    throw usage(`input ${name} has ${value.length} files (maximum ${max})`);
  if (field.control === "number" && !isNumber(value))
    throw usage(`input ${name}: ${stringifyJson(value)} is not a number`);
}

/** Whether a field of numbers takes a value; texts of numbers are numbers to servers. */
function isNumber(value: unknown): boolean {
  const number = typeof value === "string" ? typedNumber(value) : value;
  return isNumeric(number) && isFiniteNumber(number);
}

/** Parses numbers, booleans, files and JSON by the field; everything else stays text. */
function parseValue(field: Field, text: string): unknown {
  const { variable, control } = field;
  switch (control) {
    case "number": {
      const value = typedNumber(text);
      if (!isNumber(value))
        throw usage(`input ${variable}: ${JSON.stringify(text)} is not a number`);
      return value;
    }
    case "checkbox":
      if (text !== "true" && text !== "false")
        throw usage(`input ${variable}: ${JSON.stringify(text)} is not true or false`);
      return text === "true";
    case "file":
    case "file-list":
      return parseFile(field, text);
    case "json_object":
      return jsonOf(variable, text);
    default:
      return text;
  }
}

function jsonOf(variable: string, text: string, hint?: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw usage(`input ${variable}: invalid JSON`, hint);
  }
}

/** Parses `@path`, which is uploaded, a URL, or the JSON of the API. */
function parseFile({ variable, files }: Field, text: string): unknown {
  const requireMethod = (method: string) => {
    if (files.methods.length > 0 && !files.methods.includes(method))
      throw usage(`input ${variable} accepts files only by ${files.methods.join(", ")}`);
  };
  if (text.startsWith("@")) {
    requireMethod("local_file");
    const path = text.slice(1);
    return new LocalFile(path, typeOf(variable, path, files));
  }
  if (/^https?:\/\//.test(text)) {
    requireMethod("remote_url");
    if (!URL.canParse(text))
      throw usage(`input ${variable}: ${JSON.stringify(text)} is not a valid URL`);
    const type = typeOf(variable, new URL(text).pathname, files);
    return { type, transfer_method: "remote_url", url: text };
  }
  return jsonOf(
    variable,
    text,
    `to upload a file: --input ${variable}=@path; JSON needs type, transfer_method and upload_file_id`,
  );
}

/** File types by extension; all others are documents. */
const fileTypes: Readonly<Record<string, RegExp>> = {
  image: /^(jpe?g|png|gif|webp|svg)$/,
  audio: /^(mp3|m4a|wav|amr|mpga)$/,
  video: /^(mp4|mov|mpeg|webm)$/,
};

function typeOf(variable: string, path: string, { types, extensions }: FileRules): string {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  const type =
    Object.keys(fileTypes).find((name) => fileTypes[name]?.test(extension)) ?? "document";
  const custom = extensions.map((each) => each.replace(/^\./, "").toLowerCase());
  if (types.includes("custom") && custom.includes(extension)) return "custom";
  if (types.length === 0 || types.includes(type)) return type;
  const allowed = types.map((each) => (each === "custom" ? custom.join(", ") : each));
  throw usage(`input ${variable} accepts ${allowed.join(", ")}; ${path} has type ${type}`);
}

/** The inputs that a file of rows has. */
export interface NamedInputs {
  readonly file: string;
  readonly names: { has(name: string): boolean };
}

/** Throws `usage` if a local file does not exist, or if a file that names it may not. */
export async function requireFiles(
  values: Readonly<Record<string, unknown>>,
  { host, options: { flags } }: Context,
  from?: NamedInputs,
): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    for (const file of [value].flat()) {
      if (!(file instanceof LocalFile)) continue;
      if (from?.names.has(name))
        await requireNear(file.path, { file: from.file, allowed: flags.allowFiles }, host);
      const stat = await host.files.stat(file.path);
      if (stat && !stat.isDirectory) continue;
      const problem = stat ? "is a directory" : "not found";
      throw usage(`input ${name}: ${file.path} ${problem}`);
    }
  }
}

/**
 * Uploads local files and returns the values with the IDs of the files. If a later request fails, the
 * uploaded files stay on the server, which has no way to delete them.
 */
export async function uploadInputFiles(
  values: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<Record<string, unknown>> {
  const upload = async (value: unknown): Promise<unknown> => {
    if (!(value instanceof LocalFile)) return value;
    const { path, type } = value;
    const { id } = await context.api.call(uploadFile, { file: { path, name: basename(path) } });
    await context.trace(1, `uploaded ${path} as ${id}`);
    return { type, transfer_method: "local_file", upload_file_id: id };
  };
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const uploaded: unknown[] = [];
    for (const each of [value].flat()) uploaded.push(await upload(each));
    define(result, name, Array.isArray(value) ? uploaded : uploaded[0]);
  }
  return result;
}

/**
 * The values of --inputs with those of --input over them, which the form of the application types and
 * whose files are uploaded. Throws `usage` for an unknown name or an invalid value.
 */
export async function assignedInputs(
  {
    input = [],
    inputs,
  }: { readonly input?: readonly string[] | undefined; readonly inputs?: unknown },
  context: Context,
): Promise<Record<string, unknown>> {
  const given = isObject(inputs) ? inputs : {};
  if (input.length === 0) return given;
  const values = parseAssignments(input, await applicationFields(context), given);
  await requireFiles(values, context);
  return uploadInputFiles(values, context);
}
