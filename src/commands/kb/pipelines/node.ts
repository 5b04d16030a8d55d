import { CliError } from "../../../errors.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { runDatasourceNode } from "../../../operations/pipeline.ts";
import { pipelineFailure } from "./run.ts";
import type { Context } from "../../task/command-spec.ts";

/** Runs one data source and prints its events, the last of which is the result. */
export async function* run(
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
