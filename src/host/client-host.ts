import { openAsBlob } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createDispatcher } from "./dispatcher.ts";
import type { ConnectionSettings } from "./host.ts";

/**
 * What a client needs from outside in a program of others: connections, a clock and files. It listens to no
 * signal, reads no settings and writes nothing.
 */
export function clientHost(connection: ConnectionSettings) {
  let dispatcher: ReturnType<typeof createDispatcher> | undefined;
  return {
    dispatcher: () => (dispatcher ??= createDispatcher(connection, process.env)),
    sleep: async (ms: number, signal: AbortSignal) => void (await sleep(ms, undefined, { signal })),
    random: () => Math.random(),
    elapsed: () => performance.now(),
    now: () => new Date(),
    openFile: (path: string, type: string) => openAsBlob(path, { type }),
  };
}
