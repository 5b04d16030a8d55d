import type { Returns, RowOf } from "./returns.ts";

export * from "./returns.ts";

/** Objects with a name and an ID; a parameter of kind `ref` takes either. */
export type Noun = "kb" | "document" | "tag" | "field";

/**
 * Objects without a name, which the beginning of an ID can select.
 */
export type ListedNoun =
  | "chunk"
  | "child"
  | "run"
  | "conversation"
  | "message"
  | "variable"
  | "annotation";

/** Where a value is sent: `data` is the JSON part of a multipart form, `local` is never sent. */
export type ParamLocation = "path" | "query" | "body" | "data" | "form" | "local";

/** The shape of a JSON value, as far as the server checks it; unknown fields are allowed. */
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

/** Options of a parameter, besides its location and kind. */
interface ParamOptions {
  readonly required?: true;
  /** The flag is repeatable and its value an array; a positional takes several words. */
  readonly many?: true;
  /** Minimum and maximum number of characters, also of a file's name, or of items with `many`. */
  readonly length?: readonly [number, number];
  readonly range?: readonly [number, number];
  /** Name of the flag without dashes (default: the wire name). */
  readonly flag?: string;
  /** The list in which the beginning of an ID is looked up. */
  readonly listed?: ListedNoun;
  /**
   * Word of the positional in `command`, or of the value of a flag (default: the wire name or the noun).
   * A flag with a word in brackets, `[n]`, can be given without a value: that is then the least.
   */
  readonly placeholder?: string;
  /** One-letter form of the flag; a positional with one can also be given by its flag, together with it. */
  readonly short?: string;
  /** It is the end user of the request, from `--user` or the settings (server §2). */
  readonly from?: "user";
  /** Default of the server, for help only; never sent. */
  readonly serverDefault?: string;
  /** Look up IDs first, because the server silently ignores unknown ones. */
  readonly mustExist?: true;
  /** Default value that is sent. */
  readonly default?: boolean;
  /** Path of a file to write besides the output, so it cannot be stdout. */
  readonly isOutputPath?: true;
  /** A JSON value that is read from a file, which may be YAML: the flag has its path, `-` for stdin. */
  readonly fromFile?: true;
  readonly shape?: Shape;
  /** Names with which a condition can begin, for completion. */
  readonly names?: readonly string[];
  /** Flags of other programs for the same, at most two, which an error proposes this one for: `--limit`. */
  readonly meant?: readonly string[];
  /** Adds a flag `--<name>-file PATH` that reads the text from a file, `-` for stdin. */
  readonly orFile?: true;
  /** It is about files that the command line reads: the library and tools of agents do not have it. */
  readonly isAboutFiles?: true;
}

export interface Param extends ParamOptions {
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
}

export type Params = Readonly<Record<string, Param>>;

type ParamOf<P extends ParamLocation, K extends Param["kind"], L, X = unknown> = {
  readonly in: P;
  readonly kind: K;
  readonly help: string;
} & X &
  NoInfer<L>;

// `const L` keeps `required: true` a literal; without NoInfer in `ParamOf` a bare call would infer L
// from the place it is used in and lose the choices.
function paramsIn<P extends ParamLocation>(location: P) {
  const make =
    <const K extends Param["kind"], const X extends object = object>(kind: K, more?: X) =>
    <const L extends ParamOptions = Record<never, never>>(help: string, options?: L) =>
      ({ in: location, kind, ...more, help, ...options }) as ParamOf<P, K, L, X>;
  return {
    text: make("text"),
    uuid: make("uuid"),
    integer: make("integer"),
    number: make("number"),
    flag: make("flag"),
    time: make("time"),
    json: make("json"),
    file: make("file"),
    /** Text of a file, by its path; `-` is stdin. */
    content: make("content"),
    duration: make("duration"),
    choice: <
      const C extends readonly string[],
      const L extends ParamOptions = Record<never, never>,
    >(
      choices: C,
      help: string,
      options?: L,
    ) => make("choice", { choices })(help, options),
    ref: <const L extends ParamOptions = Record<never, never>>(
      noun: Noun,
      help: string,
      options?: L,
    ) => make("ref", { noun })(help, options),
    /** A model by its name, also with its provider. */
    model: make("ref", { placeholder: "provider/model" }),
  };
}

/** Parameters by location: `body.text("Name", { length: [1, 40], required })`. */
export const path = paramsIn("path");
export const query = paramsIn("query");
export const body = paramsIn("body");
export const data = paramsIn("data");
export const form = paramsIn("form");
export const local = paramsIn("local");

/** A local file as a part of a form: its path, and the name to send. */
export interface FileInput {
  readonly path: string;
  readonly name: string;
  /** Media type (default: by the extension of the name). */
  readonly type?: string | undefined;
  /** Content, if the file was read before and may have changed since. */
  readonly bytes?: Uint8Array | undefined;
}

/** What a command does on the server. */
export type Effect = "reads" | "writes" | "destroys";

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

/** Input of a row or task by wire name: checked values, with names resolved to IDs. */
export type Input<P extends Params> = {
  readonly [K in keyof P as Needed<P[K]> extends true ? K : never]: Value<P[K]>;
} & {
  readonly [K in keyof P as Needed<P[K]> extends true ? never : K]?: Value<P[K]> | undefined;
};

/**
 * May a request be retried after a failure with an unknown side effect? `safe` reads; `idempotent`
 * ends in the same state; `upsert` replaces by name; `never` could duplicate the work (server §20).
 */
export type Retry = "safe" | "idempotent" | "upsert" | "never";

/** A row without the kind of API key. */
interface KeylessOperation<P extends Params, R extends Returns<never>> {
  /** operationId of the API. */
  readonly id: string;
  /** Words and positionals; rows without a command are used by tasks only. */
  readonly command?: string;
  /** First line of the help page of the command. */
  readonly summary?: string;
  /** Words of other programs for its last word, at most two, which an error proposes it for: `cp`. */
  readonly meant?: readonly string[];
  /** Longer text of the help page, after the summary. */
  readonly about?: string;
  /**
   * What a request does, for progress, success and errors, with positionals in braces:
   * `rename tag {tag} to {name}` → `Renaming tag draft to published`.
   */
  readonly action: string;
  /** The success message, where it is not the action in the past tense. */
  readonly done?: string;
  readonly route: `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;
  readonly params: P;
  readonly returns: R;
  readonly retry?: Retry;
  /** Status of a retry when the first attempt had succeeded. */
  readonly alreadyDoneStatus?: number;
  /** Parameters of which one is required: without any (`all`: outside of the path), nothing changes. */
  readonly anyOf?: "all" | readonly string[];
  /** Parameters of which exactly one is required. */
  readonly oneOf?: readonly string[];
  /**
   * Commands for values that this request cannot change alone, by parameter; they take the same
   * positionals, and then the value.
   */
  readonly alone?: Readonly<Record<string, string>>;
  /** What it creates, so that `--if-not-exists` can find it by name. */
  readonly creates?: Noun;
  /**
   * Path of the chunks in the response, each with the `status` and `error` of its indexing. `dropped`:
   * chunks in error are not stored.
   */
  readonly indexes?: { readonly at: string; readonly dropped?: true };
  /**
   * The meaning of API errors, by their text; each is `refused` unless it has another kind. `{dataset_id}` in a
   * hint is the value sent.
   */
  readonly knownErrors?: readonly {
    readonly message: string;
    readonly kind?: "not-found";
    readonly hint: string;
  }[];
  /** Requests must arrive in order, so `--each` sends one at a time. */
  readonly ordered?: true;
  /** Constant fields of the body. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** Idle timeout in seconds (default 30). */
  readonly idleTimeout?: number;
  /** First server version that has it. */
  readonly since?: string;
  readonly destructive?: true;
  /** The rules of its command can prompt, so it takes --yes. */
  readonly confirms?: true;
  /** Exit codes besides those of every request, for what the rules of its command do. */
  readonly exits?: readonly "remote-failed"[];
  readonly examples?: readonly string[];
}

/** A row of the table. */
export interface Operation<
  P extends Params = Params,
  R extends Returns<never> = Returns<never>,
> extends KeylessOperation<P, R> {
  readonly key: "dataset" | "app";
}

/** A row without its types, as the engine reads it. */
export type AnyOperation = Operation<Params, Returns<never>>;

/** Declares rows for one kind of key: infers their types. */
const operationWith =
  (key: Operation["key"]) =>
  <const P extends Params, R extends Returns<never>>(
    row: KeylessOperation<P, R>,
  ): Operation<P, R> => ({ ...row, key });

/** A row that needs a knowledge key. */
export const kbOperation = operationWith("dataset");
/** A row that needs an application key. */
export const wfOperation = operationWith("app");

/** May the row be retried? By its `retry`, else by its method. */
export function retryOf(row: AnyOperation): Retry {
  if (row.retry) return row.retry;
  const method = row.route.slice(0, row.route.indexOf(" "));
  if (method === "GET") return "safe";
  return method === "POST" ? "never" : "idempotent";
}

/** Method and path of a row: `POST /datasets` → `["POST", "/datasets"]`. */
export function methodAndPath(row: { readonly route: string }): [method: string, path: string] {
  const blank = row.route.indexOf(" ");
  return [row.route.slice(0, blank), row.route.slice(blank + 1)];
}

/** Result of a call of the row: a record, the rows of one page, or nothing. */
export type ResponseOf<O> =
  O extends Operation<Params, infer R>
    ? R extends { readonly kind: "record" }
      ? RowOf<R>
      : R extends { readonly kind: "page" | "list" | "cursor" }
        ? readonly RowOf<R>[]
        : unknown
    : never;

/** Type of the input of a row. */
export type InputOf<O> = O extends { readonly params: infer P extends Params } ? Input<P> : never;
