import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingResponse, OutgoingRequest } from "../../api/exchange.ts";
import type { Settings } from "../../config/settings.ts";
import { causesOf } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { counted } from "../../lib/text.ts";
import { visible } from "../../output/display-width.ts";
import { maskKey } from "../../redact/keys.ts";
import { redactText, redactValue, truncate } from "../../redact/text.ts";

const MAX_PRINTED = 2000;
/** Characters of a body that are buffered: redaction needs whole fields. */
const MAX_BUFFERED = 64 * 1024;
/** Characters of an incomplete event that are buffered. */
const MAX_EVENT = 1024 * 1024;

/**
 * Prints to stderr what goes over the wire, marked like in curl: `>` sent, `<` received, `*` info. With
 * -v one line per request, with -vv headers, bodies and connections, with -vvv causes of errors and the
 * time of each phase. It redacts credentials and escapes control characters.
 */
export class WireTrace {
  readonly #verbosity: number;
  readonly #settings: Settings | undefined;
  readonly #host: Host;
  readonly #startedAt: number;
  readonly #keys = new Set<string>();
  #firstAt: number | undefined;
  #lastAt: number;
  #attempts = 0;

  /** `startedAt` is the start of the command in ms. */
  constructor(verbosity: number, settings: Settings | undefined, startedAt: number, host: Host) {
    this.#verbosity = verbosity;
    this.#settings = settings;
    this.#host = host;
    this.#startedAt = startedAt;
    this.#lastAt = startedAt;
    if (verbosity >= 2) subscribe("undici:client:connected", this.#onConnected);
  }

  /** Sends a request and prints it with its response. */
  async exchange(
    outgoing: OutgoingRequest,
    send: () => Promise<IncomingResponse>,
  ): Promise<IncomingResponse> {
    const { request, headers } = outgoing;
    const { pathname, search } = new URL(request.url);
    const label = `${request.method} ${redactText(pathname + search)}`;
    const key = (headers["authorization"] ?? "").replace(/^Bearer /, "");
    const detailed = this.#verbosity >= 2;
    this.#attempts += 1;
    await this.#write([
      ...this.#keySource(key, request.url),
      ...(detailed ? requestLines(outgoing, label, key) : []),
    ]);
    const started = this.#now();
    this.#firstAt ??= started;
    try {
      const response = await send();
      this.#lastAt = this.#now();
      if (detailed) {
        await this.#write([
          `< ${response.status}`,
          ...headerLines("<", response.headers),
          `* first byte after ${this.#lastAt - started} ms`,
        ]);
      }
      const body = this.#tap(
        response,
        (size) => `* ${label}: ${response.status} in ${this.#now() - started} ms, ${size} bytes`,
      );
      return { ...response, body };
    } catch (error) {
      this.#lastAt = this.#now();
      const why = error instanceof Error ? error.message : String(error);
      const causes = this.#verbosity >= 3 && error instanceof Error ? causesOf(error) : [];
      await this.#write([
        `* ${label}: no response after ${this.#lastAt - started} ms: ${redactText(why)}`,
        ...causes.map((text) => `* ${redactText(text)}`),
      ]);
      throw error;
    }
  }

  /** Ends the trace. */
  async close(): Promise<void> {
    if (this.#verbosity >= 2) unsubscribe("undici:client:connected", this.#onConnected);
    if (this.#verbosity < 3 || this.#firstAt === undefined) return;
    const attempts = counted(this.#attempts, "attempt");
    const [before, during, after] = [
      this.#firstAt - this.#startedAt,
      this.#lastAt - this.#firstAt,
      this.#now() - this.#lastAt,
    ];
    await this.#write([
      `* ${before} ms before the first request, ${during} ms with ${attempts}, ${after} ms after`,
    ]);
  }

  /** The body unchanged; prints its content at -vv, and a last line when it ends. */
  async *#tap(
    { body, headers }: IncomingResponse,
    lastLine: (size: number) => string,
  ): AsyncGenerator<Uint8Array> {
    const printed =
      this.#verbosity >= 2 ? responseBodyLines(headers["content-type"] ?? "") : undefined;
    let size = 0;
    try {
      for await (const chunk of body) {
        size += chunk.length;
        await this.#write(printed?.take(chunk) ?? []);
        yield chunk;
      }
    } finally {
      this.#lastAt = this.#now();
      await this.#write([...(printed?.rest(size) ?? []), lastLine(size)]);
    }
  }

  /** Where address and key come from, once per key; at -vv also the proxies, which undici reads. */
  #keySource(key: string, url: string): string[] {
    if (this.#keys.has(key)) return [];
    this.#keys.add(key);
    const { baseUrl, knowledgeKey, appKey } = this.#settings ?? {};
    const source = [knowledgeKey, appKey].find((setting) => setting?.value === key)?.source;
    // A sign-in sends requests to an address that is not set yet.
    const address =
      baseUrl?.value !== undefined && url.startsWith(`${baseUrl.value}/`)
        ? `${baseUrl.value} (${baseUrl.source})`
        : new URL(url).origin;
    const proxies = this.#verbosity < 2 ? [] : ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];
    const { env } = this.#host;
    return [
      `* base URL ${redactText(address)}, key ${maskKey(key)}${source === undefined ? "" : ` (${source})`}`,
      ...proxies.flatMap((name) => {
        const value = env[name] || env[name.toLowerCase()];
        return value ? [`* ${name} is ${redactText(value)}`] : [];
      }),
    ];
  }

  readonly #onConnected = (message: unknown): void => {
    const { connectParams, socket } = message as Connected; // a channel has no type
    const tls = socket.getProtocol ? `, ${socket.getProtocol()}` : "";
    const address = `${socket.remoteAddress ?? "?"} port ${socket.remotePort ?? "?"}`;
    // A channel cannot wait, and a lost trace line does no harm.
    this.#write([`* connected to ${connectParams.host} (${address}${tls})`]).catch(() => {});
  };

  #now(): number {
    return this.#host.now().getTime();
  }

  async #write(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    await this.#host.stderr.write(lines.map((line) => `${visible(line)}\n`).join(""));
  }
}

/** What undici publishes for a new connection. */
interface Connected {
  readonly connectParams: { readonly host: string };
  readonly socket: {
    readonly remoteAddress?: string;
    readonly remotePort?: number;
    /** TLS sockets only. */
    getProtocol?(): string | null;
  };
}

const requestLines = (
  { request, headers, body }: OutgoingRequest,
  label: string,
  key: string,
): string[] => [
  `> ${label}`,
  `> host: ${new URL(request.url).host}`,
  ...headerLines(">", headers, key),
  ...bodyLines(body),
];

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
  if (typeof body === "string") return ["> ", `> ${truncate(MAX_PRINTED, redactText(body))}`];
  return [...body].map(([name, value]) =>
    typeof value === "string"
      ? `> part ${name}: ${truncate(MAX_PRINTED, String(redactValue(redactText(value), name)))}`
      : `> part ${name}: file ${JSON.stringify(value.name)}, ${value.type || "application/octet-stream"}, ${value.size} bytes`,
  );
}

/** Lines for a response body: events of a stream as they arrive, any other body at its end. */
function responseBodyLines(type: string) {
  const decoder = new TextDecoder();
  const line = (text: string) => `< ${truncate(MAX_PRINTED, redactText(text))}`;
  let text = "";
  if (type.includes("text/event-stream")) {
    return {
      take(chunk: Uint8Array): string[] {
        const events = (text + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
        text = (events.pop() ?? "").slice(-MAX_EVENT);
        return events.map((event) => line(event.replace(/^data: ?/gm, "")));
      },
      rest: () => (text === "" ? [] : [line(text)]),
    };
  }
  const readable = /json|text|xml|html|javascript|^$/.test(type);
  return {
    take(chunk: Uint8Array): string[] {
      if (readable && text.length < MAX_BUFFERED) text += decoder.decode(chunk, { stream: true });
      return [];
    },
    rest(size: number): string[] {
      if (size === 0) return [];
      return readable ? [line(text.trimEnd())] : [`< ${size} bytes of ${type}`];
    },
  };
}
