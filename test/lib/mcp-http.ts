import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterFile } from "./cleanup.ts";
import { cli } from "./support.ts";
import type { Ran } from "./support.ts";

/** A server that listens. */
export interface Listening {
  readonly url: string;
  readonly token: string;
  stop(): Promise<Ran>;
}

/** Starts a server on a free port and reads its address and its token. */
export async function listening(
  argv: readonly string[],
  env: Record<string, string>,
): Promise<Listening> {
  const stopped = new AbortController();
  let shown = "";
  let ready = () => {};
  const isReady = new Promise<void>((resolve) => (ready = resolve));
  const ran = cli([...argv, "--http", "127.0.0.1:0"], {
    env,
    signal: stopped.signal,
    around: (host) => ({
      ...host,
      stderr: {
        ...host.stderr,
        async write(text) {
          shown += String(text);
          if (/Bearer .*\n/.test(shown)) ready();
          await host.stderr.write(text);
        },
      },
    }),
  });
  const failed = ran.then(({ err }) => Promise.reject(new Error(err)));
  await Promise.race([isReady, failed]);
  failed.catch(() => {});
  const stop = () => {
    stopped.abort("SIGTERM");
    return ran;
  };
  afterFile(async () => void (await stop()));
  const [, url = ""] = /(http:\S+)/.exec(shown) ?? [];
  const [, token = ""] = /Bearer (\S+)/.exec(shown) ?? [];
  return { url, token, stop };
}

/**
 * A proxy that adds the token to each request, for programs that cannot send one; returns its URL. Host and Origin that name the proxy become those
 * of the server, others stay as they are sent.
 */
export async function withToken({ url, token }: Pick<Listening, "url" | "token">): Promise<string> {
  const { host, hostname, port } = new URL(url);
  const proxy = createServer((incoming, outgoing) => {
    const own = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const named = (["host", "origin"] as const).flatMap((name) => {
      const value = incoming.headers[name];
      return value === undefined ? [] : [[name, value.replace(own, host)]];
    });
    const headers = {
      ...incoming.headers,
      ...Object.fromEntries(named),
      authorization: `Bearer ${token}`,
    };
    const { method, url: path } = incoming;
    const passed = request({ hostname, port, path, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  afterFile(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
}
