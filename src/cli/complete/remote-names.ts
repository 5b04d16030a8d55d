import { formsOfApplication, runsOfApplication } from "../../commands/wf/index.ts";
import { settingsFor } from "../../config/settings.ts";
import type { Host } from "../../host/host.ts";
import { isObject } from "../../lib/json.ts";
import type { Noun } from "../../operations/operation.ts";
import { nowhere, timesFor } from "../../output/style.ts";
import { openSession } from "../execute/session.ts";
import type { Session } from "../execute/session.ts";
import type { Command } from "../parse/command.ts";
import { optionsFor } from "../parse/options.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { listings } from "../../resolve/listings.ts";
import { lookupOf } from "../resolve/resolve-input.ts";
import { resolveName } from "../../resolve/resolve-names.ts";

interface NameQuery {
  readonly command: Command;
  /** Flags of the command line, long form, with their values. */
  readonly flags: ReadonlyMap<string, string>;
  /** The knowledge base they belong to, name or ID. */
  readonly within: string | undefined;
  readonly typed: string;
}

/** Longest wait after Tab (ms): a distant server needs about half of it for TLS and two requests. */
const TIMEOUT_MS = 1000;
/** Rows of one page; a longer list is searched by the typed prefix. */
const MAX_NAMES = 100;

/**
 * Names of a noun from the server, at most 100. Throws or returns none if that takes longer than a
 * second or fails. Never prompts and never starts a program.
 */
export async function fetchNames(
  noun: Noun,
  query: NameQuery,
  host: Host,
): Promise<readonly string[]> {
  const { within, keyword: narrows } = listings[noun];
  if (within && query.within === undefined) return [];
  return inSession(query, host, async (session) => {
    const first = await listNames(noun, query.within, "", session);
    return first.length < MAX_NAMES || !narrows || query.typed === ""
      ? first
      : await listNames(noun, query.within, query.typed, session);
  });
}

/** A run or a form, with what it is. */
interface Choice {
  readonly value: string;
  readonly help: string;
}

/** Runs or forms that are offered: more are no help at a prompt. */
const MAX_RUNS = 20;

/** The first choices of a list, those that are found within the time limit: each may take a request. */
const firstOf =
  <T>(
    list: (context: Session["context"]) => AsyncIterable<T>,
    choiceOf: (each: T, timeText: (ms: number) => string) => Choice,
  ) =>
  async (query: Pick<NameQuery, "command" | "flags">, host: Host): Promise<readonly Choice[]> => {
    const times = timesFor({ times: "relative", now: () => host.now() }, true);
    const found: Choice[] = [];
    const search = inSession(query, host, async ({ context }) => {
      for await (const each of list(context)) {
        found.push(choiceOf(each, (ms) => times.text(new Date(ms))));
        if (found.length === MAX_RUNS) return;
      }
    });
    await search.catch((error: unknown) => {
      if (found.length === 0) throw error;
    });
    return found;
  };

/** Runs of the application, newest first, with their status and time. */
export const runIds = firstOf(
  runsOfApplication,
  ({ id, status, savedAt, startedAt }, timeText) => ({
    value: id,
    help: `${status}, ${timeText(savedAt || startedAt * 1000)}`,
  }),
);

/** Tokens of the forms that wait, the newest first, with what they ask and until when. */
export const formTokens = firstOf(formsOfApplication, ({ token, node, run, expires }, timeText) => {
  const until = expires === null ? [] : [`until ${timeText(expires * 1000)}`];
  return { value: token, help: [node ?? "a form", `run ${run.slice(0, 8)}`, ...until].join(", ") };
});

/** Names of the applications of the profile in use. */
export async function appNames(
  flags: ReadonlyMap<string, string>,
  host: Host,
): Promise<readonly string[]> {
  // "both", so that the profile is read even if the environment has one of the keys.
  const settings = await settingsFor(
    { profile: flags.get("--profile") },
    withoutSideEffects(host),
    {
      key: "both",
      run: false,
    },
  );
  return settings.apps;
}

/** Works in a session of the typed line, as long as the time limit allows. */
async function inSession<T>(
  { command, flags }: Pick<NameQuery, "command" | "flags">,
  plainHost: Host,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const options = {
    profile: flags.get("--profile"),
    app: flags.get("--app"),
    baseUrl: flags.get("--base-url"),
    caFile: flags.get("--ca-file"),
  };
  const present = Object.entries(options).filter(([, value]) => value !== undefined);
  const globals: Globals = {
    ...Object.fromEntries(present),
    insecureHttp: flags.has("--insecure-http"),
    retries: "0",
  };
  return withTimeout(withoutSideEffects(plainHost), async (host) => {
    const session = openSession({ command, options: optionsFor(globals, host), host });
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  });
}

async function listNames(
  noun: Noun,
  within: string | undefined,
  keyword: string,
  session: Session,
): Promise<string[]> {
  const { row, fixed, within: scope, keyword: narrows } = listings[noun];
  const inside =
    scope && within !== undefined
      ? { dataset_id: (await resolveName("kb", within, {}, lookupOf(session))).id }
      : {};
  const narrowed = narrows && keyword !== "" ? { keyword } : {};
  const names = new Set<string>();
  for await (const object of session.api.rows(
    row,
    { ...inside, ...fixed, ...narrowed },
    { limit: MAX_NAMES },
  )) {
    if (isObject(object) && typeof object["name"] === "string") names.add(object["name"]);
  }
  return [...names];
}

/**
 * The result of `work`, or an error if it takes too long. Its requests are then aborted; a file that
 * is being written is completed.
 */
async function withTimeout<T>(host: Host, work: (timed: Host) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const late = new AbortController();
  const signal = AbortSignal.any([host.signal, late.signal]);
  const working = work({ ...host, signal });
  try {
    return await Promise.race([working, timeLimit(host, ended.signal)]);
  } finally {
    ended.abort();
    late.abort();
    await working.catch(() => {});
  }
}

/** Throws after the time limit. A loop, because a timer may fire early. */
async function timeLimit(host: Host, ended: AbortSignal): Promise<never> {
  const start = host.elapsed();
  for (let left = TIMEOUT_MS; left > 0; left = start + TIMEOUT_MS - host.elapsed()) {
    await host.sleep(left, ended);
  }
  throw new Error("timed out");
}

/** The host without output, prompts and child processes: a command line is being typed. */
function withoutSideEffects(host: Host): Host {
  const never = () => {
    throw new Error("completion must not start programs or prompt");
  };
  return { ...host, stdout: nowhere, stderr: nowhere, spawn: never, prompt: never };
}
