import type { AttemptResult, SendOptions, Transport } from "../../api/client.ts";
import type { FirstRequests } from "../../api/first-requests.ts";
import type { TypedFile } from "../../api/request.ts";
import type { Settings } from "../../config/settings.ts";
import type { Host } from "../../host/host.ts";
import { bytesOf } from "../../lib/collect.ts";
import type { Options } from "../parse/options.ts";
import { logRequests } from "../trace/request-log.ts";
import type { RequestLog } from "../trace/request-log.ts";
import type { WireTrace } from "../trace/wire-log.ts";
import { AdaptiveLimit, ConcurrencyLimiter } from "../../api/concurrency-limiter.ts";
import type { ConcurrencyOptions } from "../../commands/command-spec.ts";

/** What the requests of one command share: connections, the request log, and the trace of -v. */
export type CommandTransport = ReturnType<typeof openTransport>;

interface Surroundings {
  readonly options: Options;
  readonly host: Host;
  readonly log: RequestLog;
  readonly settings: () => Promise<Settings>;
  readonly trace: Transport["trace"];
  /** Those of all sessions of a command. */
  readonly firsts: FirstRequests;
}

/** Opens the transport of one command; it connects when the first request is sent. */
export function openTransport({ options, host, log, settings, trace, firsts }: Surroundings) {
  const { verbosity } = options;
  const startedAt = verbosity === 0 ? 0 : host.now().getTime();
  let wireTrace: WireTrace | undefined;
  // Loaded when the first request is sent with -v.
  const traced: Transport["onExchange"] = async (outgoing, send) => {
    const { openWireTrace } = await import("../trace/wire-log.ts");
    // A sign-in has its own address and key, so it works with settings that are wrong.
    const resolved = await settings().catch(() => undefined);
    wireTrace ??= openWireTrace(verbosity, resolved, startedAt, host);
    return wireTrace.exchange(outgoing, send);
  };
  // One dispatcher for all requests, so that connections are reused.
  let dispatcher: ReturnType<Host["dispatcher"]> | undefined;
  const concurrency = concurrencyOf({ options, host });
  const transport: Transport = {
    dispatcher: () => (dispatcher ??= host.dispatcher(options.connection)),
    onExchange: (outgoing, send) =>
      logRequests(log, outgoing, verbosity === 0 ? send : () => traced(outgoing, send), host),
    async onAttempt(sending) {
      const { endUser, signal } = sending;
      const onHead = endUser === undefined ? () => {} : await firsts.enter(endUser, signal);
      const report = concurrency.onAttempt(sending);
      return (result) => {
        onHead(!result.refused);
        report(result);
      };
    },
    // The client sleeps only before a retry.
    sleep(ms, signal) {
      const last = log.attempts.at(-1);
      if (last) last.waited = ms;
      return host.sleep(ms, signal);
    },
    random: () => host.random(),
    blob: (file) => blobOf(file, host),
    redact: (text) => host.secrets.masked(text),
    trace,
  };
  return {
    transport,
    limitConcurrency: concurrency.limit,
    /** Ends the trace of -v. */
    close: async () => wireTrace?.close(),
  };
}

/** The content of a file. Its system errors become CliErrors: the client reports others as network errors. */
async function blobOf({ path, bytes, type }: TypedFile, host: Host): Promise<Blob> {
  if (bytes) return new Blob([bytes as Uint8Array<ArrayBuffer>], { type }); // never a shared buffer
  if (path === "-") return new Blob([await bytesOf(host.stdin.bytes())], { type });
  return host.files.blob(path, type).catch(async (error: unknown) => {
    const { toCliError } = await import("../errors/error-text.ts");
    throw toCliError(error);
  });
}

/** Requests at a time at first, and at most without --concurrency (server §4). */
const DEFAULT_START = 3;
const DEFAULT_MAX = 8;

/** The parallel requests of one command. Its limits watch all of its requests. */
function concurrencyOf({ options, host }: Pick<Surroundings, "options" | "host">) {
  const limiters: ConcurrencyLimiter[] = [];
  return {
    /** A limit for the tasks of a map. */
    limit({ start = DEFAULT_START, max }: ConcurrencyOptions = {}): ConcurrencyLimiter {
      const range = { start, max: options.concurrency ?? max ?? DEFAULT_MAX };
      const limiter = new ConcurrencyLimiter(new AdaptiveLimit(range));
      limiters.push(limiter);
      return limiter;
    },
    /** Watches an attempt to send a request. */
    onAttempt(sending: SendOptions): (result: AttemptResult) => void {
      if (limiters.length === 0) return () => {};
      const reports = limiters.map((limiter) => limiter.sent());
      const started = host.elapsed();
      return ({ refused }) => {
        const ms = waitsForModel(sending) ? undefined : host.elapsed() - started;
        for (const report of reports) report({ kind: sending.row?.id ?? "", refused, ms });
      };
    },
  };
}

/** Does the server answer when a model is done, which may take minutes (server §20)? */
const waitsForModel = ({ row }: SendOptions): boolean => (row?.idleTimeout ?? 0) > 60;
