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
