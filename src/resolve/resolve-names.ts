import type { Values } from "../api/request.ts";
import { invalidResponse } from "../api/response.ts";
import { ApiError, CliError, notFound, refused, usage } from "../errors.ts";
import { didYouMean } from "../lib/did-you-mean.ts";
import { commandLine } from "../lib/command-line.ts";
import { isObject, own, valueAt } from "../lib/json.ts";
import {
  isIdPrefix,
  isShortPrefix,
  isUuid,
  keywordOf,
  NEWEST,
  shortened,
  withSlashes,
} from "../lib/text.ts";
import type { AnyOperation, ListedNoun, Noun } from "../operations/operation.ts";
import { listings } from "./listings.ts";
import { listCommand } from "./nouns.ts";
import type { Listed, Listing, Lookup } from "./listings.ts";

/** The values of a request that the list of a noun needs. */
const scopeOf = ({ within = [] }: Listing, known: Values): Values =>
  Object.fromEntries(within.map((name) => [name, known[name]]));

/** A resolved reference: the ID to send, and the object if it was read. */
export interface Resolved {
  readonly id: string;
  object: unknown;
}

/**
 * Resolves a name or ID: a UUID is an ID, everything else (and `name:…`) a name that must match
 * exactly. A text that no name equals and that IDs start with (`91e85bce`, `id:91e85bce`) is the ID if
 * only one does. Throws not-found, or refused with the candidates of an ambiguous text.
 */
export async function resolveName(
  noun: Noun | ListedNoun,
  typed: string,
  given: Values,
  lookup: Lookup,
): Promise<Resolved> {
  const listing = listings[noun];
  const { title, byName } = listing;
  const [, mark, text = ""] = /^(id:|name:)?([^]*)$/.exec(typed) ?? [];
  const takesId = mark !== "name:";
  if (takesId && isUuid(text)) return { id: text, object: undefined };
  const name = byName && mark !== "id:" ? text : undefined;
  const prefix = takesId && isIdPrefix(text) ? text.toLowerCase() : undefined;
  const isNewest = listing.newest !== undefined && typed === NEWEST;
  if (name === undefined && prefix === undefined && !isNewest) throw invalidId(listing, text);
  const { parent, within: [param = ""] = [] } = listing;
  const newestParent = parent && !given[param] && (await resolveName(parent, NEWEST, {}, lookup));
  const known = newestParent ? { ...given, [param]: newestParent.id } : given;
  if (isNewest) return newestListed(listing, known, lookup);
  const stored = noun === "kb" && name !== undefined ? await lookup.base(name) : undefined;
  if (stored !== undefined) {
    await lookup.trace(1, `${title} ${JSON.stringify(name)} is ${stored} (from the profile)`);
    lookup.entered(stored, typed);
    return { id: stored, object: undefined };
  }
  const isFile = noun === "document";
  const wanted = { name, prefix, isFile, byBase: isFile && lookup.effect === "reads" };
  const { matches, names } =
    noun === "run"
      ? await findRun(prefix ?? "", lookup)
      : await findListed(listing, wanted, known, lookup);
  const [only] = matches;
  if (only === undefined) throw await unknownName(noun, text, { known, names, lookup });
  if (matches.length > 1) throw ambiguousText(listing, text, matches);
  const { id } = only;
  if (typeof id !== "string" || id === "") {
    throw invalidResponse(`the ${title} ${JSON.stringify(text)} has no id`);
  }
  await lookup.trace(1, `${title} ${JSON.stringify(text)} is ${id}`);
  lookup.entered(id, typed);
  return { id, object: only };
}

/** The newest object of a list. Throws not-found if the list is empty. */
async function newestListed(listing: Listing, known: Values, lookup: Lookup): Promise<Resolved> {
  const { row, title, newest, idAt = "id" } = listing;
  const rows = await wholeList(row, scopeOf(listing, known), lookup);
  const id = valueAt(rows.at(newest === "first" ? 0 : -1), idAt);
  const list = listCommand(listing, (param) => known[param]);
  if (typeof id !== "string")
    throw notFound(`no ${title} found`, `${NEWEST} is the newest one that ${list} shows`);
  await lookup.trace(1, `${NEWEST} is ${id}`);
  return { id, object: undefined };
}

/** What an object is looked up by. A prefix is in lower case. */
interface Wanted {
  readonly name: string | undefined;
  readonly prefix: string | undefined;
  /** Is it the name of a file, in which `∕` (U+2215) stands for `/`? */
  readonly isFile: boolean;
  readonly byBase: boolean;
  /** Is the list read once more, by a keyword without slashes? */
  readonly anySlash?: true;
}

interface Found {
  readonly matches: readonly Listed[];
  readonly names: readonly string[];
}

/**
 * Finds objects with exactly this name, or else the nearest: with this name but for the kind of slash, with
 * this beginning of their ID, or with this end of their path.
 */
async function findListed(
  listing: Listing,
  wanted: Wanted,
  known: Values,
  lookup: Lookup,
): Promise<Found> {
  const { row, title, keyword, fixed } = listing;
  const { name, prefix, isFile, anySlash } = wanted;
  // An ID can only be found in the whole list.
  const isNarrow = keyword && prefix === undefined;
  const narrow = isNarrow && { keyword: keywordOf(name ?? "", anySlash && anyWildcard) };
  const ranks: Listed[][] = [[], [], [], []];
  const names: string[] = [];
  let nameless = false;
  for await (const each of lookup.rows(row, { ...scopeOf(listing, known), ...narrow, ...fixed })) {
    const { name: own } = isObject(each) ? each : {};
    if (typeof own === "string") names.push(own);
    else nameless = true;
    if (isObject(each)) ranks[rankOf(each, wanted)]?.push(each);
  }
  const matches = ranks.find(({ length }) => length > 0) ?? [];
  if (matches.length === 0 && isNarrow && isFile && !anySlash && /[/∕]/.test(name ?? ""))
    return findListed(listing, { ...wanted, anySlash: true }, known, lookup);
  // A row without a readable name could have this one.
  if (name !== undefined && matches.length === 0 && nameless) {
    throw invalidResponse(`a row of the list of ${title}s has no name`);
  }
  return { matches, names };
}

/** Characters that are no part of a keyword if the kind of slash is unknown. */
const anyWildcard = /[%_\\/∕]/;

/** How near an object is to what is wanted, from 0; -1 if it is something else. */
function rankOf({ id, name: own }: Listed, { name, prefix, isFile, byBase }: Wanted): number {
  const path = isFile && typeof own === "string" ? withSlashes(own) : undefined;
  const ranks = [
    name !== undefined && own === name,
    name !== undefined && path === withSlashes(name),
    prefix !== undefined && String(id).toLowerCase().startsWith(prefix),
    name !== undefined && byBase && path?.endsWith(`/${withSlashes(name)}`) === true,
  ];
  return ranks.indexOf(true);
}

/** Finds a run among those followed on this machine and the newest of the log. */
async function findRun(prefix: string, lookup: Lookup): Promise<Found> {
  const matching = (ids: readonly unknown[]) =>
    ids.map(String).filter((id) => id.toLowerCase().startsWith(prefix));
  const followed = matching(await lookup.followedRuns());
  const logs = await wholeList(listings.run.row, {}, lookup).catch((error: unknown) => {
    if (followed.length === 0) throw error;
    return []; // the key may not open the log
  });
  const logged = logs.map((row) => valueAt(row, listings.run.idAt ?? "id"));
  const ids = new Set([...followed, ...matching(logged)]);
  return { matches: [...ids].map((id) => ({ id })), names: [] };
}

/** The rows of a single response. Not lookup.rows, which may skip rows by their names. */
async function wholeList(row: AnyOperation, input: Values, lookup: Lookup): Promise<unknown[]> {
  const rows = await lookup.one(row, input);
  return Array.isArray(rows) ? rows : [];
}

/** With more IDs than this, the whole list is read instead of single objects. */
const MAX_SINGLE_READS = 20;

/**
 * Throws not-found for IDs that the server would silently ignore. If they cannot be checked, prints a
 * notice and continues.
 */
export async function requireKnown(
  noun: Noun,
  ids: readonly string[],
  known: Values,
  lookup: Lookup,
): Promise<void> {
  if (ids.length === 0) return;
  const listing = listings[noun];
  let unknown: readonly string[];
  try {
    unknown = await unknownAmong(ids, listing, known, lookup);
  } catch (error) {
    const recoverable = ["failure", "refused", "auth", "unsupported"]; // others would fail the write, too
    if (!(error instanceof CliError) || !recoverable.includes(error.kind)) throw error;
    await lookup.notice(`cannot check that the ${listing.title} exists: ${error.message}`);
    return;
  }
  if (unknown.length === 0) return;
  const names = unknown.map((id) => JSON.stringify(id)).join(", ");
  throw notFound(
    `${listing.title}${unknown.length > 1 ? "s" : ""} ${names} not found`,
    `run ${listCommand(listing, (param) => known[param])} to list them`,
    { details: { unknown } },
  );
}

async function unknownAmong(
  ids: readonly string[],
  listing: Listing,
  known: Values,
  lookup: Lookup,
): Promise<string[]> {
  const { row, show } = listing;
  const scope = scopeOf(listing, known);
  const open = new Set(ids);
  if (show !== undefined && ids.length <= MAX_SINGLE_READS) {
    const [single, param] = show;
    for (const id of ids) {
      try {
        await lookup.one(single, { ...scope, [param]: id });
        open.delete(id);
      } catch (error) {
        if (!(error instanceof ApiError) || error.kind !== "not-found") throw error;
      }
    }
    return [...open];
  }
  const rows = show === undefined ? await wholeList(row, scope, lookup) : lookup.rows(row, scope);
  for await (const each of rows) {
    if (isObject(each)) open.delete(String(each["id"]));
    if (open.size === 0) break;
  }
  return [...open];
}

/**
 * The object of a resolved ID, for values that depend on it: the one that resolving the name has read,
 * or else one request.
 */
export async function objectOf(
  noun: Noun,
  resolved: Resolved,
  known: Values,
  lookup: Lookup,
): Promise<unknown> {
  const listing = listings[noun];
  if (resolved.object !== undefined || listing.show === undefined) return resolved.object;
  const [row, param] = listing.show;
  return lookup.one(row, { ...scopeOf(listing, known), [param]: resolved.id });
}

const MAX_NAME = 100;

/** The error for `id:` with a text that is not an ID. */
const invalidId = ({ title }: Listing, text: string): CliError =>
  usage(
    `${JSON.stringify(shortened(text, MAX_NAME))} is not a valid ${title} ID`,
    "IDs are UUIDs, or the first 8 or more characters of one; remove id: to use a name",
  );

/** The error for a text that selects several objects. */
function ambiguousText(
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
  const isName = !matches.every(({ id }) =>
    String(id).toLowerCase().startsWith(text.toLowerCase()),
  );
  const message = `${title} ${isName ? "name" : "ID"} ${JSON.stringify(text)} is ambiguous (${matches.length} matches)`;
  const isWhole = matches.every(({ name }) => name === text);
  const nameHint = isWhole ? "use the ID instead of the name" : "use the whole name, or the ID";
  const hint = isName ? nameHint : "enter more characters of the ID";
  return refused(message, hint, { code: "ambiguous", details: { candidates } });
}

/** The error for a name or ID that no object has. Suggests a name that was read, or one of the first page. */
async function unknownName(
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
  const read =
    names.find((each) => withSlashes(each).endsWith(`/${withSlashes(text)}`)) ??
    didYouMean(text, names);
  const first = read === undefined ? await firstNames(listing, known, lookup) : [];
  const near = read ?? didYouMean(text, first);
  if (near !== undefined) return notFound(message, `did you mean ${JSON.stringify(near)}?`);
  const makes = own({ kb: "kb create", tag: "kb tag create" }, noun);
  const isMissing =
    makes !== undefined && lookup.effect === "writes" && (noun === "kb" || "target_id" in known);
  const create = isMissing ? `, or create it: ${commandLine(makes, [text])}` : "";
  const rules = `names are case-sensitive${isShortPrefix(text) ? ", and of an ID at least 8 characters are needed" : ""}`;
  return notFound(message, `${rules}; run ${run} to see them${create}`);
}

/** The names of the first page, where a keyword has kept them from being read. */
async function firstNames(
  listing: Listing,
  known: Values,
  lookup: Lookup,
): Promise<readonly string[]> {
  if (!listing.keyword) return [];
  try {
    const query = { ...scopeOf(listing, known), ...listing.fixed };
    const rows = await wholeList(listing.row, query, lookup);
    const names = rows.map((row) => isObject(row) && row["name"]);
    return names.filter((name) => typeof name === "string");
  } catch (error) {
    if (error instanceof ApiError) return []; // the error is that the name is unknown
    throw error;
  }
}
