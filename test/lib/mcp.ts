/** The official client of the protocol, talking to a server that runs in this process. */
import { Client } from "@modelcontextprotocol/client";
import type {
  CallToolResult,
  ClientOptions,
  JSONRPCMessage,
  Transport,
} from "@modelcontextprotocol/client";
import { expect } from "vitest";
import { afterFile } from "./cleanup.ts";
import { cli } from "./support.ts";
import type { Ran, World } from "./support.ts";

/** Versions of the protocol: the one that most clients use, and the newest. */
export const protocols = ["2025-11-25", "2026-07-28"] as const;

/** A client that is connected, with everything that the server wrote. */
export interface Connected {
  readonly client: Client;
  /** Calls a tool that must succeed; its structured result and its text. */
  use(
    name: string,
    values?: Readonly<Record<string, unknown>>,
  ): Promise<{ value: Record<string, any>; text: string; result: CallToolResult }>;
  /** Calls a tool that must fail; its error and its text. */
  fail(
    name: string,
    values?: Readonly<Record<string, unknown>>,
  ): Promise<{ error: Record<string, any>; text: string }>;
  /** Disconnects, and waits for the end of the program. */
  close(): Promise<Ran>;
}

/** Lines that can be read while they are added. */
class Lines {
  private readonly waiting: Uint8Array[] = [];
  private wake = () => {};
  private ended = false;

  add(line: string): void {
    this.waiting.push(new TextEncoder().encode(`${line}\n`));
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  async *bytes(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    signal.addEventListener("abort", () => this.end());
    for (;;) {
      const next = this.waiting.shift();
      if (next) yield next;
      else if (this.ended) return;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

/** Clients choose the version: the first of `protocols` by default. */
export const negotiation = (protocol: (typeof protocols)[number]): ClientOptions =>
  protocol === "2026-07-28" ? { versionNegotiation: { mode: { pin: protocol } } } : {};

/** Starts `kb mcp` or `wf mcp` in this process and connects a client to it. */
export async function connect(
  argv: readonly string[],
  world: World,
  options: ClientOptions = {},
  prepare: (client: Client) => void = () => {},
): Promise<Connected> {
  const stdin = new Lines();
  const transport: Transport = {
    start: () => Promise.resolve(),
    send: (message) => Promise.resolve(stdin.add(JSON.stringify(message))),
    close: () => Promise.resolve(stdin.end()),
  };
  let rest = "";
  const onOutput = (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) transport.onmessage?.(JSON.parse(line) as JSONRPCMessage);
  };
  const ran = cli(argv, {
    ...world,
    onOutput,
    around: (host) => ({ ...host, stdin: { isTTY: false, bytes: () => stdin.bytes(host.signal) } }),
  });
  const client = new Client({ name: "test", version: "1" }, options);
  prepare(client);
  const early = ran.then((ended) => {
    throw new Error(`ended with ${ended.exit}: ${ended.err}`);
  });
  await Promise.race([client.connect(transport), early]);
  early.catch(() => {});
  const close = async () => {
    await client.close();
    stdin.end();
    return ran;
  };
  afterFile(async () => void (await close()));
  return { ...calling(client), close };
}

/** Calls of tools that must succeed or fail. */
export function calling(client: Client): Omit<Connected, "close"> {
  const call = async (name: string, values: Readonly<Record<string, unknown>>) => {
    const result = await client.callTool({ name, arguments: { ...values } });
    return { result, text: textOf(result) };
  };
  return {
    client,
    async use(name, values = {}) {
      const { result, text } = await call(name, values);
      expect(result.isError, text).toBeFalsy();
      return { value: result.structuredContent as Record<string, any>, text, result };
    },
    async fail(name, values = {}) {
      const { result, text } = await call(name, values);
      expect(result.isError, text).toBe(true);
      return { error: result._meta?.["kb-wf/error"] as Record<string, any>, text };
    },
  };
}

/** All texts of a result. */
export const textOf = ({ content }: CallToolResult): string =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
