import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { CliError } from "../../src/errors.ts";
import type { Files, AppendFile, RawHost, Output } from "../../src/host/host.ts";

/** The kinds of calls through the host, and how each of them fails in reality. */
export const failures = {
  read: ["EIO", "EACCES"],
  write: ["ENOSPC", "EIO"],
  stdout: ["EIO", "closed"],
  stderr: ["EIO", "closed"],
  stdin: ["EIO"],
  // No server; the connection is lost before, or after, the server has the request.
  request: ["ECONNREFUSED", "lost", "ECONNRESET"],
  answer: ["UND_ERR_SOCKET"],
  sleep: [],
  ask: ["left"],
  spawn: ["ENOENT"],
  keyring: ["gone"],
} as const satisfies Record<string, readonly string[]>;

/** A signal may arrive during any call, which then continues. */
export const signals = ["SIGINT", "SIGTERM"] as const;

/** One call through the host. */
export interface HostCall {
  readonly kind: keyof typeof failures;
  /** Method and path, for messages. */
  readonly name: string;
}

/** Which call fails, counted from 0, and how; by default in the first way of its kind. */
export interface Fault {
  readonly at: number;
  readonly how: string;
}

/** A host with numbered calls. */
export interface Tortured {
  readonly host: RawHost;
  readonly calls: readonly HostCall[];
  /** The injected fault, once it has happened. */
  readonly hit: () => (HostCall & { readonly how: string }) | undefined;
  /** Closes its connections. */
  close(): Promise<void>;
}

/** Numbers all calls through a host and lets one fail. After `most` calls all others throw. */
export function tortured(host: RawHost, most: number, fault?: Fault): Tortured {
  const calls: HostCall[] = [];
  const left = new AbortController();
  const agent = new Agent();
  let hit: ReturnType<Tortured["hit"]>;

  /** Numbers a call; returns how it has to fail. */
  function counted(kind: HostCall["kind"], name: string): string | undefined {
    calls.push({ kind, name });
    if (calls.length > most) throw new Error(`no end after ${most} calls: ${name}`);
    if (calls.length - 1 !== fault?.at) return undefined;
    const known: readonly string[] = failures[kind];
    const signal = signals.find((each) => each === fault.how || known.length === 0);
    const how = signal ?? known.find((each) => each === fault.how) ?? known[0] ?? "";
    hit = { kind, name, how };
    if (!signal) return how;
    left.abort(signal);
    return undefined;
  }

  function output(kind: "stdout" | "stderr", { write, ...rest }: Output): Output {
    let closed = false;
    return {
      ...rest,
      async write(text) {
        const how = counted(kind, `${kind} ${String(text).slice(0, 40)}`);
        if (how === "closed") closed = true;
        // As node-output.ts reports it.
        else if (how) throw new CliError("failure", `failed to write the output: ${how}`);
        if (!closed) await write(text);
      },
      get closed() {
        return closed;
      },
    };
  }

  async function* steps<T>(
    kind: "read" | "stdin" | "answer",
    name: string,
    source: AsyncIterable<T>,
  ) {
    const broken = () => {
      const how = counted(kind, name);
      if (how) throw systemError(how, name);
    };
    broken();
    for await (const piece of source) {
      yield piece;
      broken();
    }
  }

  async function request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    const name = `${options.method} ${options.path}`;
    const how = counted("request", name);
    if (how === "ECONNREFUSED") {
      throw Object.assign(systemError(how, name), { address: "127.0.0.1", port: 9 });
    }
    if (how === "lost") throw systemError("ECONNRESET", name);
    const answer = await agent.request(options);
    if (how) {
      answer.body.on("error", () => {}).destroy();
      throw systemError(how, name);
    }
    // The program only reads it as an iterable.
    const body = steps("answer", name, answer.body) as unknown as typeof answer.body;
    return { ...answer, body };
  }

  return {
    host: {
      ...host,
      signal: left.signal,
      stdin: { ...host.stdin, bytes: () => steps("stdin", "stdin", host.stdin.bytes()) },
      stdout: output("stdout", host.stdout),
      stderr: output("stderr", host.stderr),
      files: filesOf(host.files, counted, steps),
      sleep(ms, signal) {
        counted("sleep", `sleep ${ms}`);
        const until = AbortSignal.any([left.signal, ...(signal ? [signal] : [])]);
        return host.sleep(ms, until);
      },
      dispatcher: () => Promise.resolve(Object.assign(Object.create(agent) as Agent, { request })),
      async keyring() {
        if (counted("keyring", "keyring")) throw new Error("the keyring is gone");
        return host.keyring();
      },
      spawn(command, args, options) {
        const how = counted("spawn", `spawn ${command}`);
        if (!how) return host.spawn(command, args, options);
        const exit = Promise.reject<number>(systemError(how, command));
        const none = exit.then(() => "");
        for (const each of [exit, none]) each.catch(() => {});
        return { exit, output: none, kill: () => {} };
      },
      async prompt(question, options) {
        const how = counted("ask", `ask ${question}`);
        if (how) throw new CliError("interrupted", "interrupted", { sideEffect: "none" });
        if (options?.signal?.aborted) throw new Error("aborted");
        return host.prompt(question, options);
      },
    },
    calls,
    hit: () => hit,
    close: () => agent.destroy(),
  };
}

/** An error like those of the system and of undici. */
const systemError = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${path}`), { code, path });

function filesOf(
  files: Files,
  counted: (kind: HostCall["kind"], name: string) => string | undefined,
  steps: (
    kind: "read",
    name: string,
    source: AsyncIterable<Uint8Array>,
  ) => AsyncIterable<Uint8Array>,
): Files {
  type Name = Exclude<keyof Files, "bytes" | "watch">;
  /** Fails without doing anything. */
  const method =
    <A extends readonly [string, ...unknown[]], R>(
      kind: "read" | "write",
      name: Name,
      go: (...rest: A) => Promise<R>,
    ) =>
    async (...rest: A): Promise<R> => {
      const how = counted(kind, `${name} ${rest[0]}`);
      if (how) throw systemError(how, rest[0]);
      return go(...rest);
    };
  /** A full disk: writes only the first half. */
  async function half(
    name: string,
    path: string,
    text: string,
    go: (text: string) => Promise<void>,
  ) {
    const how = counted("write", `${name} ${path}`);
    await go(how ? text.slice(0, text.length / 2) : text);
    if (how) throw systemError(how, path);
  }
  return {
    ...files,
    read: method("read", "read", files.read),
    bytes: (path) => steps("read", `bytes ${path}`, files.bytes(path)),
    blob: method("read", "blob", files.blob),
    stat: method("read", "stat", files.stat),
    realPath: method("read", "realPath", files.realPath),
    list: method("read", "list", files.list),
    async writeAtomic(path, content, mode) {
      const check = () => {
        const how = counted("write", `writeAtomic ${path}`);
        if (how) throw systemError(how, path);
      };
      // Tests the error handling of the real implementation.
      async function* pieces() {
        check();
        if (typeof content === "string" || content instanceof Uint8Array)
          return void (yield content);
        for await (const piece of content) {
          yield piece;
          check();
        }
      }
      await files.writeAtomic(path, pieces(), mode);
    },
    writeSettings: method("write", "writeSettings", files.writeSettings),
    create: async (path) => {
      const how = counted("write", `create ${path}`);
      if (how) throw systemError(how, path);
      const file: AppendFile = await files.create(path);
      return {
        write: (text) => half("write", path, text, file.write),
        async close() {
          const failed = counted("write", `close ${path}`);
          await file.close();
          if (failed) throw systemError(failed, path);
        },
      };
    },
    append: (path, text) => half("append", path, text, (some) => files.append(path, some)),
    truncate: method("write", "truncate", files.truncate),
    copy: method("write", "copy", files.copy),
    rename: method("write", "rename", files.rename),
    makeDirectory: method("write", "makeDirectory", files.makeDirectory),
    remove: method("write", "remove", files.remove),
    lock: method("write", "lock", files.lock),
  };
}
