import type { ApiClient } from "../../api/client.ts";
import type { Values } from "../../api/request.ts";
import { invalidResponse } from "../../api/response-fields.ts";
import { CliError } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { rulesOf } from "../parse/command-list.ts";
import type { Command } from "../parse/command.ts";
import type { Session } from "./session.ts";

/** A row that is sent, with what its request is made of. */
export interface SentRow {
  readonly command: Command;
  readonly row: AnyOperation;
  /** Further fields of the body. */
  readonly extra: Values | undefined;
  readonly session: Session;
}

/** Sends the request of a row, with what the rules of its command add. */
export function sendRow(
  { command, row, extra, session }: SentRow,
  input: Values,
): Promise<unknown> {
  const send = rulesOf(command)?.send;
  const { api, context } = session;
  if (!send) return api.call(row, input, { extra });
  const call: ApiClient["call"] = (each, values, options) =>
    api.call(each, values, each.id === row.id ? { ...options, extra } : options);
  return send(input, { ...context, api: { ...context.api, call } });
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
