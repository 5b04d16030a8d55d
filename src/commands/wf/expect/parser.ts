import { bounds } from "./check.ts";
import type { Amount, Check, CheckResult } from "./check.ts";
import {
  inOrder,
  nodeEnded,
  nodeEnds,
  nodeRan,
  nodeRetried,
  nodeTook,
  nodeUsed,
} from "./node-checks.ts";
import type { NodeName } from "./node-checks.ts";
import { ended, ends, faults, took, used } from "./run-checks.ts";
import {
  claimed,
  compares,
  comparisons,
  contains,
  equals,
  error,
  matches,
  not,
  output,
  text,
  exists,
} from "./value-checks.ts";
import type { Subject } from "./value-checks.ts";
import { SentenceReader } from "./lexer.ts";
import type { RunTrace } from "../../../runs/trace.ts";

/** The check of a sentence, without its name. */
type SentenceCheck = Pick<Check, "evaluate" | "end">;
type Evaluate = (trace: RunTrace) => CheckResult;

/**
 * Parses one sentence of `help expect`. Throws `usage` with the source and the position of a mistake.
 */
export function parseCheck(sentence: string, source: string): Check {
  const words = new SentenceReader(sentence, source);
  const check = words.isQuoted() ? { evaluate: order(words, node(words)) } : subject(words);
  words.end();
  return { name: sentence.trim().replace(/\s+/g, " "), ...check };
}

function subject(words: SentenceReader): SentenceCheck {
  switch (words.oneOf("run", "node", "output", "text", "error", "no")) {
    case "run":
      return run(words);
    case "node":
      return { evaluate: nodes(words, node(words)) };
    case "output":
      return { evaluate: value(words, output(words.name())) };
    case "text":
      return { evaluate: value(words, text) };
    case "error":
      return { evaluate: value(words, error) };
    case "no":
      return { evaluate: faults[words.oneOf(...keysOf(faults))] };
  }
}

function run(words: SentenceReader): SentenceCheck {
  const what = words.oneOf(...ends, "took", "used");
  if (what === "took") {
    const limit = duration(words);
    return { evaluate: (trace) => took(trace, limit) };
  }
  if (what === "used") {
    const limit = amount(words);
    const unit = words.oneOf("tokens", "steps");
    return { evaluate: (trace) => used(trace, unit, limit) };
  }
  const limit = timeLimit(words);
  return { evaluate: (trace) => ended(trace, what, limit), end: what };
}

function nodes(words: SentenceReader, name: NodeName): Evaluate {
  const what = words.oneOf(
    ...keysOf(nodeEnds),
    "ran",
    "did not run",
    "was retried",
    "was not retried",
    "took",
    "used",
    "before",
  );
  switch (what) {
    case "ran": {
      const often = times(words);
      return (trace) => nodeRan(trace, name, often);
    }
    case "did not run":
      return (trace) => nodeRan(trace, name, never);
    case "was retried": {
      const often = times(words);
      return (trace) => nodeRetried(trace, name, often);
    }
    case "was not retried":
      return (trace) => nodeRetried(trace, name, never);
    case "took": {
      const limit = duration(words);
      return (trace) => nodeTook(trace, name, limit);
    }
    case "used": {
      const limit = amount(words);
      words.oneOf("tokens");
      return (trace) => nodeUsed(trace, name, limit);
    }
    case "before":
      return after(words, name);
    default: {
      const limit = timeLimit(words);
      return (trace) => nodeEnded(trace, name, what, limit);
    }
  }
}

function order(words: SentenceReader, first: NodeName): Evaluate {
  words.oneOf("before");
  return after(words, first);
}

function after(words: SentenceReader, first: NodeName): Evaluate {
  words.takes("node");
  const second = node(words);
  return (trace) => inOrder(trace, first, second);
}

/** `"Title"`, a word, or `type llm`. */
function node(words: SentenceReader): NodeName {
  const byType = words.takes("type");
  return { text: words.name(), byType };
}

function value(words: SentenceReader, subject: Subject): Evaluate {
  const what = words.oneOf(
    "exists",
    "does not exist",
    "is",
    "is not",
    "contains",
    "does not contain",
    "matches",
    "does not match",
    ...keysOf(comparisons),
  );
  switch (what) {
    case "exists":
      return exists(subject, true);
    case "does not exist":
      return exists(subject, false);
    case "is":
      return claimed(subject, equals(words.json()));
    case "is not":
      return claimed(subject, not(equals(words.json())));
    case "contains":
      return claimed(subject, contains(words.text()));
    case "does not contain":
      return claimed(subject, not(contains(words.text())));
    case "matches":
      return claimed(subject, matches(words.pattern()));
    case "does not match":
      return claimed(subject, not(matches(words.pattern())));
    default:
      return claimed(subject, compares(what, words.number()));
  }
}

const never: Amount = { bound: "exactly", value: 0 };

/** `within 30s`, or nothing. */
function timeLimit(words: SentenceReader): Amount | undefined {
  if (words.maybe("within") === undefined) return undefined;
  return { bound: "at most", value: words.seconds() };
}

const duration = (words: SentenceReader): Amount => ({
  bound: words.oneOf(...bounds),
  value: words.seconds(),
});

/** `3` or `at most 3`. */
function amount(words: SentenceReader): Amount {
  const bound = bounds.find((each) => words.takes(each)) ?? "exactly";
  return { bound, value: words.count() };
}

/** `3 times`, `at most 1 time`; nothing means at least once. */
function times(words: SentenceReader): Amount {
  if (words.isAtEnd()) return { bound: "at least", value: 1 };
  const often = amount(words);
  words.oneOf("times", "time");
  return often;
}

const keysOf = <K extends string>(object: Readonly<Record<K, unknown>>): K[] =>
  Object.keys(object) as K[]; // the objects are literals of this program
