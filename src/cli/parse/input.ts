import type { Values } from "../../api/request.ts";
import { CliError, reasonOf } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { isObject, setAt, valueAt } from "../../lib/json.ts";
import type { FileInput, ListedNoun, Noun, Param } from "../../operations/operation.ts";
import { flagOf } from "./command.ts";
import type { Command } from "./command.ts";
import type { Globals } from "./shared-flags.ts";
import type { Lookup } from "../execute/lookup.ts";
import type { Resolved } from "../execute/resolve-names.ts";
import type { TypedLine } from "./typed-values.ts";
import { checkValue, invalidValue } from "./values.ts";
import type { Sources } from "./values.ts";

/** How a person knows a parameter: `<name>` or `--description`. */
export function labelOf(command: Command, name: string, param: Param): string {
  const positional = command.positionals.find((candidate) => candidate.name === name);
  return positional ? `<${positional.word}>` : `--${flagOf(name, param)}`;
}

/** The files and standard input behind values; standard input is read once. */
export function sourcesOf(host: Host): Sources {
  let stdinTaken = false;
  const takeStdin = () => {
    if (stdinTaken)
      throw new CliError("usage", "standard input (-) can be used once only", {
        sideEffect: "none",
      });
    stdinTaken = true;
  };
  const unreadable = (path: string, error: unknown) =>
    error instanceof CliError // interrupted
      ? error
      : new CliError("usage", `${JSON.stringify(path)} cannot be read: ${reasonOf(error)}`, {
          sideEffect: "none",
        });
  return {
    now: () => host.now(),
    async text(path) {
      let bytes: Uint8Array;
      if (path === "-") {
        takeStdin();
        bytes = await allOf(host.stdin.bytes());
      } else {
        bytes = await host.files.read(path).catch((error: unknown) => {
          throw unreadable(path, error);
        });
      }
      try {
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      } catch {
        throw new CliError("usage", `${JSON.stringify(path)} is not UTF-8 text`, {
          sideEffect: "none",
          hint: "convert it, or upload it as a file",
        });
      }
    },
    async file(path): Promise<FileInput> {
      if (path === "-") {
        takeStdin();
        return { path, name: "stdin.txt" };
      }
      const found = await host.files.stat(path).catch((error: unknown) => {
        throw unreadable(path, error);
      });
      if (!found) throw unreadable(path, new Error("there is no such file"));
      if (found.isDirectory) throw unreadable(path, new Error("it is a folder"));
      const name = path.split(/[/\\]/).at(-1) ?? path;
      return { path, name };
    },
  };
}

/** A whole stream of bytes. */
export async function allOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

/** Every value of a line checked; names are still names. Throws usage; nothing was sent. */
export async function checkedInput(
  command: Command,
  typed: Readonly<Record<string, TypedLine>>,
  sources: Sources,
): Promise<Values> {
  const input: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const [name, param] of Object.entries(command.params)) {
    const label = labelOf(command, name, param);
    const value = typed[name];
    if (value !== undefined) {
      const repeats = Array.isArray(value) && !param.many;
      input[name] = repeats
        ? await Promise.all(
            (value as readonly string[]).map((item) => checkValue(label, param, item, sources)),
          )
        : await checkValue(label, param, value, sources);
    } else if (param.required && param.from === undefined && param.shape?.kind !== "object") {
      missing.push(param.orFile ? `${label} or ${label}-file` : label);
    }
  }
  if (missing.length === 0) return input;
  const verb = missing.length === 1 ? "is" : "are";
  throw new CliError("usage", `${missing.join(" and ")} ${verb} required`, {
    sideEffect: "none",
    hint: helpHint(command),
  });
}

/** Where every flag of a command is shown. */
export const helpHint = ({ words }: Command) => `\`${words.join(" ")} --help\` shows every flag`;

/** What a line leaves out that the request needs to change anything; undefined where nothing is. */
export function changeMissing(
  command: Command,
  input: Values,
  extra: Values | undefined,
): string | undefined {
  const anyOf = command.row?.anyOf;
  if (!anyOf || extra || anyOf.some((name) => input[name] !== undefined)) return undefined;
  const labels = anyOf.flatMap((name) => {
    const param = command.params[name];
    if (!param) return [];
    const label = labelOf(command, name, param);
    return param.orFile ? [label, `${label}-file`] : [label];
  });
  return `give at least one of ${labels.join(", ")}`;
}

/** Refuses a line without any of the values that its request needs. Throws usage. */
export function needChange(command: Command, input: Values, extra: Values | undefined): void {
  const problem = changeMissing(command, input, extra);
  if (problem === undefined) return;
  throw new CliError("usage", problem, { sideEffect: "none", hint: helpHint(command) });
}

/** Further fields of the body from --body and --body-set. */
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
    if (at < 1) throw invalidValue("--body-set", assignment, "is no path=value");
    if (!setAt(body, assignment.slice(0, at), jsonOrText(assignment.slice(at + 1))))
      throw invalidValue(
        "--body-set",
        assignment,
        "leaves a gap in a list",
        "lists are filled from 0 on",
      );
  }
  return body;
}

/** A value that may be JSON; what is not is text. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Refuses the provider of a model that is not given. Throws usage. */
function needModelOf(command: Command, input: Values): void {
  for (const [name, param] of Object.entries(command.params)) {
    const other = Object.keys(param.fills ?? {}).find((each) => input[each] !== undefined);
    const spec = other === undefined ? undefined : command.params[other];
    if (other === undefined || !spec || input[name] !== undefined) continue;
    const labels = [labelOf(command, name, param), labelOf(command, other, spec)];
    throw new CliError("usage", `${labels[0]} is required with ${labels[1]}`, {
      sideEffect: "none",
      hint: helpHint(command),
    });
  }
}

/**
 * Names turned into ids, and absent values filled from the objects behind them (`from`). A
 * positional that repeats the request stays a list.
 */
export async function resolvedInput(
  command: Command,
  input: Values,
  lookup: Lookup,
): Promise<Values> {
  needModelOf(command, input);
  const known: Record<string, unknown> = { ...input };
  const isLookedUp = ([name, { noun, listed, needs }]: [string, Param]) =>
    (noun ?? listed ?? needs) !== undefined && input[name] !== undefined;
  if (!Object.entries(command.params).some(isLookedUp)) return known;
  // Loaded where something is named: they bring the lists of a whole program along.
  const { requireKnown, resolveName } = await import("../execute/resolve-names.ts");
  const { filled } = await import("../execute/fill-values.ts");
  const behind = new Map<Noun | ListedNoun, Resolved>();
  for (const [name, param] of Object.entries(command.params)) {
    const value = input[name];
    const noun = param.noun ?? param.listed;
    if (noun === undefined || value === undefined) continue;
    const fills = Object.entries(param.fills ?? {});
    const unseen: string[] = [];
    const resolveOne = async (text: unknown) => {
      const provider = fills.map(([other]) => input[other])[0];
      const resolved = await resolveName(noun, String(text), { ...known, provider }, lookup);
      behind.set(noun, resolved);
      if (resolved.object === undefined) unseen.push(resolved.id);
      return resolved.id;
    };
    if (Array.isArray(value)) {
      const ids: string[] = [];
      for (const item of value) ids.push(await resolveOne(item));
      known[name] = ids;
    } else known[name] = await resolveOne(value);
    if (param.mustExist && lookup.checks && param.noun) {
      await requireKnown(param.noun, unseen, known, lookup);
    }
    for (const [other, field] of fills) {
      const filling = valueAt(behind.get(noun)?.object, field);
      if (filling === undefined) continue;
      known[other] = filling;
      await lookup.trace(1, `${other} ${JSON.stringify(filling)} (from the ${noun})`);
    }
  }
  return filled(command, input, { known, behind }, lookup);
}
