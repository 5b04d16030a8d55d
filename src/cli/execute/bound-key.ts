import type { Values } from "../../api/request.ts";
import { ApiError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../../operations/knowledge.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Session } from "./session.ts";

/**
 * The rows of the list of knowledge bases for a key that opens only some of them: those that it is
 * known to open, one request each (server §2). Undefined where the refusal of the list means
 * something else: it is another list, none is known, or none opens.
 */
export async function openedBases(
  refused: unknown,
  row: AnyOperation,
  { keyword }: Values,
  session: Session,
): Promise<readonly unknown[] | undefined> {
  if (row.id !== listKnowledgeBases.id || !isForbidden(refused)) return undefined;
  const { bases } = await session.settings();
  const found: unknown[] = [];
  for (const dataset_id of new Set(Object.values(bases))) {
    try {
      found.push(await session.call(getKnowledgeBase, { dataset_id }));
    } catch (error) {
      if (!(error instanceof ApiError) || !["auth", "not-found"].includes(error.kind)) throw error;
      await session.context.notice(`knowledge base ${dataset_id} does not open: ${error.message}`);
    }
  }
  if (found.length === 0) return undefined;
  const word = typeof keyword === "string" ? keyword.toLowerCase() : "";
  await session.context.trace(
    1,
    `this key opens only some knowledge bases; ${found.length} of them are known`,
  );
  return found.filter((base) =>
    String(isObject(base) ? base["name"] : "")
      .toLowerCase()
      .includes(word),
  );
}

const isForbidden = (error: unknown): boolean =>
  error instanceof ApiError && error.kind === "auth" && error.response.status === 403;
