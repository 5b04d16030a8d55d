import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingResponse, OutgoingRequest } from "../../api/client.ts";
import { truncate, redactText, redactValue } from "../../redact/text.ts";
import { maskKey } from "../../config/api-key.ts";
import type { Settings } from "../../config/settings.ts";
import type { Host } from "../../host/host.ts";
import { visible } from "../../output/table/display-width.ts";
import { causesOf } from "../errors/error-text.ts";

/** Characters of a body that are shown. */
const mostShown = 2000;
/** Bytes of a body that are kept for that: enough to see whole fields, which masking needs. */
const mostKept = 64 * 1024;

/** Shows on standard error what goes over the wire, as curl does: `>` sent, `<` received, `*` about it. */
export interface WireTrace {
  exchange(
    outgoing: OutgoingRequest,
    send: () => Promise<IncomingResponse>,
  ): Promise<IncomingResponse>;
  /** Ends it, with the times of the phases for -vvv. */
  close(): Promise<void>;
}

/**
 * A trace for -v (one line per request), -vv (headers, bodies, connections) or -vvv (errors with
 * their causes, phases). Credentials are masked, text of servers is made safe to show. `began` is when the
 * command did, in ms.
 */
export function openWireTrace(
  verbosity: number,
  settings: Settings,
  began: number,
  host: Host,
): WireTrace {
  const now = () => host.now().getTime();
  let first: number | undefined;
  let last = began;
  let count = 0;
  const write = async (lines: readonly string[]) => {
    if (lines.length === 0) return;
    const safe = lines.map((line) => `${visible(line)}\n`);
    await host.stderr.write(safe.join(""));
  };
  const connected = (message: unknown) => {
    const { connectParams, socket } = message as Connected; // a channel has no type
    const tls = socket.getProtocol ? `, ${socket.getProtocol()}` : "";
    const address = `${socket.remoteAddress ?? "?"} port ${socket.remotePort ?? "?"}`;
    // Nobody can wait for it here; whoever does not read standard error misses nothing else.
    write([`* connected to ${connectParams.host} (${address}${tls})`]).catch(() => {});
  };
  if (verbosity >= 2) subscribe("undici:client:connected", connected);

  /** Where address and key come from, once for each key; and the proxy, which undici finds by itself. */
  const info = new Set<string>();
  const sources = (key: string): string[] => {
    if (info.has(key)) return [];
    info.add(key);
    const { baseUrl, knowledgeKey, appKey } = settings;
    const from = [knowledgeKey, appKey].find(({ value }) => value === key)?.source;
    const proxies = verbosity < 2 ? [] : ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];
    return [
      `* base URL ${redactText(baseUrl.value ?? "")} (${baseUrl.source}), key ${maskKey(key)}${from === undefined ? "" : ` (${from})`}`,
      ...proxies.flatMap((name) => {
        const value = host.env[name] || host.env[name.toLowerCase()];
        return value ? [`* ${name} is ${redactText(value)}`] : [];
      }),
    ];
  };

  const sent = ({ request, headers, body }: OutgoingRequest, key: string): string[] => {
    const { host: name, pathname, search } = new URL(request.url);
    return [
      `> ${request.method} ${redactText(pathname + search)}`,
      `> host: ${name}`,
      ...headerLines(">", headers, key),
      ...bodyLines(body),
    ];
  };

  /** The body as it passes by, with what is to be said at its end. */
  async function* passing(
    body: IncomingResponse["body"],
    type: string,
    end: (size: number) => string[],
  ): AsyncGenerator<Uint8Array> {
    const shown = verbosity >= 2 ? shownBody(type) : undefined;
    let size = 0;
    try {
      for await (const chunk of body) {
        size += chunk.length;
        await write(shown?.take(chunk) ?? []);
        yield chunk;
      }
    } finally {
      last = now();
      await write([...(shown?.rest(size) ?? []), ...end(size)]);
    }
  }

  return {
    async exchange(outgoing, send) {
      const key = (outgoing.headers["authorization"] ?? "").replace(/^Bearer /, "");
      const { pathname, search } = new URL(outgoing.request.url);
      const asked = `${outgoing.request.method} ${redactText(pathname + search)}`;
      count += 1;
      await write([...sources(key), ...(verbosity >= 2 ? sent(outgoing, key) : [])]);
      const started = now();
      first ??= started;
      try {
        const answer = await send();
        last = now();
        const took = last - started;
        if (verbosity >= 2) {
          await write([
            `< ${answer.status}`,
            ...headerLines("<", answer.headers),
            `* first byte after ${took} ms`,
          ]);
        }
        const type = answer.headers["content-type"] ?? "";
        const body = passing(answer.body, type, (size) => [
          `* ${asked}: ${answer.status} in ${now() - started} ms, ${size} bytes`,
        ]);
        return { ...answer, body };
      } catch (error) {
        last = now();
        const why = error instanceof Error ? error.message : String(error);
        const causes = verbosity >= 3 && error instanceof Error ? causesOf(error) : [];
        await write([
          `* ${asked}: no answer after ${last - started} ms: ${redactText(why)}`,
          ...causes.map((text) => `* ${redactText(text)}`),
        ]);
        throw error;
      }
    },
    async close() {
      if (verbosity >= 2) unsubscribe("undici:client:connected", connected);
      if (verbosity < 3 || first === undefined) return;
      const tries = `${count} ${count === 1 ? "try" : "tries"}`;
      await write([
        `* ${first - began} ms before the first request, ${last - first} ms with ${tries}, ${now() - last} ms after`,
      ]);
    },
  };
}

/** What undici publishes when a connection stands. */
interface Connected {
  readonly connectParams: { readonly host: string };
  readonly socket: {
    readonly remoteAddress?: string;
    readonly remotePort?: number;
    /** Of a TLS socket. */
    getProtocol?(): string | null;
  };
}

const headerLines = (
  mark: string,
  headers: Readonly<Record<string, string | undefined>>,
  key?: string,
): string[] =>
  Object.entries(headers).map(([name, value = ""]) => {
    const own = name === "authorization" && key !== undefined;
    const shown = own ? `Bearer ${maskKey(key)}` : String(redactValue(value, name));
    return `${mark} ${name}: ${redactText(shown)}`;
  });

function bodyLines(body: OutgoingRequest["body"]): string[] {
  if (body === null) return [];
  if (typeof body === "string") return ["> ", `> ${truncate(mostShown, redactText(body))}`];
  return [...body].map(([name, value]) =>
    typeof value === "string"
      ? `> part ${name}: ${truncate(mostShown, String(redactValue(redactText(value), name)))}`
      : `> part ${name}: file ${JSON.stringify(value.name)}, ${value.type || "application/octet-stream"}, ${value.size} bytes`,
  );
}

/** Lines for a body that comes in pieces: the events of a stream at once, all else at its end. */
function shownBody(type: string) {
  const decoder = new TextDecoder();
  const line = (text: string) => `< ${truncate(mostShown, redactText(text))}`;
  let text = "";
  if (type.includes("text/event-stream")) {
    return {
      take(chunk: Uint8Array): string[] {
        const events = (text + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
        text = (events.pop() ?? "").slice(-largestEvent);
        return events.map((event) => line(event.replace(/^data: ?/gm, "")));
      },
      rest: () => (text === "" ? [] : [line(text)]),
    };
  }
  const readable = /json|text|xml|html|javascript|^$/.test(type);
  return {
    take(chunk: Uint8Array): string[] {
      if (readable && text.length < mostKept) text += decoder.decode(chunk, { stream: true });
      return [];
    },
    rest(size: number): string[] {
      if (size === 0) return [];
      return readable ? [line(text.trimEnd())] : [`< ${size} bytes of ${type}`];
    },
  };
}

/** Characters of an event that are kept until its end comes. */
const largestEvent = 1024 * 1024;
