import { createServer } from "node:http";
import { listening } from "./listening.ts";

/** A request that a collector received, with its JSON body. */
export interface Collected {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A span as it was received. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string };
  }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

/** Starts a collector, which gives these replies in turn, and then takes everything. */
export async function collector(...replies: readonly Reply[]) {
  const seen: Collected[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const text = Buffer.concat(parts).toString();
      seen.push({ path: request.url ?? "", headers: request.headers, text });
      const { status, headers = {}, json = {} } = replies[seen.length - 1] ?? { status: 200 };
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(json));
    });
  });
  const url = (await listening(server)).replace(/\/v1$/, "");
  return { url, seen, spans: () => seen.flatMap(({ text }) => spansIn(text)) };
}

/** The spans of a request. */
export function spansIn(text: string): readonly CollectedSpan[] {
  const { resourceSpans } = JSON.parse(text) as {
    readonly resourceSpans: readonly {
      readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
    }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

/** The attributes of a span by name. */
export const attributesOf = (span: CollectedSpan | undefined) =>
  Object.fromEntries(
    (span?.attributes ?? []).map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
  );
