import type { Dispatcher } from "undici";
import type { Secrets } from "../redact/keys.ts";

/** Where text goes: standard output or standard error. */
export interface Output {
  /** Resolves when the text is with the operating system; awaiting it is the backpressure. */
  write(text: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  /** Width in columns; Infinity when not a terminal. */
  readonly columns: number;
  /** The terminal itself, for what redraws; undefined when it is none. */
  readonly terminal: NodeJS.WriteStream | undefined;
  /** How often the program was stopped and went on (Ctrl-Z, `fg`): others have written meanwhile. */
  readonly resumed?: number;
  /** True once the reader has gone away (`| head`); further writes do nothing. */
  readonly closed: boolean;
}

/** What the network must know before the first connection. */
export interface ConnectionSettings {
  /** ms until a connection must stand. */
  readonly connectTimeout: number;
  /** PEM file of a further certificate authority. */
  readonly caFile?: string | undefined;
}

/** A file that grows while it is open. */
export interface GrowingFile {
  /** Adds to its end; resolves when the text is with the operating system. */
  write(text: string): Promise<void>;
  /** Flushes it to disk. */
  close(): Promise<void>;
}

/** A lock file: ours until it is let go, or who has it. */
export type Lock = { readonly release: () => void } | { readonly heldBy: string };

/** The few things the programs do with files; paths are the operating system's. */
export interface Files {
  /** Throws the system's error (`code: "ENOENT"`). */
  read(path: string): Promise<Uint8Array>;
  /** Piece by piece, up to where the file ends by then. Throws the system's error. */
  bytes(path: string): AsyncIterable<Uint8Array>;
  /** Streamed when sent, length known, nothing read yet. */
  blob(path: string, type: string): Promise<Blob>;
  /** Tells that something below the folder has changed, until the signal is aborted. */
  watch(folder: string, signal: AbortSignal): AsyncIterable<unknown>;
  /** Of what a link leads to; null when there is nothing. A pipe or a device is no file. */
  stat(
    path: string,
  ): Promise<{ size: number; isDirectory: boolean; isFile: boolean; mode: number } | null>;
  /** Without links; throws the system's error. */
  realPath(path: string): Promise<string>;
  /** Names in a folder, sorted. */
  list(path: string): Promise<string[]>;
  /** Whole or not at all: written beside, flushed, renamed. Folders that are missing are made. */
  writeAtomic(
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array | string>,
    mode?: number,
  ): Promise<void>;
  /** A new, empty file; throws `code: "EEXIST"` where there is one. */
  create(path: string): Promise<GrowingFile>;
  /** Adds to the end and flushes to disk. */
  append(path: string, text: string): Promise<void>;
  /** Cuts a file off after so many bytes. */
  truncate(path: string, size: number): Promise<void>;
  /** Replaces what is there. */
  copy(from: string, to: string): Promise<void>;
  /** Replaces what is there, in one step. */
  rename(from: string, to: string): Promise<void>;
  makeFolder(path: string, mode?: number): Promise<void>;
  /** Holds until it is let go or the process ends, however that happens. Throws the system's error. */
  lock(path: string, owner: RawHost["process"]): Promise<Lock>;
  remove(path: string): Promise<void>;
}

/** A program that was started. */
export interface Child {
  /** Exit code; 128 + signal number when a signal ended it. Rejects when it writes too much. */
  readonly exit: Promise<number>;
  /** What it wrote to standard output, when asked to collect; empty otherwise. */
  readonly output: Promise<string>;
  kill(signal: NodeJS.Signals): void;
}

/** How a program is started. */
export interface Starting {
  /** Keeps its standard output, at most so many bytes of it; otherwise it shares ours. */
  readonly collect?: number;
  readonly shell?: boolean;
  /** Ends it, and what it has started, when aborted. */
  readonly signal?: AbortSignal;
}

/**
 * Where the operating system keeps secrets, by a name. Each call rejects within two seconds when
 * nothing answers; the message says why.
 */
export interface Keyring {
  /** Undefined where nothing rests under the name. */
  get(name: string): Promise<string | undefined>;
  /** Replaces what is there. */
  set(name: string, secret: string): Promise<void>;
  /** Also where nothing is there. */
  delete(name: string): Promise<void>;
}

/** Everything the programs may touch outside themselves. `main.ts` builds the real one, tests theirs. */
export interface Host extends RawHost {
  /** Keys and passwords in use: `stderr` masks them by itself, what goes elsewhere asks. */
  readonly secrets: Secrets;
  /** Runs a program with our environment, but without our keys, and what `env` adds to it. */
  spawn(
    command: string,
    args: readonly string[],
    options?: Starting & { readonly env?: RawHost["env"] },
  ): Child;
}

/** The same as it is handed in, before the program begins. */
export interface RawHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Name and version of Node, platform: `v20.19.0 linux-x64`. */
  readonly platform: string;
  readonly cwd: string;
  /** Folder of the `kb` and `wf` that run, so that commands started by us find them. */
  readonly binFolder: string | undefined;
  /** Between folders in PATH. */
  readonly pathSeparator: string;
  /** This process and others, for lock files. */
  readonly process: {
    readonly pid: number;
    isAlive(pid: number): boolean;
  };
  readonly stdin: { readonly isTTY: boolean; bytes(): AsyncIterable<Uint8Array> };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly folders: {
    readonly config: string;
    readonly state: string;
    readonly data: string;
    readonly cache: string;
  };
  readonly files: Files;
  /** Aborted by a signal; `reason` is its name: SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
  now(): Date;
  /** Whole ms since some moment, for durations: it goes on evenly when the clock is set. */
  elapsed(): number;
  /** Resolves after `ms`, or rejects when `signal` (or the host's own) is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1, for jitter. */
  random(): number;
  dispatcher(settings: ConnectionSettings): Promise<Dispatcher>;
  keyring(): Promise<Keyring>;
  /** Runs a program with that environment. */
  spawn(
    command: string,
    args: readonly string[],
    options: Starting & { readonly env: RawHost["env"] },
  ): Child;
  /**
   * Asks on the terminal; `hidden` shows nothing of what is typed. Throws CliError interrupted on
   * Ctrl-C and Ctrl-D; rejects when the signal is aborted.
   */
  ask(
    question: string,
    options?: { readonly hidden?: boolean; readonly signal?: AbortSignal },
  ): Promise<string>;
}
