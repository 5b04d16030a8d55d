import { sha256 } from "../lib/sha256.ts";
import { isUuid } from "../lib/text.ts";
import { version } from "../lib/version.ts";
import type { ModelUse } from "./model-use.ts";
import { eachSpan, spansOf } from "./spans.ts";
import type { Span } from "./spans.ts";
import type { RunTrace } from "./trace.ts";

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
export type OtlpSpan = ReturnType<typeof spanFor>;

/** Kinds of spans. */
const INTERNAL = 1;
const CLIENT = 3;

/** The ID of a UUID is its 32 digits; that of any other run is from a hash. */
const traceIdOf = (runId: string): string =>
  isUuid(runId) ? runId.replaceAll("-", "").toLowerCase() : sha256(runId).slice(0, 32);

/** The same whenever and wherever a run is exported. */
const spanIdOf = (...parts: readonly (string | number)[]): string =>
  sha256(JSON.stringify(parts)).slice(0, 16);

/**
 * The spans of a run: the run itself and, if its events were seen, its nodes, those of loops within them.
 * They have no inputs and outputs; `mask` masks the secrets of every text.
 */
export function runSpans(run: ExportedRun, mask: (text: string) => string): OtlpSpan[] {
  const { id, trace, status, error } = run;
  const traceId = traceIdOf(id);
  const root = spanIdOf(id);
  const { top, startedAt, length } = trace
    ? spansOf(trace)
    : { top: [], startedAt: run.startedAt, length: 0 };
  const ids = spanIds(id, top);
  const isFailed = status === "failed";
  const whole = spanFor({ traceId, spanId: root, name: "workflow run", kind: INTERNAL }, mask, {
    start: Math.min(run.startedAt, startedAt),
    end: Math.max(run.endedAt, startedAt + length),
    error: isFailed ? { type: status, message: error ?? "" } : undefined,
    values: {
      "wf.run.id": id,
      "wf.run.status": status,
      "wf.run.tokens": run.tokens,
      "wf.run.steps": run.steps,
      "wf.workflow.id": trace?.workflowId,
    },
  });
  const nodes = [...eachSpan(top)].map(([span, around]) => {
    const parent = around.at(-1);
    const parentSpanId = (parent && ids.get(parent)) ?? root;
    const place = { traceId, spanId: ids.get(span) ?? "", parentSpanId };
    const start = startedAt + span.start;
    return spanFor({ ...place, ...nameOf(span) }, mask, {
      start,
      end: start + span.took,
      error: /^(failed|exception)$/.test(span.status)
        ? { type: span.status, message: span.error ?? "" }
        : undefined,
      values: { ...nodeValues(span), ...(span.model && modelValues(span.model)) },
    });
  });
  return [whole, ...nodes];
}

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

const operationOf = ({ mode }: ModelUse): string =>
  mode === "completion" ? "text_completion" : "chat";

const nameOf = ({ title, model }: Span) =>
  model
    ? { name: `${operationOf(model)} ${model.model}`, kind: CLIENT }
    : { name: title, kind: INTERNAL };

const nodeValues = (span: Span): Values => ({
  "wf.node.id": span.nodeId,
  "wf.node.title": span.model && span.title,
  "wf.node.type": span.type || undefined,
  "wf.node.status": span.status,
  "wf.node.tokens": span.tokens,
  "wf.node.round": span.round,
  "wf.node.retries": span.retries || undefined,
  "wf.node.waited_ms": Math.round(span.waited) || undefined,
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

function modelValues(use: ModelUse): Values {
  const provider = use.provider.split("/").at(-1) ?? "";
  return {
    "gen_ai.operation.name": operationOf(use),
    "gen_ai.provider.name": (Object.hasOwn(providers, provider) && providers[provider]) || provider,
    "gen_ai.request.model": use.model,
    "gen_ai.usage.input_tokens": use.input,
    "gen_ai.usage.output_tokens": use.output,
  };
}

type Values = Readonly<Record<string, string | number | undefined>>;

interface SpanContent {
  /** ms since the epoch. */
  readonly start: number;
  readonly end: number;
  readonly error: { readonly type: string; readonly message: string } | undefined;
  readonly values: Values;
}

/** Characters of an error. */
const MAX_ERROR = 1000;

function spanFor(
  place: {
    readonly traceId: string;
    readonly spanId: string;
    readonly parentSpanId?: string;
    readonly name: string;
    readonly kind: number;
  },
  mask: (text: string) => string,
  { start, end, error, values }: SpanContent,
) {
  return {
    ...place,
    name: mask(place.name),
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    attributes: attributes({ ...values, "error.type": error?.type }, mask),
    status: error ? { code: 2, message: mask(error.message).slice(0, MAX_ERROR) } : {},
  };
}

/** Nanoseconds of a time in ms, exact to the microsecond; OTLP writes such numbers as text. */
const nanoseconds = (ms: number): string => `${Math.max(0, Math.round(ms * 1000))}000`;

const attributes = (values: Values, mask: (text: string) => string) =>
  Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const typed =
      typeof value === "string" ? { stringValue: mask(value) } : { intValue: String(value) };
    return [{ key, value: typed }];
  });

/** The request that exports spans, as JSON on one line; `resource` describes where they come from. */
export const exportRequest = (spans: readonly OtlpSpan[], resource: Values): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributes(resource, String) },
        scopeSpans: [{ scope: { name: "kb-wf", version }, spans, schemaUrl }],
        schemaUrl,
      },
    ],
  });
