import { canned, start, uuid } from "./log-server.ts";

/**
 * Lists conversations and messages as the server does: its cursor compares whole seconds, so it skips
 * the other rows of that second, also in `has_more` (server §5).
 */
export function cursorServer(counts: readonly number[]) {
  const rows = counts
    .flatMap((count, second) => Array.from({ length: count }, () => start + second))
    .map((created_at, index) => ({ id: uuid(index), created_at, updated_at: created_at }));
  return canned((url, response) => {
    const value = (name: string) => url.searchParams.get(name) ?? undefined;
    const messages = url.pathname.endsWith("/messages");
    const upwards = value("sort_by") === "created_at";
    const sorted = rows.toSorted((a, b) => (b.created_at - a.created_at) * (upwards ? -1 : 1));
    const after = rows.find(({ id }) => id === (value("first_id") ?? value("last_id")));
    const beyond = (row: { readonly created_at: number } | undefined) =>
      sorted.filter(
        ({ created_at }) =>
          row === undefined ||
          (upwards ? created_at > row.created_at : created_at < row.created_at),
      );
    const limit = Number(value("limit"));
    const data = beyond(after).slice(0, limit);
    const has_more = data.length > 0 && beyond(data.at(-1)).length > 0;
    response.setHeader("content-type", "application/json");
    // A page of messages has the oldest first.
    response.end(JSON.stringify({ limit, has_more, data: messages ? data.toReversed() : data }));
  });
}
