import { constants, homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Dispatcher } from "undici";
import { run } from "./cli/run.ts";
import { diskFiles } from "./host/node-files.ts";
import { CliError, kindOfSignal, reasonOf } from "./errors.ts";
import type { ConnectionSettings, Host, Keyring, RawHost, Output } from "./host/host.ts";
import { proxiesOf } from "./host/proxies.ts";
import { withoutKeys } from "./redact/keys.ts";

/**
 * Runs `kb` or `wf` on this process and ends it with the exit code. The process ends at once when
 * everything is written: on Node 20 waiting for V8 to finish with undici's parser would take 80 ms.
 */
export async function main(program: "kb" | "wf"): Promise<never> {
  const code = await run([program, ...process.argv.slice(2)], hostOfProcess());
  process.exit(code);
}

function hostOfProcess(): RawHost {
  const { env } = process;
  const signal = signalOf();
  return {
    env,
    platform: `${process.version} ${process.platform}-${process.arch}`,
    cwd: currentFolder(),
    // Bundled, this file is dist/main.js; the folder beside it holds `kb` and `wf`.
    binFolder: fileURLToPath(new URL("../bin/shims", import.meta.url)),
    pathSeparator: delimiter,
    process: { pid: process.pid, isAlive },
    stdin: {
      // Opened when it is asked for: 2 ms that help and errors do not need.
      get isTTY() {
        return Boolean(process.stdin.isTTY);
      },
      bytes: () => typedBytes(signal),
    },
    stdout: outputOf(process.stdout, true),
    stderr: outputOf(process.stderr, false), // what is said there is no result
    folders: foldersOf(env),
    files: diskFiles,
    signal,
    now: () => new Date(),
    // The clock of `performance` takes 1 ms to load.
    elapsed: () => Number(process.hrtime.bigint() / 1_000_000n),
    sleep,
    random: () => Math.random(),
    dispatcher,
    keyring: () => keyring(signal),
    spawn: start,
    ask,
  };
}

/** Standard input; a signal ends the reading. */
async function* typedBytes(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const left = () => new CliError(kindOfSignal(String(signal.reason)), "interrupted");
  const stop = () => process.stdin.destroy(left());
  signal.addEventListener("abort", stop, { once: true });
  yield* process.stdin;
  signal.removeEventListener("abort", stop);
  if (signal.aborted) throw left();
}

/**
 * Writes are awaited, so a slow reader slows the program and nothing is lost at the end. What
 * `matters` and cannot be written, on a full disk, fails the command.
 */
function outputOf(stream: NodeJS.WriteStream, matters: boolean): Output {
  let closed = false;
  let resumed = 0;
  if (stream.isTTY) {
    process.on("SIGCONT", () => void resumed++);
    giveSize(stream);
  }
  // Without a listener a closed reader would crash the process even though write() has a callback.
  stream.on("error", () => {});
  return {
    write: (text) =>
      closed
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            stream.write(text, (error) => {
              if (!error) return resolve();
              const code = "code" in error ? error.code : undefined;
              if (code === "EPIPE" || code === "ERR_STREAM_DESTROYED") closed = true;
              else if (matters) return reject(outputLost(error));
              resolve();
            });
          }),
    isTTY: Boolean(stream.isTTY),
    terminal: stream.isTTY ? stream : undefined,
    get columns() {
      return stream.isTTY ? stream.columns : Infinity;
    },
    get resumed() {
      return resumed;
    },
    get closed() {
      return closed;
    },
  };
}

/**
 * A terminal whose size was never set (`script`, `ssh -tt`) says 0 columns and 0 rows: those who draw,
 * ours and others', would divide by it and never end.
 */
function giveSize(stream: NodeJS.WriteStream): void {
  for (const [side, usual] of [
    ["columns", 80],
    ["rows", 24],
  ] as const) {
    let size = stream[side];
    Object.defineProperty(stream, side, {
      get: () => size || usual,
      set(now: number) {
        size = now; // Node does, when the size changes
      },
      configurable: true,
      enumerable: true,
    });
  }
}

const outputLost = (cause: Error) =>
  new CliError("failure", `output cannot be written: ${reasonOf(cause)}`, {
    cause,
    code: "output",
  });

/** Where the process stands; the root where that folder was taken away. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return "/";
  }
}

/** The root, where the system knows no home: as for services. */
function systemHome(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

function foldersOf(env: NodeJS.ProcessEnv): Host["folders"] {
  const home = () => env["HOME"] || env["USERPROFILE"] || systemHome();
  const windows = process.platform === "win32";
  const folder = (own: string, xdg: string, below: string, appData: "APPDATA" | "LOCALAPPDATA") =>
    env[own] ||
    (windows
      ? join(env[appData] || join(home(), "AppData"), "kb", ...(below === ".config" ? [] : [below]))
      : join(env[xdg] || join(home(), below), "kb"));
  return {
    config: folder("KB_CONFIG_DIR", "XDG_CONFIG_HOME", ".config", "APPDATA"),
    state: folder("KB_STATE_DIR", "XDG_STATE_HOME", join(".local", "state"), "LOCALAPPDATA"),
    data: folder("KB_DATA_DIR", "XDG_DATA_HOME", join(".local", "share"), "LOCALAPPDATA"),
    cache: folder("KB_CACHE_DIR", "XDG_CACHE_HOME", ".cache", "LOCALAPPDATA"),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // someone else's
  }
}

/** Aborted by the first signal; a second one ends the process as the signal would. */
function signalOf(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(128 + constants.signals[name]);
      controller.abort(name);
    });
  }
  return controller.signal;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Error("aborted", { cause: signal?.reason }));
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      },
      Math.min(ms, 2 ** 31 - 1),
    ); // longer ones would fire at once
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}

async function dispatcher({ connectTimeout, caFile }: ConnectionSettings): Promise<Dispatcher> {
  const ca = caFile === undefined ? undefined : await certificates(caFile);
  const connect = { timeout: connectTimeout, ...(ca && { ca }) };
  const proxies = proxiesOf(process.env);
  if (proxies) {
    const { EnvHttpProxyAgent, Pool } = await import("undici");
    return new EnvHttpProxyAgent({
      ...proxies,
      connect,
      requestTls: connect,
      proxyTls: connect,
      clientFactory(origin, options) {
        const pool = new Pool(origin, { ...options, headersTimeout: connectTimeout });
        const open = pool.connect.bind(pool);
        return Object.assign(pool, {
          connect: (tunnel: Dispatcher.ConnectOptions) => open(tunnel).catch(noTunnel),
        });
      },
    });
  }
  // Node 20 optimises undici's WebAssembly parser in the background and waits for that at exit: 80 ms
  // of a request's 195; on long lists it takes 20 MB more. Without its optimising compiler the
  // parser is quick enough. Newer versions do not wait.
  if (process.version.startsWith("v20.")) {
    process.getBuiltinModule("node:v8").setFlagsFromString("--liftoff-only");
  }
  // The whole of undici takes 98 ms to load on Node 20, these two parts 22 ms: fetch, caches,
  // sockets and mocks stay away. Its index adds `request` to dispatchers; here we do.
  const [{ default: Agent }, { default: request }] = await Promise.all([
    import("undici/lib/dispatcher/agent.js"),
    import("undici/lib/api/api-request.js"),
  ]);
  const agent = new Agent({ connect });
  return Object.assign(agent, { request: request.bind(agent) });
}

/** Marks what happened before anything could be sent to the server. */
function noTunnel(cause: unknown): never {
  throw Object.assign(new Error("no tunnel through the proxy", { cause }), { code: "ERR_TUNNEL" });
}

/**
 * Node's own authorities, those of NODE_EXTRA_CA_CERTS and those of a file: naming `ca` alone would
 * replace the others.
 */
async function certificates(path: string): Promise<string[]> {
  const { rootCertificates } = await import("node:tls");
  const text = async (file: string) => new TextDecoder().decode(await diskFiles.read(file));
  const pem = await text(path).catch((cause: unknown) => {
    throw new CliError("usage", `the certificate file ${path} cannot be read`, { cause });
  });
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) {
    throw new CliError("usage", `${path} holds no certificate`, {
      hint: "--ca-file takes PEM: text that begins with -----BEGIN CERTIFICATE-----",
    });
  }
  const extra = process.env["NODE_EXTRA_CA_CERTS"];
  const more = extra ? await text(extra).catch(() => "") : ""; // Node warns of it
  return [...rootCertificates, more, pem];
}

/** Loaded when a key rests there or is to. What is asked of it ends with us, however we end. */
async function keyring(signal: AbortSignal): Promise<Keyring> {
  const { systemKeyring } = await import("./host/system-keyring.ts");
  const ended = new AbortController();
  process.once("exit", () => ended.abort());
  const until = AbortSignal.any([signal, ended.signal]);
  return systemKeyring(process.execPath, withoutKeys(process.env), until);
}

/** ms that a program has to end by itself once it is told to. */
const grace = 1000;

const start: RawHost["spawn"] = (command, args, options) => {
  const { env, collect, shell = false, signal } = options;
  // In a group of its own all that it starts can be ended with it. At a terminal it stays in ours:
  // it may ask there for a password, and Ctrl-C reaches it.
  const { stdin, stdout, stderr } = process;
  const detached = collect !== undefined && ![stdin, stdout, stderr].some(({ isTTY }) => isTTY);
  // Loaded when something is started. On Windows it finds programs that are scripts, as kb.cmd is.
  const started = import("cross-spawn").then(({ default: spawn }) => {
    const child = spawn(command, [...args], {
      env: { ...env },
      shell,
      detached: detached && process.platform !== "win32",
      stdio: ["inherit", collect === undefined ? "inherit" : "pipe", "inherit"],
    });
    const kill = (name: NodeJS.Signals) => {
      try {
        if (detached && child.pid !== undefined) process.kill(-child.pid, name);
        else child.kill(name);
      } catch {
        // it has ended
      }
    };
    const stop = () => {
      kill("SIGTERM");
      setTimeout(() => kill("SIGKILL"), grace).unref();
      child.stdout?.destroy(); // what it has started may hold the other end
    };
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    const pieces: Buffer[] = [];
    const exit = new Promise<number>((resolve, reject) => {
      let size = 0;
      child.stdout?.on("data", (piece: Buffer) => {
        size += piece.length;
        if (size <= (collect ?? Infinity)) return void pieces.push(piece);
        stop();
        reject(new Error(`it writes more than ${collect} bytes`));
      });
      child.on("error", reject);
      child.on("close", (code, name) => {
        signal?.removeEventListener("abort", stop);
        resolve(code ?? 128 + (name ? constants.signals[name] : 0));
      });
    });
    return { exit, kill, text: () => Buffer.concat(pieces).toString() };
  });
  const exit = started.then((child) => child.exit);
  const output = Promise.all([started, exit]).then(([child]) => child.text());
  output.catch(() => {}); // whoever waits for one of the two is told
  return { exit, output, kill: (name) => void started.then(({ kill }) => kill(name)) };
};

/** Asks on standard error, so that standard output stays what was asked for. */
async function ask(
  question: string,
  { hidden = false, signal }: { hidden?: boolean; signal?: AbortSignal } = {},
): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const { Writable } = await import("node:stream");
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({
    input: process.stdin,
    output: hidden ? silent : process.stderr,
    terminal: true,
  });
  // Only now does the terminal no longer show what is typed.
  if (hidden) process.stderr.write(question);
  // The terminal hands Ctrl-C and Ctrl-D to the reader, not to the process.
  const left = new AbortController();
  reader.on("SIGINT", () => left.abort());
  reader.on("close", () => left.abort());
  const until = AbortSignal.any([left.signal, ...(signal ? [signal] : [])]);
  try {
    return await reader.question(hidden ? "" : question, { signal: until });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new CliError("interrupted", "interrupted", { sideEffect: "none" });
  } finally {
    reader.close();
    if (hidden) process.stderr.write("\n");
  }
}
