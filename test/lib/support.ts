import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "undici";
import { afterAll } from "vitest";
import { run } from "../../src/cli/run.ts";
import type { Child, Files, Keyring, RawHost, Output } from "../../src/host/host.ts";
import { diskFiles } from "../../src/host/node-files.ts";

/** What a command line did. */
export interface Ran {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** How the world looks to a command line under test. */
export interface World {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** Are the streams a terminal, and how wide? */
  readonly tty?: boolean;
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** Answers to questions, in order. */
  readonly answers?: readonly string[];
  /** Every question that was asked. */
  readonly questions?: string[];
  readonly now?: () => Date;
  /** ms for durations; otherwise those of the clock. */
  readonly elapsed?: () => number;
  /** Called with each piece of standard output. */
  readonly onOutput?: (text: string) => void;
  /** Every wait that was asked for, in ms. */
  readonly waits?: number[];
  readonly folder?: string;
  /** Starts programs; without one starting any fails the test. */
  readonly spawn?: RawHost["spawn"];
  /** The operating system's; without one none answers. */
  readonly keyring?: Keyring;
  /** Instead of the disk's. */
  readonly files?: Partial<Files>;
  /** Puts something between the program and the host made of all this. */
  readonly around?: (host: RawHost) => RawHost;
}

const agent = new Agent({ keepAliveTimeout: 50 });
afterAll(() => agent.close());

/** A folder that is gone after the tests of the file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kb-test-"));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];
// A folder may be made inside a test, where it is too late to say what is to happen after all.
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function output(world: World, pieces: string[], heard?: (text: string) => void): Output {
  const decoder = new TextDecoder();
  return {
    write(text) {
      const words = typeof text === "string" ? text : decoder.decode(text);
      pieces.push(words);
      heard?.(words);
      return Promise.resolve();
    },
    isTTY: world.tty ?? false,
    terminal: undefined,
    columns: world.tty ? (world.columns ?? 80) : Infinity,
    closed: false,
  };
}

/** Runs a command line in this process, over real sockets, with streams and clock of its own. */
export async function cli(argv: readonly string[], world: World = {}): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const answers = [...(world.answers ?? [])];
  const folder = world.folder ?? join(tmpdir(), "kb-test-nothing");
  const host: RawHost = {
    // Where a test has no folder of its own, failures would be kept for all.
    env: { TZ: "UTC", ...(world.folder === undefined && { KB_KEEP_ERRORS: "0" }), ...world.env },
    platform: "v20.19.0 test",
    cwd: process.cwd(),
    binDirectory: undefined,
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
    now: world.now ?? (() => new Date()),
    elapsed: world.elapsed ?? (() => (world.now?.() ?? new Date()).getTime()),
    // Waits are remembered, not waited for: one turn of the event loop stands for each.
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
      world.keyring ? Promise.resolve(world.keyring) : Promise.reject(new Error("there is none")),
    spawn:
      world.spawn ??
      ((): Child => {
        throw new Error("no command is started in these tests");
      }),
    prompt: (question) => {
      world.questions?.push(question);
      return Promise.resolve(answers.shift() ?? "");
    },
  };
  const exit = await run(argv, world.around?.(host) ?? host);
  return { exit, out: out.join(""), err: err.join("") };
}
