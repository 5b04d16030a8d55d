import data from "./request-models.json" with { type: "json" };

/** The rule for a value: a shape of the operations table, with lengths of text and lists. */
export interface Rule {
  readonly kind: "any" | "flag" | "number" | "integer" | "text" | "list" | "object";
  readonly required?: true;
  /** May be undefined, but not null. */
  readonly filled?: true;
  readonly choices?: readonly string[];
  /** Characters of a text, or items of a list. */
  readonly length?: readonly [min: number, max?: number];
  readonly range?: readonly [min: number, max: number];
  readonly of?: Rule;
  readonly fields?: Readonly<Record<string, Rule>>;
}

/** The server's name for a request body, and where its checks differ from the operations table. */
interface RequestModel {
  readonly body: string;
  /** Name of the query model; undefined if the server does not check the choices of the query. */
  readonly query?: string;
  /**
   * Rules that override those of the row: names that are too long are truncated, not rejected, or
   * have another error text, like an empty query (server §11).
   */
  readonly fields?: Readonly<Record<string, Rule>>;
  /** The error response is `{error}` only. */
  readonly bare?: true;
  /** The end user is checked first (server §2). */
  readonly user?: true;
}

// The types of JSON have no literals.
const { models, params } = data as unknown as {
  /** By operation ID; error texts contain the names (server §3). */
  readonly models: Readonly<Record<string, RequestModel>>;
  readonly params: Readonly<Record<string, Rule>>;
};

/** Parameters of which the models check less than the operations table (server §6). */
export const looseParams = params;

/** Returns the model of an operation; unknown names are formed like the recorded ones. */
export const requestModel = (operationId: string): RequestModel =>
  models[operationId] ?? {
    body: `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Payload`,
  };
