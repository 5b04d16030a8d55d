import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "undici";
import { run } from "../../src/cli/run.ts";
import type { Files, Keyring, RawHost, Output } from "../../src/host/host.ts";
import { diskFiles } from "../../src/host/node-files.ts";
import { afterFile } from "./cleanup.ts";

/** The result of a command. */
export interface Ran {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** The environment of a command under test. */
export interface World {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** Whether the streams are a terminal; `columns` is its width. */
  readonly tty?: boolean;
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** Replies to prompts, in order. */
  readonly answers?: readonly string[];
  /** Collects the prompts. */
  readonly questions?: string[];
  readonly now?: () => Date;
  /** Monotonic time in ms (default: from `now`, if that is given). */
  readonly elapsed?: () => number;
  /** Called with each write to stdout. */
  readonly onOutput?: (text: string) => void;
  /** Collects the requested delays, in ms. */
  readonly waits?: number[];
  readonly folder?: string;
  /** Starts programs (default: throws). */
  readonly spawn?: RawHost["spawn"];
  /** The OS keyring (default: unavailable). */
  readonly keyring?: Keyring;
  /** Replaces functions of the file system. */
  readonly files?: Partial<Files>;
  /** Wraps the host built from these options. */
  readonly around?: (host: RawHost) => RawHost;
}

const agent = new Agent({ keepAliveTimeout: 50 });

/** A temporary directory, removed after the tests of the file. */
export async function temporaryDirectory(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kb-test-"));
  afterFile(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** What a command writes to stderr, without the lines of progress that a slow one prints. */
export const withoutProgress = (err: string): string =>
  err.replaceAll(/^[A-Z][a-z]+ {2}[\d,]+\/[\d,]+ [a-z].*\n/gm, "");

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function output(world: World, pieces: string[], onWrite?: (text: string) => void): Output {
  const decoder = new TextDecoder();
  return {
    write(text) {
      const piece = typeof text === "string" ? text : decoder.decode(text);
      pieces.push(piece);
      onWrite?.(piece);
      return Promise.resolve();
    },
    isTTY: world.tty ?? false,
    terminal: undefined,
    columns: world.tty ? (world.columns ?? 80) : Infinity,
    closed: false,
  };
}

/** Where commands of this file keep what they keep; a run that another file left there could be taken for its own. */
const ownFolder = join(tmpdir(), `kb-test-${randomUUID()}`);
afterFile(() => rm(ownFolder, { recursive: true, force: true, maxRetries: 5 }));

/** Runs a command in this process, over real sockets, with its own streams and clock. */
export async function cli(argv: readonly string[], world: World = {}): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const answers = [...(world.answers ?? [])];
  const folder = world.folder ?? ownFolder;
  const host: RawHost = {
    // Without a directory of its own, a test would share its error log with all others.
    env: { TZ: "UTC", ...(world.folder === undefined && { KB_KEEP_ERRORS: "0" }), ...world.env },
    platform: "v20.19.0 test",
    cwd: process.cwd(),
    binDirectory: undefined,
    builtFile(name) {
      if (name === "LICENSES.txt") return "MIT License\n";
      throw new Error(`${name} is not built in tests`);
    },
    pathSeparator: ":",
    process: { pid: process.pid, isAlive },
    stdin: {
      isTTY: world.tty ?? false,
      async *bytes() {
        yield new TextEncoder().encode(world.stdin ?? "");
      },
    },
    stdout: output(world, out, world.onOutput),
    stderr: output(world, err),
    directories: {
      config: join(folder, "config"),
      state: join(folder, "state"),
      data: join(folder, "data"),
      cache: join(folder, "cache"),
    },
    files: { ...diskFiles, ...world.files },
    signal: world.signal ?? new AbortController().signal,
    takeInterrupt: () => () => {},
    now: world.now ?? (() => new Date()),
    elapsed: world.elapsed ?? (() => world.now?.().getTime() ?? performance.now()),
    // Delays are recorded instead of waited for: each takes a few ms at most.
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        world.waits?.push(ms);
        const stop = () => reject(new Error("aborted"));
        if (signal?.aborted) stop();
        signal?.addEventListener("abort", stop, { once: true });
        const done = () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        };
        if (ms < 60_000) setTimeout(done, ms < 1000 ? 0 : 5);
      }),
    random: () => 0.5,
    dispatcher: () => Promise.resolve(agent),
    keyring: () =>
      world.keyring ? Promise.resolve(world.keyring) : Promise.reject(new Error("no keyring")),
    spawn:
      world.spawn ??
      ((): ReturnType<RawHost["spawn"]> => {
        throw new Error("unexpected spawn: pass `spawn` to the test");
      }),
    prompt: (question) => {
      world.questions?.push(question);
      return Promise.resolve(answers.shift() ?? "");
    },
    fullScreen: () => Promise.reject(new Error("unexpected screen: use a pty")),
  };
  const exit = await run(argv, world.around?.(host) ?? host);
  return { exit, out: out.join(""), err: err.join("") };
}
