import type { Values } from "../../api/request.ts";
import { invalidResponse } from "../../api/response-fields.ts";
import { isProvider, modelsNamed } from "../../lib/model-names.ts";
import type { Model } from "../../lib/model-names.ts";
import { ApiError, CliError, notFound, refused, usage } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { getDocument, listDocuments } from "../../operations/documents.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../../operations/knowledge.ts";
import { listMetadataFields } from "../../operations/metadata.ts";
import { listModels } from "../../operations/models.ts";
import { asText } from "../../operations/operation.ts";
import type { AnyOperation, ListedNoun, Noun } from "../../operations/operation.ts";
import { listTags } from "../../operations/tags.ts";
import type { Lookup } from "./lookup.ts";
import { isUuid } from "../../lib/uuid.ts";

/** How the objects of a `ref` are listed and looked up. */
interface Listing {
  readonly title: string;
  readonly row: AnyOperation;
  /** Reads one object by ID, if the API can, and its parameter for the ID. */
  readonly show?: readonly [row: AnyOperation, param: string];
  /** Parameter to resolve first: documents and fields belong to a knowledge base. */
  readonly within?: "dataset_id";
  /** Does the list take a keyword? */
  readonly keyword?: true;
  /** Further values of the request for the list. */
  readonly fixed?: Values;
  /** The objects in a row, each with `id` and `name`, if the row itself is not one. */
  readonly inside?: (row: unknown) => readonly (Listed & Model)[];
  /** Is the text an ID, so that nothing is looked up? */
  readonly isId: (text: string) => boolean;
  readonly idHint: string;
  /** Fields that distinguish objects with the same name. */
  readonly distinct: readonly string[];
  readonly ambiguousHint: string;
}

type Listed = Readonly<Record<string, unknown>>;

/** Objects whose IDs are UUIDs. */
const byUuid = {
  isId: isUuid,
  idHint: "IDs are UUIDs; remove id: to use a name",
  distinct: ["id", "name"],
  ambiguousHint: "use the ID instead of the name",
} as const;

/** How each noun is listed. */
export const listings: Readonly<Record<Noun | ListedNoun, Listing>> = {
  kb: {
    ...byUuid,
    title: "knowledge base",
    row: listKnowledgeBases,
    show: [getKnowledgeBase, "dataset_id"],
    keyword: true,
    fixed: { include_all: true },
  },
  document: {
    ...byUuid,
    title: "document",
    row: listDocuments,
    show: [getDocument, "document_id"],
    within: "dataset_id",
    keyword: true,
  },
  tag: { ...byUuid, title: "tag", row: listTags },
  field: { ...byUuid, title: "metadata field", row: listMetadataFields, within: "dataset_id" },
  model: {
    title: "embedding model",
    row: listModels,
    fixed: { model_type: "text-embedding" },
    inside: modelsOf,
    isId: () => false,
    idHint: "models have no ID; remove id:",
    distinct: ["provider", "model"],
    ambiguousHint: "set provider and model with separate flags",
  },
};

/** The values of a request inside the knowledge base, if the objects belong to one. */
const scopeOf = ({ within }: Listing, known: Values): Values =>
  within === undefined ? {} : { [within]: known[within] };

/**
 * The keyword to list a name by. The server takes `%`, `_` and `\` as wildcards, so only the longest
 * part between them is sent (server §5).
 */
function keywordOf(name: string): string | undefined {
  const longest = name.split(/[%_\\]/).sort((a, b) => b.length - a.length)[0] ?? "";
  return [...longest].slice(0, 100).join("").trim() || undefined;
}

/** The models of a provider. */
function modelsOf(provider: unknown): (Listed & Model)[] {
  const models = isObject(provider) ? provider["models"] : undefined;
  if (!isObject(provider) || !Array.isArray(models)) return [];
  return models.filter(isObject).map(({ model }) => ({
    id: model,
    name: `${asText(provider["provider"])}/${asText(model)}`,
    provider: asText(provider["provider"]),
    model: asText(model),
  }));
}

/** Display name of a noun: `knowledge base`. */
export const titleOf = (noun: Noun): string => listings[noun].title;

/** A resolved reference: the ID to send, and the object if it was read. */
export interface Resolved {
  readonly id: string;
  readonly object: unknown;
}

/**
 * Resolves a name or ID: a UUID or `id:…` is an ID, everything else (and `name:…`) a name that must
 * match exactly. Throws not-found, or refused with the candidates of an ambiguous name.
 */
export async function resolveName(
  noun: Noun | ListedNoun,
  typed: string,
  known: Values,
  lookup: Lookup,
): Promise<Resolved> {
  const listing = listings[noun];
  const { title, isId } = listing;
  if (typed.startsWith("id:")) return { id: asId(listing, typed.slice(3)), object: undefined };
  if (!typed.startsWith("name:") && isId(typed)) return { id: typed, object: undefined };
  const name = typed.startsWith("name:") ? typed.slice(5) : typed;
  const stored = noun === "kb" ? await lookup.base(name) : undefined;
  if (stored !== undefined) {
    await lookup.trace(1, `${title} ${JSON.stringify(name)} is ${stored} (from the profile)`);
    return { id: stored, object: undefined };
  }
  const { names, matches } = listing.inside
    ? await matchesInside(listing, name, known, lookup)
    : { names: [], matches: await matchesOf(listing, name, known, lookup) };
  const [only] = matches;
  if (only === undefined) {
    const { provider } = known;
    const full = provider === undefined ? name : `${String(provider)}/${name}`;
    throw notFound(
      `${title} ${JSON.stringify(shortened(full))} not found`,
      notFoundHint(listing, names, known),
    );
  }
  if (matches.length > 1) throw ambiguous(listing, name, matches);
  const { id } = only;
  if (typeof id !== "string" || id === "") {
    throw invalidResponse(`the ${title} ${JSON.stringify(name)} has no id`);
  }
  await lookup.trace(1, `${title} ${JSON.stringify(name)} is ${id}`);
  return { id, object: only };
}

function ambiguous(
  { title, distinct, ambiguousHint }: Listing,
  name: string,
  matches: readonly Listed[],
): CliError {
  const candidates = matches.map(({ created_at, ...candidate }) => ({
    ...Object.fromEntries(distinct.map((field) => [field, candidate[field]])),
    ...(typeof created_at === "number" && {
      created: new Date(created_at * 1000).toISOString().slice(0, 19).replace("T", " "),
    }),
  }));
  const message = `${title} name ${JSON.stringify(name)} is ambiguous (${matches.length} matches)`;
  return refused(message, ambiguousHint, { code: "ambiguous", details: { candidates } });
}

/** The objects with exactly this name. */
async function matchesOf(
  listing: Listing,
  name: string,
  known: Values,
  lookup: Lookup,
): Promise<readonly Listed[]> {
  const { row, title, keyword, fixed } = listing;
  const narrow = { ...(keyword && { keyword: keywordOf(name) }), ...fixed };
  const matches: Listed[] = [];
  let nameless = false;
  for await (const each of lookup.rows(row, { ...scopeOf(listing, known), ...narrow })) {
    if (isObject(each) && each["name"] === name) matches.push(each);
    nameless ||= !isObject(each) || typeof each["name"] !== "string";
  }
  // A row without a readable name could have this one.
  if (matches.length === 0 && nameless) {
    throw invalidResponse(`a row of the list of ${title}s has no name`);
  }
  return matches;
}

/** The objects inside the rows of a list: the names of all, and the matches. */
async function matchesInside(
  { row, fixed = {}, inside }: Listing,
  name: string,
  { provider }: Values,
  lookup: Lookup,
) {
  const all = inside === undefined ? [] : (await wholeList(row, fixed, lookup)).flatMap(inside);
  const matches =
    provider === undefined
      ? modelsNamed(name, all)
      : all.filter((each) => isProvider(String(provider), each) && each.model === name);
  return { names: all.map((each) => each["name"]), matches };
}

/** The rows of a single response. Not lookup.rows, which may skip rows by their names. */
async function wholeList(row: AnyOperation, input: Values, lookup: Lookup): Promise<unknown[]> {
  const rows = await lookup.one(row, input);
  return Array.isArray(rows) ? rows : [];
}

/** Names that a hint lists. */
const MAX_NAMES = 20;

/** How to find a valid name; the names themselves if all were read. */
function notFoundHint(listing: Listing, names: readonly unknown[], known: Values): string {
  const { inside, title } = listing;
  if (!inside)
    return `names are case-sensitive; run \`${listCommand(listing, known)}\` to see them`;
  if (names.length === 0) return `the workspace has no active ${title}`;
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return `available: ${names.slice(0, MAX_NAMES).join(", ")}${more}`;
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
    `run \`${listCommand(listing, known)}\` to list them`,
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

/** The command that lists the names: `kb doc list 0190…`. */
const listCommand = ({ row, within }: Listing, known: Values): string =>
  (row.command ?? "").replace("<kb>", within === undefined ? "" : String(known[within])).trim();

/**
 * The object of a resolved ID, for values that depend on it (`kb.doc_form`): the one that resolving
 * the name has read, or else one request.
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

/** The value at a `from` path (`kb.doc_form`) in the object of its noun. */
export const fromObject = (path: string, object: unknown): unknown =>
  valueAt(object, path.slice(path.indexOf(".") + 1)) ?? undefined;

function asId({ title, isId, idHint }: Listing, text: string): string {
  if (isId(text)) return text;
  throw usage(`${JSON.stringify(shortened(text))} is not a valid ${title} ID`, idHint);
}

const shortened = (name: string) => (name.length > 100 ? `${name.slice(0, 100)}…` : name);
