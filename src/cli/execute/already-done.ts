import { flagOf } from "../parse/command.ts";
import type { Values } from "../../api/request.ts";
import { ApiError, CliError, refused } from "../../errors.ts";
import { commandLine } from "../../lib/command-line.ts";
import { isObject } from "../../lib/json.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { lookupOf } from "../resolve/resolve-input.ts";
import type { Session } from "./session.ts";

/** Does --if-exists turn this error into success? */
export const isAlreadyDeleted = (error: unknown, globals: Globals): boolean =>
  globals.ifExists === true && error instanceof CliError && error.kind === "not-found";

/** Did the server reject the request because the name is taken? */
export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.response.serverCode === "dataset_name_duplicate" || /already exists/.test(error.message));

/** Adds how to use the object that already has the name. */
export function withExistsHint(error: unknown, command: Command, typed: Values): unknown {
  const { row } = command;
  if (!row?.creates || !(error instanceof CliError) || !isAlreadyExists(error)) return error;
  if (error.info.hint !== undefined) return error;
  const words = command.positionals.map(({ name }) => String(typed[name] ?? ""));
  const isFlag = (name: string) => command.positionals.every((each) => each.name !== name);
  const flags = Object.entries(command.params).flatMap(([name, param]) =>
    typeof typed[name] === "string" && isFlag(name) ? [[flagOf(name, param), typed[name]]] : [],
  );
  const again = { ...Object.fromEntries(flags), "if-not-exists": true };
  return error.with({
    hint: `to use the existing one: ${commandLine(command.words.join(" "), words, again)}`,
  });
}

/** The object that already has the name, for a create with --if-not-exists. */
export async function existingObject(
  command: Command,
  ids: Values,
  error: unknown,
  session: Session,
): Promise<unknown> {
  const noun = command.row?.creates;
  if (noun === undefined) throw error;
  const { resolveName } = await import("../resolve/resolve-names.ts");
  const name = `name:${String(ids["name"])}`;
  const { object } = await resolveName(noun, name, ids, lookupOf(session));
  const different = isObject(object)
    ? Object.keys(ids).filter(
        (name) =>
          command.params[name]?.in === "body" &&
          object[name] !== undefined &&
          object[name] !== ids[name],
      )
    : [];
  if (different.length > 0) {
    throw refused(
      `already exists, with a different ${different.join(", ")}`,
      "choose another name, or update the existing one",
    );
  }
  await session.context.notice("already exists");
  return object;
}
