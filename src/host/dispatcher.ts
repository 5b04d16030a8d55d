import { BlockList, isIP } from "node:net";
import type { Dispatcher } from "undici";
// All of undici takes 98 ms to load on Node 20, these two modules 22 ms: without fetch, caches, sockets and mocks.
import Agent from "undici/lib/dispatcher/agent.js";
import request from "undici/lib/api/api-request.js";
import { usage } from "../errors.ts";
import type { ConnectionChecks, ReadFile } from "./connection-checks.ts";
import type { ConnectionSettings, RawHost } from "./host.ts";

/** Options of a TLS or TCP connection, as undici takes them. */
interface ConnectOptions extends ConnectionChecks {
  readonly timeout: number;
  readonly socketPath?: string;
}

/**
 * Creates undici's dispatcher: through the proxies of the environment, otherwise direct. `read` reads a file of
 * certificates.
 */
export async function createDispatcher(
  settings: ConnectionSettings,
  env: RawHost["env"],
  read?: ReadFile,
): Promise<Dispatcher> {
  const { connectTimeout, isDirect, socketPath } = settings;
  const connect: ConnectOptions = {
    timeout: connectTimeout,
    ...(socketPath !== undefined && { socketPath }),
    ...(await checksFor(settings, env, read)),
  };
  const proxies = isDirect || socketPath !== undefined ? undefined : proxiesOf(env);
  return proxies ? proxyDispatcher(proxies, connect) : directDispatcher(connect);
}

async function checksFor(
  settings: ConnectionSettings,
  env: RawHost["env"],
  read?: ReadFile,
): Promise<ConnectionChecks> {
  if (settings.caFile === undefined && !settings.publicOnly) return {};
  const { connectionChecks } = await import("./connection-checks.ts"); // with TLS and DNS, 10 ms
  return connectionChecks(settings, env, read);
}

async function proxyDispatcher(proxies: Proxies, connect: ConnectOptions): Promise<Dispatcher> {
  // 20 ms that a direct connection saves.
  const [{ default: EnvHttpProxyAgent }, { default: Pool }, { default: connectTo }] =
    await Promise.all([
      import("undici/lib/dispatcher/env-http-proxy-agent.js"),
      import("undici/lib/dispatcher/pool.js"),
      import("undici/lib/api/api-connect.js"),
    ]);
  const direct = directDispatcher(connect);
  const agent = new EnvHttpProxyAgent({
    ...proxies,
    connect,
    requestTls: connect,
    proxyTls: connect,
    clientFactory(origin, options) {
      const pool = new Pool(origin, { ...options, headersTimeout: connect.timeout });
      const open = connectTo.bind(pool);
      return Object.assign(pool, {
        connect: (tunnel: Dispatcher.ConnectOptions) => open(tunnel).catch(throwTunnelError),
      });
    },
  });
  const networks = new BlockList();
  addNetworks(networks, proxies.noProxy);
  const routed = agent.compose((dispatch) => (options, handler) => {
    const host = bareAddress(new URL(String(options.origin)).hostname);
    const isListed = isIP(host) !== 0 && networks.check(host, familyOf(host));
    return isListed ? direct.dispatch(options, handler) : dispatch(options, handler);
  });
  return Object.assign(routed, { request });
}

/** Adds the addresses and networks of NO_PROXY (`10.0.0.0/8`), which undici takes for names. */
function addNetworks(networks: BlockList, noProxy: string): void {
  for (const entry of noProxy.split(",")) {
    const [, address = "", bits] = /^([^/%]+)(?:\/(\d+))?$/.exec(bareAddress(entry)) ?? [];
    const family = familyOf(address);
    const size = family === "ipv4" ? 32 : 128;
    const prefix = Number(bits ?? size);
    if (isIP(address) !== 0 && prefix <= size) networks.addSubnet(address, prefix, family);
  }
}

const familyOf = (address: string) => (address.includes(":") ? "ipv6" : "ipv4");
const bareAddress = (host: string): string => host.replace(/[[\]]/g, "");

/** undici's index adds `request` to dispatchers, so this does the same. */
const directDispatcher = (connect: ConnectOptions): Dispatcher =>
  Object.assign(new Agent({ connect }), { request });

/** Marks errors that occurred before anything could be sent to the server. */
function throwTunnelError(cause: unknown): never {
  throw Object.assign(new Error("no tunnel through the proxy", { cause }), { code: "ERR_TUNNEL" });
}

/** The proxies of the environment. The URLs may contain passwords. */
interface Proxies {
  /** Proxy for http, and for https if that has none of its own. */
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Names, addresses and networks that are reached directly, separated by commas. */
  readonly noProxy: string;
}

/**
 * Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in lower case first, as curl does; undefined without a
 * proxy. Throws usage for an invalid URL, without quoting it.
 */
export function proxiesOf(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || "";
  const httpProxy = proxyUrl("HTTP_PROXY", read("HTTP_PROXY"));
  const httpsProxy = proxyUrl("HTTPS_PROXY", read("HTTPS_PROXY"));
  if (httpProxy === "" && httpsProxy === "") return undefined;
  return {
    httpProxy,
    httpsProxy,
    noProxy: read("NO_PROXY")
      .split(/[,\s]+/)
      .join(),
  };
}

/** `proxy.example:3128` → `http://proxy.example:3128`, as most programs read it. */
function proxyUrl(name: string, text: string): string {
  if (text === "") return "";
  const url = text.includes("://") ? text : `http://${text}`;
  try {
    const { protocol, username, password } = new URL(url);
    decodeURIComponent(username + password); // undici would throw
    if (/^https?:$/.test(protocol)) return url;
  } catch {
    // reported below
  }
  throw usage(
    `${name} is not a valid proxy URL`,
    "use http://proxy.example:3128 or http://name:password@proxy.example:3128; write special characters of a password as %40",
  );
}
