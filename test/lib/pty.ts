import { once } from "node:events";
import { existsSync, readSync } from "node:fs";
import { spawn } from "@lydell/node-pty";
import type { IPty } from "@lydell/node-pty";
import type { Readable } from "node:stream";
import { afterFile } from "./cleanup.ts";
import { bin } from "./shell.ts";
import { terminalOf } from "./terminal.ts";

/** Runs a built program on a pseudoterminal. */
export function onPty(
  program: "kb" | "wf",
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cols = 80,
) {
  return commandOnPty(process.execPath, [bin(program), ...args], env, cols);
}

/** Only what hangs meets it: the error then tells what the screen shows. */
const HANGS_AFTER_MS = 300_000;

/** Runs a command on a pseudoterminal. */
export function commandOnPty(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cols = 80,
) {
  if (process.platform === "linux" && !existsSync("/dev/pts/ptmx"))
    throw new Error("no pseudo-terminals here: mount -t devpts devpts /dev/pts");
  const rows = 24;
  const terminal = terminalOf(cols, rows, false);
  const child = spawn(command, [...args], {
    cols,
    rows,
    env: {
      PATH: process.env["PATH"] ?? "",
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      ...env,
    },
  });
  let isRunning = true;
  // Later its ID may be that of another process.
  afterFile(() => isRunning && child.kill("SIGKILL"));
  const waiting = new Set<() => void>();
  let written = "";
  const receive = (data: string) => {
    written += data;
    terminal.write(data);
    for (const look of waiting) look();
  };
  child.onData(receive);
  readToTheEnd(child, receive);
  const exited = new Promise<number>((resolve) => {
    child.onExit(({ exitCode }) => {
      isRunning = false;
      resolve(exitCode);
    });
  });
  /** What is awaited, or an error with the screen. */
  const inTime = <T>(awaited: Promise<T>, what: string): Promise<T> => {
    const hangs = new AbortController();
    const timer = setTimeout(() => hangs.abort(), HANGS_AFTER_MS).unref();
    const late = once(hangs.signal, "abort").then(async () => {
      throw new Error([`no ${what}; the screen shows:`, ...(await terminal.lines())].join("\n"));
    });
    return Promise.race([awaited, late]).finally(() => clearTimeout(timer));
  };
  return {
    get exit() {
      return inTime(exited, "exit");
    },
    pid: child.pid,
    lines: () => terminal.lines(),
    /** The raw output. */
    written: () => written,
    /** Resolves when the screen matches. */
    shows(wanted: RegExp) {
      const shown = new Promise<void>((resolve) => {
        const look = async () => {
          const screen = await terminal.screen();
          if (!wanted.test(screen.join("\n")) || !waiting.delete(look)) return;
          resolve();
        };
        waiting.add(look);
        void look();
      });
      return inTime(shown, `match of ${wanted}`);
    },
    type: (text: string) => child.write(text),
    resize(columns: number, height: number) {
      terminal.resize(columns, height);
      child.resize(columns, height);
    },
  };
}

/**
 * The package closes the terminal 200 ms after the exit, read or not, and libuv takes a read that does not fill its buffer
 * for the last one of a terminal that hung up: a busy machine would lose output.
 */
function readToTheEnd(child: IPty, receive: (data: string) => void): void {
  const { _socket: socket, _fd: fd } = child as unknown as {
    readonly _socket: Readable;
    readonly _fd: number;
  };
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (!error && !socket.readableEnded) {
      setTimeout(destroy, 30_000).unref(); // if a process that it left has the terminal open
      return socket;
    }
    for (let rest = readSome(fd); rest !== ""; rest = readSome(fd)) receive(rest);
    return destroy(error);
  };
}

/** What a terminal has not given yet; nothing if it is closed. */
function readSome(fd: number): string {
  const buffer = Buffer.alloc(65_536);
  try {
    return buffer.toString("utf8", 0, readSync(fd, buffer));
  } catch {
    return "";
  }
}
