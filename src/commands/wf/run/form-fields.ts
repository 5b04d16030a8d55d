import { CliError } from "../../../errors.ts";
import { define, isObject, own } from "../../../lib/json.ts";
import type { FormInput } from "../../../operations/forms.ts";

/** A field that is filled in before a run starts, or while it waits. */
export interface Field {
  readonly variable: string;
  /** text-input, paragraph, number, select, checkbox, file, file-list, json_object. */
  readonly control: string;
  readonly required: boolean;
  readonly hasDefault: boolean;
  /** Empty where any value goes. */
  readonly options: readonly string[];
  /** Characters of a text, files of a list. */
  readonly most: number | undefined;
  readonly files: FileRules;
}

/** What files a field takes; empty lists say nothing. */
export interface FileRules {
  /** image, document, audio, video, custom. */
  readonly types: readonly string[];
  /** Of custom files, with or without a dot. */
  readonly extensions: readonly string[];
  /** local_file, remote_url. */
  readonly methods: readonly string[];
}

/** A field of an application's input form: `{ "text-input": { variable, label, required, … } }`. */
export function applicationFields(form: readonly unknown[]): readonly Field[] {
  return form.flatMap((entry) =>
    Object.entries(isObject(entry) ? entry : {}).flatMap(([control, field]) => {
      // A field without a name takes no value.
      const variable = isObject(field) ? field["variable"] : undefined;
      if (!isObject(field) || typeof variable !== "string") return [];
      const most = field["max_length"];
      const usual = field["default"];
      return {
        variable,
        control,
        required: field["required"] === true,
        hasDefault: usual !== undefined && usual !== null && usual !== "",
        options: texts(field["options"]),
        most: typeof most === "number" && most > 0 ? most : undefined,
        files: rulesIn(field),
      };
    }),
  );
}

/** Fields of a form that a run waits for; each needs a value, which may be empty. */
export const formFields = (
  inputs: readonly FormInput[],
  defaults: Readonly<Record<string, unknown>>,
): readonly Field[] =>
  inputs.map((input) => ({
    variable: input.output_variable_name,
    control: input.type,
    required: false,
    hasDefault: (own(defaults, input.output_variable_name) ?? input.default?.value ?? "") !== "",
    options: input.option_source?.type === "constant" ? input.option_source.value : [],
    most: input.number_limits,
    files: rulesIn({ ...input }),
  }));

const rulesIn = (field: Readonly<Record<string, unknown>>): FileRules => ({
  types: texts(field["allowed_file_types"]),
  extensions: texts(field["allowed_file_extensions"]),
  methods: texts(field["allowed_file_upload_methods"]),
});

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

/** A file that is to be uploaded, where its value will stand. */
export interface LocalInputFile {
  readonly path: string;
  /** image, document, audio, video, custom. */
  readonly type: string;
}

const isLocal = Symbol("local file");
/** Stands for a file among values until it is uploaded. */
type Pending = LocalInputFile & { readonly [isLocal]: true };

export const isPending = (value: unknown): value is Pending => isObject(value) && isLocal in value;

/**
 * Values of `name=value` lines, typed by their fields, over those that are there already. A field
 * that takes several files may be named several times. Throws usage for a name that no field has
 * and for a value that does not fit.
 */
export function assigned(
  assignments: readonly string[],
  fields: readonly Field[],
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...before };
  for (const assignment of assignments) {
    const at = assignment.indexOf("=");
    if (at < 1) throw wrong(`--input ${JSON.stringify(assignment)} is no name=value`);
    const name = assignment.slice(0, at);
    const field = requireField(name, fields);
    const value = typed(field, assignment.slice(at + 1));
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
  const names = fields.map(({ variable }) => variable).join(", ");
  throw wrong(
    `there is no input ${JSON.stringify(name)}`,
    names === "" ? "it takes none" : `it has: ${names}`,
  );
}

/** Refuses values that no field has, that are missing, or that do not fit, before anything is sent. */
export function checkValues(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
): void {
  for (const name of Object.keys(values)) requireField(name, fields);
  for (const field of fields) checkValue(field, own(values, field.variable));
}

function checkValue(field: Field, value: unknown): void {
  const { variable: name, most, options } = field;
  const empty = value === undefined || value === null || value === "";
  if (empty || (Array.isArray(value) && value.length === 0)) {
    if (!field.required || field.hasDefault) return;
    throw wrong(`the input ${JSON.stringify(name)} is required`, `add --input ${name}=…`);
  }
  if (options.length > 0 && !options.includes(String(value)))
    throw wrong(`the input ${name} ${JSON.stringify(value)} is not one of ${options.join(", ")}`);
  if (most !== undefined && typeof value === "string" && [...value].length > most)
    throw wrong(`the input ${name} has ${[...value].length} characters; ${most} are allowed`);
  if (most !== undefined && Array.isArray(value) && value.length > most)
    throw wrong(`the input ${name} has ${value.length} files; ${most} are allowed`);
  if (field.control === "number" && !Number.isFinite(Number(value)))
    throw wrong(`the input ${name} ${JSON.stringify(value)} is not a number`);
}

/** What the form makes of a text: numbers, yes or no, files, JSON; everything else stays text. */
function typed(field: Field, text: string): unknown {
  const { variable, control } = field;
  switch (control) {
    case "number": {
      const value = Number(text);
      if (text.trim() === "" || !Number.isFinite(value))
        throw wrong(`--input ${variable}=${JSON.stringify(text)} is not a number`);
      return value;
    }
    case "checkbox":
      if (text !== "true" && text !== "false")
        throw wrong(`--input ${variable}=${JSON.stringify(text)} is neither true nor false`);
      return text === "true";
    case "file":
    case "file-list":
      return fileValue(field, text);
    case "json_object":
      return jsonIn(variable, text);
    default:
      return text;
  }
}

function jsonIn(variable: string, text: string, hint?: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw wrong(`--input ${variable} is not JSON`, hint);
  }
}

/** `@path` is uploaded, an address is sent as it is, anything else is the JSON of the API. */
function fileValue({ variable, files }: Field, text: string): unknown {
  const refuse = (method: string) => {
    if (files.methods.length > 0 && !files.methods.includes(method))
      throw wrong(`the input ${variable} takes files by ${files.methods.join(", ")} only`);
  };
  if (text.startsWith("@")) {
    refuse("local_file");
    const path = text.slice(1);
    const pending: Pending = { path, type: typeOf(variable, path, files), [isLocal]: true };
    return pending;
  }
  if (/^https?:\/\//.test(text)) {
    refuse("remote_url");
    if (!URL.canParse(text))
      throw wrong(`--input ${variable}=${JSON.stringify(text)} is no address`);
    const type = typeOf(variable, new URL(text).pathname, files);
    return { type, transfer_method: "remote_url", url: text };
  }
  return jsonIn(
    variable,
    text,
    `--input ${variable}=@path uploads a file; JSON is {"type", "transfer_method", "upload_file_id"}`,
  );
}

/** Kinds of file by their extension; all others are documents. */
const kinds: Readonly<Record<string, RegExp>> = {
  image: /^(jpe?g|png|gif|webp|svg)$/,
  audio: /^(mp3|m4a|wav|amr|mpga)$/,
  video: /^(mp4|mov|mpeg|webm)$/,
};

function typeOf(variable: string, path: string, { types, extensions }: FileRules): string {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  const usual = Object.keys(kinds).find((kind) => kinds[kind]?.test(extension)) ?? "document";
  const custom = extensions.map((each) => each.replace(/^\./, "").toLowerCase());
  if (types.includes("custom") && custom.includes(extension)) return "custom";
  if (types.length === 0 || types.includes(usual)) return usual;
  const allowed = types.map((type) => (type === "custom" ? custom.join(", ") : type));
  throw wrong(
    `the input ${variable} takes ${allowed.join(", ")}; ${path} is ${usual === "document" ? "a" : "an"} ${usual}`,
  );
}

const wrong = (message: string, hint?: string) =>
  new CliError("usage", message, { sideEffect: "none", hint });
