import { isList, readColumns, wideOnly } from "../../operations/operation.ts";
import type { Param, Returns, Shape } from "../../operations/operation.ts";
import type { CallableCommand, CommandArgument, CallScope } from "../task/command-runner.ts";
import type {
  CallToolResult,
  CompleteResult,
  InputRequiredResult,
  ListResourcesResult,
  Prompt,
  ReadResourceResult,
  ResourceTemplateType,
  ToolAnnotations,
} from "@modelcontextprotocol/server";

/** A JSON Schema; an empty one allows everything. */
type Schema = Readonly<Record<string, unknown>>;

/** Rows of a list in one result: the default, and the most. */
export const DEFAULT_ROWS = 20;
export const MAX_ROWS = 100;

const paging = {
  page: { type: "integer", minimum: 1, description: "Page of the list (default 1)" },
  limit: {
    type: "integer",
    minimum: 1,
    maximum: MAX_ROWS,
    description: `Rows per page (default ${DEFAULT_ROWS})`,
  },
} as const;

/** The schema of the arguments of a command. */
export function inputSchemaOf(
  command: CallableCommand,
  more: {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  } = {},
): ObjectSchema {
  const given = command.arguments.filter(({ param }) => isGivenByCaller(param));
  const required = given.filter((each) => each.required).map(({ name }) => name);
  const own = Object.fromEntries(
    given.map((each) => [each.name, argumentSchema(each, command.returns)]),
  );
  const properties = { ...own, ...(isList(command.returns) && paging), ...more.properties };
  return objectSchema(
    Object.fromEntries(
      Object.entries<Schema>(properties).map(([name, { description, ...schema }]) => [
        name,
        { ...schema, description: withArguments(String(description), { properties }) },
      ]),
    ),
    [...required, ...(more.required ?? [])],
  );
}

/** The schema of an object with these properties and no others. */
export const objectSchema = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): ObjectSchema => ({
  type: "object",
  properties: { ...properties },
  ...(required.length > 0 && { required: [...required] }),
  additionalProperties: false,
});

/** Callers know no files of this machine. */
export const isGivenByCaller = ({ kind, isOutputPath, isAboutFiles }: Param): boolean =>
  kind !== "file" && kind !== "content" && !isOutputPath && !isAboutFiles;

function argumentSchema({ param, many }: CommandArgument, returns: Returns<never>): Schema {
  const { serverDefault, length } = param;
  const help = helpOf(param, returns);
  const description = serverDefault === undefined ? help : `${help} (default ${serverDefault})`;
  if (!many || param.kind === "json") return { ...valueSchema(param), description };
  const items = valueSchema(param.many ? { ...param, length: undefined } : param);
  // Its length is that of the list.
  const limits =
    param.many && length ? { minItems: length[0], maxItems: length[1] } : { minItems: 1 };
  return { type: "array", items, ...limits, description };
}

/** The help of a parameter. What a condition can be about has the names that it has in the results. */
function helpOf({ help, names }: Param, returns: Returns<never>): string {
  if (!names) return help;
  const columns = "columns" in returns ? readColumns(returns.columns) : [];
  const nameOf = (name: string) => columns.find(({ label }) => label === name)?.path ?? name;
  const [labels, fields] = [names.join(", "), names.map(nameOf).join(", ")];
  return help.includes(labels) ? help.replace(labels, fields) : `${help} (fields: ${fields})`;
}

/** A parameter, or a part of a JSON value, by what limits it; the length of a list is not that of its items. */
type Limited = { readonly [K in Limit]?: Param[K] | undefined } & { readonly kind: Param["kind"] };
type Limit = "choices" | "range" | "length" | "shape" | "listed";

function valueSchema({ kind, choices, range, length, shape, listed }: Limited): Schema {
  const limits = range && { minimum: range[0], maximum: range[1] };
  switch (kind) {
    case "flag":
      return { type: "boolean" };
    case "integer":
    case "number":
      return { type: kind, ...limits };
    case "choice":
      return { type: "string", enum: choices };
    case "json":
      return shape ? shapeSchema(shape) : {};
    case "uuid":
      // The beginning of an ID selects what is listed.
      return { type: "string", minLength: listed ? 8 : 36 };
    case "time":
      return { type: "string", description: "ISO 8601" };
    default:
      return { type: "string", ...(length && { minLength: length[0], maxLength: length[1] }) };
  }
}

function shapeSchema(shape: Shape): Schema {
  switch (shape.kind) {
    case "text":
      return valueSchema({ kind: shape.choices ? "choice" : "text", choices: shape.choices });
    case "list":
      return {
        type: "array",
        items: shapeSchema(shape.of),
        ...(shape.length && { minItems: shape.length[0], maxItems: shape.length[1] }),
      };
    case "object":
      return fieldsSchema(shape.fields ?? {});
    case "integer":
      return valueSchema(shape);
    default:
      return shape.kind === "any" ? {} : valueSchema({ kind: shape.kind });
  }
}

/** A value or null. Some clients do not read lists of types. */
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });

/** Unknown fields are allowed, and null where a field is not required. */
function fieldsSchema(fields: Readonly<Record<string, Shape>>): Schema {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => field.required).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, field]) => [
        name,
        field.required ? shapeSchema(field) : orNull(shapeSchema(field)),
      ]),
    ),
    ...(required.length > 0 && { required }),
  };
}

/** The fields of a row that its columns show: the first words of their paths. */
export function shownFields(returns: Returns<never>): readonly string[] {
  if (!("columns" in returns)) return [];
  const paths = returns.columns.map((column) => {
    if (typeof column === "string") return column;
    const [label, path] = column;
    return typeof path === "string" ? path : label;
  });
  const { namePath = "id" } = returns;
  const fields = [...paths, namePath].filter((path) => path !== wideOnly);
  return [...new Set(fields.map((path) => path.split(".")[0] ?? path))];
}

/** A JSON Schema of an object. */
export type ObjectSchema = Readonly<Record<string, unknown>> & { readonly type: "object" };

/** Does a text speak of flags or exit codes? Commands in backticks become calls of tools. */
const isOfCommandLine = (text: string): boolean =>
  /(?:^|[\s(])--?[a-z]|\bexits?\b.{0,80}\b(?:code|\d+)\b/i.test(text.replace(/`[^`]*`/g, ""));

/** A text of a command with the names of arguments for their flags. */
const withArguments = (text: string, schema: Schema): string =>
  text.replace(/`[^`]*`|--([a-z][a-z\d-]*)/g, (shown, flag?: string) => {
    const name = flag?.replaceAll("-", "_") ?? "";
    return Object.hasOwn((schema["properties"] ?? {}) as object, name) ? name : shown;
  });

/** A hint for the callers of a tool, without its parts about other flags if others are left. */
export function hintForTool(hint: string, schema: ObjectSchema): string {
  const named = withArguments(hint, schema);
  const parts = named.split("; ").filter((part) => !isOfCommandLine(part));
  return parts.join("; ") || named;
}

/** A paragraph of help for the callers of a tool, without sentences about other flags and exit codes. */
export const helpForTool = (help: string, schema: ObjectSchema): string =>
  withArguments(help.replaceAll("\n", " "), schema)
    .split(/(?<=\.)\s+(?=[A-Z-])/)
    .filter((sentence) => !isOfCommandLine(sentence))
    .join(" ");

/** A request of a client, as a tool sees it. */
export interface ClientRequest extends Pick<CallScope, "signal" | "progress"> {
  /** Can the client ask its user to fill in a form? */
  readonly elicits: boolean;
  /** What the user replied to the question under this key; undefined before it was asked. */
  reply(key: string): UserReply | undefined;
  /** The state that a tool returned with its question, verified. */
  state(): unknown;
}

/** The reply of a user to a form: the values only if it was accepted. */
export interface UserReply {
  readonly accepted: boolean;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A tool that a server offers. */
export interface OfferedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema | undefined;
  readonly annotations: ToolAnnotations;
  /** The application that a call is for, which the next step of its error names. */
  readonly appOf?: (values: Readonly<Record<string, unknown>>) => string | undefined;
  /** Throws CliError. `values` are valid by the input schema. */
  readonly call: (
    values: Readonly<Record<string, unknown>>,
    request: ClientRequest,
  ) => Promise<CallToolResult | InputRequiredResult>;
}

/** What a client may assume of a tool that only reads. */
export const readingTool: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** A prompt that a server offers; a missing value is an empty text. */
export interface OfferedPrompt extends Prompt {
  readonly text: (values: Readonly<Record<string, string>>) => string;
}

/** The documents that a server offers as resources. Its functions throw CliError. */
export interface OfferedResources {
  readonly templates: readonly ResourceTemplateType[];
  list(cursor: string | undefined, request: ClientRequest): Promise<ListResourcesResult>;
  read(uri: string, request: ClientRequest): Promise<ReadResourceResult>;
}

/** Everything that a server offers. */
export interface Offer {
  readonly title: string;
  /** How to use it, for models. */
  readonly instructions: string;
  readonly tools: readonly OfferedTool[];
  readonly prompts: readonly OfferedPrompt[];
  readonly resources?: OfferedResources | undefined;
  /** Values that begin with a text, for an argument of a prompt or a template. */
  complete(
    argument: string,
    text: string,
    others: Readonly<Record<string, string>>,
    request: ClientRequest,
  ): Promise<CompleteResult["completion"]["values"]>;
}
