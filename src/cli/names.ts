import { CliError } from "../errors.ts";
import { isObject, valueAt } from "../json.ts";
import * as documents from "../operations/documents.ts";
import * as knowledge from "../operations/knowledge.ts";
import * as metadata from "../operations/metadata.ts";
import type { AnyOperation, Noun } from "../operations/operation.ts";
import * as tags from "../operations/tags.ts";
import { isUuid } from "./values.ts";

/** Where the things of a noun are listed, and how the list is narrowed to one name. */
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
}

/**
 * Keyword that every name containing it matches: the server takes `%`, `_` and `\` in it as
 * wildcards, so only the longest stretch between them is sent (server §5).
 */
function keyword(name: string): string | undefined {
  const longest = name.split(/[%_\\]/).sort((a, b) => b.length - a.length)[0] ?? "";
  return [...longest].slice(0, 100).join("").trim() || undefined;
}

const listings: Readonly<Record<Noun, Listing>> = {
  kb: {
    title: "knowledge base",
    row: knowledge.list,
    show: knowledge.show,
    id: "dataset_id",
    narrow: (name) => ({ keyword: keyword(name), include_all: true }),
  },
  document: {
    title: "document",
    row: documents.list,
    show: documents.show,
    id: "document_id",
    within: "dataset_id",
    narrow: (name) => ({ keyword: keyword(name) }),
  },
  tag: { title: "tag", row: tags.list, narrow: () => ({}) },
  field: { title: "metadata field", row: metadata.list, within: "dataset_id", narrow: () => ({}) },
};

/** What looking up needs: reading a list to its end, and one object. */
export interface Lookup {
  rows(row: AnyOperation, input: Readonly<Record<string, unknown>>): AsyncIterable<unknown>;
  one(row: AnyOperation, input: Readonly<Record<string, unknown>>): Promise<unknown>;
  trace(level: 1, text: string): Promise<void>;
}

/** A reference resolved: the id to send, and the object where it was read. */
export interface Resolved {
  readonly id: string;
  readonly object: unknown;
}

/**
 * The id of what was typed: a UUID or `id:…` is an id, everything else (and `name:…`) a name that
 * must match exactly. Throws not-found for none, refused with a table of candidates for several.
 */
export async function resolve(
  noun: Noun,
  typed: string,
  known: Readonly<Record<string, unknown>>,
  lookup: Lookup,
): Promise<Resolved> {
  if (typed.startsWith("id:")) return { id: asId(noun, typed.slice(3)), object: undefined };
  if (!typed.startsWith("name:") && isUuid(typed)) return { id: typed, object: undefined };
  const name = typed.startsWith("name:") ? typed.slice(5) : typed;
  const { title, row, within, narrow } = listings[noun];
  const scope = within === undefined ? {} : { [within]: known[within] };
  const found: Record<string, unknown>[] = [];
  for await (const candidate of lookup.rows(row, { ...scope, ...narrow(name) })) {
    if (isObject(candidate) && candidate["name"] === name) found.push(candidate);
  }
  const [only] = found;
  if (only === undefined) {
    throw new CliError(
      "not-found",
      `there is no ${title} called ${JSON.stringify(shortened(name))}`,
      {
        changed: "nothing",
        hint: `names must match exactly, capitals too; list them with \`${row.command ?? ""}\``,
      },
    );
  }
  if (found.length > 1) {
    const candidates = found.map((candidate) => ({
      id: candidate["id"],
      name: candidate["name"],
      ...(typeof candidate["created_at"] === "number" && {
        created: new Date(candidate["created_at"] * 1000)
          .toISOString()
          .slice(0, 19)
          .replace("T", " "),
      }),
    }));
    throw new CliError("refused", `${found.length} ${title}s are called ${JSON.stringify(name)}`, {
      code: "ambiguous",
      changed: "nothing",
      details: { candidates },
      hint: "use the id of the one you mean",
    });
  }
  const id = String(only["id"]);
  await lookup.trace(1, `${title} ${JSON.stringify(name)} is ${id}`);
  return { id, object: only };
}

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

function asId(noun: Noun, text: string): string {
  if (isUuid(text)) return text;
  throw new CliError(
    "usage",
    `${JSON.stringify(shortened(text))} is no id of a ${listings[noun].title}`,
    {
      changed: "nothing",
      hint: "ids are UUIDs; for a name leave id: away",
    },
  );
}

const shortened = (name: string) => (name.length > 100 ? `${name.slice(0, 100)}…` : name);

/** What an operation makes, so that `--if-not-exists` can find it by its name. */
export const madeBy: Readonly<Record<string, Noun>> = {
  createDataset: "kb",
  createKnowledgeTag: "tag",
  createMetadataField: "field",
};
