/** The actions of a fault, each with the parser of its value: a status, ms, a count or a rate. */
const actions = {
  /** Returns a JSON error of the server; the request is not handled. */
  status: status,
  /** Returns an HTML error of a proxy, without X-Version. */
  html: status,
  /** Waits before the request is handled. */
  delay: milliseconds,
  /** Drops the connection after this number of events with data. */
  "cut-after": count,
  /** Drops the connection after this number of bytes of the response body. */
  "cut-bytes": count,
  /** Resets the connection; the request is not handled. */
  reset: nothing,
  /** Sends no response; with a value, sends nothing after this number of events with data. */
  silence: (text: string | undefined) => (text === undefined ? undefined : count(text)),
  /** Sends the body at this rate, in bytes per second. */
  drip: rate,
  /** Returns the metadata of documents as text, or null without any, as some builds do. */
  "plain-metadata": nothing,
  /** Sends this Content-Length whatever the size of the body, even with a 204. */
  length: count,
  /** Leaves the record of a stopped run at `running`; only its stream shows the stop (server §13). */
  "stays-running": nothing,
  /** Loses this number of events between the snapshot and the live stream (server §15.3). */
  lose: count,
} as const satisfies Record<string, (text: string | undefined) => number | undefined>;

type Action = keyof typeof actions;

/** An injected fault, for the requests that match. */
export interface Fault {
  /** Method and path pattern; `*` matches any characters. */
  readonly method: string;
  readonly pattern: string;
  readonly action: Action | "version";
  readonly value: number | undefined;
  /** Server version to imitate, for `version=`. */
  readonly version: string | undefined;
  /** Number of matching requests that it affects, and that it skips first. */
  readonly times: number;
  readonly skip: number;
}

/** The faults of one request. */
export interface FaultPlan {
  readonly status: number | undefined;
  readonly html: number | undefined;
  readonly delay: number | undefined;
  readonly "cut-after": number | undefined;
  readonly "cut-bytes": number | undefined;
  readonly reset: boolean;
  /** Events until silence; 0 sends not even the headers. */
  readonly silence: number | undefined;
  readonly drip: number | undefined;
  readonly "plain-metadata": boolean;
  readonly length: number | undefined;
  readonly "stays-running": boolean;
  readonly lose: number | undefined;
  readonly version: string | undefined;
}

const GRAMMAR = "METHOD PATTERN ACTION[=VALUE] [times=N] [skip=N]";

/** Parses e.g. `POST /datasets status=503 times=2`; throws an Error with the reason. */
export function parseFault(text: string): Fault {
  const [method, pattern, action, ...options] = text.trim().split(/\s+/);
  if (!method || !pattern || !action) throw new Error(`expected ${GRAMMAR}`);
  if (!/^(\*|[A-Za-z]+)$/.test(method)) throw new Error(`'${method}' is not a valid HTTP method`);
  if (!/^[/*]/.test(pattern)) throw new Error(`pattern '${pattern}' must start with / or *`);

  const limits = { times: Infinity, skip: 0 };
  for (const option of options) {
    const [name, value] = splitAssignment(option);
    if (name !== "times" && name !== "skip") throw new Error(`unknown option '${option}'`);
    limits[name] = parseValue(count, value, option);
  }
  const [name, value] = splitAssignment(action);
  const matching = { method: method.toUpperCase(), pattern, ...limits };
  if (name === "version") {
    if (!/^\d+\.\d+\.\d+$/.test(value ?? ""))
      throw new Error("version: expected a value such as 1.13.0");
    return { ...matching, action: name, value: undefined, version: value };
  }
  if (!isAction(name)) {
    throw new Error(
      `unknown action '${name}' (one of: ${[...Object.keys(actions), "version"].join(", ")})`,
    );
  }
  const parsed = parseValue<number | undefined>(actions[name], value, action);
  return { ...matching, action: name, value: parsed, version: undefined };
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

/** Returns a function that counts requests and returns the faults of each one. */
export function createFaultPlanner(
  faults: readonly Fault[],
): (method: string, path: string) => FaultPlan {
  const matched = new Map<Fault, number>();
  return (method, path) => {
    const active = faults.filter((fault) => {
      if (!matchesRequest(fault, method, path)) return false;
      const before = matched.get(fault) ?? 0;
      matched.set(fault, before + 1);
      return before >= fault.skip && before < fault.skip + fault.times;
    });
    const first = (action: Fault["action"]) => active.find((fault) => fault.action === action);
    const silence = first("silence");
    return {
      status: first("status")?.value,
      html: first("html")?.value,
      delay: first("delay")?.value,
      "cut-after": first("cut-after")?.value,
      "cut-bytes": first("cut-bytes")?.value,
      reset: first("reset") !== undefined,
      silence: silence && (silence.value ?? 0),
      drip: first("drip")?.value,
      "plain-metadata": first("plain-metadata") !== undefined,
      length: first("length")?.value,
      "stays-running": first("stays-running") !== undefined,
      lose: first("lose")?.value,
      version: first("version")?.version,
    };
  };
}

function matchesRequest(fault: Fault, method: string, path: string): boolean {
  if (fault.method !== "*" && fault.method !== method) return false;
  const parts = fault.pattern.split("*");
  return matchesParts(parts, path) || matchesParts(parts, path.replace(/^\/v1/, ""));
}

/** Reports whether a text consists of the parts, in order, with any characters between them. */
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

const isAction = (name: string): name is Action => Object.hasOwn(actions, name);

function splitAssignment(text: string): [name: string, value: string | undefined] {
  const index = text.indexOf("=");
  return index === -1 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}

function count(text: string | undefined): number {
  if (!/^\d+$/.test(text ?? "")) throw new Error("expected a whole number");
  return Number(text);
}

function rate(text: string | undefined): number {
  const bytes = count(text);
  if (bytes === 0) throw new Error("must be at least 1");
  return bytes;
}

function status(text: string | undefined): number {
  const code = count(text);
  if (code < 400 || code > 599) throw new Error("expected a status from 400 to 599");
  return code;
}

function milliseconds(text: string | undefined): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text ?? "");
  if (!match) throw new Error("expected a duration such as 3s or 250ms");
  return Number(match[1]) * (match[2] === "s" ? 1000 : 1);
}

function nothing(text: string | undefined): undefined {
  if (text !== undefined) throw new Error("does not take a value");
}
