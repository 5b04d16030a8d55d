import { join } from "node:path";
import { usage } from "../../../errors.ts";
import { isObject, tryParseJson, valueAt } from "../../../lib/json.ts";
import { shortened } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { plainSender } from "../../task/plain-sender.ts";
import { pathFilter, pathProblem } from "./paths.ts";
import { bytesFrom, outputOf, sourceError, textFrom } from "./program.ts";
import { MAX_CONTENT } from "./program-source.ts";
import { unsure } from "./source.ts";
import type { Source, SourceEntry, SourceOptions } from "./source.ts";

const install = "install rclone: https://rclone.org/downloads/";
/** The first version whose server listens on a Unix socket and serves objects without a cache of its own. */
const OLDEST = [1, 66] as const;
/** ms until its server answers, and without a byte of a response. */
const START_MS = 10_000;
const IDLE_MS = 120_000;
/** Longest path of a socket that every system takes. */
const MAX_SOCKET_PATH = 100;
/** Most bytes of a list. */
const MAX_LIST = 2 ** 29;

/**
 * A remote of rclone as a source: `rclone:REMOTE:PATH`. One child serves it on a Unix socket in a directory of this
 * user alone, with the configuration and the credentials that rclone has.
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
    label: address,
    address,
    async list(filter) {
      const isKept = await pathFilter(filter);
      const hash = await cheapHash(place, call);
      const opt = {
        recurse: true,
        filesOnly: true,
        noMimeType: true,
        showHash: hash !== undefined,
      };
      const hashTypes = hash === undefined ? {} : { hashTypes: [hash] };
      // The time in the list, instead of one request for each object.
      const _config = { UseServerModTime: true };
      const given = { fs: place, remote: "", opt: { ...opt, ...hashTypes }, _config };
      const found: unknown = tryParseJson(
        new TextDecoder().decode(await call("operations/list", given)),
      );
      const list = valueAt(found, "list") ?? [];
      if (!Array.isArray(list)) throw sourceError("rclone returned no list");
      const entries = list.filter(isObject).map((each): SourceEntry => {
        const { Path, Size, ModTime } = each;
        const path = String(Path);
        if (pathProblem(path))
          return unsure("?", `invalid path ${JSON.stringify(path.slice(0, 200))}`);
        if (!isKept(path)) return { kind: "excluded", path };
        const size = typeof Size === "number" && Size >= 0 ? Size : undefined;
        const known = hash === undefined ? undefined : valueAt(each, `Hashes.${hash}`);
        const fingerprint = String(known || ModTime);
        return { kind: "file", path, fingerprint, ...(size !== undefined && { size }) };
      });
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

/** Starts `rclone rcd` and waits until it answers. */
async function startServer(context: Context, { env, cwd }: SourceOptions): Promise<Server> {
  const { host, signal } = context;
  const program = { words: ["rclone"], env, cwd, install };
  await requireVersion(await textFrom(outputOf(program, ["version"], context)));
  const name = Math.floor(host.random() * 2 ** 40).toString(36);
  const directory = join(host.directories.cache, `rclone-${name}`);
  const socketPath = join(directory, "s");
  if (socketPath.length > MAX_SOCKET_PATH)
    throw usage(`${directory} is too long for a socket`, "set KB_CACHE_DIR to a shorter path");
  const stop = new AbortController();
  const args = ["rcd", "--rc-serve", "--rc-no-auth", "--rc-addr", `unix://${socketPath}`];
  await host.files.makeDirectory(directory, 0o700);
  const child = host.spawn("rclone", args, {
    stream: true,
    collect: 64 * 1024,
    input: "",
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
    signal: AbortSignal.any([signal, stop.signal]),
  });
  let ended: string | undefined;
  child.exit.then(
    (exit) => (ended = `exit code ${exit}`),
    (error: unknown) => (ended = String(error)),
  );
  const output = (async () => {
    for await (const _ of child.bytes ?? []); // nothing of interest
  })();
  output.catch(() => {});
  const call = callerOf(socketPath, context);
  const close = async () => {
    stop.abort();
    await child.exit.catch(() => {});
    await host.files.remove(directory);
  };
  for (const start = host.elapsed(); ;) {
    try {
      await call("rc/noop", {}, 2 ** 20);
      return { call, close };
    } catch (error) {
      if (signal.aborted) throw context.abortError();
      const isLate = host.elapsed() - start > START_MS;
      if (ended === undefined && !isLate) {
        await context.pause(50);
        continue;
      }
      await close();
      const errors = host.secrets.masked((await child.errors?.catch(() => "")) ?? "").trim();
      const why = shortened(errors.split("\n").at(-1) ?? "", 300) || String(error);
      throw sourceError(`rclone did not start: ${why}`, install);
    }
  }
}

/** Sends requests to the server at a socket. */
function callerOf(socketPath: string, context: Context): Server["call"] {
  const send = plainSender({ connectTimeout: START_MS, socketPath }, IDLE_MS, context);
  return async (path, body, limit) => {
    const url = `http://rclone/${path}`;
    const request = body
      ? ({
          method: "POST",
          url,
          headers: { "content-type": "application/json" },
          body: { kind: "json", text: JSON.stringify(body) },
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
