import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Keyring } from "./host.ts";
import type { KeyringReply, KeyringRequest } from "./keyring-child.ts";

/** ms in which a keyring answers, or counts as none. */
const patience = 2000;

/**
 * The keyring of the operating system. It is asked in a process of its own: where nothing answers,
 * on a desktop bus above all, the call blocks its thread for good and can only be killed. `node` is
 * the path of Node, `env` its environment, `signal` ends what is being asked.
 */
export function systemKeyring(
  node: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Keyring {
  const ask = (question: KeyringRequest) =>
    new Promise<KeyringReply>((resolve, reject) => {
      const limits = {
        env,
        timeout: patience,
        killSignal: "SIGKILL",
        signal,
        windowsHide: true,
      } as const;
      const child = execFile(node, [script], limits, (error, output) => {
        const answer = parsed(output);
        if (answer?.error !== undefined) reject(new Error(answer.error));
        else if (answer) resolve(answer);
        else if (error?.killed) reject(new Error(`no response within ${patience / 1000} s`));
        else reject(new Error("it failed"));
      });
      child.stdin?.on("error", () => {}); // it may have ended already
      child.stdin?.end(JSON.stringify(question));
    });
  return {
    get: async (name) => (await ask({ verb: "get", name })).secret ?? undefined,
    set: async (name, secret) => void (await ask({ verb: "set", name, secret })),
    delete: async (name) => void (await ask({ verb: "delete", name })),
  };
}

/** Bundled, both are files of dist. */
const script = fileURLToPath(new URL("./keyring-child.cjs", import.meta.url));

function parsed(output: string): KeyringReply | undefined {
  try {
    return JSON.parse(output) as KeyringReply; // written by keyring-child.ts
  } catch {
    return undefined;
  }
}
