import { parseDuration } from "../../lib/numbers.ts";

/** Makes a parser of values; it throws an Error with what it expects. */
const valueLike =
  <T>(pattern: RegExp, expected: string, read: (text: string) => T) =>
  (text = ""): T => {
    if (!pattern.test(text)) throw new Error(expected);
    return read(text);
  };

const status = valueLike(/^[45]\d\d$/, "expected a status from 400 to 599", Number);
const count = valueLike(/^\d+$/, "expected a whole number", Number);

function milliseconds(text = ""): number {
  const duration = parseDuration(text);
  if (duration === undefined) throw new Error("expected a duration such as 3s or 250ms");
  return duration;
}

/** A text of an option, which has no blanks. */
const encodedText = valueLike(
  /^(?:[^%]|%[0-9a-f]{2})+$/i,
  "expected a text, with %20 for each blank",
  decodeURIComponent,
);

function nothing(text: string | undefined): true {
  if (text !== undefined) throw new Error("does not take a value");
  return true;
}

/** The actions of a fault, each with the parser of its value: a status, ms, a count, a rate or a text. */
const actions = {
  /** Returns a JSON error of the server; the request is not handled. */
  status,
  /** Returns an HTML error of a proxy, without X-Version. */
  html: status,
  /** An application with rules answers this text; what it draws counts, and gives tokens, delay and sources. */
  answer: encodedText,
  /** Waits before the request is handled. */
  delay: milliseconds,
  /** Drops the connection after this number of events with data. */
  "cut-after": count,
  /** Drops the connection after this number of bytes of the response body. */
  "cut-bytes": count,
  /** Resets the connection; the request is not handled. */
  reset: nothing,
  /** Sends nothing after this number of events with data; without a value not even the headers. */
  silence: (text: string | undefined) => (text === undefined ? 0 : count(text)),
  /** Sends the body at this rate, in bytes per second. */
  drip: valueLike(/^0*[1-9]\d*$/, "must be at least 1", Number),
  /** Returns the metadata of documents as text, or null without any, as some builds do. */
  "plain-metadata": nothing,
  /** Sends this Content-Length whatever the size of the body, even with a 204. */
  length: count,
  /** Leaves the record of a stopped run at `running`; only its stream shows the stop (server §13). */
  "stays-running": nothing,
  /** A change of the status of a document locks it against others for ten minutes (server §9.7). */
  "stays-locked": nothing,
  /** Loses this number of events between the snapshot and the live stream (server §15.3). */
  lose: count,
  /** Takes this long to look up an end user, so that several of one name are created (server §2.1). */
  "split-users": milliseconds,
  /** Imitates this version of the server. */
  version: valueLike(/^\d+\.\d+\.\d+$/, "expected a value such as 1.13.0", String),
} as const satisfies Record<string, (text: string | undefined) => unknown>;

type Action = keyof typeof actions;

/** The options that limit a fault, each with the parser of its value. */
const limits = {
  /** Number of matching requests that it affects. */
  times: count,
  /** Number of matching requests that it skips first. */
  skip: count,
  /** How long it lasts from the first request that it affects, in ms. */
  for: milliseconds,
  /** The application whose requests match. */
  app: encodedText,
} as const;

type Limits = { readonly [Name in keyof typeof limits]: ReturnType<(typeof limits)[Name]> };

/** The faults of one request: the value of each action. */
export type FaultPlan = {
  readonly [Name in Action]?: ReturnType<(typeof actions)[Name]>;
};

/** An injected fault, for the requests that match. */
export interface Fault extends Omit<Limits, "app"> {
  /** The fault as written. */
  readonly text: string;
  /** Method and path pattern, with or without /v1; `*` matches any characters. */
  readonly method: string;
  readonly pattern: string;
  readonly action: Action;
  readonly value: FaultPlan[Action];
  /** Undefined for the requests of all applications, and those without any. */
  readonly app?: string;
}

const GRAMMAR = "METHOD PATTERN ACTION[=VALUE] [times=N] [skip=N] [for=TIME] [app=NAME]";

/** Parses e.g. `POST /datasets status=503 times=2`; throws an Error with the reason. */
export function parseFault(text: string): Fault {
  const [method, pattern, assignment, ...options] = text.trim().split(/\s+/);
  if (!method || !pattern || !assignment) throw new Error(`expected ${GRAMMAR}`);
  if (!/^(\*|[A-Za-z]+)$/.test(method)) throw new Error(`'${method}' is not a valid HTTP method`);
  if (!/^[/*]/.test(pattern)) throw new Error(`pattern '${pattern}' must start with / or *`);

  const given = options.map((option) => {
    const [name, value] = splitAssignment(option);
    if (!isLimit(name)) throw new Error(`unknown option '${option}'`);
    return [name, parseValue<number | string>(limits[name], value, option)] as const;
  });
  const [action, value] = splitAssignment(assignment);
  const names = Object.keys(actions).join(", ");
  if (!isAction(action)) throw new Error(`unknown action '${action}' (one of: ${names})`);
  return {
    text: text.trim(),
    method: method.toUpperCase(),
    pattern,
    action,
    value: parseValue<FaultPlan[Action]>(actions[action], value, assignment),
    times: Infinity,
    skip: 0,
    for: Infinity,
    ...(Object.fromEntries(given) as Partial<Limits>), // each by the parser of its name
  };
}

/** Parses the value of an option; errors start with the option. */
function parseValue<T>(
  parse: (text: string | undefined) => T,
  text: string | undefined,
  option: string,
): T {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`${option}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What faults depend on beside method and path. */
interface FaultyRequest {
  readonly app?: string | null;
  readonly now?: number;
}

/** The faults that a server injects; counts the requests that each one matches. */
export class Faults {
  /** The number of requests that each has matched, and when it affected the first one (ms). */
  readonly #seen = new Map<Fault, { matched: number; since: number | undefined }>();

  constructor(faults: readonly Fault[] = []) {
    this.add(faults);
  }

  /** Each fault with the number of requests that it has matched. */
  get all(): readonly (readonly [fault: Fault, matched: number])[] {
    return [...this.#seen].map(([fault, { matched }]) => [fault, matched]);
  }

  /** Replaces all faults; their counts begin at 0. */
  set(faults: readonly Fault[]): void {
    this.#seen.clear();
    this.add(faults);
  }

  /** Adds faults after those that there are. */
  add(faults: readonly Fault[]): void {
    for (const fault of faults) this.#seen.set(fault, { matched: 0, since: undefined });
  }

  /**
   * Counts a request and returns its faults; `path` is without the query, `app` the application of the key,
   * `now` the time in ms.
   */
  plan(method: string, path: string, { app = null, now = 0 }: FaultyRequest = {}): FaultPlan {
    const active = [...this.#seen].filter(([fault, seen]) => {
      if (!matchesRequest(fault, method, path) || (fault.app ?? app) !== app) return false;
      seen.matched++;
      if (seen.matched <= fault.skip || seen.matched > fault.skip + fault.times) return false;
      seen.since ??= now;
      return now < seen.since + fault.for;
    });
    // Of two faults with the same action, the first applies.
    return Object.fromEntries(active.reverse().map(([{ action, value }]) => [action, value]));
  }
}

/** Reports whether a request has the method, or it is `*`, and a path of the pattern. */
export function matchesRequest(
  { method: expected, pattern }: Pick<Fault, "method" | "pattern">,
  method: string,
  path: string,
): boolean {
  if (expected !== "*" && expected !== method) return false;
  const parts = pattern.split("*");
  return matchesParts(parts, path) || matchesParts(parts, path.replace(/^\/v1/, ""));
}

/** Whether a text is the parts with any characters between them; linear, unlike a regular expression. */
function matchesParts([first = "", ...rest]: readonly string[], text: string): boolean {
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let end = first.length;
  for (const part of rest) {
    const start = text.indexOf(part, end);
    if (start === -1) return false;
    end = start + part.length;
  }
  return end <= text.length - last.length;
}

const isLimit = (name: string): name is keyof Limits => Object.hasOwn(limits, name);
const isAction = (name: string): name is Action => Object.hasOwn(actions, name);

function splitAssignment(text: string): [name: string, value: string | undefined] {
  const index = text.indexOf("=");
  return index === -1 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}
