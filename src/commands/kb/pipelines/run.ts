import { eachEvent } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { asText } from "../../../operations/operation.ts";
import type { Input, InputOf } from "../../../operations/operation.ts";
import {
  runPipeline,
  runPipelineBlocking,
  runDatasourceNode,
} from "../../../operations/pipeline.ts";
import type { PublishedRun } from "../../../operations/pipeline.ts";
import { finalOutcome, raiseOutcome } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import { asEvents } from "../../task/command-spec.ts";
import type { Context } from "../../task/command-spec.ts";
import { waitForDocuments } from "../documents/index.ts";
import type { pipelineRunParams } from "./command.ts";

type PipelineInput = Input<typeof pipelineRunParams>;

/**
 * Runs a pipeline. A published one always responds with the documents that it creates, which are waited
 * for; a draft sends events, or one response in blocking mode (server §18). Throws if the run failed.
 */
export async function* run(input: PipelineInput, context: Context): AsyncGenerator<unknown> {
  const { blocking, no_wait: _, ...body } = input;
  const live = asEvents(input, context.options.format) && !input.is_published;
  if (blocking || !(live || input.is_published)) {
    yield* handleResponse(await context.api.call(runPipelineBlocking, body), input, context);
    return;
  }
  for await (const event of eachEvent(await context.api.open(runPipeline, body))) {
    if (event.data["event"] === undefined) {
      yield* handleResponse(event.data, input, context, live ? [event] : undefined);
      return;
    }
    if (live) yield [event];
    if (event.event === "error" || event.event === "datasource_error")
      throw pipelineFailure(event.data);
    const outcome = finalOutcome(event, false);
    if (outcome === undefined) continue;
    if (!live) yield event.data;
    await endDraft(event.data, outcome, context);
    return;
  }
  throw new CliError("cut", "lost the event stream before the pipeline run finished", {
    sideEffect: "unknown",
    hint: `check its documents: ${commandLine("kb doc list", [input.dataset_id])}`,
  });
}

/** Handles a single response: the result of a draft, or the documents of a published pipeline. */
async function* handleResponse(
  response: Readonly<Record<string, unknown>>,
  input: PipelineInput,
  context: Context,
  printed: unknown = response,
): AsyncGenerator<unknown> {
  yield printed;
  const data = response["data"];
  if (isObject(data) && typeof data["status"] === "string") {
    const { status, error } = data;
    const reason = typeof error === "string" ? error : undefined;
    await endDraft(response, { status, error: reason }, context);
  }
  const { batch, documents } = response as Partial<PublishedRun>; // both are checked below
  if (!Array.isArray(documents)) return;
  if (documents.length === 0) {
    await context.notice("the pipeline created no documents: the list of inputs is empty");
  } else if (typeof batch === "string" && !input.no_wait) {
    await waitForBatch({ dataset_id: input.dataset_id, batch }, context);
  }
}

/** Ends the command with the outcome of a draft, which is stored nowhere: no command shows more of it. */
async function endDraft(
  response: Readonly<Record<string, unknown>>,
  outcome: RunOutcome,
  { notice }: Context,
): Promise<void> {
  if (["failed", "stopped"].includes(outcome.status))
    throw pipelineFailure({ error: outcome.error });
  await raiseOutcome(String(response["workflow_run_id"]), outcome, notice);
}

async function waitForBatch(
  input: { readonly dataset_id: string; readonly batch: string },
  context: Context,
): Promise<void> {
  try {
    for await (const _ of waitForDocuments(input, context)) {
      // their number is its summary
    }
  } catch (error) {
    if (!(error instanceof CliError) || error.info.isResult) throw error;
    const wait = commandLine("kb doc wait", [input.dataset_id], { batch: input.batch });
    const hint = `the documents were created; wait for them with ${wait}`;
    throw error.with({ sideEffect: "applied", details: input, hint });
  }
}

/** The error for an event or response of a failed data source or pipeline. */
export const pipelineFailure = (data: Readonly<Record<string, unknown>>): CliError =>
  new CliError(
    "remote-failed",
    `the pipeline failed: ${asText(data["error"] ?? data["message"] ?? valueAt(data, "data.error")) || "no reason given"}`,
    { isResult: true },
  );

/** Runs one data source and prints its events, the last of which is the result. */
export async function* runNode(
  input: InputOf<typeof runDatasourceNode>,
  context: Context,
): AsyncGenerator<unknown> {
  for await (const batch of await context.api.open(runDatasourceNode, input)) {
    yield batch;
    const end = batch.find(({ event }) => endEvents.includes(event));
    if (end?.event === "datasource_completed") return;
    if (end) throw pipelineFailure(end.data);
  }
  throw new CliError("cut", "lost the event stream before the data source finished");
}

const endEvents = ["datasource_completed", "datasource_error", "error"];
