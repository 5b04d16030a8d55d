import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { tryParseJson } from "../lib/json.ts";
import type { Keyring } from "./host.ts";
import type { KeyringReply, KeyringRequest } from "./keyring-child.ts";

const TIMEOUT_MS = 2000;

/**
 * Calls the OS keyring from a child process, because a dead D-Bus blocks the call forever and only a
 * kill unblocks it. `node` is the path of Node, `env` its environment; `signal` cancels calls.
 */
export function systemKeyring(
  node: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Keyring {
  const call = (request: KeyringRequest) =>
    new Promise<KeyringReply>((resolve, reject) => {
      const options = {
        env,
        timeout: TIMEOUT_MS,
        killSignal: "SIGKILL",
        signal,
        windowsHide: true,
      } as const;
      const child = execFile(node, [script], options, (error, output) => {
        const reply = tryParseJson(output) as KeyringReply | undefined; // of keyring-child.ts
        if (reply?.error !== undefined) reject(new Error(reply.error));
        else if (reply) resolve(reply);
        else if (error?.killed) reject(new Error(`no response within ${TIMEOUT_MS / 1000} s`));
        else reject(new Error("it failed"));
      });
      child.stdin?.on("error", () => {}); // it may have exited already
      child.stdin?.end(JSON.stringify(request));
    });
  return {
    get: async (name) => (await call({ verb: "get", name })).secret ?? undefined,
    set: async (name, secret) => void (await call({ verb: "set", name, secret })),
    delete: async (name) => void (await call({ verb: "delete", name })),
  };
}

/** In the bundle, both modules are files of dist. */
const script = fileURLToPath(new URL("./keyring-child.cjs", import.meta.url));
