/** Parsers of user input: every input has a value or is a usage error. */
import { extraBody } from "../../../src/cli/parse/input.ts";
import { checkValue } from "../../../src/cli/parse/values.ts";
import type { Sources } from "../../../src/cli/parse/values.ts";
import { parseCondition } from "../../../src/commands/conditions/index.ts";
import type { ConditionField, FieldKind } from "../../../src/commands/conditions/index.ts";
import { metricScope } from "../../../src/commands/measure/eval/asked.ts";
import { parsePatterns, patternValues } from "../../../src/commands/kb/sync/patterns.ts";
import { parseExpectation } from "../../../src/commands/wf/expect/run-scope.ts";
import { baseUrlOf } from "../../../src/config/profiles.ts";
import { safePath, uniquePath } from "../../../src/host/safe-path.ts";
import type { TakenPaths } from "../../../src/host/safe-path.ts";
import { stringifyJson } from "../../../src/lib/json.ts";
import { didYouMean } from "../../../src/lib/did-you-mean.ts";
import { formatDuration, parseBytes, parseDuration } from "../../../src/lib/numbers.ts";
import { serverEvent } from "../../../src/lib/server-event.ts";
import { RunTrace } from "../../../src/runs/trace.ts";
import { Faults, parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { textFrom } from "./fuzz.ts";
import type { Target } from "./fuzz.ts";
import { areEqual, isSafe, readOr, readOrUsage } from "./holds.ts";

const blanks = [" ", "  ", "\t"];
const numbers = ["0", "1", "2.5", "-3", "007", "1e9", "99999999999", "0.02"];
const durations = ["30s", "1h30m", "250ms", "2d", "1.5h", "0s", "5", "s"];

/** A target by the pieces of its inputs and the property to check. */
const target = (
  name: string,
  pieces: readonly (string | readonly string[])[],
  holds: Target<string>["holds"],
): Target<string> => ({ name, make: (random) => textFrom(random, pieces.flat()), holds });

const faults = target(
  "faults of the sandbox",
  [
    ["GET", "POST", "*", "get", " ", " ", " ", " /datasets", " /v1/data*", " *", " /*a*b*c"],
    [" status=503", " html=502", " delay=3s", " delay=250ms", " cut-after=4", " cut-bytes=10"],
    [" reset", " silence", " silence=2", " drip=100", " version=1.13.0", " times=2", " skip=1"],
    ["=", "**********", "aaaaaaaaaa", "times=", "-1", "599", "600"],
  ],
  (text) => {
    let fault: ReturnType<typeof parseFault>;
    try {
      fault = parseFault(text);
    } catch (error) {
      // The sandbox throws plain errors: it does not use CliError.
      if (!(error instanceof Error) || error.constructor !== Error) throw error;
      return;
    }
    const faults = new Faults([fault]);
    faults.plan("GET", "/v1/datasets");
    faults.plan("POST", `/v1/${"a".repeat(200)}`);
    faults.plan("GET", fault.pattern.replaceAll("*", "x".repeat(10)));
  },
);

const sentences = target(
  "sentences of --expect",
  [
    ["run ", "node ", "output ", "text ", "error ", "no ", "type ", "'Title' ", '"Title" ', "x "],
    [
      "succeeded",
      "failed",
      "stopped",
      "paused",
      "within ",
      "took ",
      "used ",
      "at most ",
      "before ",
    ],
    ["at least ", "exactly ", "ran ", "did not run", "was retried ", "times", "tokens", "steps"],
    ["exists", "does not exist", "is ", "is not ", "contains ", "matches ", "does not match "],
    [
      "/(a+)+$/",
      "/[/]/i",
      "/x/g",
      "/(/",
      ">= ",
      "< ",
      "!= ",
      '{"a": [1]}',
      "null",
      "gaps",
      "errors",
    ],
    [" and ", " or ", "not ", "(", ")", "elapsed", "status", "=", "~"],
    ['"\\u00e9\\n"', '"open', "'open", "\\", ...blanks, ...numbers, ...durations],
  ],
  (text) => {
    readOrUsage(() => parseExpectation(text, "--expect"))?.check.evaluate(seen);
  },
);

/** A run with an output that causes catastrophic backtracking. */
const seen = (() => {
  const trace = new RunTrace();
  const outputs = { x: "a".repeat(20), Title: 3 };
  const event = "workflow_finished";
  trace.add(serverEvent({ event, data: { status: "succeeded", outputs, elapsed_time: 1 } }), 0);
  return trace;
})();

const field = (kind: FieldKind): ConditionField<unknown> => ({
  kind,
  read: (value) => ({ value: value ?? undefined, actual: "" }),
});
const fields = {
  p95: field("seconds"),
  failed: field("share"),
  error: field("text"),
  runs: field("number"),
};

const conditions = target(
  "conditions of --fail-if",
  [
    ["p95", "failed", "error", "recall@5", "ndcg@10.change", "nothing", ">", ">=", "<", "<=", "="],
    [
      "!=",
      "~",
      "!~",
      "%",
      '"',
      "'",
      "timeout",
      " and ",
      " or ",
      "not ",
      "(",
      ")",
      ...blanks,
      ...numbers,
      ...durations,
    ],
  ],
  (text) => {
    const condition = readOrUsage(() => parseCondition("--fail-if", text, { fields }));
    for (const value of [0, 1.5, "text", null, Number.NaN]) condition?.evaluate(value);
    readOrUsage(() => parseCondition("--fail-if", text, metricScope([1, 5], true)));
  },
);

const baseUrls = target(
  "base URLs",
  [
    ["https://", "http://", "ftp://", "//", "127.0.0.1", "localhost", "[::1]", "example.com"],
    [":80", ":99999", "/v1", "/", "//", "/../", "?a=b", "#x", "user:secret@", "@", "%2e", "xn--a"],
  ],
  (text) => {
    const url = readOrUsage(() => baseUrlOf(text, false));
    if (url === undefined) return;
    const { protocol, hostname, username, password, search } = new URL(url);
    areEqual([username, password, search], ["", "", ""]);
    const local = /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+|.*\.localhost)$/.test(hostname);
    if (protocol !== "https:" && !local) throw new Error(`the key would go to ${url} unencrypted`);
    areEqual(baseUrlOf(url, false), url);
  },
);

const lengths = target(
  "durations and sizes",
  [...durations, ...numbers, "ms", "s", "m", "h", "d", "KB", "MiB", "b", " ", "."],
  (text) => {
    const bytes = readOrUsage(() => parseBytes("--max", text));
    if (bytes !== undefined && !(bytes >= 0)) throw new Error(`${bytes} bytes`);
    const ms = parseDuration(text);
    if (ms === undefined) return;
    if (!(ms >= 0)) throw new Error(`${ms} ms`);
    const back = parseDuration(formatDuration(ms).replaceAll(" ", ""));
    if (ms < 1e15 && !(Math.abs((back ?? Number.NaN) - ms) <= roundingError(ms))) {
      throw new Error(`${ms} ms are formatted as ${formatDuration(ms)}`);
    }
  },
);

/** How far a formatted duration may be off: it has three digits, or whole seconds or minutes. */
function roundingError(ms: number): number {
  if (ms < 60_000) return 5;
  return ms < 3_600_000 ? 500 : 60_000;
}

const noSources: Sources = {
  text: () => Promise.resolve("{}"),
  file: (path) => Promise.resolve({ path, name: path }),
  stat: () => Promise.resolve(null),
  now: () => new Date("2026-11-21T12:00:00Z"),
  timeZone: () => "UTC",
};

const values = target(
  "values of flags",
  [
    ["2026-05-01", "T10:00:00Z", "T25:61", "+02:00", "now", "today", "-2h", "2h", "1780000000"],
    ["true", "false", "[1, ", '{"a": ', "]", "}", "@", "-", ...numbers, ...durations],
  ],
  async (text) => {
    for (const kind of ["time", "duration", "integer", "number", "json", "text", "ref"] as const) {
      await readOr(["usage"], () =>
        checkValue("--x", { in: "body", kind, help: "" }, text, noSources),
      );
    }
  },
);

const bodies = target(
  "paths of --body-set",
  ["a", "b.c", ".", "0", "1", "=", "a.0.b=", '{"x": 1}', "[]", "4294967295", "length", "__proto__"],
  async (text) => {
    const body = await readOr(["usage"], () => extraBody({ bodySet: [text, "z=1"] }, noSources));
    if (body === undefined) return;
    areEqual(body["z"], 1);
    if (Object.hasOwn(Object.prototype, "a")) throw new Error("the prototype of all was changed");
    if (stringifyJson(body).length > text.length * 8 + 100) throw new Error("the body has grown");
  },
);

const patterns = target(
  "patterns of --match",
  ["**/", "**", "*", "?", "/", "teams", ".md", "[a]", "(", "+", "\\", "{1}", "a", "é", "*a*b"],
  (text) => {
    const found = readOrUsage(() => parsePatterns(["team={1}", "all={0}{2}{99}"], [text]));
    for (const path of ["teams/red/a.md", `${"a/".repeat(60)}b.md`, "a".repeat(100)]) {
      if (found) patternValues(path, found);
    }
    readOrUsage(() => parsePatterns([text], []));
  },
);

const names = target(
  "names of documents as paths",
  [
    ["..", ".", "/", "\\", "C:", "a.md", "docs", " ", "CON", "nul.txt", "~", "a", ":", "...", ". "],
    ["%2e%2e", "$HOME", "-rf", "COM1", "x".repeat(300)],
  ],
  (text) => {
    const taken: TakenPaths = new Map();
    const paths = [text, text, text.toUpperCase()].map((name) => uniquePath(safePath(name), taken));
    if (new Set(paths.map((path) => path.toLowerCase())).size < 3)
      throw new Error("one name twice");
    for (const path of paths) {
      isSafe(path);
      for (const step of path.split("/")) {
        if (/^\.*$|^ |[. ]$|[\\:]/.test(step)) throw new Error(`a step is ${JSON.stringify(step)}`);
        if (Buffer.byteLength(step) > 240) throw new Error("a step is too long for a disk");
      }
    }
  },
);

const words = target(
  "words that are looked for",
  ["list", "show", "create", "delete", "-"],
  (text) => {
    didYouMean(text, ["list", "show", "create", "delete"]);
  },
);

export const grammars: readonly Target<string>[] = [
  faults,
  sentences,
  conditions,
  baseUrls,
  lengths,
  values,
  bodies,
  patterns,
  names,
  words,
];
