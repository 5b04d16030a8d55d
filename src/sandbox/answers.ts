import type { ServerResponse } from "node:http";
import type { Plan } from "./faults.ts";
import type { Clock } from "./handler.ts";

/** An answer ready to be sent: a body in one piece, or a stream of pieces. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | AsyncIterable<string>;
}

const utf8 = new TextEncoder();

const whole = (status: number, headers: Record<string, string>, body: Uint8Array): Answer => ({
  status,
  headers: { ...headers, "Content-Length": String(body.byteLength) },
  body,
});

/** JSON as the server writes it: ASCII only, a blank after commas and colons, a newline. */
export const jsonAnswer = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer =>
  whole(
    status,
    { "Content-Type": "application/json", ...headers },
    utf8.encode(`${spaced(value).replace(/[\u007f-\uffff]/g, escaped)}\n`),
  );

/** JSON of runs and chats: UTF-8 without the newline. */
export const utf8Answer = (status: number, value: unknown): Answer =>
  whole(
    status,
    { "Content-Type": "application/json; charset=utf-8" },
    utf8.encode(JSON.stringify(value)),
  );

const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value ?? null);
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) fields.push(`${JSON.stringify(name)}: ${spaced(field)}`);
  }
  return `{${fields.join(", ")}}`;
}

const html = (status: number, text: string, headers: Record<string, string> = {}) =>
  whole(status, { "Content-Type": "text/html; charset=utf-8", ...headers }, utf8.encode(text));

/** What the server says to a path that it does not know; JSON 404s are about missing objects. */
export const unknownRoute = (): Answer =>
  html(
    404,
    "<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n" +
      "<p>The requested URL was not found on the server. If you entered the URL manually " +
      "please check your spelling and try again.</p>\n",
  );

export const redirectTo = (url: string): Answer =>
  html(
    308,
    "<!doctype html>\n<html lang=en>\n<title>Redirecting...</title>\n<h1>Redirecting...</h1>\n" +
      `<p>You should be redirected automatically to the target URL: <a href="${url}">${url}</a>. ` +
      "If not, click the link.\n",
    { Location: url },
  );

/** The page of a proxy that cannot reach the server. */
export const proxyPage = (status: number, reason: string): Answer =>
  html(
    status,
    `<html>\r\n<head><title>${status} ${reason}</title></head>\r\n<body>\r\n` +
      `<center><h1>${status} ${reason}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`,
  );

/**
 * Sends an answer, with what the plan wants to go wrong on the way. Resolves when it is sent, cut,
 * or the client has gone.
 */
export async function deliver(
  answer: Answer,
  response: ServerResponse,
  plan: Plan,
  clock: Clock,
  gone: AbortSignal,
): Promise<void> {
  response.writeHead(answer.status, answer.headers);
  response.flushHeaders();
  const cut = () => response.destroy();
  const left = { bytes: plan["cut-bytes"] ?? Infinity, events: plan["cut-after"] ?? Infinity };
  let spoken = plan.silence ?? Infinity;
  if (left.bytes === 0 || left.events === 0) return void cut();

  for await (const piece of piecesOf(answer.body)) {
    const events = typeof piece === "string" ? (piece.match(/^data:/gm)?.length ?? 0) : 0;
    const bytes = typeof piece === "string" ? utf8.encode(piece) : piece;
    for (const [part, pause] of paced(bytes.subarray(0, left.bytes), plan.drip)) {
      if (gone.aborted) return;
      await written(response, part, gone);
      if (pause > 0) await clock.sleep(pause, gone).catch(() => {});
    }
    left.bytes -= bytes.byteLength;
    left.events -= events;
    spoken -= events;
    if (left.bytes <= 0 || left.events <= 0) return void cut();
    // Silent from here on: the client has to give up.
    if (spoken <= 0) return;
    if (gone.aborted) return;
  }
  response.end();
}

async function* piecesOf(body: Answer["body"]): AsyncGenerator<string | Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}

/** The bytes in parts, each with the ms to wait after it; all at once without a rate. */
function* paced(
  bytes: Uint8Array,
  rate: number | undefined,
): Generator<[part: Uint8Array, pause: number]> {
  if (rate === undefined) return void (yield [bytes, 0]);
  // Ten parts a second, or a byte at a time where that is slower.
  const size = Math.max(1, Math.round(rate / 10));
  for (let at = 0; at < bytes.byteLength; at += size) {
    yield [bytes.subarray(at, at + size), (size / rate) * 1000];
  }
}

/** Resolves when the bytes have left for the client, or it has gone. */
const written = (response: ServerResponse, bytes: Uint8Array, gone: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (bytes.byteLength === 0 || gone.aborted) return resolve();
    const done = () => {
      gone.removeEventListener("abort", done);
      resolve();
    };
    gone.addEventListener("abort", done);
    response.write(bytes, done);
  });
