import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { commandOnPty } from "./pty.ts";
import { bin, shell } from "./shell.ts";
import type { Line } from "./torture-lines.ts";
import type { Scene, Stage } from "./torture-world.ts";
import { afterFile } from "./cleanup.ts";

/** How a command is ended while it waits for the server. */
export interface Watch {
  /** Columns of its terminal; undefined for a pipe. */
  readonly columns: number | undefined;
  /** Index of the request that gets no response. */
  readonly held: number;
  readonly by: "SIGINT" | "SIGTERM" | "--timeout";
}

/** The result. */
export interface Watched {
  readonly exit: number | null;
  /** Did it wait, for the response or for input? Other commands end on their own. */
  readonly waited: boolean;
  /** ms from the signal, or from the held request, to the exit; null if it did not exit in time. */
  readonly took: number | null;
  readonly written: string;
}

/**
 * ms within which a command must exit. Beside other tests, a process may get no CPU time for long; on an
 * idle machine set `WATCHDOG_MS=2000`.
 */
const patience = Number(process.env["WATCHDOG_MS"] ?? 120_000);

/** ms after which a command without a request is considered to wait for input. */
const typing = 10_000;

/** A proxy of the sandbox that never responds to one request. */
async function holding(origin: string, held: number) {
  let [count, arrived] = [0, () => {}];
  const reached = new Promise<true>((resolve) => (arrived = () => resolve(true)));
  const server = createServer((asked, answer) => {
    if (count++ === held) return arrived();
    const passed = send(
      `${origin}${asked.url}`,
      {
        method: asked.method,
        headers: { ...asked.headers, host: new URL(origin).host, connection: "close" },
      },
      (its) => {
        answer.writeHead(its.statusCode ?? 500, its.headers);
        its.pipe(answer);
      },
    );
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  afterFile(stop);
  const { port } = server.address() as AddressInfo; // a TCP server has no other kind
  return { origin: `http://127.0.0.1:${port}`, reached, stop };
}

/** Starts the built program on a terminal or with pipes. */
function started(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  { columns }: Watch,
) {
  const [program = "kb", ...args] = argv;
  if (columns !== undefined) {
    const sized = 'stty cols "$COLS" rows "$COLS" && exec "$@"';
    const command = ["-c", sized, "sh", process.execPath, bin(program), ...args];
    const child = commandOnPty("sh", command, { ...env, COLS: String(columns) });
    return { pid: child.pid, ended: child.exit, written: child.written };
  }
  const { child, ended } = shell('exec "$NODE" "$@"', env, {
    args: [bin(program), ...args],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (piece: string) => (text += piece));
  return { pid: child.pid ?? 0, ended: ended.then(({ exit }) => exit), written: () => text };
}

const after = <T>(ms: number, value: T) =>
  new Promise<T>((resolve) => setTimeout(() => resolve(value), ms).unref());

/** Runs a command against a server that does not respond, and ends it. */
export async function watched(stage: Stage, line: Line, watch: Watch): Promise<Watched> {
  const scene: Scene = await stage.fresh();
  const server = await holding(scene.origin, watch.held);
  const home = stage.places.at("home");
  const env = {
    KB_BASE_URL: `${server.origin}/v1`,
    KB_KEY: "dataset-sandbox",
    KB_APP_KEY: "app-echo",
    KB_NO_KEYRING: "1",
    HOME: home,
    ...Object.fromEntries(
      ["config", "state", "data", "cache"].map((each) => [
        `KB_${each.toUpperCase()}_DIR`,
        `${home}/${each}`,
      ]),
    ),
    ...line.env,
  };
  const timeout = watch.by === "--timeout" ? ["--timeout", "1s"] : [];
  const program = started([...line.argv(stage.places), ...timeout], env, watch);
  try {
    const ended = program.ended.then((exit) => ({ exit }));
    // A command that neither sends a request nor exits waits for input.
    const waited = await Promise.race([
      server.reached,
      ended.then(() => false as const),
      after(typing, true as const),
    ]);
    if (waited && watch.by !== "--timeout") {
      // Time for the progress display to appear.
      if (watch.columns !== undefined) await Promise.race([ended, after(700, undefined)]);
      if (!(await Promise.race([ended, Promise.resolve(undefined)])))
        process.kill(program.pid, watch.by);
    }
    const began = Date.now();
    const end = await Promise.race([ended, after(patience, undefined)]);
    const took = end ? Date.now() - began : null;
    if (!end) process.kill(program.pid, "SIGKILL");
    return { exit: end?.exit ?? null, waited, took, written: program.written() };
  } finally {
    server.stop();
    await scene.stop();
  }
}

/** Columns to test: a pipe, a terminal without a size, a very narrow one, a usual one. */
export const places = [undefined, 0, 1, 80] as const;

const exits = { SIGINT: 130, SIGTERM: 143, "--timeout": 12 } as const;

/** What is wrong with the way a command ended. */
export async function deaf(stage: Stage, line: Line, watch: Watch): Promise<string[]> {
  const { exit, waited, took, written } = await watched(stage, line, watch);
  // Completion gives up after a second on its own, which is fine.
  if (line.name.includes("__complete") && exit === 0) return [];
  const what = `${line.name} ${JSON.stringify(watch)}`;
  if (took === null) return [`${what} does not end: ${written.slice(-200)}`];
  if (waited && exit !== exits[watch.by])
    return [`${what} ends with ${exit}: ${written.slice(-500)}`];
  return [];
}
