import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/server";
import { isObject, own } from "../../lib/json.ts";
import { isList, retryOf } from "../../operations/operation.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type {
  CallableCommand,
  CallScope,
  CommandResult,
  CommandRunner,
} from "../task/command-runner.ts";
import type { Context } from "../task/command-spec.ts";
import { effectOf } from "./permissions.ts";
import { errorResult, structuredResult, withToolCalls } from "./results.ts";
import type { ToolCallOf } from "./results.ts";
import {
  DEFAULT_ROWS,
  helpForTool,
  hintForTool,
  inputSchemaOf,
  isGivenByCaller,
  shownFields,
} from "./schema.ts";
import type { ClientRequest, OfferedTool } from "./schema.ts";

type Values = Readonly<Record<string, unknown>>;

/** How the tools of one server differ from the commands that they run. */
export interface ToolSetting {
  readonly runner: CommandRunner<Context>;
  readonly permit: CallScope["permit"];
  /** The values of the command, and the application that it is for. Throws CliError. */
  prepare(values: Values): { readonly values: Values; readonly app?: string | undefined };
  readonly toolCall: ToolCallOf;
  /** Arguments of each tool beside those of its command, and which of them are required. */
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** `["kb", "doc", "list"]` → `doc_list` */
export const toolName = ({ words }: Pick<CallableCommand, "words">): string =>
  words.slice(1).join("_").replaceAll("-", "_");

const plainResults = ["record", "list", "page", "cursor", "json", "report", "nothing"];

/** Does the command need nothing but what a caller can give, and give nothing but JSON? */
export const isOffered = (command: CallableCommand): boolean =>
  command.key !== undefined &&
  command.isTool &&
  plainResults.includes(command.returns.kind) &&
  command.arguments.every(({ param, required }) => !required || isGivenByCaller(param));

function annotationsOf(command: CallableCommand): ToolAnnotations {
  const effect = effectOf(command);
  const [row] = command.sends;
  return {
    readOnlyHint: effect === "reads",
    destructiveHint: effect === "destroys",
    idempotentHint: effect === "reads" || (command.sends.length === 1 && isIdempotent(row)),
    openWorldHint: false,
  };
}

/** Deleting twice changes nothing more, and neither does setting the same value. */
const isIdempotent = (row: AnyOperation | undefined): boolean =>
  row !== undefined && (row.destructive === true || retryOf(row) !== "never");

/** The tool that runs a command. */
export function commandTool(command: CallableCommand, setting: ToolSetting): OfferedTool {
  const { summary, about = "" } = command;
  const inputSchema = inputSchemaOf(command, setting);
  const help = about.split("\n\n").map((paragraph) => helpForTool(paragraph, inputSchema));
  const paragraphs = [`${summary}.`, ...help];
  return {
    name: toolName(command),
    title: summary,
    description: paragraphs.filter(Boolean).join("\n\n"),
    inputSchema,
    annotations: annotationsOf(command),
    call: (values, request) => callCommand(command, values, request, setting),
  };
}

async function callCommand(
  command: CallableCommand,
  given: Values,
  { signal, progress }: ClientRequest,
  { runner, permit, prepare, toolCall, properties }: ToolSetting,
): Promise<CallToolResult> {
  const { values, app } = prepare(given);
  const page = pageOf(given);
  const rows = isList(command.returns) ? rowsOf(command, page) : undefined;
  const ran = await runner.run({ command, values, rows }, { signal, progress, permit, app });
  const schema = inputSchemaOf(command, properties && { properties });
  const inTools = (text: string) =>
    withToolCalls(hintForTool(text, schema), (words) => toolCall(words, app));
  const result = { ...ran, notices: await Promise.all(ran.notices.map(inTools)) };
  const shown = isList(command.returns)
    ? structuredResult(pageResult(command, result, page), result)
    : singleResult(result);
  if (result.error === undefined) return shown;
  const { hint } = result.error.info;
  return errorResult(
    hint === undefined ? result.error : result.error.with({ hint: hintForTool(hint, schema) }),
    (words) => toolCall(words, app),
    result.values.length > 0 ? shown : undefined,
  );
}

type RequestedPage = ReturnType<typeof pageOf>;
const pageOf = (values: Values) => ({
  page: Number(own(values, "page") ?? 1),
  limit: Number(own(values, "limit") ?? DEFAULT_ROWS),
});

/** Only some lists have numbered pages; others are read up to the end of the page. */
const rowsOf = ({ returns }: CallableCommand, { page, limit }: RequestedPage) =>
  returns.kind === "page" ? { limit, page } : { limit: page * limit + 1 };

function pageResult(
  command: CallableCommand,
  { values, total }: CommandResult,
  { page, limit }: RequestedPage,
): Values {
  const isNumbered = command.returns.kind === "page";
  const items = isNumbered ? values : values.slice((page - 1) * limit, page * limit);
  const isWhole = command.returns.kind === "list";
  const count = isWhole ? values.length : total;
  const more = isNumbered ? hasMore(values, total, { page, limit }) : values.length > page * limit;
  const fields = shownFields(command.returns);
  return {
    items: items.map((row) => (isObject(row) ? pickFields(row, fields) : row)),
    ...(count !== undefined && { total: count }),
    ...(more && { next_page: page + 1 }),
  };
}

/** Is there a page after this one? Without a total, a full page may be the last one. */
export const hasMore = (
  rows: readonly unknown[],
  total: number | undefined,
  { page, limit }: RequestedPage,
): boolean => (total === undefined ? rows.length >= limit : page * limit < total);

/** A row with the fields that its list shows; a model has no use for the others. */
const pickFields = (row: Values, fields: readonly string[]): Values =>
  Object.fromEntries(fields.flatMap((name) => (name in row ? [[name, row[name]]] : [])));

/** The one value of a command, a report as its data; the outcomes of one over several items. */
function singleResult({ values, notices }: CommandResult): CallToolResult {
  const [first] = values;
  const value = isObject(first) && Array.isArray(first["sections"]) ? first["data"] : first;
  if (values.length === 0) return structuredResult({ result: "success" }, { notices });
  if (values.length > 1) return structuredResult({ items: values }, { notices });
  return structuredResult(isObject(value) ? value : { result: value }, { notices });
}
