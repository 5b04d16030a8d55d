import type { Call } from "./handler.ts";
import { numberParam } from "./page-params.ts";
import { atLeast } from "./router.ts";

/** The page of a knowledge list. */
export interface PageParams {
  /** As requested, even below 1: the response echoes it, like the limit. */
  readonly page: number;
  readonly limit: number;
  readonly rows: number;
  readonly offset: number;
}

/** Parses page and limit with the server's quirks; rejects text (server §5). */
export function parsePage({ query, version }: Call, model: string): PageParams {
  const unbounded = [-Infinity, Infinity] as const;
  const page = numberParam(query, model, "page", 1, unbounded);
  const limit = numberParam(query, model, "limit", 20, unbounded);
  // A limit below 1 selects a default number of rows; one above 100 is reduced silently.
  const minRows = atLeast(version, "1.15.0") ? 1 : 20;
  const rows = limit < 1 ? minRows : Math.min(limit, 100);
  return { page, limit, rows, offset: (Math.max(page, 1) - 1) * rows };
}

/** Fields beside the rows; `has_more` only compares the rows with the limit (server §5). */
export const pageFields = ({ page, limit }: PageParams, rows: number, total: number) => ({
  has_more: rows === limit,
  limit,
  total,
  page,
});
