import type { Values } from "../../api/request.ts";
import { ApiError, notFound, refused, usage } from "../../errors.ts";
import type { CliError } from "../../errors.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { isObject } from "../../lib/json.ts";
import { shortened } from "../../lib/text.ts";
import type { ListedNoun, Noun } from "../../operations/operation.ts";
import { listings, scopeOf } from "./listings.ts";
import { listCommand } from "./nouns.ts";
import type { Listed, Listing, Lookup } from "./listings.ts";

/** The error for `id:` with a text that is not an ID. */
export const invalidId = ({ title }: Listing, text: string): CliError =>
  usage(
    `${JSON.stringify(shortened(text, MAX_NAME))} is not a valid ${title} ID`,
    "IDs are UUIDs, or the first 8 or more characters of one; remove id: to use a name",
  );

/** The error for a text that selects several objects. */
export function ambiguousText(
  { title, byName }: Listing,
  text: string,
  matches: readonly Listed[],
): CliError {
  const candidates = matches.map(({ id, name, created_at }) => ({
    id,
    ...(byName && { name }),
    ...(typeof created_at === "number" && {
      created: new Date(created_at * 1000).toISOString().slice(0, 19).replace("T", " "),
    }),
  }));
  const isName = matches.every(({ name }) => name === text);
  const message = `${title} ${isName ? "name" : "ID"} ${JSON.stringify(text)} is ambiguous (${matches.length} matches)`;
  const hint = isName ? "use the ID instead of the name" : "enter more characters of the ID";
  return refused(message, hint, { code: "ambiguous", details: { candidates } });
}

/** The error for a name or ID that no object has. Suggests a name that was read, or one of the first page. */
export async function unknownName(
  noun: Noun | ListedNoun,
  text: string,
  { known, names, lookup }: { known: Values; names: readonly string[]; lookup: Lookup },
): Promise<CliError> {
  const listing = listings[noun];
  const { title } = listing;
  const message = `${title} ${JSON.stringify(shortened(text, MAX_NAME))} not found`;
  const run = listCommand(listing, (param) => known[param]);
  if (noun === "run") {
    return notFound(
      message,
      `the newest 100 runs and those followed on this machine have no such ID; ${run} shows IDs`,
    );
  }
  if (!listing.byName) return notFound(message, `run ${run} to see the IDs`);
  const near =
    didYouMean(text, names) ?? didYouMean(text, await firstNames(listing, known, lookup));
  return notFound(
    message,
    near === undefined
      ? `names are case-sensitive; run ${run} to see them`
      : `did you mean ${JSON.stringify(near)}?`,
  );
}

/** The names of the first page, where a keyword has kept them from being read. */
async function firstNames(
  listing: Listing,
  known: Values,
  lookup: Lookup,
): Promise<readonly string[]> {
  if (!listing.keyword) return [];
  try {
    const rows = await lookup.one(listing.row, { ...scopeOf(listing, known), ...listing.fixed });
    const names = (Array.isArray(rows) ? rows : []).map((row) => isObject(row) && row["name"]);
    return names.filter((name) => typeof name === "string");
  } catch (error) {
    if (error instanceof ApiError) return []; // the error is that the name is unknown
    throw error;
  }
}

/** Characters of a name in an error. */
const MAX_NAME = 100;
