import type { Dispatcher } from "undici";
import type { Secrets } from "../redact/keys.ts";
import type { UntrustedPart } from "./trusted-path.ts";

/** Where text goes: stdout or stderr. */
export interface Output {
  /** Resolves when the operating system has taken the text; awaiting it is the backpressure. */
  write(text: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  /** Width in columns; Infinity if this is not a terminal. */
  readonly columns: number;
  /** The terminal itself, for code that redraws; undefined if this is not a terminal. */
  readonly terminal: NodeJS.WriteStream | undefined;
  /** How often the process was stopped and resumed (Ctrl-Z, `fg`): each time others may have written. */
  readonly resumeCount?: number;
  /** True once the reader has closed the pipe (`| head`); further writes do nothing. */
  readonly closed: boolean;
}

/** Settings of the network, needed before the first connection. */
export interface ConnectionSettings {
  /** Connection timeout in ms. */
  readonly connectTimeout: number;
  /** PEM file of an additional certificate authority. */
  readonly caFile?: string | undefined;
  /** Refuses names that lead to this machine or a private network; not through a proxy, which looks them up. */
  readonly publicOnly?: boolean;
  /** Uses no proxy. */
  readonly isDirect?: boolean;
  /** Path of a Unix socket, which takes the place of all hosts. */
  readonly socketPath?: string;
}

/** A file that is open for appending. */
export interface AppendFile {
  /** Appends; resolves when the operating system has taken the text. */
  write(text: string): Promise<void>;
  /** Flushes to disk and closes. */
  close(): Promise<void>;
}

/** A file without a name, which vanishes with the process that has it open. */
export interface ScratchFile {
  /** Resolves when the operating system has taken the bytes. */
  append(bytes: Uint8Array): Promise<void>;
  /** Streams its content from an offset on; may be called again. */
  bytes(from?: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** A lock file: held by this process until released, or who holds it since when, and what to do next. */
export type Lock =
  | { readonly release: () => void }
  | { readonly heldBy: string; readonly next: string };

/** An entry of a directory, by its own kind: all are false for a pipe or a device. */
export interface NamedEntry {
  readonly name: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly isLink: boolean;
}

/** Where a file or a directory is written before it replaces one; `random` is 8 hexadecimal digits. */
export const unfinishedPath = (path: string, random: string): string => `${path}.${random}.tmp`;

/** Is it the name of one that a kill has left unfinished? */
export const isUnfinished = (name: string): boolean => /\.[\da-f]{8}\.tmp$/.test(name);

/** The file operations that the CLI uses; paths are those of the operating system. */
export interface Files {
  /** Throws the system error (`code: "ENOENT"`). */
  read(path: string): Promise<Uint8Array>;
  /** Streams a file up to its current end. Throws the system error. */
  bytes(path: string): AsyncIterable<Uint8Array>;
  /** A file to upload: its length is known, its content is read while sending. */
  blob(path: string, type: string): Promise<Blob>;
  /** Yields on each change below the directory, until the signal is aborted. */
  watch(directory: string, signal: AbortSignal): AsyncIterable<unknown>;
  /**
   * Follows links; null if nothing exists. `isFile` is false for a pipe or a device, `isLink` says whether
   * the last step of the path is a link.
   */
  stat(path: string): Promise<{
    size: number;
    isDirectory: boolean;
    isFile: boolean;
    isLink: boolean;
    mode: number;
  } | null>;
  /** Why others than the user and root could change what is there; undefined if they cannot. */
  untrustedPart(path: string): UntrustedPart | undefined;
  /** Resolves links; throws the system error. */
  realPath(path: string): Promise<string>;
  /** Names in a directory, sorted. */
  list(path: string): Promise<string[]>;
  /** What is in a directory, sorted by name; a link is neither a file nor a directory here. */
  entries(path: string): Promise<NamedEntry[]>;
  /** Replaces a file atomically: temporary file, fsync, rename. Creates missing directories. */
  writeAtomic(
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array | string>,
    mode?: number,
  ): Promise<void>;
  /** Replaces a JSON file atomically, readable by its owner only. Its directory must exist. */
  writeSettings(path: string, value: object): Promise<void>;
  /** Creates an empty file; throws `code: "EEXIST"` if one exists. */
  create(path: string, mode?: number): Promise<AppendFile>;
  /** Creates a file for this process alone in an existing directory. */
  scratch(directory: string): Promise<ScratchFile>;
  /** Appends and flushes to disk. With `ownMode`, a new file has this mode, and a link throws `code: "ELOOP"`. */
  append(path: string, text: string, ownMode?: number): Promise<void>;
  /** Truncates a file to a number of bytes; a link throws `code: "ELOOP"`. */
  truncate(path: string, size: number): Promise<void>;
  /** Replaces an existing file. */
  copy(from: string, to: string): Promise<void>;
  /** Replaces an existing file atomically. */
  rename(from: string, to: string): Promise<void>;
  makeDirectory(path: string, mode?: number): Promise<void>;
  /** Takes a lock until it is released or the process ends, even by a kill. Throws the system error. */
  lock(path: string, owner: RawHost["process"]): Promise<Lock>;
  remove(path: string): Promise<void>;
  /** Does nothing if it is not empty or does not exist. */
  removeEmptyDirectory(path: string): Promise<void>;
}

/** A child process. */
interface Child {
  /** Exit code, or 128 + signal number. Rejects if it writes too much. */
  readonly exit: Promise<number>;
  /** Settles when it has ended itself; what it started may still hold its output. */
  readonly ended?: Promise<void>;
  /** Its stdout if it is collected, otherwise empty. */
  readonly output: Promise<string>;
  /** Its stderr, if it has an input. */
  readonly errors?: Promise<string>;
  /** Its stdout as it arrives, with `stream`; it waits until it is read. */
  readonly bytes?: AsyncIterable<Uint8Array>;
  kill(signal: NodeJS.Signals): void;
}

/** How a program is started. */
export interface SpawnOptions {
  /** Collects its stdout, up to this number of bytes; otherwise it inherits stdout. */
  readonly collect?: number;
  /** Its stdout is read as a stream; `collect` is the limit of its stderr, of which the rest is dropped. */
  readonly stream?: boolean;
  readonly shell?: boolean;
  /** Its directory (default: that of this process). */
  readonly cwd?: string;
  /** Its stdin, instead of that of this process; its stderr is then collected, too. */
  readonly input?: string;
  /** Its stdin stays open until it is stopped, or this process ends in whatever way. */
  readonly keepsInput?: true;
  /** On abort, kills it together with the processes it started. */
  readonly signal?: AbortSignal;
}

/**
 * The keyring of the operating system, by entry name. Each call rejects with a reason, after two
 * seconds at the latest, if no keyring is available.
 */
export interface Keyring {
  /** Undefined if the entry does not exist. */
  get(name: string): Promise<string | undefined>;
  /** Replaces an existing entry. */
  set(name: string, secret: string): Promise<void>;
  /** Also succeeds if the entry does not exist. */
  delete(name: string): Promise<void>;
}

/** A terminal that a program has taken over: it shows the alternate screen without a cursor. */
export interface FullScreen {
  /** Names of keys as they are pressed (`q`, `up`, `return`), and `resize`. Ends after `leave`. */
  readonly keys: AsyncIterable<string>;
  /** Restores the terminal; may be called again. */
  leave(): void;
}

/** Everything outside the program that it may use. `node-host.ts` is the real one; tests have theirs. */
export interface Host extends RawHost {
  /** Keys and passwords in use: `stderr` masks them; code that writes elsewhere masks them itself. */
  readonly secrets: Secrets;
  /** Starts a program with this environment without its keys, plus `env`. */
  spawn(
    command: string,
    args: readonly string[],
    options?: SpawnOptions & { readonly env?: RawHost["env"] },
  ): Child;
}

/** The host as it is passed to `run`, before keys are masked. */
export interface RawHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Version of Node and platform: `v20.19.0 linux-x64`. */
  readonly platform: string;
  readonly cwd: string;
  /** Directory of the running `kb` and `wf`, so that child processes find them. */
  readonly binDirectory: string | undefined;
  /** The text of a file that the build wrote beside the programs. Throws if there is none. */
  builtFile(name: string): string;
  /** Separator of directories in PATH. */
  readonly pathSeparator: string;
  /** Process ids, for lock files. */
  readonly process: {
    readonly pid: number;
    isAlive(pid: number): boolean;
  };
  readonly stdin: { readonly isTTY: boolean; bytes(): AsyncIterable<Uint8Array> };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly directories: {
    readonly config: string;
    readonly state: string;
    readonly data: string;
    readonly cache: string;
  };
  readonly files: Files;
  /** Aborted by a signal; `reason` is its name: SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
  /** The next Ctrl-C calls `take` instead of aborting the signal; returns what gives it back. */
  takeInterrupt(take: () => void): () => void;
  now(): Date;
  /** Monotonic clock in whole ms, for durations. */
  elapsed(): number;
  /** Resolves after `ms`; rejects when `signal` is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1, for jitter. */
  random(): number;
  dispatcher(settings: ConnectionSettings): Promise<Dispatcher>;
  keyring(): Promise<Keyring>;
  /** Starts a program with exactly this environment. */
  spawn(
    command: string,
    args: readonly string[],
    options: SpawnOptions & { readonly env: RawHost["env"] },
  ): Child;
  /**
   * Prompts on the terminal; `hidden` does not echo the input, `multiline` takes all lines of a pasted
   * text. Throws CliError interrupted on Ctrl-C, and with the code `endOfInput` on Ctrl-D; rejects when
   * the signal is aborted.
   */
  prompt(
    question: string,
    options?: {
      readonly hidden?: boolean;
      readonly multiline?: boolean;
      readonly signal?: AbortSignal;
    },
  ): Promise<string>;
  /** Takes over the terminal until `leave`, or the end of the process. Ctrl-C stays an interrupt. */
  fullScreen(): Promise<FullScreen>;
}
