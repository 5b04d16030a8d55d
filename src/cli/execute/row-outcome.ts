/* What the response or the error of a row means: its ID, its chunks, an object that exists already. */
import type { Values } from "../../api/request.ts";
import { invalidResponse } from "../../api/response.ts";
import { ApiError, CliError, refused } from "../../errors.ts";
import { commandLine } from "../../lib/command-line.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import type { AnyOperation, Returns } from "../../operations/operation.ts";
import { flagOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { lookupOf, names } from "../resolve/resolve-input.ts";
import type { Session } from "./session.ts";

/** The ID in a response, where `-o name` finds it. */
export function idOf(returns: Returns<never>, response: unknown): string | undefined {
  const path = "namePath" in returns && returns.namePath !== undefined ? returns.namePath : "id";
  const id = isObject(response) ? valueAt(response, path) : undefined;
  return typeof id === "string" ? id : undefined;
}

/**
 * The error of a write that the server accepted but failed to index: status 200 with the chunk status
 * `error` (server §9.7), or without any chunk. Undefined if all chunks are indexed, or the row has no
 * such status.
 */
export function indexingVerdict(
  row: AnyOperation,
  values: readonly unknown[],
): CliError | undefined {
  const { indexes } = row;
  if (!indexes) return undefined;
  const chunks = values.map((value) => valueAt(value, indexes.at));
  if (chunks.length === 0)
    return invalidResponse("no chunk was returned").with({ sideEffect: "unknown" });
  const failed = chunks.filter((chunk) => isObject(chunk) && chunk["status"] === "error");
  if (failed.length === 0) return undefined;
  const reason = valueAt(failed[0], "error");
  const why = typeof reason === "string" && reason !== "" ? reason : "the server gave no reason";
  const count =
    chunks.length === 1 ? "the chunk was" : `${failed.length} of ${chunks.length} chunks were`;
  const some = !indexes.dropped || failed.length < chunks.length;
  return new CliError(
    "remote-failed",
    `${count} not ${indexes.dropped ? "stored" : "indexed"}: ${why}`,
    {
      isResult: true,
      code: "remote-failed",
      sideEffect: some ? "applied" : "none",
      details: { failed },
    },
  );
}

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
  const { resolveName } = await names();
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
