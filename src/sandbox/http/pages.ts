import type { Call } from "./handler.ts";
import { numberParam } from "./page-params.ts";
import { atLeast } from "./router.ts";

/** A page as the knowledge lists cut it. */
export interface PageParams {
  /** As asked for, also below 1: it is echoed so, like the limit. */
  readonly page: number;
  readonly limit: number;
  readonly rows: number;
  readonly offset: number;
}

/** Page and limit of a query with the server's quirks; text there is refused (server §5). */
export function parsePage({ query, version }: Call, model: string): PageParams {
  const anything = [-Infinity, Infinity] as const;
  const page = numberParam(query, model, "page", 1, anything);
  const limit = numberParam(query, model, "limit", 20, anything);
  // A limit below 1 gives other rows and is echoed all the same; above 100 it is cut silently.
  const least = atLeast(version, "1.15.0") ? 1 : 20;
  const rows = limit < 1 ? least : Math.min(limit, 100);
  return { page, limit, rows, offset: (Math.max(page, 1) - 1) * rows };
}

/** The fields around the rows: `has_more` only compares the rows with the limit (server §5). */
export const pageFields = ({ page, limit }: PageParams, rows: number, total: number) => ({
  has_more: rows === limit,
  limit,
  total,
  page,
});
