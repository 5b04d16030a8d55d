import { own, stringifyJson } from "../lib/json.ts";
import { sha256 } from "../lib/sha256.ts";
import { isUuid } from "../lib/text.ts";
import { version } from "../lib/version.ts";
import type { ModelUse, RunTrace } from "./trace.ts";
import { eachSpan, spansOf } from "./spans.ts";
import type { Span } from "./spans.ts";

/** The version of the semantic conventions that names the attributes. */
const schemaUrl = "https://opentelemetry.io/schemas/1.37.0";

/** A run that is exported as a trace. */
export interface ExportedRun {
  readonly id: string;
  readonly status: string;
  readonly error?: string | null | undefined;
  readonly tokens?: number | undefined;
  readonly steps?: number | undefined;
  /** ms since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Its nodes, if its events were seen. */
  readonly trace?: RunTrace | undefined;
}

/** A span as OTLP writes it in JSON. */
export type OtlpSpan = Readonly<Record<string, unknown>>;

type Values = Readonly<Record<string, string | number | undefined>>;

/** Kinds of spans. */
const INTERNAL = 1;
const CLIENT = 3;
/** Characters of an error. */
const MAX_ERROR = 1000;

/** The ID of a UUID is its 32 digits; that of any other run is from a hash. */
const traceIdOf = (runId: string): string =>
  isUuid(runId) ? runId.replaceAll("-", "").toLowerCase() : sha256(runId).slice(0, 32);

/** The same whenever and wherever a run is exported. */
const spanIdOf = (...parts: readonly (string | number)[]): string =>
  sha256(stringifyJson(parts)).slice(0, 16);

/**
 * The spans of a run: the run itself and, if its events were seen, its nodes, those of loops within them.
 * They have no inputs and outputs; `mask` masks the secrets of every text.
 */
export function runSpans(run: ExportedRun, mask: (text: string) => string): OtlpSpan[] {
  const traceId = traceIdOf(run.id);
  const root = spanIdOf(run.id);
  const { top, startedAt, length } = run.trace
    ? spansOf(run.trace)
    : { top: [], startedAt: run.startedAt, length: 0 };
  /** The times from start to end in ms, and the error if the status is one. */
  const ending = (start: number, end: number, status: string, error: string | null = "") => ({
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    status: isFailure(status) ? { code: 2, message: mask(error ?? "").slice(0, MAX_ERROR) } : {},
  });
  const { id, status, error, tokens, steps, trace } = run;
  const whole = {
    traceId,
    spanId: root,
    name: "workflow run",
    kind: INTERNAL,
    ...ending(
      Math.min(run.startedAt, startedAt),
      Math.max(run.endedAt, startedAt + length),
      status,
      error,
    ),
    attributes: attributes(
      {
        "wf.run.id": id,
        "wf.run.status": status,
        "wf.run.tokens": tokens,
        "wf.run.steps": steps,
        "wf.workflow.id": trace?.workflowId,
        "error.type": isFailure(status) ? status : undefined,
      },
      mask,
    ),
  };
  const ids = spanIds(id, top);
  const nodes = [...eachSpan(top)].map(([span, around]) => {
    const parent = around.at(-1);
    const { title, model } = span;
    const start = startedAt + span.start;
    return {
      traceId,
      spanId: ids.get(span),
      parentSpanId: (parent && ids.get(parent)) ?? root,
      name: model ? `${operationOf(model)} ${model.model}` : mask(title),
      kind: model ? CLIENT : INTERNAL,
      ...ending(start, start + span.took, span.status, span.error),
      attributes: attributes({ ...nodeValues(span), ...(model && modelValues(model)) }, mask),
    };
  });
  return [whole, ...nodes];
}

const isFailure = (status: string): boolean => status === "failed" || status === "exception";

/** Nanoseconds of a time in ms, exact to the microsecond; OTLP writes such numbers as text. */
const nanoseconds = (ms: number): string => `${Math.max(0, Math.round(ms * 1000))}000`;

/** IDs by span; a loop within a loop runs several times under the same execution ID. */
function spanIds(runId: string, top: readonly Span[]): ReadonlyMap<Span, string> {
  const times = new Map<string, number>();
  const ids = new Map<Span, string>();
  for (const [span] of eachSpan(top)) {
    const time = times.get(span.id) ?? 0;
    times.set(span.id, time + 1);
    ids.set(span, spanIdOf(runId, span.id, time));
  }
  return ids;
}

const nodeValues = ({ status, waited, ...span }: Span): Values => ({
  "wf.node.id": span.nodeId,
  "wf.node.title": span.title,
  "wf.node.type": span.type || undefined,
  "wf.node.status": status,
  "wf.node.tokens": span.tokens,
  "wf.node.round": span.round,
  "wf.node.retries": span.retries || undefined,
  "wf.node.waited_ms": Math.round(waited) || undefined,
  "error.type": isFailure(status) ? status : undefined,
});

/** Names of the conventions for providers that the server calls something else. */
const providers: Readonly<Record<string, string>> = {
  azure_openai: "azure.ai.openai",
  bedrock: "aws.bedrock",
  gemini: "gcp.gemini",
  google: "gcp.gemini",
  mistralai: "mistral_ai",
  vertex_ai: "gcp.vertex_ai",
  x: "x_ai",
};

const operationOf = ({ mode }: ModelUse): string =>
  mode === "completion" ? "text_completion" : "chat";

const modelValues = (use: ModelUse): Values => ({
  "gen_ai.operation.name": operationOf(use),
  "gen_ai.provider.name": own(providers, use.provider) ?? use.provider,
  "gen_ai.request.model": use.model,
  "gen_ai.usage.input_tokens": use.input,
  "gen_ai.usage.output_tokens": use.output,
});

const attributes = (values: Values, mask: (text: string) => string) =>
  Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const isText = typeof value === "string";
    return [{ key, value: isText ? { stringValue: mask(value) } : { intValue: String(value) } }];
  });

/** The request that exports spans of a service, as JSON on one line. */
export const exportRequest = (spans: readonly OtlpSpan[], service: string): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributes({ "service.name": service }, String) },
        scopeSpans: [{ scope: { name: "kb-wf", version }, spans, schemaUrl }],
        schemaUrl,
      },
    ],
  });
