import { join } from "node:path";
import type { Host } from "./host.ts";
import { isObject, parsedJson } from "../lib/json.ts";

/** Failures that are kept. */
export const MAX_LOGGED_ERRORS = 20;

/** What is kept of a command line that failed. No bodies: only their fields and lengths. */
export interface LoggedError {
  /** ISO 8601. */
  readonly time: string;
  /** Program and its version: `kb 0.1.0`. */
  readonly program: string;
  /** Node and platform: `v20.19.0 linux-x64`. */
  readonly platform: string;
  /** The command line, credentials masked and long words shortened. */
  readonly command: string;
  /** As errors are told to programs. */
  readonly error: Readonly<Record<string, unknown>>;
  /** Requests that were sent in all; `requests` holds the last of them. */
  readonly sent: number;
  readonly requests: readonly KeptRequest[];
  /** The request that failed as a curl command, the key as a variable; null where none was sent. */
  readonly curl: string | null;
  /** Of a bug of ours: the stacks. */
  readonly stack?: readonly string[];
}

/** One try of a request. Times are ms; `status` is null where no answer came. */
interface KeptRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly failure: string | null;
  readonly ms: number | null;
  /** Waited after it before it was repeated. */
  readonly waited_ms: number | null;
}

const folderOf = (host: Host) => join(host.directories.state, "failures");

/**
 * Keeps the text of a failure and forgets the oldest. Each is a file of its own, so that commands
 * that fail at the same time cannot harm each other. Throws the system's error.
 */
export async function writeErrorLog(time: Date, json: string, host: Host): Promise<void> {
  const folder = folderOf(host);
  await host.files.makeDirectory(folder, 0o700);
  const random = Math.floor(host.random() * 2 ** 32).toString(16);
  const name = `${time.toISOString().replaceAll(":", "-")}-${host.process.pid}-${random}.json`;
  await host.files.writeAtomic(join(folder, name), `${json}\n`, 0o600);
  const names = await namesIn(folder, host);
  // Another process may forget the same ones.
  for (const old of names.slice(MAX_LOGGED_ERRORS))
    await host.files.remove(join(folder, old)).catch(() => {});
}

/** Failures on this machine, the newest first; damaged ones are passed over. */
export async function readErrorLog(host: Host): Promise<LoggedError[]> {
  const folder = folderOf(host);
  const kept: LoggedError[] = [];
  for (const name of await namesIn(folder, host).catch(() => [])) {
    const bytes = await host.files.read(join(folder, name)).catch(() => new Uint8Array());
    const value = parsedJson(new TextDecoder().decode(bytes));
    if (isObject(value) && isObject(value["error"]) && Array.isArray(value["requests"])) {
      kept.push(value as unknown as LoggedError); // written by keepFailure
    }
  }
  return kept;
}

/** Files of failures, the newest first: their names begin with the time. */
const namesIn = async (folder: string, { files }: Host): Promise<string[]> =>
  (await files.list(folder)).filter((name) => name.endsWith(".json")).reverse();
