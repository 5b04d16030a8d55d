import type { Values } from "../../api/request.ts";
import { CliError, reasonOf, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { missingPathHint } from "../../lib/did-you-mean.ts";
import { bytesOf } from "../../lib/collect.ts";
import { commandLine } from "../../lib/command-line.ts";
import { isObject, jsonOrText, setAt } from "../../lib/json.ts";
import type { AnyOperation, FileInput, Param } from "../../operations/operation.ts";
import { rulesOf } from "./command-list.ts";
import { flagOf } from "./command.ts";
import type { Command } from "./command.ts";
import { timeZoneFor } from "./options.ts";
import type { ParsedLine } from "./parser.ts";
import type { Globals } from "./shared-flags.ts";
import { checkValue, invalidValue } from "./values.ts";
import type { Sources, TypedLine } from "./values.ts";

/** Name of a parameter in messages: `<name>` or `--description`. */
export function labelOf(command: Command, name: string, param: Param): string {
  const positional = command.positionals.find((candidate) => candidate.name === name);
  return positional && param.short === undefined
    ? `<${positional.word}>`
    : `--${flagOf(name, param)}`;
}

/** Reads the files and stdin that values refer to; stdin can be used once. */
export function sourcesOf(host: Host, globals: Globals): Sources {
  let stdinTaken = false;
  const takeStdin = () => {
    if (stdinTaken) throw usage("stdin (-) can only be used once");
    stdinTaken = true;
  };
  const throwUnreadable = async (path: string, error: unknown): Promise<never> => {
    if (error instanceof CliError) throw error; // interrupted
    const reason = reasonOf(error);
    const hint = reason === missing ? await missingPathHint(path, host.files) : undefined;
    throw usage(`failed to read ${JSON.stringify(path)}: ${reason}`, hint);
  };
  return {
    now: () => host.now(),
    timeZone: () => timeZoneFor(globals, host),
    async text(path, encoding) {
      let bytes: Uint8Array;
      if (path === "-") {
        takeStdin();
        bytes = await bytesOf(host.stdin.bytes());
      } else {
        bytes = await host.files.read(path).catch((error: unknown) => {
          return throwUnreadable(path, error);
        });
      }
      const { toUtf8 } = await import("../../lib/formats/encoding.ts");
      const utf8 = await toUtf8(bytes, encoding, `${JSON.stringify(path)}: `);
      try {
        return new TextDecoder("utf-8", { fatal: true }).decode(utf8);
      } catch {
        throw usage(
          `${JSON.stringify(path)} is not UTF-8 text`,
          "convert it to UTF-8; kb doc add and kb doc update take --encoding",
        );
      }
    },
    stat: async (path) => (path === "-" ? null : host.files.stat(path).catch(() => null)),
    async file(path): Promise<FileInput> {
      if (path === "-") {
        takeStdin();
        return { path, name: "stdin.txt" };
      }
      const stats = await host.files.stat(path).catch((error: unknown) => {
        return throwUnreadable(path, error);
      });
      if (!stats) return throwUnreadable(path, new Error(missing));
      if (stats.isDirectory) return throwUnreadable(path, new Error("is a directory"));
      const name = path.split(/[/\\]/).at(-1) ?? path;
      return { path, name };
    },
  };
}

/** How Node.js and we say it. */
const missing = "file not found";

/** Checks every value of a command line without resolving names. Throws usage. */
export async function checkedInput(
  command: Command,
  typed: Readonly<Record<string, TypedLine>>,
  from: Sources,
): Promise<Values> {
  const input: Record<string, unknown> = {};
  const given = (name: string) => (typeof typed[name] === "string" ? typed[name] : undefined);
  const sources = { ...from, given };
  const missing: { readonly label: string; readonly param: Param }[] = [];
  const rules = rulesOf(command);
  const isOptional = (name: string) =>
    command.positionals.some((each) => each.name === name && each.optional);
  await rules?.checkPaths?.(typed, sources.stat);
  for (const [name, param] of Object.entries(command.params)) {
    const label = labelOf(command, name, param);
    const value = typed[name];
    if (value !== undefined) {
      const repeats = Array.isArray(value) && !param.many;
      input[name] = repeats
        ? await checkItems(label, param, value as readonly string[], sources)
        : await checkValue(label, param, value, sources);
    } else if (rules?.chosen?.params.includes(name) || isOptional(name)) {
      // It is asked for when the command runs, or --where stands for it.
    } else if (param.required && param.from === undefined && param.shape?.kind !== "object") {
      missing.push({ label: param.orFile ? `${label} or ${label}-file` : label, param });
    }
  }
  if (missing.length === 0) return input;
  const verb = missing.length === 1 ? "is" : "are";
  const all = new Intl.ListFormat("en-GB").format(missing.map(({ label }) => label));
  const hints = missing.flatMap(({ label, param: { choices, placeholder, help } }) => {
    if (choices) return [`add ${label} (one of: ${choices.join(", ")})`];
    return placeholder && missing.length === 1 ? [`add ${label} <${placeholder}>: ${help}`] : [];
  });
  throw usage(`${all} ${verb} required`, hints.length > 0 ? hints.join("; ") : helpHint(command));
}

async function checkItems(
  label: string,
  param: Param,
  texts: readonly string[],
  sources: Sources,
): Promise<readonly unknown[]> {
  const values = await Promise.all(texts.map((text) => checkValue(label, param, text, sources)));
  if (param.kind !== "file") return values;
  const paths = new Map<string, string>();
  for (const { name, path } of values as readonly FileInput[]) {
    const other = paths.get(name);
    if (other !== undefined)
      throw usage(
        `${other} and ${path} have the same name, so one would replace the other`,
        "rename one of the files, or sync their directory",
      );
    paths.set(name, path);
  }
  return values;
}

/** A hint to the flags of a command. */
export const helpHint = ({ words }: Command) =>
  `run ${commandLine(words.join(" "), [], { help: true })} to list the flags`;

/** The problem with a request that would change nothing, or two things at once; undefined for any other. */
export function changeProblem(
  command: Command,
  input: Values,
  extra: Values | undefined,
): string | undefined {
  const anyOf = command.row && alternativesOf(command.row);
  if (!anyOf) return undefined;
  const given = anyOf.filter((name) => input[name] !== undefined);
  if (command.row?.oneOf && given.length > 1)
    return `use either ${given.map((name) => `--${name}`).join(" or ")}, not both`;
  if (extra || given.length > 0) return undefined;
  const labels = anyOf.flatMap((name) => {
    const param = command.params[name];
    if (!param) return [];
    const label = labelOf(command, name, param);
    return param.orFile ? [label, `${label}-file`] : [label];
  });
  return `specify at least one of ${labels.join(", ")}`;
}

function alternativesOf({ anyOf, oneOf, params }: AnyOperation): readonly string[] | undefined {
  return anyOf === "all"
    ? Object.keys(params).filter((name) => params[name]?.in !== "path")
    : (oneOf ?? anyOf);
}

/** The line of the command that changes a given value alone. */
function commandAlone({ row, positionals }: Command, input: Values): string | undefined {
  const alone = Object.entries(row?.alone ?? {}).find(([name]) => input[name] !== undefined);
  if (!alone) return undefined;
  const [name, instead] = alone;
  const words = [...positionals.map((positional) => input[positional.name]), input[name]];
  return `to change only the ${name}: ${commandLine(instead, words.map(String))}`;
}

/**
 * The values of a command line, and the further fields of the body. Throws usage for those that are
 * invalid or missing, and if the request would change nothing.
 */
export async function checkedLine(
  { command, typed, globals }: Omit<Extract<ParsedLine, { kind: "run" }>, "kind">,
  host: Host,
): Promise<{ readonly input: Values; readonly extra: Values | undefined }> {
  const sources = sourcesOf(host, globals);
  const input = await checkedInput(command, typed, sources);
  const extra = command.row && (await extraBody(globals, sources));
  const problem = changeProblem(command, input, extra);
  if (problem !== undefined)
    throw usage(problem, commandAlone(command, input) ?? helpHint(command));
  return { input, extra };
}

/** Additional fields of the body from --body and --body-set. */
export async function extraBody(globals: Globals, sources: Sources): Promise<Values | undefined> {
  if (globals.body === undefined && globals.bodySet === undefined) return undefined;
  const body: Record<string, unknown> = {};
  if (globals.body !== undefined) {
    const param: Param = { in: "body", kind: "json", help: "", shape: { kind: "object" } };
    const value = await checkValue("--body", param, globals.body, sources);
    if (isObject(value)) Object.assign(body, value);
  }
  for (const assignment of globals.bodySet ?? []) {
    const at = assignment.indexOf("=");
    if (at < 1) throw invalidValue("--body-set", assignment, "is not path=value");
    if (!setAt(body, assignment.slice(0, at), jsonOrText(assignment.slice(at + 1))))
      throw invalidValue(
        "--body-set",
        assignment,
        "has a list index out of range",
        "indexes start at 0 and have no gaps",
      );
  }
  return body;
}
