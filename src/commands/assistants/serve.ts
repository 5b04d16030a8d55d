import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { Readable, Writable } from "node:stream";
import type { Host } from "../../host/host.ts";
import { CliError } from "../../errors.ts";
import { valueAt } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import { SilentExit } from "../task/command-spec.ts";
import type { Context } from "../task/command-spec.ts";
import { newServer } from "./server.ts";
import type { ServerSetting } from "./server.ts";

/** Serves clients until they leave or the process is stopped: on stdin and stdout, or over HTTP. */
export async function serveClients(
  setting: ServerSetting,
  http: string | undefined,
  context: Context,
): Promise<void> {
  if (http === undefined) await serveOnStdio(setting, context);
  else {
    const { serveOnHttp } = await import("./http.ts");
    await serveOnHttp(setting, http, context);
  }
  if (context.host.signal.aborted) throw new SilentExit(context.abortError().exit); // no error here
}

async function serveOnStdio(setting: ServerSetting, context: Context): Promise<void> {
  const { host, trace } = context;
  if (host.stdin.isTTY)
    await context.notice(
      "serving MCP on stdin: it waits for a client to write there; Ctrl-C ends it",
    );
  let ended = (_unanswered: number) => {};
  const end = new Promise<number>((resolve) => (ended = resolve));
  const input = Readable.from(untilAnswered(), { objectMode: false });
  const transport = new StdioServerTransport(input, outputOf(host));
  const onerror = (error: Error) => void trace(1, `mcp: ${error.message}`);
  const handle = serveStdio(() => newServer(setting), { transport, onerror });
  const lastOnes = lastAnswers(transport, host);
  const unanswered = await end;
  await handle.close();
  if (unanswered > 0)
    throw new CliError(
      "deadline",
      `stdin ended, and ${counted(unanswered, "request")} got no answer`,
    );

  /** The bytes of stdin. Their end closes the transport, so it waits for the answers to all requests. */
  async function* untilAnswered(): AsyncGenerator<Uint8Array> {
    let count = 0;
    try {
      yield* host.stdin.bytes();
      count = await lastOnes();
    } catch (error) {
      if (!host.signal.aborted) throw error;
    } finally {
      ended(host.signal.aborted ? 0 : count);
    }
  }
}

/** ms for the last answers: a client that closed stdin may wait for the end of the process. */
const LAST_ANSWERS = 60_000;

/** Returns a function that waits for the answers to all requests, and returns how many are missing. */
function lastAnswers(transport: StdioServerTransport, host: Host): () => Promise<number> {
  const open = new Set<unknown>();
  const answered = new AbortController();
  let isLast = false;
  const settle = (id: unknown) => {
    open.delete(id);
    if (isLast && open.size === 0) answered.abort();
  };
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    if ("method" in message && "id" in message) open.add(message.id);
    else if ("method" in message) settle(valueAt(message, "params.requestId")); // cancelled
    onmessage?.(message);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (!("method" in message)) settle(message.id);
  };
  return async () => {
    isLast = true;
    const signal = AbortSignal.any([host.signal, answered.signal]);
    if (open.size > 0) await host.sleep(LAST_ANSWERS, signal).catch(() => {});
    return open.size;
  };
}

const outputOf = (host: Host): Writable =>
  new Writable({
    write(chunk: Uint8Array, _, done) {
      host.stdout.write(chunk).then(() => done(), done);
    },
  });
