/** What a fault does to a request or its answer; the value is a status, ms, a count or a rate. */
const actions = {
  /** A JSON error of the server itself; the request is not handled. */
  status: status,
  /** An HTML error of a proxy before the server, without X-Version. */
  html: status,
  /** Waits before the request is handled. */
  delay: milliseconds,
  /** Handles the request, closes the connection after so many events that carry data. */
  "cut-after": count,
  /** Handles the request, closes the connection after so many bytes of the answer's body. */
  "cut-bytes": count,
  /** Resets the connection; the request is not handled. */
  reset: nothing,
  /** Never answers; with a value, says nothing more after so many events that carry data. */
  silence: (text: string | undefined) => (text === undefined ? undefined : count(text)),
  /** Sends so many bytes of the body a second. */
  drip: rate,
  /** Documents show their values as text, and null where they have none, as some builds do. */
  "plain-metadata": nothing,
  /** Says this Content-Length, whatever the body has: also on a 204, which has none. */
  length: count,
  /** The record of the run that is stopped says `running` for ever; only its stream tells (server §13). */
  "stays-running": nothing,
  /** So many events happen after the snapshot was read and before anybody listens (server §15.3). */
  lose: count,
} as const satisfies Record<string, (text: string | undefined) => number | undefined>;

type Action = keyof typeof actions;

/** One thing that goes wrong on purpose, on requests that match. */
export interface Fault {
  /** Method and path; `*` stands for any characters. */
  readonly method: string;
  readonly pattern: string;
  readonly action: Action | "version";
  readonly value: number | undefined;
  /** The server version that is played, for `version=`. */
  readonly version: string | undefined;
  /** How many matching requests it meets, and how many of them it lets pass before. */
  readonly times: number;
  readonly skip: number;
}

/** What goes wrong with one request: several faults may meet it. */
export interface FaultPlan {
  readonly status: number | undefined;
  readonly html: number | undefined;
  readonly delay: number | undefined;
  readonly "cut-after": number | undefined;
  readonly "cut-bytes": number | undefined;
  readonly reset: boolean;
  /** Events until silence; 0 when not even the head is answered. */
  readonly silence: number | undefined;
  readonly drip: number | undefined;
  readonly "plain-metadata": boolean;
  readonly length: number | undefined;
  readonly "stays-running": boolean;
  readonly lose: number | undefined;
  readonly version: string | undefined;
}

const grammar = "METHOD PATTERN ACTION[=VALUE] [times=N] [skip=N]";

/**
 * Reads `POST /datasets status=503 times=2`. Throws an Error with a plain message that says what
 * is wrong.
 */
export function parseFault(text: string): Fault {
  const wrong = (reason: string) => new Error(reason);
  const [method, pattern, action, ...options] = text.trim().split(/\s+/);
  if (!method || !pattern || !action) throw wrong(`expected ${grammar}`);
  if (!/^(\*|[A-Za-z]+)$/.test(method)) throw wrong(`'${method}' is not a method`);
  if (!/^[/*]/.test(pattern)) throw wrong(`the pattern '${pattern}' must start with / or *`);

  const limits = { times: Infinity, skip: 0 };
  for (const option of options) {
    const [name, value] = assignment(option);
    if (name !== "times" && name !== "skip") throw wrong(`unknown option '${option}'`);
    limits[name] = explained(() => count(value), option);
  }
  const [name, value] = assignment(action);
  const matching = { method: method.toUpperCase(), pattern, ...limits };
  if (name === "version") {
    if (!/^\d+\.\d+\.\d+$/.test(value ?? "")) throw wrong("version needs a value like 1.13.0");
    return { ...matching, action: name, value: undefined, version: value };
  }
  if (!isAction(name)) {
    throw wrong(
      `unknown action '${name}', one of ${[...Object.keys(actions), "version"].join(", ")}`,
    );
  }
  const read = explained(() => actions[name](value), action);
  return { ...matching, action: name, value: read, version: undefined };

  function explained<T>(value: () => T, part: string): T {
    try {
      return value();
    } catch (error) {
      throw wrong(`${part}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** Counts requests against a list of faults: each gets the plan of what goes wrong with it. */
export function createFaultPlanner(
  faults: readonly Fault[],
): (method: string, path: string) => FaultPlan {
  const met = new Map<Fault, number>();
  return (method, path) => {
    const meeting = faults.filter((fault) => {
      if (!matches(fault, method, path)) return false;
      const before = met.get(fault) ?? 0;
      met.set(fault, before + 1);
      return before >= fault.skip && before < fault.skip + fault.times;
    });
    const first = (action: Fault["action"]) => meeting.find((fault) => fault.action === action);
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

function matches(fault: Fault, method: string, path: string): boolean {
  if (fault.method !== "*" && fault.method !== method) return false;
  const parts = fault.pattern.split("*");
  return fits(parts, path) || fits(parts, path.replace(/^\/v1/, ""));
}

/** Do the parts stand in the text, in their order and from end to end? */
function fits([first = "", ...rest]: readonly string[], text: string): boolean {
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}

const isAction = (name: string): name is Action => Object.hasOwn(actions, name);

function assignment(text: string): [name: string, value: string | undefined] {
  const at = text.indexOf("=");
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function count(text: string | undefined): number {
  if (!/^\d+$/.test(text ?? "")) throw new Error("needs a whole number");
  return Number(text);
}

function rate(text: string | undefined): number {
  const bytes = count(text);
  if (bytes === 0) throw new Error("needs at least 1");
  return bytes;
}

function status(text: string | undefined): number {
  const code = count(text);
  if (code < 400 || code > 599) throw new Error("needs a status from 400 to 599");
  return code;
}

function milliseconds(text: string | undefined): number {
  const found = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text ?? "");
  if (!found) throw new Error("needs a duration like 3s or 250ms");
  return Number(found[1]) * (found[2] === "s" ? 1000 : 1);
}

function nothing(text: string | undefined): undefined {
  if (text !== undefined) throw new Error("takes no value");
}
