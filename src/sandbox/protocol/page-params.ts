import { atLeast } from "../../lib/version.ts";
import type { Call } from "./handler.ts";
import { type Rule, validationError, validate } from "./validation.ts";

/** What a query without them means. */
const defaults = { page: 1, limit: 20 };

/**
 * Parses the page or the limit of the query; throws HttpError with the server's validation text, which contains
 * the model (server §3).
 */
export function numberParam(
  query: URLSearchParams,
  model: string,
  name: keyof typeof defaults,
  range: readonly [min: number, max: number],
): number {
  return Number(validParam(query, model, name, { kind: "integer", range }) ?? defaults[name]);
}

/** Throws HttpError for a flag of the query that is not a boolean; since 1.15 (server §5). */
export function checkFlag({ query, version }: Call, name: string, model: string): void {
  if (atLeast(version, "1.15.0")) validParam(query, model, name, { kind: "flag" });
}

function validParam(query: URLSearchParams, model: string, name: string, rule: Rule) {
  const text = query.get(name);
  const problems = text === null ? [] : validate(rule, text, name);
  if (problems.length > 0) throw validationError(model, ...problems);
  return text;
}

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
  const page = numberParam(query, model, "page", unbounded);
  const limit = numberParam(query, model, "limit", unbounded);
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
