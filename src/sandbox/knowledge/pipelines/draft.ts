import { fill } from "../../protocol/fill.ts";
import { account } from "../../protocol/ids.ts";
import type { DocumentSource, KnowledgeContext } from "../records/knowledge-store.ts";
import type { Pipeline } from "./definitions.ts";
import events from "./events.json" with { type: "json" };
import { executePipeline, FILE_ICON, type Step } from "./execute.ts";

type Values = Readonly<Record<string, unknown>>;

/** A run of a draft: it only shows what a published pipeline would index, and is stored nowhere. */
interface DraftRun {
  readonly events: readonly object[];
  /** The response if no events are wanted. */
  readonly response: object;
}

/** Runs the draft of a pipeline; it takes no time. `origin` is that of the URLs of files. */
export function runDraft(
  context: KnowledgeContext,
  pipeline: Pipeline,
  source: DocumentSource,
  origin: string,
): DraftRun {
  const workflow_run_id = context.newId();
  const task_id = context.newId();
  const common = { pipeline, account, run_id: workflow_run_id, now: context.now() };
  const data = (name: keyof typeof events, values: Values = {}) =>
    fill(events[name], { ...common, ...values }) as Record<string, unknown>; // as in the file
  const event = (name: keyof typeof events, values: Values) => ({
    event: name,
    workflow_run_id,
    task_id,
    data: data(name, values),
  });

  const steps = executePipeline(context, pipeline, source, origin);
  const last = steps.at(-1);
  const outcome = {
    status: last?.result ? "succeeded" : "failed",
    outputs: last?.result?.outputs ?? {},
    error: last?.error ?? null,
    steps: steps.length,
  };
  const whole = data("workflow_finished", outcome);
  const { created_by: _by, exceptions_count: _count, files: _files, ...result } = whole;
  return {
    events: [
      event("workflow_started", { inputs: { ...source.inputs, ...data("system_inputs") } }),
      ...steps.flatMap((step) => {
        const values = stepValues(step, context.newId());
        return [event("node_started", values), event("node_finished", values)];
      }),
      event("workflow_finished", outcome),
    ],
    response: { task_id, workflow_run_id, data: result },
  };
}

/** The values of a node's events. */
function stepValues({ node, result, error }: Step, execution_id: string): Values {
  const { inputs = {}, process = {}, outputs = {}, metadata = null, files = [] } = result ?? {};
  const status = result ? "succeeded" : "failed";
  const extras = node.type === "datasource" ? { icon: FILE_ICON } : {};
  const reported = { inputs, process, outputs, metadata, files, status, error };
  return { node, execution_id, extras, ...reported };
}
