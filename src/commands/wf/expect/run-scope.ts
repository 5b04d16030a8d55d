import { isDeepStrictEqual } from "node:util";
import type { EventStage } from "../../../api/sse.ts";
import type { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { counted } from "../../../lib/text.ts";
import { redactKeys, redactStructure } from "../../../redact/text.ts";
import { printedValue } from "../../../runs/text.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import {
  gateError,
  parseCondition,
  readFieldCheck,
  readForm,
  runForms,
} from "../../conditions/index.ts";
import type {
  Check,
  ConditionField,
  Forms,
  Reading,
  Result,
  Scope,
} from "../../conditions/index.ts";
import type { Context } from "../../task/command-spec.ts";
import {
  because,
  ifAllEventsSeen,
  ifAllNodesSeen,
  inSeconds,
  nodeForms,
  quoted,
  readNode,
  readOrder,
  withoutNodes,
} from "./node-checks.ts";

/** A check of the events of a run. */
const traceCheck = (evaluate: (trace: RunTrace) => Result): Check<RunTrace> => ({
  evaluate,
  named: [],
});

/** The duration of the server, which covers only the last part after a pause (server §13). */
function secondsOf({ pauses, elapsed, startedAt, lastAt }: RunTrace): number | undefined {
  if (pauses === 0 && elapsed !== undefined) return elapsed;
  if (startedAt === undefined || lastAt === undefined) return undefined;
  return (lastAt - startedAt) / 1000;
}

const count = (unit: "token" | "step"): ConditionField<RunTrace> => ({
  kind: "number",
  read(trace) {
    const value = trace[`${unit}s`];
    if (trace.isReply && unit === "step")
      return { value, missing: "unknown", actual: withoutNodes(trace) };
    if (value === undefined)
      return { value, missing: "unknown", actual: `the server did not count the ${unit}s` };
    return { value, actual: `it used ${counted(value, unit)}` };
  },
});

/** A field with a value of any type from the server, which may be redacted. */
const anyValue = (
  read: (trace: RunTrace) => Omit<Reading, "actual"> & { readonly absent: string },
): ConditionField<RunTrace> => ({
  kind: "any",
  read(trace) {
    const { absent, ...reading } = read(trace);
    const { value } = reading;
    if (value === undefined) return { ...reading, actual: absent };
    // Redaction keeps values without texts and numbers.
    const isHidden = trace.redacted && !isDeepStrictEqual(redactStructure(value), value);
    const hidden = isHidden ? "it was redacted" : undefined;
    return { ...reading, hidden, actual: `it is ${quoted(value)}` };
  },
});

/** An output of the run, by path. */
const output = (path: string): ConditionField<RunTrace> =>
  anyValue(({ outputs }) => {
    if (!isObject(outputs))
      return { value: undefined, missing: "unknown", absent: "the outputs are unknown" };
    const names = Object.keys(outputs);
    const near = didYouMean(path.split(".")[0] ?? "", names);
    const list = names.length === 0 ? "the run has none" : `only ${names.map(quoted).join(", ")}`;
    const meant = near === undefined || near === path ? "" : ` (did you mean ${quoted(near)}?)`;
    return { value: valueAt(outputs, path), absent: `output not found${meant}, ${list}` };
  });

const noText = "the run has none";

/**
 * The text of the run. The stream may be incomplete or out of order; the outputs then have the whole
 * text (server §15.6, §18).
 */
const text = anyValue(({ storedText, text: streamed, outputs, unwatched, pauses }) => {
  if (storedText !== undefined) return { value: storedText || undefined, absent: noText };
  const whole = wholeText(outputs);
  const partial = unwatched || pauses > 0;
  if (whole !== undefined && (partial || whole.includes(streamed)))
    return { value: whole, absent: "" };
  if (unwatched) return { value: undefined, missing: "unknown", absent: "a part of it is missing" };
  return { value: streamed === "" ? undefined : streamed, absent: noText };
});

/** The text in the outputs: `answer`, the only text, or all of them (server §15.5). */
function wholeText(outputs: unknown): string | undefined {
  if (!isObject(outputs)) return undefined;
  if (typeof outputs["answer"] === "string") return outputs["answer"];
  const [first, ...more] = Object.values(outputs).filter((value) => typeof value === "string");
  if (more.length === 0) return first;
  const all = Object.values(outputs).map(printedValue);
  return all.every((each) => each !== undefined) ? all.join("\n") : undefined;
}

/** The fields of a run that conditions can name. */
export const runFields = {
  status: {
    kind: "text",
    read: ({ status, error }) => ({
      value: status,
      actual: `it ${status === "paused" ? "is" : "ended as"} ${status}${because(error)}`,
    }),
  },
  elapsed: {
    kind: "seconds",
    read(trace) {
      const value = secondsOf(trace);
      if (value === undefined) return { value, missing: "unknown", actual: "duration unknown" };
      return { value, actual: `it took ${inSeconds(value)}` };
    },
  },
  tokens: count("token"),
  steps: count("step"),
  text,
  error: anyValue(({ error, status }) =>
    // Every failed run has one, but its event can be lost.
    error === undefined && (status === "failed" || status === "stopped")
      ? { value: error, missing: "unknown", absent: "the error is unknown" }
      : { value: error, absent: "the run has none" },
  ),
} as const satisfies Readonly<Record<string, ConditionField<RunTrace>>>;

const none = (occurred: number, noun: string): Result => ({
  passed: occurred === 0,
  actual: occurred === 0 ? "none occurred" : `${counted(occurred, noun)} occurred`,
});

/** The sentences that begin with `no`. */
export const noForms: Forms<(trace: RunTrace) => Result> = {
  errors: () => (trace) => {
    const failed = trace.nodes.find(({ status }) => status === "failed" || status === "exception");
    if (failed) {
      const actual = `node ${quoted(failed.title)} failed${because(failed.error)}`;
      return { passed: false, actual };
    }
    if (trace.error !== undefined)
      return { passed: false, actual: `the run has the error ${quoted(trace.error)}` };
    if (["failed", "partial-succeeded"].includes(trace.status))
      return { passed: false, actual: `the run ended as ${trace.status}` };
    return ifAllNodesSeen(trace, none(0, "error"));
  },
  gaps: () => (trace) => none(trace.gaps, "gap"),
  retries: () => (trace) => {
    const retried = trace.nodes.find(({ retries }) => retries > 0);
    if (!retried) return ifAllEventsSeen(trace, none(0, "retry"));
    const times = counted(retried.retries, "time");
    return { passed: false, actual: `node ${quoted(retried.title)} was retried ${times}` };
  },
  pauses: () => (trace) => ifAllEventsSeen(trace, none(trace.pauses, "pause")),
  citations: () => (trace) => {
    const { sources } = trace;
    // Only the end of a reply names them: a workflow does not, nor does a reply that failed.
    if (!sources) return { passed: undefined, actual: "no reply has named its sources" };
    return { passed: sources.length === 0, actual: citedText(trace) };
  },
};

/** What a reply cites; a source may come without the name of its document. */
const citedText = ({ sources = [] }: RunTrace): string => {
  const names = sources.map(({ document }) => quoted(document ?? "a document without a name"));
  return names.length === 0 ? "no document was cited" : `cited: ${[...new Set(names)].join(", ")}`;
};

/** Whether the reply of a chat cites a document. */
const cited =
  (name: string) =>
  (trace: RunTrace): Result => {
    const { citations = [], sources, unwatched } = trace;
    if (!sources && unwatched)
      return {
        passed: undefined,
        actual: "the end of the reply, which names its sources, is missing",
      };
    return { passed: citations.includes(name), actual: citedText(trace) };
  };

/** What conditions can say about a run. */
export const runScope: Scope<RunTrace> = {
  fields: runFields,
  sentences: {
    run: (reader) => readForm(reader, runForms, undefined)(runFields),
    node: (reader) => traceCheck(readForm(reader, nodeForms, readNode(reader))),
    output(reader) {
      const path = reader.path();
      return readFieldCheck(reader, `output ${path}`, output(path));
    },
    cited: (reader) => traceCheck(cited(reader.name())),
    no: (reader) => traceCheck(readForm(reader, noForms, undefined)),
  },
  quoted(reader) {
    const first = readNode(reader);
    reader.oneOf(["before"]);
    return traceCheck(readOrder(reader, first));
  },
};

/** A stage that adds events to a trace. What a trace has is printed, so keys are redacted. */
export const traceEvents = (trace: RunTrace, { host }: Context): EventStage => ({
  batch(events) {
    const time = host.now().getTime();
    for (const event of events) trace.add(redactKeys(event, host.secrets), event.at ?? time);
    return events;
  },
});

/** An expectation about a run. */
export interface Expectation {
  /** Its sentence. */
  readonly name: string;
  readonly check: Check<RunTrace>;
  /** Its position in a file. */
  readonly from?: { readonly path: string; readonly line: number } | undefined;
}

/** An expectation with its result; one that cannot be decided is not met. */
export type CheckedExpectation = ReturnType<typeof checkExpectation>;

/** Parses a condition of --expect. Throws `usage` with the source and the position of a mistake. */
export const parseExpectation = (text: string, source: string): Expectation => ({
  name: text.trim().replace(/\s+/g, " "),
  check: parseCondition(source, text, runScope),
});

/** The implicit expectation if none names the end of the run. */
export const runSucceeded: Expectation = {
  ...parseExpectation("run succeeded or run partial-succeeded", "default"),
  name: "run succeeded",
};

export function checkExpectation({ check, ...info }: Expectation, run: RunTrace) {
  const result = check.evaluate(run);
  return { ...info, result: { ...result, passed: result.passed === true } };
}

/** The ends of a run that an expectation names, which are then no errors by themselves. */
export const namedEnds = ({ check }: Expectation): unknown[] =>
  check.named.flatMap(({ field, equals }) => (field === "status" && equals ? [equals] : []));

/** The error for a run with expectations that are not met. */
export function notMet(runId: string, all: readonly CheckedExpectation[]): CliError {
  const failed = all.filter(({ result }) => !result.passed);
  const count =
    all.length === 1 ? "the expectation" : `${failed.length} of ${all.length} expectations`;
  return gateError(
    `run ${runId} did not meet ${count}: ${failed[0]?.name}: ${failed[0]?.result.actual}`,
    {
      run: runId,
      expectations: all.map(({ name, result }) => ({ check: name, ...result })),
    },
    `run ${commandLine("wf show", [runId])} for details`,
  );
}

export { gateError };
