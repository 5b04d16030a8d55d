import type { ApiClient } from "../../api/client.ts";
import type { Values } from "../../api/request.ts";
import type { Context } from "../../commands/task/command-spec.ts";
import { ApiError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../../operations/knowledge.ts";
import type { AnyOperation } from "../../operations/operation.ts";

/** What reading single knowledge bases needs. */
interface Reader extends Pick<Context, "trace" | "notice"> {
  settings(): Promise<{ readonly bases: Readonly<Record<string, string>> }>;
  readonly api: ApiClient;
}

/**
 * Lists knowledge bases for a key that is bound to some of them and may not list: those of the
 * profile, one request each (server §2). Undefined where the error has another cause, or none opens.
 */
export async function accessibleKnowledgeBases(
  error: unknown,
  row: AnyOperation,
  { keyword }: Values,
  reader: Reader,
): Promise<readonly unknown[] | undefined> {
  if (row.id !== listKnowledgeBases.id || !isForbidden(error)) return undefined;
  const { bases } = await reader.settings();
  const rows: unknown[] = [];
  for (const dataset_id of new Set(Object.values(bases))) {
    try {
      rows.push(await reader.api.call(getKnowledgeBase, { dataset_id }, { unchecked: true }));
    } catch (error) {
      if (!(error instanceof ApiError) || !["auth", "not-found"].includes(error.kind)) throw error;
      await reader.notice(`skipped knowledge base ${dataset_id}: ${error.message}`);
    }
  }
  if (rows.length === 0) return undefined;
  await reader.trace(1, `the key is bound to some knowledge bases; the profile has ${rows.length}`);
  const text = typeof keyword === "string" ? keyword.toLowerCase() : "";
  return rows.filter((base) =>
    String(isObject(base) ? base["name"] : "")
      .toLowerCase()
      .includes(text),
  );
}

const isForbidden = (error: unknown): boolean =>
  error instanceof ApiError && error.kind === "auth" && error.response.status === 403;
