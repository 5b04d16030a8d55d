import { eachEvent } from "../../api/sse.ts";
import { CliError, withInfo } from "../../errors.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { asText } from "../../operations/operation.ts";
import type { InputOf } from "../../operations/operation.ts";
import { runPipeline, runPipelineBlocking } from "../../operations/pipeline.ts";
import type { PublishedRun } from "../../operations/pipeline.ts";
import { asEvents } from "../stream-or-wait.ts";
import { finalOutcome } from "../../runs/final-event.ts";
import { run as waitFor } from "./documents/wait.ts";
import { raiseOutcome } from "../../runs/outcome.ts";
import type { Context } from "../command-spec.ts";

/** Input of `kb pipeline run`. */
export type PipelineInput = InputOf<typeof runPipeline> & {
  readonly blocking?: boolean | undefined;
  readonly no_wait?: boolean | undefined;
};

/**
 * Runs a pipeline, once. A published one answers with the documents it makes, whatever was asked for,
 * and they are waited for; a draft is followed by its events, or gives one answer (server §18). Ends
 * with what became of the run.
 */
export async function* run(input: PipelineInput, context: Context): AsyncGenerator<unknown> {
  const { blocking, no_wait: _, ...body } = input;
  const live = asEvents(input, context.options.format) && !input.is_published;
  if (blocking || !(live || input.is_published)) {
    yield* answered(await context.call(runPipelineBlocking, body), input, context);
    return;
  }
  for await (const event of eachEvent(await context.open(runPipeline, body))) {
    if (event.data["event"] === undefined) {
      yield* answered(event.data, input, context, live ? [event] : undefined);
      return;
    }
    if (live) yield [event];
    if (event.event === "error" || event.event === "datasource_error") throw failed(event.data);
    const outcome = finalOutcome(event, false);
    if (outcome === undefined) continue;
    if (!live) yield event.data;
    await raiseOutcome(String(event.data["workflow_run_id"]), outcome, context.notice);
    return;
  }
  throw new CliError("cut", "the event stream ended before the pipeline run did", {
    sideEffect: "unknown",
    hint: `kb doc list ${input.dataset_id}`,
  });
}

/** An answer in one piece: of a draft how its run ended, of a published pipeline what it makes. */
async function* answered(
  answer: Readonly<Record<string, unknown>>,
  input: PipelineInput,
  context: Context,
  printed: unknown = answer,
): AsyncGenerator<unknown> {
  yield printed;
  const data = answer["data"];
  if (isObject(data) && typeof data["status"] === "string") {
    const { status, error } = data;
    const reason = typeof error === "string" ? error : undefined;
    await raiseOutcome(
      String(answer["workflow_run_id"]),
      { status, error: reason },
      context.notice,
    );
  }
  const { batch, documents } = answer as Partial<PublishedRun>; // each is looked at below
  if (!Array.isArray(documents)) return;
  if (documents.length === 0) {
    await context.notice("the pipeline made no document: the list of what to read is empty");
  } else if (typeof batch === "string" && !input.no_wait) {
    await wait({ dataset_id: input.dataset_id, batch }, context);
  }
}

/** Waits until the documents of a batch are indexed. */
async function wait(
  made: { readonly dataset_id: string; readonly batch: string },
  context: Context,
): Promise<void> {
  let count = 0;
  try {
    for await (const _ of waitFor(made, context)) count++;
  } catch (error) {
    if (!(error instanceof CliError) || error.info.isResult) throw error;
    const hint = `kb doc wait ${made.dataset_id} --batch ${made.batch}`;
    throw withInfo(error, { sideEffect: "applied", details: made, hint });
  }
  await context.notice(`indexed: ${count} ${count === 1 ? "document" : "documents"}`);
}

/** What a data source or the pipeline could not do. */
export const failed = (data: Readonly<Record<string, unknown>>): CliError =>
  new CliError(
    "remote-failed",
    `the pipeline failed: ${asText(data["error"] ?? data["message"] ?? valueAt(data, "data.error")) || "the server gives no reason"}`,
    { isResult: true },
  );
