import { invalidResponse } from "../../api/response-fields.ts";
import { isProvider, modelsNamed } from "../../lib/model-names.ts";
import type { Model } from "../../lib/model-names.ts";
import { ApiError, CliError } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { getDocument, listDocuments } from "../../operations/documents.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../../operations/knowledge.ts";
import { listMetadataFields } from "../../operations/metadata.ts";
import { listModels } from "../../operations/models.ts";
import { asText } from "../../operations/operation.ts";
import type { AnyOperation, ListedNoun, Noun } from "../../operations/operation.ts";
import { listTags } from "../../operations/tags.ts";
import type { Lookup } from "./lookup.ts";
import { isUuid } from "../parse/values.ts";

/** Where the things a `ref` names are listed, and how the list is narrowed to one name. */
interface Listing {
  readonly title: string;
  readonly row: AnyOperation;
  /** Answer of one object by id; absent where there is none. */
  readonly show?: AnyOperation;
  /** Parameter of `show` that takes the id. */
  readonly id?: string;
  /** Parameter that must be known first: documents and fields belong to a knowledge base. */
  readonly within?: "dataset_id";
  readonly narrow: (name: string) => Readonly<Record<string, unknown>>;
  /** The things in a row, each with `id` and `name`, where the row itself is none. */
  readonly inside?: (row: unknown) => readonly (Thing & Model)[];
  /** Is it what the API takes, so that nothing is looked up? */
  readonly isId: (text: string) => boolean;
  readonly idHint: string;
  /** Fields that tell things of one name apart. */
  readonly differ: readonly string[];
  readonly ambiguousHint: string;
}

type Thing = Readonly<Record<string, unknown>>;

/**
 * Keyword that every name containing it matches: the server takes `%`, `_` and `\` in it as
 * wildcards, so only the longest stretch between them is sent (server §5).
 */
function keyword(name: string): string | undefined {
  const longest = name.split(/[%_\\]/).sort((a, b) => b.length - a.length)[0] ?? "";
  return [...longest].slice(0, 100).join("").trim() || undefined;
}

/** How a thing with a UUID is told from its name. */
const byUuid = {
  isId: isUuid,
  idHint: "ids are UUIDs; for a name leave id: away",
  differ: ["id", "name"],
  ambiguousHint: "use the id of the one you mean",
} as const;

const listings: Readonly<Record<Noun | ListedNoun, Listing>> = {
  kb: {
    ...byUuid,
    title: "knowledge base",
    row: listKnowledgeBases,
    show: getKnowledgeBase,
    id: "dataset_id",
    narrow: (name) => ({ keyword: keyword(name), include_all: true }),
  },
  document: {
    ...byUuid,
    title: "document",
    row: listDocuments,
    show: getDocument,
    id: "document_id",
    within: "dataset_id",
    narrow: (name) => ({ keyword: keyword(name) }),
  },
  tag: { ...byUuid, title: "tag", row: listTags, narrow: () => ({}) },
  field: {
    ...byUuid,
    title: "metadata field",
    row: listMetadataFields,
    within: "dataset_id",
    narrow: () => ({}),
  },
  model: {
    title: "embedding model",
    row: listModels,
    narrow: () => ({ model_type: "text-embedding" }),
    inside: modelsOf,
    isId: () => false,
    idHint: "models have no id; leave id: away",
    differ: ["provider", "model"],
    ambiguousHint: "give provider and model by a flag each",
  },
};

/** The models of a provider. */
function modelsOf(provider: unknown): (Thing & Model)[] {
  const found = isObject(provider) ? provider["models"] : undefined;
  if (!isObject(provider) || !Array.isArray(found)) return [];
  return found.filter(isObject).map(({ model }) => ({
    id: model,
    name: `${asText(provider["provider"])}/${asText(model)}`,
    provider: asText(provider["provider"]),
    model: asText(model),
  }));
}

/** What people call a noun: `knowledge base`. */
export const titleOf = (noun: Noun): string => listings[noun].title;

/** A reference resolved: the id to send, and the object where it was read. */
export interface Resolved {
  readonly id: string;
  readonly object: unknown;
}

/**
 * The id of what was typed: a UUID or `id:…` is an id, everything else (and `name:…`) a name that
 * must match exactly. Throws not-found for none, refused with a table of candidates for several.
 */
export async function resolveName(
  noun: Noun | ListedNoun,
  typed: string,
  known: Readonly<Record<string, unknown>>,
  lookup: Lookup,
): Promise<Resolved> {
  const listing = listings[noun];
  const { title, isId, differ, ambiguousHint } = listing;
  if (typed.startsWith("id:")) return { id: asId(listing, typed.slice(3)), object: undefined };
  if (!typed.startsWith("name:") && isId(typed)) return { id: typed, object: undefined };
  const name = typed.startsWith("name:") ? typed.slice(5) : typed;
  const info = noun === "kb" ? await lookup.base(name) : undefined;
  if (info !== undefined) {
    await lookup.trace(1, `${title} ${JSON.stringify(name)} is ${info}, as its key was info`);
    return { id: info, object: undefined };
  }
  const { provider } = known;
  const full = provider === undefined ? name : `${String(provider)}/${name}`;
  const { listed, found } = listing.inside
    ? await listedNamed(listing, { name, provider }, listing.inside, lookup)
    : { listed: [], found: await thingsNamed(listing, name, known, lookup) };
  const [only] = found;
  if (only === undefined) {
    throw new CliError(
      "not-found",
      `there is no ${title} called ${JSON.stringify(shortened(full))}`,
      { sideEffect: "none", hint: whereToLook(listing, listed, known) },
    );
  }
  if (found.length > 1) {
    const candidates = found.map((candidate) => ({
      ...Object.fromEntries(differ.map((field) => [field, candidate[field]])),
      ...(typeof candidate["created_at"] === "number" && {
        created: new Date(candidate["created_at"] * 1000)
          .toISOString()
          .slice(0, 19)
          .replace("T", " "),
      }),
    }));
    throw new CliError("refused", `${found.length} ${title}s are called ${JSON.stringify(name)}`, {
      code: "ambiguous",
      sideEffect: "none",
      details: { candidates },
      hint: ambiguousHint,
    });
  }
  const { id } = only;
  if (typeof id !== "string" || id === "") {
    throw invalidResponse(`the ${title} ${JSON.stringify(name)} has no id`);
  }
  await lookup.trace(1, `${title} ${JSON.stringify(name)} is ${id}`);
  return { id, object: only };
}

/** The things of exactly this name. */
async function thingsNamed(
  { row, title, within, narrow }: Listing,
  name: string,
  known: Readonly<Record<string, unknown>>,
  lookup: Lookup,
): Promise<Thing[]> {
  const scope = within === undefined ? {} : { [within]: known[within] };
  const found: Thing[] = [];
  let nameless = false;
  for await (const thing of lookup.rows(row, { ...scope, ...narrow(name) })) {
    if (isObject(thing) && thing["name"] === name) found.push(thing);
    nameless ||= !isObject(thing) || typeof thing["name"] !== "string";
  }
  // One whose name nobody can read may have this one, too.
  if (found.length === 0 && nameless)
    throw invalidResponse(`a row of the list of ${title}s has no name`);
  return found;
}

/** What is inside the rows of a list: the names of all, and those that are meant. */
async function listedNamed(
  { row, narrow }: Listing,
  { name, provider }: { readonly name: string; readonly provider: unknown },
  inside: NonNullable<Listing["inside"]>,
  lookup: Lookup,
) {
  // A look-up may leave rows out by their names, and these rows only hold what has one.
  const rows = await lookup.one(row, narrow(name));
  const all = (Array.isArray(rows) ? rows : []).flatMap(inside);
  const listed = all.map((each) => each["name"]);
  if (provider === undefined) return { listed, found: modelsNamed(name, all) };
  const own = all.filter((each) => isProvider(String(provider), each) && each.model === name);
  return { listed, found: own };
}

/** Names that a hint lists at most. */
const mostNames = 20;

/** Where a name that nobody has can be found; the names themselves where all were read. */
function whereToLook(
  listing: Listing,
  names: readonly unknown[],
  known: Readonly<Record<string, unknown>>,
): string {
  const { inside, title } = listing;
  if (!inside)
    return `names must match exactly, capitals too; list them with \`${listLine(listing, known)}\``;
  if (names.length === 0) return `the workspace has no active ${title}`;
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : "";
  return `there are: ${names.slice(0, mostNames).join(", ")}${more}`;
}

/** More ids than this, and their whole list is read instead of each of them. */
const singleReads = 20;

/**
 * Refuses ids that the server does not know, where it would say nothing of them. Throws not-found
 * that names each. Where they cannot be looked up, that is said and the server has its say.
 */
export async function requireKnown(
  noun: Noun,
  ids: readonly string[],
  known: Readonly<Record<string, unknown>>,
  lookup: Lookup,
): Promise<void> {
  if (ids.length === 0) return;
  const listing = listings[noun];
  let unknown: readonly string[];
  try {
    unknown = await unknownAmong(ids, listing, known, lookup);
  } catch (error) {
    const untold = ["failure", "refused", "auth", "unsupported"]; // others would meet the write, too
    if (!(error instanceof CliError) || !untold.includes(error.kind)) throw error;
    await lookup.notice(`could not check that the ${listing.title} exists: ${error.message}`);
    return;
  }
  if (unknown.length === 0) return;
  const names = unknown.map((id) => JSON.stringify(id)).join(", ");
  throw new CliError(
    "not-found",
    `${listing.title}${unknown.length > 1 ? "s" : ""} ${names} not found`,
    {
      sideEffect: "none",
      details: { unknown },
      hint: `list them with \`${listLine(listing, known)}\``,
    },
  );
}

async function unknownAmong(
  ids: readonly string[],
  { row, show, id: param, within }: Listing,
  known: Readonly<Record<string, unknown>>,
  lookup: Lookup,
): Promise<string[]> {
  const scope = within === undefined ? {} : { [within]: known[within] };
  const open = new Set(ids);
  if (show === undefined || param === undefined) {
    // A look-up of names may leave rows out, one request does not.
    const rows = await lookup.one(row, scope);
    for (const each of Array.isArray(rows) ? rows : [])
      if (isObject(each)) open.delete(String(each["id"]));
  } else if (ids.length > singleReads) {
    for await (const each of lookup.rows(row, scope)) {
      if (isObject(each)) open.delete(String(each["id"]));
      if (open.size === 0) break;
    }
  } else {
    for (const id of ids) {
      const found = await lookup.one(show, { ...scope, [param]: id }).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ApiError && error.kind === "not-found") return false;
          throw error;
        },
      );
      if (found) open.delete(id);
    }
  }
  return [...open];
}

/** The line that lists what has the name: `kb doc list 0190…`. */
const listLine = ({ row, within }: Listing, known: Readonly<Record<string, unknown>>): string =>
  (row.command ?? "").replace("<kb>", within === undefined ? "" : String(known[within])).trim();

/**
 * The object behind an id, for values that follow from it (`kb.doc_form`, `document.doc_form`):
 * what the look-up of the name read already, else one request.
 */
export async function objectOf(
  noun: Noun,
  resolved: Resolved,
  known: Readonly<Record<string, unknown>>,
  lookup: Lookup,
): Promise<unknown> {
  const { show, id, within } = listings[noun];
  if (resolved.object !== undefined || show === undefined || id === undefined)
    return resolved.object;
  const scope = within === undefined ? {} : { [within]: known[within] };
  return lookup.one(show, { ...scope, [id]: resolved.id });
}

/** Value of a `from` path (`kb.doc_form`) in the object of its noun. */
export const fromObject = (path: string, object: unknown): unknown =>
  valueAt(object, path.slice(path.indexOf(".") + 1)) ?? undefined;

function asId({ title, isId, idHint }: Listing, text: string): string {
  if (isId(text)) return text;
  throw new CliError("usage", `${JSON.stringify(shortened(text))} is no id of a ${title}`, {
    sideEffect: "none",
    hint: idHint,
  });
}

const shortened = (name: string) => (name.length > 100 ? `${name.slice(0, 100)}…` : name);
