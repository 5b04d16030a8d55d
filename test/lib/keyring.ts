import { createServer } from "node:net";
import { join } from "node:path";
import type { Keyring } from "../../src/host/host.ts";
import { afterFile } from "./cleanup.ts";
import { temporaryDirectory } from "./support.ts";

/** A keyring in memory, and its entries. */
export function memoryKeyring(): Keyring & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>();
  return {
    entries,
    get: (name) => Promise.resolve(entries.get(name)),
    set: (name, secret) => Promise.resolve(void entries.set(name, secret)),
    delete: (name) => Promise.resolve(void entries.delete(name)),
  };
}

/** A keyring whose calls fail with this reason. */
export const silentKeyring = (why: string): Keyring => {
  const fail = () => Promise.reject(new Error(why));
  return { get: fail, set: fail, delete: fail };
};

/** A session bus that accepts connections and never responds. */
async function silentBus(folder: string) {
  let [came, left] = [() => {}, () => {}];
  const [connected, closed] = [
    new Promise<void>((resolve) => (came = resolve)),
    new Promise<void>((resolve) => (left = resolve)),
  ];
  const bus = createServer((socket) => {
    came();
    socket
      .on("data", () => {})
      .on("error", () => {})
      .on("close", left);
  });
  const path = join(folder, "bus");
  await new Promise<void>((resolve) => bus.listen(path, resolve));
  afterFile(() => bus.close());
  return { address: `unix:path=${path}`, connected, closed };
}

/**
 * Starts programs, each with a folder and a silent bus of its own, until one has reached its bus. A call of the keyring is
 * given up after two seconds, in which a busy machine may not even begin it.
 */
export async function reachingBus<Started extends { readonly ended: Promise<unknown> }>(
  start: (folder: string, address: string) => Promise<Started> | Started,
) {
  for (;;) {
    const folder = await temporaryDirectory();
    const bus = await silentBus(folder);
    const started = await start(folder, bus.address);
    const isReached = await Promise.race([
      bus.connected.then(() => true),
      started.ended.then(() => false),
    ]);
    if (isReached) return { ...started, folder, closed: bus.closed };
  }
}
