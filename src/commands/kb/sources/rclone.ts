import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { usage } from "../../../errors.ts";
import { isObject, tryParseJson, valueAt, stringifyJson } from "../../../lib/json.ts";
import { shortened } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { plainSender } from "../../task/plain-sender.ts";
import { entryMaker } from "./paths.ts";
import { bytesFrom, outputOf, sourceError, textFrom } from "./program.ts";
import { MAX_CONTENT } from "./program-source.ts";
import type { Source, SourceOptions } from "./source.ts";

const install = "install rclone: https://rclone.org/downloads/";
/** The first version whose server listens on a Unix socket and serves objects without a cache of its own. */
const OLDEST = [1, 66] as const;
/** ms until its server answers, and without a byte of a response. */
const START_MS = 10_000;
const IDLE_MS = 120_000;
/** Longest path of a socket that every system takes. */
const MAX_SOCKET_PATH = 100;
/** Runs its arguments until its stdin ends, as it does when we are killed: then it removes the directory `$0`. */
const UNTIL_END = `exec 3<&0; "$@" 3<&- & r=$!; (cat <&3; rm -rf "$0"; kill $r) >/dev/null 2>&1 & w=$!
wait $r; c=$?; kill $w; exit $c`;
/** Most bytes of a list. */
const MAX_LIST = 2 ** 29;

/**
 * A remote of rclone as a source: `rclone:REMOTE:PATH`. One child serves it on a Unix socket in a directory of this
 * user alone, with the configuration and the credentials that rclone has; without such sockets, on this machine's own
 * address with a password.
 */
export function rcloneSource(address: string, context: Context, options: SourceOptions): Source {
  const place = address.slice("rclone:".length);
  if (!/^(?::?[\w. +@-]+)(?:,[^:]*)?:/.test(place) || place.startsWith("-"))
    throw usage(
      "invalid rclone source",
      "for example rclone:drive:handbook, as `rclone listremotes` names it",
    );
  let server: Promise<Server> | undefined;
  const call = async (path: string, body?: object, limit = MAX_LIST) =>
    (await (server ??= startServer(context, options))).call(path, body, limit);
  return {
    address,
    async list(filter) {
      const entryOf = await entryMaker(filter);
      const hash = await cheapHash(place, call);
      const hashes = hash === undefined ? {} : { showHash: true, hashTypes: [hash] };
      const opt = { recurse: true, filesOnly: true, noMimeType: true, ...hashes };
      // The time in the list, instead of one request for each object.
      const _config = { UseServerModTime: true };
      const given = { fs: place, remote: "", opt, _config };
      const found: unknown = tryParseJson(
        new TextDecoder().decode(await call("operations/list", given)),
      );
      const list = isObject(found) ? (found["list"] ?? []) : undefined; // null for none
      if (!Array.isArray(list) || list.some((each) => typeof valueAt(each, "Path") !== "string"))
        throw sourceError("rclone returned no list of paths");
      const entries = list.map(({ Path: path, Size, ModTime, Hashes }) =>
        entryOf(path, () => {
          const size = typeof Size === "number" && Size >= 0 ? Size : undefined;
          const known = hash === undefined ? undefined : valueAt(Hashes, hash);
          const fingerprint = String(known || ModTime);
          return { kind: "file", path, fingerprint, ...(size !== undefined && { size }) };
        }),
      );
      return { entries };
    },
    async get({ path, size }) {
      const encoded = [`[${place}]`, ...path.split("/")].map(encodeURIComponent).join("/");
      const bytes = await call(encoded, undefined, size ?? MAX_CONTENT);
      if (size !== undefined && bytes.length < size)
        throw sourceError(`incomplete: ${bytes.length} of ${size} bytes`);
      return { bytes };
    },
    close: async () => (await server?.catch(() => undefined))?.close(),
  };
}

/** A hash that the remote has without reading the objects; undefined if none. */
async function cheapHash(fs: string, call: Server["call"]): Promise<string | undefined> {
  const info: unknown = tryParseJson(
    new TextDecoder().decode(await call("operations/fsinfo", { fs }, MAX_LIST)),
  );
  const hashes = valueAt(info, "Hashes");
  if (!Array.isArray(hashes) || valueAt(info, "Features.SlowHash") === true) return undefined;
  return ["md5", "sha1", "sha256", ...hashes.map(String)].find((each) => hashes.includes(each));
}

interface Server {
  /** Posts JSON, or gets an object. Throws failure for anything but 200. */
  call(path: string, body: object | undefined, limit: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** How a server in this directory is started and asked: on a Unix socket if there can be one. */
function serverIn(directory: string, { host }: Context) {
  const isWindows = host.platform.includes("win32");
  const path = join(directory, "s");
  const socketPath = isWindows || path.length > MAX_SOCKET_PATH ? undefined : path;
  const log = join(directory, "log");
  const line = ["rclone", "rcd", "--rc-serve", "--log-level", "NOTICE", "--log-file", log];
  // One address: without a password, it must not listen for others as well.
  const place = socketPath
    ? ["--rc-no-auth", `--rc-addr=unix://${socketPath}`]
    : ["--rc-addr=127.0.0.1:0"];
  // In the environment, because others see arguments.
  const login = socketPath ? {} : { RCLONE_RC_USER: "kb", RCLONE_RC_PASS: randomUUID() };
  return {
    words: [...(isWindows ? [] : ["sh", "-c", UNTIL_END, directory]), ...line, ...place],
    env: login,
    headers: socketPath ? {} : { authorization: `Basic ${btoa(Object.values(login).join(":"))}` },
    connection: { connectTimeout: START_MS, isDirect: true, ...(socketPath && { socketPath }) },
    readLog: async () =>
      new TextDecoder().decode(await host.files.read(log).catch(() => new Uint8Array())),
    origin: socketPath && "http://rclone",
  };
}

/** Starts `rclone rcd` and waits until it answers. */
async function startServer(context: Context, { env, cwd }: SourceOptions): Promise<Server> {
  const { host } = context;
  const program = { words: ["rclone"], env, cwd, install };
  await requireVersion(await textFrom(outputOf(program, ["version"], context)));
  const name = Math.floor(host.random() * 2 ** 40).toString(36);
  const directory = join(host.directories.cache, `rclone-${name}`);
  const server = serverIn(directory, context);
  const stop = new AbortController();
  const [command = "", ...words] = server.words;
  await host.files.makeDirectory(directory, 0o700);
  const child = host.spawn(command, words, {
    collect: 64 * 1024,
    input: "",
    keepsInput: true,
    env: { ...env, ...server.env },
    ...(cwd !== undefined && { cwd }),
    signal: AbortSignal.any([host.signal, stop.signal]),
  });
  let hasEnded = false;
  const ended = child.exit.catch(() => {}).finally(() => (hasEnded = true));
  const send = plainSender(server.connection, IDLE_MS, context);
  let { origin } = server;
  const call = callerOf(async (request) => {
    origin ??= /http:\/\/127\.0\.0\.1:\d+/.exec(await server.readLog())?.[0];
    if (origin === undefined) throw sourceError("it does not listen yet");
    const headers = { ...request.headers, ...server.headers };
    return send({ ...request, headers, url: `${origin}/${request.url}` });
  }, context);
  const close = async () => {
    stop.abort();
    await ended;
    await host.files.remove(directory);
  };
  for (const start = host.elapsed(); ;) {
    try {
      await call("rc/noop", {}, 2 ** 20);
      return { call, close };
    } catch (error) {
      if (host.signal.aborted) throw context.abortError();
      if (!hasEnded && host.elapsed() - start < START_MS) {
        await context.pause(50);
        continue;
      }
      const logged = await server.readLog();
      await close();
      const said = `${await child.errors?.catch(() => "")}\n${logged}`;
      const why = shortened(host.secrets.masked(said).trim().split("\n").at(-1) ?? "", 300);
      throw sourceError(`rclone did not start: ${why || String(error)}`, install);
    }
  }
}

/** Sends requests to the server, whose URL is a path. */
function callerOf(send: ReturnType<typeof plainSender>, context: Context): Server["call"] {
  return async (url, body, limit) => {
    const request = body
      ? ({
          method: "POST",
          url,
          headers: { "content-type": "application/json" },
          body: { kind: "json", text: stringifyJson(body) },
        } as const)
      : ({ method: "GET", url, headers: {} } as const);
    const { status, body: received } = await send(request);
    const bytes = await bytesFrom(received, status === 200 ? limit : 2 ** 20);
    if (status === 200) return bytes;
    const text = new TextDecoder().decode(bytes);
    const why = valueAt(tryParseJson(text), "error") ?? text;
    throw sourceError(`rclone: ${context.host.secrets.masked(shortened(String(why).trim(), 300))}`);
  };
}

function requireVersion(text: string): void {
  const [, version = "", major, minor] = /^rclone v((\d+)\.(\d+)\S*)/m.exec(text) ?? [];
  const [first, second] = OLDEST;
  if (Number(major) > first || (Number(major) === first && Number(minor) >= second)) return;
  throw usage(
    `rclone ${version || "of an unknown version"} is too old: ${OLDEST.join(".")} is needed`,
    install,
  );
}
