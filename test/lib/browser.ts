/** A Chromium that is installed, controlled by its debugging protocol. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { WebSocket } from "undici";
import { afterFile } from "./cleanup.ts";
import { temporaryDirectory } from "./support.ts";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/** The path of a browser on PATH; undefined if none is installed. */
export const installedBrowser = (): string | undefined =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path));

type Fields = Readonly<Record<string, unknown>>;

/** A tab of a browser. */
export interface Tab {
  /** Sends a command of the protocol; resolves to its result. */
  send(method: string, params?: Fields): Promise<Fields>;
  /** The events since the last call, as `method {params}`. */
  takeEvents(): readonly { readonly method: string; readonly params: Fields }[];
  /** Resolves when the event comes. */
  next(method: string): Promise<void>;
  /** The value of an expression in the page, or of its promise. */
  evaluate<T>(expression: string): Promise<T>;
}

/** Starts the browser with a profile of its own, and ends it after the tests of the file. */
export async function openTab(browser: string): Promise<Tab> {
  const profile = await temporaryDirectory();
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
  ];
  const child = spawn(browser, [...flags, "about:blank"], {
    env: { ...process.env, HOME: profile },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "exit");
  afterFile(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  let printed = "";
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      const found = /DevTools listening on (ws:\S+)/.exec(printed)?.[1];
      if (found !== undefined) resolve(found);
    });
    void ended.then(() => reject(new Error(`the browser ended: ${printed}`)));
  });
  return tabOf(await connected(address));
}

async function connected(address: string): Promise<WebSocket> {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  return socket;
}

interface Message {
  readonly id?: number;
  readonly result?: Fields;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: Fields;
}

async function tabOf(socket: WebSocket): Promise<Tab> {
  const waiting = new Map<number, (message: Message) => void>();
  const listeners = new Map<string, (() => void)[]>();
  let events: { method: string; params: Fields }[] = [];
  let session: unknown;
  let id = 0;
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message; // the protocol of the browser
    const { method, params = {} } = message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    if (method === undefined) return;
    events.push({ method, params });
    for (const resolve of listeners.get(method)?.splice(0) ?? []) resolve();
  });
  const send: Tab["send"] = async (method, params = {}) => {
    const number = ++id;
    const answer = new Promise<Message>((resolve) => waiting.set(number, resolve));
    socket.send(JSON.stringify({ id: number, method, params, sessionId: session }));
    const { result = {}, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);
  return {
    send,
    takeEvents() {
      const taken = events;
      events = [];
      return taken;
    },
    next: (method) =>
      new Promise((resolve) => listeners.set(method, [...(listeners.get(method) ?? []), resolve])),
    async evaluate(expression) {
      const found = await send("Runtime.evaluate", {
        expression,
        returnByValue: true,
        awaitPromise: true,
      });
      if (found["exceptionDetails"] !== undefined) throw new Error(JSON.stringify(found));
      return (found["result"] as { value: never }).value;
    },
  };
}
