import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { wireFolder } from "./paths.ts";

/** A part of a form: a file if it has a file name. */
export interface WirePart {
  readonly name: string;
  readonly text?: string;
  readonly json?: unknown;
  readonly filename?: string;
  /** Media type of the file. */
  readonly type?: string;
  readonly content?: string;
}

/** The request that a command must send, written by hand from the API's documentation. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly json?: unknown;
  readonly multipart?: readonly WirePart[];
}

/** A command line and its request. */
export interface WireCase {
  readonly line: readonly string[];
  readonly request: WireRequest;
  readonly files?: Readonly<Record<string, string>>;
  readonly task?: true;
  /** Responses to lookups that the sandbox has no data for. */
  readonly answers?: readonly {
    readonly method: string;
    readonly path: string;
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly json: unknown;
  }[];
}

interface WireFixture {
  readonly operation: string;
  readonly cases: readonly WireCase[];
}

/** The commands of each operation and the requests they send, by operation. */
export const wireFixtures: ReadonlyMap<string, WireFixture> = new Map(
  readdirSync(wireFolder).map((name) => {
    const text = readFileSync(join(wireFolder, name), "utf8");
    const fixture = JSON.parse(text) as WireFixture; // written by hand
    return [fixture.operation, fixture] as const;
  }),
);

/** The application of the sandbox that a route belongs to. */
export const appOf = (route: string): string =>
  /chat|conversation|message|completion|annotation|feedback|audio|files/.test(route)
    ? "chat"
    : "echo";
