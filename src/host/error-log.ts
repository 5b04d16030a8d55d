import { join } from "node:path";
import type { Host } from "./host.ts";
import { isObject, tryParseJson } from "../lib/json.ts";

/** Errors in the log. */
export const MAX_LOGGED_ERRORS = 20;

/** A logged error, with the names and lengths of the fields of request bodies, never their content. */
export interface LoggedError {
  /** ISO 8601. */
  readonly time: string;
  /** Program and its version: `kb 0.1.0`. */
  readonly program: string;
  /** Node and platform: `v20.19.0 linux-x64`. */
  readonly platform: string;
  /** The command line, credentials masked and long words shortened. */
  readonly command: string;
  /** The error as JSON output shows it. */
  readonly error: Readonly<Record<string, unknown>>;
  /** Number of requests sent; `requests` holds the last of them. */
  readonly sent: number;
  readonly requests: readonly LoggedRequest[];
  /** The failed request as a curl command, the key as a variable; null if none was sent. */
  readonly curl: string | null;
  /** Stack traces of an internal error. */
  readonly stack?: readonly string[];
}

/** One attempt of a request. Times are in ms; `status` is null without a response. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly failure: string | null;
  readonly ms: number | null;
  /** Delay before the next attempt. */
  readonly waited_ms: number | null;
}

const directoryOf = (host: Host) => join(host.directories.state, "failures");

/**
 * Logs an error and deletes the oldest. Each has a file of its own, so that commands that fail at the
 * same time do not interfere. Throws the system error.
 */
export async function writeErrorLog(time: Date, json: string, host: Host): Promise<void> {
  const directory = directoryOf(host);
  await host.files.makeDirectory(directory, 0o700);
  const random = Math.floor(host.random() * 2 ** 32).toString(16);
  const name = `${time.toISOString().replaceAll(":", "-")}-${host.process.pid}-${random}.json`;
  await host.files.writeAtomic(join(directory, name), `${json}\n`, 0o600);
  const names = await listLog(directory, host);
  // Another process may delete the same ones.
  for (const old of names.slice(MAX_LOGGED_ERRORS))
    await host.files.remove(join(directory, old)).catch(() => {});
}

/** The logged errors, newest first, without damaged files. */
export async function readErrorLog(host: Host): Promise<LoggedError[]> {
  const directory = directoryOf(host);
  const errors: LoggedError[] = [];
  for (const name of await listLog(directory, host).catch(() => [])) {
    const bytes = await host.files.read(join(directory, name)).catch(() => new Uint8Array());
    const value = tryParseJson(new TextDecoder().decode(bytes));
    if (isObject(value) && isObject(value["error"]) && Array.isArray(value["requests"])) {
      errors.push(value as unknown as LoggedError); // written by writeErrorLog
    }
  }
  return errors;
}

/** Names of the log files, newest first: they begin with the time. */
const listLog = async (directory: string, { files }: Host): Promise<string[]> =>
  (await files.list(directory)).filter((name) => name.endsWith(".json")).reverse();
