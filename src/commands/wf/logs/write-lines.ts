import { csvLines } from "../../../lib/csv.ts";
import type { WorkflowLog, WorkflowRun } from "../../../operations/workflows.ts";
import { logColumns } from "./query.ts";
import type { Formulas } from "../../command-spec.ts";

/** Forms in which logs are exported. */
export type LogFormat = "jsonl" | "csv";

/** A log, and the run's detail: undefined where it was not asked for, null when the server has none. */
export interface DetailedLog {
  readonly log: WorkflowLog;
  readonly detail: WorkflowRun | null | undefined;
}

/** How logs are written to a file: what stands at its top, and a line of each. */
export interface LogLines {
  readonly head: string;
  line(log: DetailedLog): string;
}

/** JSON as the server gave it, with a field `run_detail`; or every column of `wf logs`, times in UTC. */
export async function logLines(
  format: LogFormat,
  withDetail: boolean,
  formulas: Formulas,
): Promise<LogLines> {
  if (format === "jsonl") {
    return {
      head: "",
      line: ({ log, detail }) =>
        `${JSON.stringify(detail === undefined ? log : { ...log, run_detail: detail })}\n`,
    };
  }
  const line = await csvLines();
  const detailed = withDetail ? ["inputs", "outputs"] : [];
  return {
    head: line([...logColumns.map(({ label }) => label), ...detailed]),
    line: ({ log, detail }) =>
      line(
        [
          ...logColumns.map(({ value }) => value(log)),
          ...(withDetail ? [detail?.inputs, detail?.outputs] : []),
        ].map((value) => formulas.cell(cell(value))),
      ),
  };
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  return typeof value === "string" ? value : JSON.stringify(value);
}
