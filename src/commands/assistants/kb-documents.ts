import { attempt, isObject, valueAt, own, stringifyJson } from "../../lib/json.ts";
import { asText, retryOf } from "../../operations/operation.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type {
  CallableCommand,
  CallScope,
  CommandResult,
  CommandRunner,
} from "../task/command-runner.ts";
import type { Context } from "../task/command-spec.ts";
import { notFound, usage } from "../../errors.ts";
import { getKnowledgeBase } from "../../operations/knowledge.ts";
import { requirePermission } from "./permissions.ts";
import type { Permissions } from "./permissions.ts";

/** Values of a command; `kb` is the name or ID of a knowledge base. */
type CommandValues = Readonly<Record<string, unknown>> & { readonly kb?: string };

/** What a server can run, and on which knowledge bases. */
export interface DocumentSetting {
  readonly runner: CommandRunner<Context>;
  readonly commands: readonly CallableCommand[];
  readonly permit: CallScope["permit"];
  /** Undefined for all. */
  readonly allowed: readonly AllowedBase[] | undefined;
}

export type Documents = ReturnType<typeof documentsOf>;

/** Runs the commands that read knowledge bases, within the limits of a server. They throw CliError. */
export function documentsOf({ runner, commands, permit, allowed }: DocumentSetting) {
  /** The values with the ID of an allowed knowledge base, so that no other name is looked up. */
  const within = <V extends Readonly<Record<string, unknown>>>(values: V): V => {
    const { kb } = values;
    if (!allowed || typeof kb !== "string") return values;
    return { ...values, kb: `id:${allowedBase(kb, allowed).id}` };
  };
  const run = async (
    words: string,
    values: CommandValues,
    { signal, progress }: Pick<CallScope, "signal" | "progress">,
    rows?: { readonly limit: number; readonly page?: number },
  ): Promise<CommandResult> => {
    const command = commands.find((each) => each.words.slice(1).join(" ") === words);
    if (!command) throw new Error(`unknown command ${words}`);
    const call = { command, values: within(values), rows };
    const result = await runner.run(call, { signal, progress, permit });
    // What some knowledge bases could not give does not keep the results of the others back.
    const isPartial = words === "search" && result.values.length > 0;
    if (result.error && !isPartial) throw result.error;
    const notices = [...result.notices, ...(result.error ? [result.error.message] : [])];
    return { ...result, notices };
  };
  return {
    allowed,
    within,
    /** The rows that a command lists, and the number of all. */
    async list(...call: Parameters<typeof run>) {
      const { values, total, notices } = await run(...call);
      return { rows: values.flat().filter(isObject), total, notices };
    },
    /** The object that a command shows. */
    async show(...call: Parameters<typeof run>): Promise<Readonly<Record<string, unknown>>> {
      const [value] = (await run(...call)).values;
      return isObject(value) ? value : {};
    },
  };
}

/** A chunk of the server; a question with its answer is one text. */
export const readChunk = (chunk: unknown) => ({
  id: asText(valueAt(chunk, "id")),
  position: numberAt(chunk, "position"),
  text: [valueAt(chunk, "content"), valueAt(chunk, "answer")]
    .map(asText)
    .filter(Boolean)
    .join("\n"),
});

/** The number at a path; null for anything else. */
export function numberAt(value: unknown, path: string): number | null {
  const number = valueAt(value, path);
  return typeof number === "number" ? number : null;
}

/** A knowledge base that a server is limited to. */
export interface AllowedBase {
  readonly id: string;
  readonly name: string;
}

/** Reads the knowledge bases of --kb; undefined if all are allowed. Throws not-found. */
export async function readAllowed(
  names: readonly string[],
  context: Context,
): Promise<readonly AllowedBase[] | undefined> {
  if (names.length === 0) return undefined;
  const bases: AllowedBase[] = [];
  for (const each of names) {
    const id = await context.resolveId("kb", each);
    if (bases.some((base) => base.id === id)) continue;
    const { name } = await context.api.call(getKnowledgeBase, { dataset_id: id });
    bases.push({ id, name });
  }
  return bases;
}

/** The allowed knowledge base of a name or ID. Throws not-found. */
export function allowedBase(text: string, allowed: readonly AllowedBase[]): AllowedBase {
  const plain = text.replace(/^(?:id|name):/, "");
  const base = allowed.find(({ id, name }) => plain === id || plain === name);
  if (base) return base;
  throw notFound(
    `knowledge base ${stringifyJson(plain)} is not one of those that this server offers`,
    `it offers ${allowed.map(({ name }) => name).join(", ")}`,
  );
}

/** Stops each request that is not allowed before it is sent. */
export const permitFor =
  (permissions: Permissions, allowed: readonly AllowedBase[] | undefined): CallScope["permit"] =>
  (row, input) => {
    requirePermission(row, permissions);
    if (!allowed) return;
    const ids = basesOf(row, input);
    if (ids.length === 0 && retryOf(row) !== "safe")
      throw usage("this server may only change its own knowledge bases", undefined, {
        code: "not-allowed",
      });
    for (const id of ids) allowedBase(id, allowed);
  };

const basesOf = (row: AnyOperation, input: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(row.params).flatMap(([name, { noun }]) =>
    noun === "kb" && input[name] !== undefined ? [input[name]].flat().map(String) : [],
  );

/** The argument for a knowledge base: not required where there is only one, or where none stands for `all`. */
export function kbArgument(allowed: readonly AllowedBase[] | undefined, all?: string) {
  const only = allowed?.length === 1 ? allowed[0] : undefined;
  const names = allowed && { enum: allowed.flatMap(({ name, id }) => [name, id]) };
  const fallback = only?.name ?? all;
  const description = `Knowledge base ${fallback ? `(default ${fallback})` : "name or ID"}`;
  return {
    properties: { kb: { type: "string", minLength: 1, description, ...names } },
    required: fallback ? [] : ["kb"],
    of: (values: Readonly<Record<string, unknown>>) =>
      String(own(values, "kb") ?? only?.name ?? ""),
  };
}

/** A knowledge base, or a document in it. */
export interface KbPlace {
  readonly kb: string;
  readonly document?: string | undefined;
}

/** `kb://Handbook/leave.md`; `/` in a name is written `%2F`. */
export const uriOf = ({ kb, document }: KbPlace): string =>
  `kb://${[kb, document].flatMap((part) => (part === undefined ? [] : [encoded(part)])).join("/")}`;

/** Parentheses and the like would be read as the end of a link. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The place of a URI. Throws not-found for any other text. */
export function placeOf(uri: string): KbPlace {
  const [, kb = "", document] = /^kb:\/\/([^/?#]+)(?:\/([^/?#]+))?\/?$/.exec(uri) ?? [];
  const name = attempt(() => decodeURIComponent(kb)); // undefined for invalid percent encoding
  const inside = document && attempt(() => decodeURIComponent(document));
  if (name && (inside !== undefined || document === undefined))
    return { kb: name, document: inside };
  throw notFound(`${uri} is not the URI of a document`, "such as kb://Handbook/leave.md");
}
