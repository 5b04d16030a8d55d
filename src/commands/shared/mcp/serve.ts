import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { Readable, Writable } from "node:stream";
import type { Host } from "../../../host/host.ts";
import { SilentExit } from "../../task/command-spec.ts";
import type { Context } from "../../task/command-spec.ts";
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
  if (context.signal.aborted) throw new SilentExit(context.abortError().exit); // no error here
}

async function serveOnStdio(setting: ServerSetting, context: Context): Promise<void> {
  const { host, trace } = context;
  if (host.stdin.isTTY)
    await context.notice(
      "serving MCP on stdin: it waits for a client to write there; Ctrl-C ends it",
    );
  let ended = () => {};
  const end = new Promise<void>((resolve) => (ended = resolve));
  const input = Readable.from(untilEnd(host, ended), { objectMode: false });
  const transport = new StdioServerTransport(input, outputOf(host));
  const onerror = (error: Error) => void trace(1, `mcp: ${error.message}`);
  const handle = serveStdio(() => newServer(setting), { transport, onerror });
  await end;
  await handle.close();
}

/** The bytes of stdin; calls `ended` when no more come, also because the process is stopped. */
async function* untilEnd(host: Host, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* host.stdin.bytes();
  } catch (error) {
    if (!host.signal.aborted) throw error;
  } finally {
    ended();
  }
}

const outputOf = (host: Host): Writable =>
  new Writable({
    write(chunk: Uint8Array, _, done) {
      host.stdout.write(chunk).then(() => done(), done);
    },
  });
