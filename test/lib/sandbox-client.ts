import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/http/server.ts";
import { afterEach } from "vitest";
import { manualClock, type ManualClock } from "./manual-clock.ts";

/** A document as tests read it: each answer has some of the fields. */
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

/** What tests read of a knowledge answer. */
interface TestAnswer {
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
    readonly keywords: readonly string[] | null;
    readonly child_chunks: readonly { readonly content: string }[];
    readonly completed_segments: number;
    readonly total_segments: number;
  })[];
  readonly records: readonly {
    readonly score: number;
    readonly segment: { readonly content: string; readonly document: { readonly name: string } };
  }[];
}

/** A sandbox of its own for each test, and a client with the knowledge key. */
export interface TestSandbox {
  readonly clock: ManualClock;
  readonly sandbox: Sandbox;
  /** Asks below /v1; `status` is that of HTTP, other fields are those of the JSON answer. */
  ask(method: string, path: string, body?: unknown): Promise<TestAnswer>;
  send(method: string, path: string, body?: unknown): Promise<Response>;
  /** A knowledge base with economy indexing; gives its id. */
  base(name?: string): Promise<string>;
  /** Adds a text, waits until it is indexed and gives its document's id. */
  add(base: string, name: string, text: string, more?: object): Promise<string>;
}

const opened: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of opened.splice(0)) await sandbox.stop();
});

export async function openTestSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const clock = manualClock();
  const sandbox = await startSandbox({ clock, directory: null, ...options });
  opened.push(sandbox);

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
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await send(method, path, body);
    const text = await answer.text();
    const json: object = text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : {};
    // The assertions of each test check what is taken on trust here.
    return { ...json, status: answer.status } as TestAnswer;
  };
  return {
    clock,
    sandbox,
    send,
    ask,
    async base(name = "Handbook") {
      return (await ask("POST", "/datasets", { name, indexing_technique: "economy" })).id;
    },
    async add(base, name, text, more = {}) {
      const { document } = await ask("POST", `/datasets/${base}/document/create-by-text`, {
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

/** A form with one file. */
export function fileForm(name: string, content: string | Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData();
  form.append("data", JSON.stringify({ process_rule: { mode: "automatic" } }));
  form.append("file", new Blob([content], { type: "text/plain" }), name);
  return form;
}
