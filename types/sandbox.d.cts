// A double of the server for tests: `import { startSandbox } from "kb-wf/sandbox"` (docs/library.md).

/** What a sandbox is started with. */
export interface SandboxOptions {
  /** Makes IDs and times depend on this number and the requests alone. */
  readonly seed?: number;
  /** Has the server models (default yes)? Without, it searches by keyword. */
  readonly models?: boolean;
  /** Version of the server to imitate (default 1.14); `next` is the newest source, which was only read. */
  readonly server?: "1.12" | "1.14" | "1.15" | "1.16" | "next";
  /** Faults of some requests, as `kb sandbox --fault`: `GET /datasets status=503 times=2`. */
  readonly faults?: readonly string[];
  /**
   * More applications by their name: the export of one or rules for answers, as an object or as YAML or JSON, or
   * the text of a recorded run.
   */
  readonly apps?: { readonly [name: string]: string | object };
  /** Port of 127.0.0.1 (default: a free one). */
  readonly port?: number;
}

/** A request that a sandbox received; without its headers, which hold the key. */
export interface SandboxRequest {
  /** When it came in, ISO. */
  readonly time: string;
  readonly method: string;
  /** Encoded, without the query: `/v1/datasets`. */
  readonly path: string;
  readonly query: { readonly [name: string]: string };
  /** The application of its key. */
  readonly app: string | null;
  /** The knowledge base in its path. */
  readonly dataset: string | null;
  /** JSON, text or the fields of a form; null for none, or one that is too large. */
  readonly body: unknown;
  /** Bytes of the body. */
  readonly size: number;
  /** null until it is answered. */
  readonly status: number | null;
  /** ms until the response had ended. */
  readonly ms: number | null;
}

/** A running sandbox, whose data are in memory. */
export interface Sandbox {
  /** Base URL of the API, with `/v1`. */
  readonly url: string;
  readonly keys: {
    /** Opens all knowledge bases. */
    readonly knowledge: string;
    /** The key of each application, by its name. */
    readonly apps: { readonly [name: string]: string };
  };
  /** The last requests, oldest first. */
  requests(): readonly SandboxRequest[];
  /** Returns to the state at the start. */
  reset(): Promise<void>;
  /** Replaces all faults. Throws an Error with the reason if one is invalid. */
  faults(faults: readonly string[]): void;
  /** Stops it; its connections are closed. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a server on 127.0.0.1 that responds as recorded servers do. Throws an Error with the reason. */
export function startSandbox(options?: SandboxOptions): Promise<Sandbox>;
