import type { InputOf } from "../operations/operation.ts";
import * as pipeline from "../operations/pipeline.ts";
import { asEvents } from "./as-events.ts";
import type { Context } from "./task.ts";

/** Input of `kb pipeline run`. */
export type PipelineInput = InputOf<typeof pipeline.run> & {
  readonly blocking?: boolean | undefined;
};

/** Runs a pipeline, once, and shows its events, or its one answer. */
export async function* run(input: PipelineInput, context: Context): AsyncGenerator<unknown> {
  const { blocking: _, ...body } = input;
  if (asEvents(input, context.asked.format)) yield* await context.open(pipeline.run, body);
  else yield await context.call(pipeline.runBlocking, body);
}
