import type { HttpResponse } from "../../../api/client.ts";
import { readText } from "../../../api/client.ts";
import { inexactNotice, parseNumbers } from "../../../api/exact-numbers.ts";
import type { OnInexact, ParsedNumbers } from "../../../api/exact-numbers.ts";
import { newCounter, readPage, readPages, sortField } from "../../../api/pages.ts";
import type { HttpRequest } from "../../../api/request.ts";
import { CliError, usage } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { isObject } from "../../../lib/json.ts";
import { oneByOne } from "../../../lib/rows.ts";
import { operations } from "../../../operations/index.ts";
import { isList, methodAndPath } from "../../../operations/operation.ts";
import type { AnyOperation, Returns } from "../../../operations/operation.ts";
import type { Context } from "../../command-spec.ts";
import { requireAll } from "../../row-count-notice.ts";

type Query = Readonly<Record<string, string>>;

/** `api --all`: all rows of a list as one array, or one by one with `-o jsonl`. */
export async function* allPages(
  { method, url }: HttpRequest,
  send: (query: Query) => Promise<HttpResponse>,
  { options, notice }: Context,
): AsyncGenerator<unknown> {
  if (method !== "GET") throw usage("--all is only for lists: use the method GET");
  const query = new URLSearchParams(url.split("?")[1]);
  const position = ["page", "last_id", "first_id"].find((name) => query.has(name));
  if (position !== undefined) throw usage(`--all cannot be used with ${position}`);
  const limit = query.get("limit");
  const onInexact = inexactNotice(notice);
  const read = async (paging: Query): Promise<unknown> => {
    const { limit: pageSize = "", ...rest } = paging;
    // A limit from the command line is already in the URL.
    const response = await send(limit === null ? { ...rest, limit: pageSize } : rest);
    return jsonOrText(await readText(response.body), onInexact);
  };

  const row = listOperation(url);
  // The first response shows how an unknown list is paged.
  const first = row ? [] : [await read({ limit: String(MAX_PAGE_SIZE) })];
  const returns = row?.returns ?? detectPaging(first[0]);
  // The server shortens larger pages, and a shortened page is not the last one.
  const cap = Math.min(Number(limit) || MAX_PAGE_SIZE, MAX_PAGE_SIZE);
  const capped = { ...returns, cap };
  const progress = newCounter();
  const pages = readPages(
    capped,
    { limit: Infinity, sortedBy: sortField(row, query.get("sort_by") ?? undefined) },
    async (paging) => readPage(returns, first.shift() ?? (await read(paging))),
    progress,
  );
  if (options.format === "jsonl") yield* oneByOne(pages);
  else yield await collect(oneByOne(pages));
  requireAll(progress);
}

/** JSON with exact numbers, or the text itself if it is not JSON. */
export async function jsonOrText(text: string, onInexact: OnInexact): Promise<unknown> {
  let parsed: ParsedNumbers;
  try {
    parsed = parseNumbers(text);
  } catch {
    return text;
  }
  await onInexact(parsed.inexact);
  return parsed.value;
}

/** Page size that all lists of the service API allow (server §5). */
const MAX_PAGE_SIZE = 100;

/** The list operation with this route, if there is one; a route without IDs is preferred. */
function listOperation(url: string): AnyOperation | undefined {
  const path = url.split("?", 1)[0] ?? "";
  const matches = operations
    .filter(({ returns }) => isList(returns))
    .map((row) => ({ row, route: methodAndPath(row) }))
    .filter(
      ({ route: [method, template] }) =>
        method === "GET" && new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
    );
  return (matches.find(({ route }) => route[1] === path) ?? matches[0])?.row;
}

/** How an unknown list is paged: by page number, after the ID of a row, or not at all. */
function detectPaging(response: unknown): Returns<never> {
  if (Array.isArray(response)) return { kind: "list", rows: "", columns: [] };
  if (!isObject(response) || !Array.isArray(response["data"])) {
    throw new CliError("unsupported", "--all needs a list, but the response has none in `data`");
  }
  const common = { rows: "data", columns: [], cap: MAX_PAGE_SIZE } as const;
  if (typeof response["page"] === "number") return { kind: "page", ...common };
  if (typeof response["has_more"] !== "boolean") return { kind: "list", ...common };
  return { kind: "cursor", after: "last_id", ...common };
}
