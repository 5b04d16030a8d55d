/** The format of a row of the operation table: everything else reads rows as plain data. */
import type { Input, Noun, Params } from "./params.ts";
import type { Returns, RowOf } from "./returns.ts";

export * from "./params.ts";
export * from "./returns.ts";

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
  /** The meaning of API errors, by their text. `{dataset_id}` in a hint is the value sent. */
  readonly knownErrors?: readonly {
    readonly message: string;
    readonly kind: "refused" | "not-found";
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
  /** The kind of API key. */
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
