import { modelsOfWorkspace } from "../../commands/kb.ts";
import {
  formOfApplication,
  formsOfApplication,
  inputsOfApplication,
  runsOfApplication,
} from "../../commands/wf.ts";
import type { Values } from "../../api/request.ts";
import type { ChosenArgument } from "../../commands/task/command-rules.ts";
import { settingsFor } from "../../config/settings.ts";
import { targetOf } from "../../config/target.ts";
import { ApiError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { isAccessToken } from "../../lib/api-key.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { modelName } from "../../lib/model-names.ts";
import { shortened } from "../../lib/text.ts";
import { getKnowledgeBase } from "../../operations/knowledge.ts";
import type { ListedNoun, Noun } from "../../operations/operation.ts";
import { nowhere, timesFor } from "../../output/style.ts";
import { openSession } from "../execute/session.ts";
import type { Session } from "../execute/session.ts";
import { flagOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { rulesOf } from "../parse/command-list.ts";
import { optionsFor } from "../parse/options.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { listings } from "../../resolve/listings.ts";
import { lookupOf } from "../resolve/resolve-input.ts";
import { resolveName } from "../../resolve/resolve-names.ts";

/** The words of a command before the cursor. */
export interface TypedWords {
  readonly command: Command;
  readonly positionals: readonly string[];
  /** Flags of the line, long form, with their last value. */
  readonly flags: ReadonlyMap<string, string>;
}

/** A candidate, with what it is. */
export interface Candidate {
  readonly value: string;
  readonly help: string;
  /** Is it only a beginning, so that no space follows it? */
  readonly open?: boolean;
}

/** Longest wait after Tab (ms): a distant server needs about half of it for TLS and two requests. */
const TIMEOUT_MS = 1000;
/** Rows of one page; a longer list is searched by the typed prefix. */
const MAX_NAMES = 100;

/** Characters of what is said of a candidate. */
const MAX_HELP = 60;

/**
 * Names of a noun from the server, or the IDs of objects without names, at most 100. Throws or returns none if
 * that takes longer than a second or fails. Never prompts and never starts a program.
 */
export async function fetchNames(
  noun: Noun | ListedNoun,
  line: TypedWords,
  typed: string,
  host: Host,
): Promise<readonly Candidate[]> {
  const { within = [], keyword } = listings[noun];
  if (within.some((name) => typedValue(name, line) === undefined)) return [];
  return inSession(line, host, async (session) => {
    const scope = await scopeIn(within, line, session);
    const first = await listNames(noun, scope, typed, session);
    return first.length < MAX_NAMES || !keyword || typed === ""
      ? first
      : await listNames(noun, { ...scope, keyword: typed }, typed, session);
  });
}

/** The value of a parameter on the line, positional or flag. */
function typedValue(name: string, line: TypedWords): string | undefined {
  const { command, positionals, flags } = line;
  const param = command.params[name];
  const at = command.positionals.findIndex((positional) => positional.name === name);
  return at >= 0 ? positionals[at] : param && flags.get(`--${flagOf(name, param)}`);
}

/** The IDs of the objects on the line that a list is within: each may be within the ones before it. */
async function scopeIn(within: readonly string[], line: TypedWords, session: Session) {
  const known: Record<string, string> = {};
  for (const name of within) {
    const { noun, listed } = line.command.params[name] ?? {};
    const named = noun ?? listed;
    const typed = typedValue(name, line);
    if (named && typed !== undefined)
      known[name] = (await resolveName(named, typed, known, lookupOf(session))).id;
  }
  return known;
}

/** Active models of a type. */
export const modelNames = (
  type: Parameters<typeof modelsOfWorkspace>[0],
  line: TypedWords,
  host: Host,
) =>
  inSession(line, host, async ({ context }) =>
    (await modelsOfWorkspace(type, context)).map(modelName),
  );

/** The inputs of the application, or with `form` those of the form on the line, and its actions. */
export const fetchInputs = (line: TypedWords, form: string | undefined, host: Host) =>
  inSession(line, host, async ({ context }) =>
    form === undefined
      ? { fields: await inputsOfApplication(context), actions: [] }
      : formOfApplication(typedValue(form, line), context),
  );

/** Runs or forms that are offered: more are no help at a prompt. */
const MAX_RUNS = 20;

/** The first choices of a list, those that are found within the time limit: each may take a request. */
const firstOf =
  <T>(
    list: (context: Session["context"], kind: ChosenArgument["kind"]) => AsyncIterable<T>,
    choiceOf: (each: T, timeText: (ms: number) => string) => Candidate,
  ) =>
  async (line: TypedWords, host: Host): Promise<readonly Candidate[]> => {
    const times = timesFor({ times: "relative", now: () => host.now() }, true);
    const found: Candidate[] = [];
    const { kind = "any" } = rulesOf(line.command)?.chosen ?? {};
    const search = inSession(line, host, async ({ context }) => {
      for await (const each of list(context, kind)) {
        found.push(choiceOf(each, (ms) => times.text(new Date(ms))));
        if (found.length === MAX_RUNS) return;
      }
    });
    await search.catch((error: unknown) => {
      if (found.length === 0) throw error;
    });
    return found;
  };

/** Runs of the application that the command takes, newest first, with their status and time. */
export const runIds = firstOf(
  runsOfApplication,
  ({ value, run: { status, savedAt, startedAt } }, timeText) => ({
    value,
    help: `${status}, ${timeText(savedAt || startedAt * 1000)}`,
  }),
);

/** Tokens of the forms that wait, the newest first, with what they ask and when they expire. */
export const formTokens = firstOf(formsOfApplication, ({ token, node, run, expires }, timeText) => {
  const until = expires === null ? [] : [`expires ${timeText(expires * 1000)}`];
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
  { command, flags }: TypedWords,
  plainHost: Host,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const options = {
    profile: flags.get("--profile"),
    app: flags.get("--app"),
    user: flags.get("--user"),
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
  noun: Noun | ListedNoun,
  values: Values,
  typed: string,
  session: Session,
): Promise<Candidate[]> {
  const { row, fixed, byName, about = "" } = listings[noun];
  const { masked } = session.host.secrets; // before the text is cut, which may be in a key
  const found = new Map<string, Candidate>();
  const ids = new Map<string, string>();
  for await (const object of session.api.rows(row, { ...values, ...fixed }, { limit: MAX_NAMES })) {
    const value = isObject(object) && object[byName ? "name" : "id"];
    const text = valueAt(object, about);
    const help = typeof text === "string" ? shortened(masked(text).trim(), MAX_HELP) : "";
    if (typeof value !== "string") continue;
    found.set(value, { value, help });
    if (value.startsWith(typed)) ids.set(value, String(valueAt(object, "id")));
  }
  if (noun === "kb") {
    for (const value of await namesNotOpened(ids, session))
      found.set(value, { value, help: "not opened by this key" });
  }
  return [...found.values()];
}

/** Knowledge bases that are opened to see whether an access token opens them. */
const MAX_OPENED = 10;

/** The first names whose knowledge bases the key lists and does not open, as an access token may (server §2.2). */
async function namesNotOpened(ids: ReadonlyMap<string, string>, { api, settings }: Session) {
  if (!isAccessToken(targetOf(await settings(), "dataset").key)) return [];
  const open = async ([name, dataset_id]: readonly [string, string]) => {
    const error = await api
      .call(getKnowledgeBase, { dataset_id })
      .catch((thrown: unknown) => thrown);
    return error instanceof ApiError && error.response.status === 403 ? [name] : [];
  };
  return (await Promise.all([...ids].slice(0, MAX_OPENED).map(open))).flat();
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
