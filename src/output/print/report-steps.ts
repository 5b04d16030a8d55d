import type { Report, ReportStep } from "../report-model.ts";

/** The reports among the steps. */
export async function* reportsIn(steps: AsyncIterable<ReportStep>): AsyncGenerator<Report> {
  for await (const step of steps) if ("sections" in step) yield step;
}

/** The results among the steps; those of the report itself if there are none. */
export async function* rowsIn(steps: AsyncIterable<ReportStep>): AsyncGenerator<unknown> {
  let hasRows = false;
  for await (const step of steps) {
    if ("row" in step) {
      hasRows = true;
      yield step.row;
    } else if ("sections" in step && !hasRows) yield* [step.data].flat();
  }
}
