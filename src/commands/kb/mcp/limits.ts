import { notFound, usage } from "../../../errors.ts";
import { own } from "../../../lib/json.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { retryOf } from "../../../operations/operation.ts";
import type { AnyOperation } from "../../../operations/operation.ts";
import type { CallScope } from "../../task/command-runner.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Permissions } from "../../shared/mcp/index.ts";

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
    `knowledge base ${JSON.stringify(plain)} is not one of those that this server offers`,
    `it offers ${allowed.map(({ name }) => name).join(", ")}`,
  );
}

/**
 * Stops each request that is not allowed before it is sent, whatever led to it: text of documents can
 * ask a model for anything.
 */
export const permitFor =
  (permissions: Permissions, allowed: readonly AllowedBase[] | undefined): CallScope["permit"] =>
  (row, input) => {
    const reads = retryOf(row) === "safe";
    if (!reads && !permissions[row.destructive ? "delete" : "write"]) {
      const kind = row.destructive ? "delete" : "write";
      throw usage(
        `this server may not ${kind}`,
        `only its user can change that, by starting it with --allow ${kind}`,
        { code: "not-allowed" },
      );
    }
    if (!allowed) return;
    const ids = basesOf(row, input);
    if (ids.length === 0 && !reads)
      throw usage("this server may only change its own knowledge bases", undefined, {
        code: "not-allowed",
      });
    for (const id of ids) allowedBase(id, allowed);
  };

/** The IDs of the knowledge bases that a request is about. */
const basesOf = (row: AnyOperation, input: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(row.params).flatMap(([name, { noun }]) =>
    noun === "kb" && input[name] !== undefined ? [input[name]].flat().map(String) : [],
  );

/** The argument for a knowledge base: not required where there is only one. */
export function kbArgument(allowed: readonly AllowedBase[] | undefined) {
  const only = allowed?.length === 1 ? allowed[0] : undefined;
  const names = allowed && { enum: allowed.flatMap(({ name, id }) => [name, id]) };
  const description = only ? `Knowledge base (default ${only.name})` : "Knowledge base name or ID";
  return {
    properties: { kb: { type: "string", minLength: 1, description, ...names } },
    required: only ? [] : ["kb"],
    of: (values: Readonly<Record<string, unknown>>) =>
      String(own(values, "kb") ?? only?.name ?? ""),
  };
}
