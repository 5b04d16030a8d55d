import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/http/server.ts";
import { onTestFinished } from "vitest";
import { manualClock, type ManualClock } from "./manual-clock.ts";

/** The fields of documents that tests read; each response has some of them. */
interface TestDocument {
  readonly id: string;
  readonly name: string;
  readonly position: number;
  readonly display_status: string;
  readonly indexing_status: string;
  readonly word_count: number | null;
  readonly error: string | null;
  readonly doc_metadata: TestMetadata;
}

type TestMetadata = readonly { readonly name: string; readonly value: unknown }[];

/** The fields of knowledge responses that tests read. */
interface TestResponse {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly id: string;
  readonly batch: string;
  readonly url: string;
  readonly total: number;
  readonly document: TestDocument;
  readonly doc_metadata: TestMetadata | null;
  readonly data: readonly (TestDocument & {
    readonly content: string;
    readonly status: string;
    readonly keywords: readonly string[] | null;
    readonly child_chunks: readonly { readonly content: string }[];
    readonly completed_segments: number;
    readonly total_segments: number;
  })[];
  readonly records: readonly {
    readonly score: number;
    readonly segment: { readonly content: string; readonly document: { readonly name: string } };
    readonly child_chunks: readonly { readonly content: string }[];
  }[];
}

/** A sandbox for one test, and a client with the knowledge key. */
export interface TestSandbox {
  readonly clock: ManualClock;
  readonly sandbox: Sandbox;
  /** Stops the sandbox before the end of the test, which stops it otherwise. */
  stop(): Promise<void>;
  /** Sends a request below /v1; returns the HTTP status and the fields of the JSON response. */
  call(method: string, path: string, body?: unknown): Promise<TestResponse>;
  send(method: string, path: string, body?: unknown): Promise<Response>;
  /** Creates a knowledge base with economy indexing; returns its ID. */
  base(name?: string): Promise<string>;
  /** Adds a text and waits until it is indexed; returns the ID of the document. */
  add(base: string, name: string, text: string, more?: object): Promise<string>;
}

export async function openTestSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const clock = manualClock();
  const sandbox = await startSandbox({ clock, directory: null, ...options });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= sandbox.stop());
  onTestFinished(stop);

  const send = (method: string, path: string, body?: unknown) => {
    const form = body instanceof FormData;
    return fetch(`${sandbox.origin}/v1${path}`, {
      method,
      headers: {
        Authorization: "Bearer dataset-sandbox",
        ...(body !== undefined && !form && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body: form ? body : JSON.stringify(body) }),
    });
  };
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await send(method, path, body);
    const text = await response.text();
    const json: object = text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : {};
    // Each test asserts the fields it uses.
    return { ...json, status: response.status } as TestResponse;
  };
  return {
    clock,
    sandbox,
    stop,
    send,
    call,
    async base(name = "Handbook") {
      return (await call("POST", "/datasets", { name, indexing_technique: "economy" })).id;
    },
    async add(base, name, text, more = {}) {
      const { document } = await call("POST", `/datasets/${base}/document/create-by-text`, {
        name,
        text,
        indexing_technique: "economy",
        ...more,
      });
      await clock.advance(1000);
      return document.id;
    },
  };
}

/** Creates a form with one file. */
export function fileForm(name: string, content: string | Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData();
  form.append("data", JSON.stringify({ process_rule: { mode: "automatic" } }));
  form.append("file", new Blob([content], { type: "text/plain" }), name);
  return form;
}

/** Sends requests with the keys of applications: `send("chat", "GET", "/info")`. */
export const appClient =
  ({ origin }: Pick<Sandbox, "origin">) =>
  (app: string, method: string, path: string, body?: object): Promise<Response> => {
    const form = body instanceof FormData;
    return fetch(`${origin}/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer app-${app}`,
        ...(body && !form && { "Content-Type": "application/json" }),
      },
      ...(body && { body: form ? body : JSON.stringify(body) }),
    });
  };
