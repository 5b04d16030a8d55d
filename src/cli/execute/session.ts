import { setMaxListeners } from "node:events";
import { FirstRequests } from "../../api/calls.ts";
import type { ApiClient } from "../../api/client.ts";
import type { CallScope } from "../../commands/task/command-runner.ts";
import type { Context, ConfirmOptions } from "../../commands/task/command-spec.ts";
import { rememberedFor, unset } from "../../config/profiles.ts";
import type { Setting } from "../../config/profiles.ts";
import { settingsFor } from "../../config/settings.ts";
import type { Settings, TargetFlags } from "../../config/settings.ts";
import { CliError, abortError, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { timesFor, wantsRedraw } from "../../output/style.ts";
import type { Command } from "../parse/command.ts";
import { bufferingReason, rowLimits, timeStyleFor, timeZoneFor } from "../parse/options.ts";
import type { Options } from "../parse/options.ts";
import type { TypedLine } from "../parse/values.ts";
import { lookupOf, names } from "../resolve/resolve-input.ts";
import { emptyRequestLog } from "../trace/request-log.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { inScope } from "../errors/error-text.ts";
import { openClient } from "./line-client.ts";
import { visible, wrapMessage } from "../../output/display-width.ts";

/** One command line: what it is, what it works with, what it has done. */
export interface Session {
  readonly command: Command;
  /** The values of the line as entered. */
  readonly typed: Readonly<Record<string, TypedLine>>;
  readonly options: Options;
  readonly host: Host;
  /** Calls operations whose responses are shown as they are; that of `context` checks their fields. */
  readonly api: ApiClient;
  readonly context: Context;
  readonly settings: () => Promise<Settings>;
  /** The output format of flags or settings; `context.options` has it from then on. */
  readonly output: () => Promise<string | undefined>;
  /** Prints the lines about the whole output. */
  printSummary(): Promise<void>;
  /** The lines of the summary that are not printed yet. */
  readonly summaries: readonly string[];
  /** Does what waits for the end of the output. */
  finishOutput(): Promise<void>;
  /** Ends the trace of -v. */
  close(): Promise<void>;
  /** How many writes the server has accepted. */
  writes(): number;
  /** Names as entered, by the IDs that they were resolved to. */
  readonly names: Map<string, string>;
}

/** A command line whose session is opened, and what surrounds it. */
interface Opening extends Pick<Session, "command" | "options" | "host"> {
  readonly typed?: Session["typed"];
  readonly progress?: Context["progress"];
  readonly log?: RequestLog;
  readonly firsts?: FirstRequests;
  readonly permit?: CallScope["permit"];
}

/** Opens the session of one command. Nothing is read or sent before it is needed. */
export function openSession(opening: Opening): Session {
  const { command, options, host, progress = () => {}, log = emptyRequestLog() } = opening;
  const { permit, firsts = new FirstRequests() } = opening;
  const flags: TargetFlags = options.globals;
  const settings = settingsOnce(command, flags, host);
  let format = unset;
  const messages = messagesOf(options, host, log);
  const client = openClient({ command, options, host, log, settings, permit, firsts, ...messages });
  const summaries: string[] = [];
  const afterOutput: (() => Promise<void>)[] = [];
  /** Sessions with other settings. */
  const others: Session[] = [];
  const context: Context = {
    host,
    api: client.api,
    ...messages,
    async resolveId(noun, text) {
      const { resolveName } = await names();
      return (await resolveName(noun, text, {}, lookupOf(session))).id;
    },
    rememberRuns: async () => rememberedFor((await settings()).rememberRuns),
    enteredName: (id) => log.names.get(id) ?? id,
    with({ profile, app, user, key = command.key }) {
      const { baseUrl: _, app: __, ...rest } = options.globals; // they belong to this profile
      const base = profile === undefined ? options.globals : { ...rest, profile };
      const globals = { ...base, ...(app && { app }), ...(user && { user }) };
      const other = openSession({
        ...opening,
        command: { ...command, key },
        options: { ...options, globals },
        log,
        firsts,
      });
      others.push(other);
      return { ...other.context, summary: context.summary, afterOutput: context.afterOutput };
    },
    summary: (text) => void summaries.push(text),
    afterOutput: (work) => void afterOutput.push(work),
    progress,
    confirm: (question, how = {}) => confirm(question, how, options, host),
    options: contextOptions(opening, () => format),
    ...waitingOf(log, host),
  };
  const session: Session = {
    command,
    typed: opening.typed ?? {},
    options,
    host,
    api: client.api.with({ unchecked: true }),
    context,
    settings,
    async output() {
      // A command that talks to no server needs no profile.
      format = command.key === undefined ? localFormat(flags, host) : (await settings()).output;
      log.output = format.value;
      return format.value;
    },
    names: log.names,
    summaries,
    async printSummary() {
      for (const text of summaries.splice(0)) await messages.notice(text);
    },
    async finishOutput() {
      for (const work of afterOutput.splice(0)) await work();
    },
    writes: () => others.reduce((sum, other) => sum + other.writes(), client.api.writes()),
    async close() {
      await client.close();
      for (const other of others) await other.close();
    },
  };
  return session;
}

function settingsOnce(command: Command, flags: TargetFlags, host: Host): () => Promise<Settings> {
  let loaded: Promise<Settings> | undefined;
  const key = command.key ?? (command.requests ? "both" : undefined);
  return () => (loaded ??= settingsFor(flags, host, { key }));
}

/** Waiting that ends when the command is stopped. */
function waitingOf(
  log: RequestLog,
  { signal, sleep }: Host,
): Pick<Context, "pause" | "abortError"> {
  const abort = () => abortError(signal, log.hasWritten);
  const pause = (ms: number) =>
    sleep(ms, signal).catch(() => {
      throw abort();
    });
  return { pause, abortError: abort };
}

/** Messages on stderr, as far as flags do not hide them. */
function messagesOf(
  { verbosity, quiet, globals }: Options,
  host: Host,
  { names }: RequestLog,
): Pick<Context, "trace" | "notice" | "promptLine"> {
  const promptLine = async (text: string) => {
    await writeLine(await inScope(text, { globals, names }), host);
  };
  return {
    promptLine,
    async notice(text) {
      if (!quiet) await promptLine(text);
    },
    async trace(level, text) {
      if (verbosity >= level) await writeLine(text, host);
    },
  };
}

const localFormat = ({ output }: TargetFlags, host: Host): Setting => ({
  value: output ?? (host.env["KB_OUTPUT"] || undefined),
  source: output === undefined ? "KB_OUTPUT" : "-o",
});

function contextOptions(
  { command, options, host }: Opening,
  format: () => Setting,
): Context["options"] {
  const { globals } = options;
  const typed = globals.json || globals.jq !== undefined ? "json" : globals.output;
  return {
    dryRun: Boolean(globals.dryRun || globals.curl),
    get format() {
      return typed ?? format().value;
    },
    typed,
    rows: rowLimits(command, globals),
    get gathers() {
      return bufferingReason(globals, typed ?? format().value, format().source);
    },
    terminal: host.stdout.isTTY && globals.outputFile === undefined,
    get redraws() {
      const formatName = typed ?? format().value;
      const isDefault = formatName === undefined || formatName === "grid" || formatName === "wide";
      return isDefault && globals.outputFile === undefined && wantsRedraw(host, host.stdout);
    },
    get input() {
      return options.input;
    },
    timeZone: () => timeZoneFor(globals, host),
    timeText: (date) => timesFor(timeStyleFor(globals, host), host.stdout.isTTY).full(date),
    program: command.words[0] ?? "",
    flags: { ...globals, timeout: options.timeout, allowFiles: globals.allowFiles ?? [] },
  };
}

/**
 * Wraps the host of a command with a time limit in ms: after it, the signal is aborted, and pending
 * reads of files and stdin end. `stop` clears the timer.
 */
export function withTimeLimit(
  host: Host,
  ms: number | undefined,
): { readonly host: Host; readonly stop: () => void } {
  const { signal, stop } =
    ms === undefined ? { signal: host.signal, stop: () => {} } : timer(host, ms);
  // In-flight requests add listeners; no limit, so that Node does not warn.
  setMaxListeners(0, signal);
  const { stdin, files } = host;
  return {
    host: {
      ...host,
      signal,
      stdin: {
        get isTTY() {
          return stdin.isTTY;
        },
        bytes: () => untilAborted(stdin.bytes(), signal),
      },
      dispatcher: (settings) => unlessAborted(host.dispatcher(settings), signal),
      files: {
        ...files,
        read: (path) => unlessAborted(files.read(path), signal),
        bytes: (path) => untilAborted(files.bytes(path), signal),
      },
    },
    stop,
  };
}

/** A signal that is also aborted after the limit, unless it was stopped. */
function timer(
  host: Host,
  ms: number,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const ended = new AbortController();
  const late = new AbortController();
  host
    .sleep(ms, ended.signal)
    .then(() => late.abort(deadline(ms)))
    .catch(() => {}); // the command ended first
  return { signal: AbortSignal.any([host.signal, late.signal]), stop: () => ended.abort() };
}

const deadline = (ms: number) =>
  new CliError("deadline", `timed out after ${ms / 1000}s`, {
    hint: "the operation may still be running on the server; check its status or increase --timeout",
  });

/** Ends on abort even if the source never yields. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const values = source[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(values.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/** Rejects on abort; work that starts after the abort, such as cleanup, is awaited. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return work;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortError(signal));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Writes a message to stderr; text of a server cannot add another line. */
async function writeLine(text: string, host: Host): Promise<void> {
  await host.stderr.write(`${wrapMessage(visible(text), host.stderr.columns)}\n`);
}

/**
 * Prompts before something is deleted, and backs it up first on request. Throws usage when declined or when no
 * prompt is possible.
 */
async function confirm(
  question: string,
  { type, declined = "nothing was deleted", backUp }: ConfirmOptions,
  { globals, input }: Options,
  host: Host,
): Promise<void> {
  if (globals.yes) return;
  if (!input) {
    throw usage(
      `confirmation required: cannot prompt without a terminal: ${question}`,
      `pass --yes to skip the prompt${backUp ? ", and --backup so that it can be undone" : ""}`,
      { code: "confirmation-needed" },
    );
  }
  if (type !== undefined) await writeLine(question, host);
  const { signal } = host;
  const prompt = async (asked: string) =>
    (
      await host.prompt(asked, { signal }).catch((error: unknown) => {
        throw signal.aborted ? abortError(signal) : error;
      })
    ).trim();
  const askType = `Type ${type} to delete`;
  let reply =
    type === undefined
      ? await prompt(`${question} [y/N${backUp ? ", b to back up first" : ""}] `)
      : await prompt(`${askType}${backUp ? ", or b to back up first" : ""}: `);
  if (backUp && /^b$/i.test(reply) && type?.trim() !== reply) {
    await backUp();
    reply = type === undefined ? "y" : await prompt(`${askType}: `);
  }
  const isConfirmed = type === undefined ? /^(y|yes)$/i.test(reply) : reply === type.trim();
  if (!isConfirmed) throw usage(declined, undefined, { code: "declined" });
}
