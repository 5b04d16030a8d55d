/**
 * What a row of the operation table may say, and the types that follow from it. This is the only
 * file with type-level work: everything else reads rows as plain data.
 */

/** Things that have a name and an id; a parameter of kind `ref` takes either. */
export type Noun = "kb" | "document" | "tag" | "field";

/** Things without an id that a `ref` picks from a list: a model, written `provider/model`. */
export type ListedNoun = "model";

/** Where a value goes: `data` is the JSON part of a multipart form, `local` is never sent. */
export type ParamLocation = "path" | "query" | "body" | "data" | "form" | "local";

/** What a JSON value must look like as far as the server refuses others; unknown fields pass. */
export type Shape =
  | { readonly kind: "any" | "flag" | "number"; readonly required?: true }
  | {
      readonly kind: "integer";
      readonly required?: true;
      readonly range?: readonly [number, number];
    }
  | { readonly kind: "text"; readonly required?: true; readonly choices?: readonly string[] }
  | {
      readonly kind: "list";
      readonly required?: true;
      readonly of: Shape;
      readonly length?: readonly [number, number];
    }
  | {
      readonly kind: "object";
      readonly required?: true;
      readonly fields?: Readonly<Record<string, Shape>>;
    };

/** What every parameter may say beside its place and kind. */
interface Limits {
  readonly required?: true;
  /** The flag repeats and the value is an array; a positional that is `many` takes several words. */
  readonly many?: true;
  /** Smallest and largest number of characters of a text, or of items where `many`. */
  readonly length?: readonly [number, number];
  readonly range?: readonly [number, number];
  /** Characters that the server keeps of the name of a file. */
  readonly maxNameLength?: number;
  /** Name of the flag, without dashes, where the wire name makes a poor one. */
  readonly flag?: string;
  /** Further names of the flag, which help does not show. */
  readonly aliases?: readonly string[];
  /** Word of the positional in `command`, where it is neither the wire name nor the noun. */
  readonly placeholder?: string;
  /** What the flag means without a value, which may then be left out. */
  readonly bareValue?: string;
  /** One letter that stands for the flag. */
  readonly short?: string;
  /**
   * Fills an absent value from the object that a `ref` was resolved to: `kb.doc_form` (server §9), or
   * from what the row's `present` answers: `current.data.answer`.
   */
  readonly from?: string;
  /** Filled only where that field of the same object has this value, and then it must have one. */
  readonly onlyIf?: readonly [path: string, value: string];
  /** What is sent when absent, by `doc_form`; a given value must have the same mode. */
  readonly defaultByForm?: Readonly<Record<string, { readonly mode: string }>>;
  /**
   * Absent parameters that the thing behind a `ref` fills, each with the field it takes from there.
   * Where all of them are given, the value is sent as typed.
   */
  readonly fills?: Readonly<Record<string, string>>;
  /**
   * What goes with the value: sent when absent, and nothing else may be given. Without its technique
   * an embedding model is stored and nothing is indexed with it (server §8).
   */
  readonly implies?: Readonly<Record<string, string>>;
  /** The parameter that a value needs; the server may have a default for it. */
  readonly needs?: readonly [value: string, param: string];
  /** What the server takes when the value is absent: said in help, never sent. */
  readonly serverDefault?: string;
  /** The server says nothing of an id that it does not know, so ids are looked up first. */
  readonly mustExist?: true;
  /** Sent when the value is absent. */
  readonly default?: boolean;
  /**
   * Field of the thing behind a `ref`, such as `kb.indexing_technique`: once it is set, the server
   * ignores every other value without a word, so such a value is refused before it is sent.
   */
  readonly lockedBy?: string;
  /** Path of a file that is written beside what is printed, so it cannot be standard output. */
  readonly isOutputPath?: true;
  /** What a JSON value must look like. */
  readonly shape?: Shape;
  /** The text may also come from a file: adds a flag `--<name>-file PATH`, `-` for standard input. */
  readonly orFile?: true;
  /** Media types of a file by its extension, where the server has names of its own for them. */
  readonly mediaTypes?: Readonly<Record<string, string>>;
}

export interface Param extends Limits {
  readonly in: ParamLocation;
  readonly kind:
    | "text"
    | "uuid"
    | "integer"
    | "number"
    | "flag"
    | "choice"
    | "time"
    | "json"
    | "file"
    | "content"
    | "duration"
    | "ref";
  readonly help: string;
  readonly choices?: readonly string[];
  readonly noun?: Noun;
  readonly listed?: ListedNoun;
}

export type Params = Readonly<Record<string, Param>>;

type Made<P extends ParamLocation, K extends Param["kind"], L, X = unknown> = {
  readonly in: P;
  readonly kind: K;
  readonly help: string;
} & X &
  NoInfer<L>;

// `const L` keeps `required: true` a literal; without NoInfer in `Made` a bare call would infer L
// from the place it is used in and lose the choices.
function at<P extends ParamLocation>(place: P) {
  const make =
    <K extends Param["kind"]>(kind: K) =>
    <const L extends Limits = Record<never, never>>(help: string, limits?: L): Made<P, K, L> =>
      ({ in: place, kind, help, ...limits }) as Made<P, K, L>;
  return {
    text: make("text"),
    uuid: make("uuid"),
    integer: make("integer"),
    number: make("number"),
    flag: make("flag"),
    time: make("time"),
    json: make("json"),
    file: make("file"),
    /** Text of a file whose path is typed; `-` is standard input. */
    content: make("content"),
    duration: make("duration"),
    choice: <const C extends readonly string[], const L extends Limits = Record<never, never>>(
      choices: C,
      help: string,
      limits?: L,
    ) =>
      ({ in: place, kind: "choice", choices, help, ...limits }) as Made<
        P,
        "choice",
        L,
        { readonly choices: C }
      >,
    ref: <const L extends Limits = Record<never, never>>(noun: Noun, help: string, limits?: L) =>
      ({ in: place, kind: "ref", noun, help, ...limits }) as Made<
        P,
        "ref",
        L,
        { readonly noun: Noun }
      >,
    /** A model of the list of models; `fills` names the parameter that takes its provider. */
    model: <const L extends Limits = Record<never, never>>(help: string, limits?: L) =>
      ({
        in: place,
        kind: "ref",
        listed: "model",
        placeholder: "provider/model",
        help,
        ...limits,
      }) as Made<P, "ref", L, { readonly listed: "model" }>,
  };
}

/** Parameters by place: `body.text("Name", { length: [1, 40], required })`. */
export const path = at("path");
export const query = at("query");
export const body = at("body");
export const data = at("data");
export const form = at("form");
export const local = at("local");

/**
 * A column of a table: a path into the row (`data_source_info.size`), or a label and a cell. A sparse
 * one is left out of a grid in which it would be empty.
 */
export type Column<T = never> =
  | string
  | readonly [label: string, cell: (row: T) => unknown, sparse?: "sparse"];

/** Anything a server may send as words: a text as it is, nothing for nothing, all else as JSON. */
export const asText = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : (JSON.stringify(value) ?? "");

/** The items of a list as words, one after the other; `undefined` where there is no list. */
export const joinTexts = (list: unknown, separator = ", "): string | undefined =>
  Array.isArray(list) ? list.map(asText).join(separator) : undefined;

/** Stands between columns: those after it are shown with `-o wide` only. */
export const wideOnly = "…";

/** Column of a Unix time in seconds, which tables show as local time; null stays empty. */
export const timeColumn = <K extends string>(label: string, field: K) =>
  [
    label,
    (row: { readonly [P in K]?: number | null }) =>
      typeof row[field] === "number" ? new Date(row[field] * 1000) : null,
  ] as const;

/**
 * What those who act on an answer rely on: fields and their types; further fields pass. A name with
 * `?` may be null or absent, `=` stands before the only text allowed, and a list has one entry for
 * all of its items. Numbers are finite, a time is one that can be shown, an id is not empty, and a
 * scalar is a text, a number, true or false.
 */
export type RequiredFields =
  | "text"
  | "id"
  | "number"
  | "time"
  | "flag"
  | "scalar"
  | `=${string}`
  | readonly [RequiredFields]
  | { readonly [field: string]: RequiredFields };

/** `Reads` that fit the type: what it allows to be null or absent has a `?`. */
type RequiredFieldsOf<T> = T extends string
  ? "text" | "id" | "scalar" | `=${T}`
  : T extends number
    ? "number" | "time" | "scalar"
    : T extends boolean
      ? "flag" | "scalar"
      : T extends readonly (infer E)[]
        ? readonly [RequiredFieldsOf<E>]
        : {
            readonly [
              K in keyof T & string as null extends T[K]
                ? `${K}?`
                : undefined extends T[K]
                  ? `${K}?`
                  : K
            ]?: RequiredFieldsOf<NonNullable<T[K]>>;
          };

/** How an answer is laid out for people, and where its id is. */
interface Layout<T> {
  readonly columns: readonly Column<T>[];
  /** Path of what `-o name` prints; `id` when absent. */
  readonly namePath?: string;
  /** What each row, or the record, must hold for tasks, and after a write. */
  readonly fields?: RequiredFields;
}

/**
 * What an operation answers. `rows` is the path of the rows inside the answer, "" for the answer
 * itself. A page is asked for by `page` and `limit`, a cursor by the id of the last row: the
 * engine adds these parameters, rows do not declare them.
 */
export type Returns<T = unknown> =
  | ({ readonly kind: "record" } & Layout<T>)
  | ({ readonly kind: "list"; readonly rows: string } & Layout<T>)
  | ({
      readonly kind: "page";
      readonly rows: string;
      /** Largest page the server gives. */
      readonly cap: number;
    } & Layout<T>)
  | ({
      readonly kind: "cursor";
      readonly rows: string;
      /** Query parameter that takes the id of the last row. */
      readonly after: string;
      readonly cap: number;
    } & Layout<T>)
  /**
   * Batches of events. With `some` not every event of a run is among them; with `past` they come
   * long after the dates in them, at the pace at which they came then; with `orAnswer` the server may
   * answer with one JSON object instead, which is then the only event.
   */
  | {
      readonly kind: "events";
      readonly some?: true;
      readonly past?: true;
      readonly orAnswer?: true;
    }
  /** Bytes; with `media` only those of a media type that begins so. */
  | { readonly kind: "file"; readonly media?: string }
  /** Any JSON values or texts, printed as they are. */
  | { readonly kind: "json" }
  /** Pieces of one text, printed as they come. */
  | { readonly kind: "text" }
  /** One `Report` (src/report.ts); with `picture` it has an `svg`. */
  | { readonly kind: "report"; readonly picture?: true }
  | { readonly kind: "nothing" };

declare const answer: unique symbol;
/** `Returns` that remembers the type of its row. The field exists for the compiler alone. */
export type Typed<R extends Returns<never>, T> = R & { readonly [answer]?: T };

type Kind<K extends Returns["kind"]> = Extract<Returns<never>, { kind: K }>;

/** One object; `columns` are the lines of its sheet. */
export const record = <T>(...columns: Column<T>[]): Typed<Kind<"record">, T> =>
  ({ kind: "record", columns }) as unknown as Typed<Kind<"record">, T>;

/** A full list in one answer; `rows` is the path of the array, "" when the answer is the array. */
export const list = <T>(rows: string, ...columns: Column<T>[]): Typed<Kind<"list">, T> =>
  ({ kind: "list", rows, columns }) as unknown as Typed<Kind<"list">, T>;

/** A list in numbered pages of at most 100 rows under `data`. */
export const page = <T>(...columns: Column<T>[]): Typed<Kind<"page">, T> =>
  ({ kind: "page", rows: "data", cap: 100, columns }) as unknown as Typed<Kind<"page">, T>;

/** A list that goes on after the id of the last row, sent as the parameter `after`. */
export const cursor = <T>(after: string, ...columns: Column<T>[]): Typed<Kind<"cursor">, T> =>
  ({ kind: "cursor", rows: "data", cap: 100, after, columns }) as unknown as Typed<
    Kind<"cursor">,
    T
  >;

/** The same answer with another path for `-o name`. */
export const withNamePath = <R>(path: string, returns: R): R => ({ ...returns, namePath: path });

/** The same answer with what those who act on it rely on. */
export const withFields = <R extends Returns<never>>(
  fields: RequiredFieldsOf<RowOf<R>>,
  returns: R,
): R => ({
  ...returns,
  fields,
});

/** The answer to a write that says nothing else. */
export const success: Typed<Kind<"record">, { readonly result: "success" }> = {
  ...record<{ readonly result: "success" }>("result"),
  fields: { result: "=success" },
};

export const events = { kind: "events" } as const;
export const eventsOrResponse = { kind: "events", orAnswer: true } as const;
export const someEvents = { kind: "events", some: true } as const;
export const pastEvents = { kind: "events", past: true } as const;
export const fileContent = { kind: "file" } as const;
export const audioFile = { kind: "file", media: "audio/" } as const;
export const textChunks = { kind: "text" } as const;
export const report = { kind: "report" } as const;
export const drawnReport = { kind: "report", picture: true } as const;
export const noContent = { kind: "nothing" } as const;

/**
 * May a request be repeated after a failure that leaves open whether the server did it?
 * `safe` reads; `idempotent` ends in the same state; `upsert` replaces by name; `never` could
 * double the work (server §20).
 */
export type Retry = "safe" | "idempotent" | "upsert" | "never";

export interface Operation<P extends Params = Params, R extends Returns<never> = Returns<never>> {
  /** operationId of the API. */
  readonly id: string;
  /** Words and positionals as typed; absent when only a task uses the row. */
  readonly command?: string;
  /** First line of the help page of the command. */
  readonly summary?: string;
  /** Longer text of the help page, after the summary. */
  readonly about?: string;
  /**
   * What a request does, for progress, success and errors. A positional in braces is what was typed:
   * `rename tag {tag} to {name}` → `Renaming tag draft to published`.
   */
  readonly action: string;
  /** The success message, where it is not the action in the past tense. */
  readonly done?: string;
  /** Which key opens it. */
  readonly key: "dataset" | "app";
  readonly route: `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;
  readonly params: P;
  readonly returns: R;
  readonly retry?: Retry;
  /** Status that a repeat answers when the first try had done it. */
  readonly alreadyDoneStatus?: number;
  /** Parameters of which at least one is needed; without any of them the request changes nothing. */
  readonly anyOf?: readonly string[];
  /** Answers the present state of what it changes, for values that are filled `from` it. */
  readonly current?: AnyOperation;
  /**
   * Where in an answer the things are that the server has indexed or failed to, each with `status`
   * and `error`. Those in error are `dropped` where they are not stored.
   */
  readonly indexes?: { readonly at: string; readonly dropped?: true };
  /** What a refusal really means, by its text. `{dataset_id}` in a hint is the value that was sent. */
  readonly knownErrors?: readonly {
    readonly message: string;
    readonly kind: "refused";
    readonly hint: string;
  }[];
  /** The order of its requests counts, so `--each` sends one at a time. */
  readonly ordered?: true;
  /** Constant fields of the body. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** Seconds of silence allowed, where more than the usual 30. */
  readonly idleTimeout?: number;
  /** Server version that has it. */
  readonly since?: string;
  readonly destructive?: true;
  readonly examples?: readonly string[];
}

/** A row as the engine reads it. */
export type AnyOperation = Operation<Params, Returns<never>>;

/** Declares a row; only the types happen here. */
export const operation = <const P extends Params, R extends Returns<never>>(
  row: Operation<P, R>,
): Operation<P, R> => row;

/** How may the row be repeated: what it says, else by its method. */
export function retryOf(row: AnyOperation): Retry {
  if (row.retry) return row.retry;
  const method = row.route.slice(0, row.route.indexOf(" "));
  return method === "GET" ? "safe" : method === "POST" ? "never" : "idempotent";
}

/** Method and path of a row: `POST /datasets` → `["POST", "/datasets"]`. */
export function methodAndPath(row: { readonly route: string }): [method: string, path: string] {
  const blank = row.route.indexOf(" ");
  return [row.route.slice(0, blank), row.route.slice(blank + 1)];
}

/** A local file that becomes one part of a form: where it lies and the name it is sent under. */
export interface FileInput {
  readonly path: string;
  readonly name: string;
  /** Media type; by the extension of the name when absent. */
  readonly type?: string | undefined;
  /** What is sent, where the file was read already and may have changed since. */
  readonly bytes?: Uint8Array | undefined;
}

type Scalar<P extends Param> = P extends { readonly choices: readonly (infer C)[] }
  ? C
  : P["kind"] extends "integer" | "number" | "duration"
    ? number
    : P["kind"] extends "flag"
      ? boolean
      : P["kind"] extends "json"
        ? unknown
        : P["kind"] extends "file"
          ? FileInput
          : string;
type Value<P extends Param> = P extends { readonly many: true } ? readonly Scalar<P>[] : Scalar<P>;
type Needed<P extends Param> = P extends { readonly in: "path" } | { readonly required: true }
  ? true
  : false;

/** What a row or task takes, by wire name: checked values, names already turned into ids. */
export type Input<P extends Params> = {
  readonly [K in keyof P as Needed<P[K]> extends true ? K : never]: Value<P[K]>;
} & {
  readonly [K in keyof P as Needed<P[K]> extends true ? never : K]?: Value<P[K]> | undefined;
};

/** Type of one row of a list, or of the whole record. */
export type RowOf<R> = R extends { readonly [answer]?: infer T } ? T : unknown;

/** What a call of the row gives: a record, the rows of one page, or nothing. */
export type ResponseOf<O> =
  O extends Operation<Params, infer R>
    ? R extends { readonly kind: "record" }
      ? RowOf<R>
      : R extends { readonly kind: "page" | "list" | "cursor" }
        ? readonly RowOf<R>[]
        : unknown
    : never;

/** Type of what goes into a row. */
export type InputOf<O> = O extends { readonly params: infer P extends Params } ? Input<P> : never;
