import { csvLines } from "../../../lib/formats/csv.ts";
import type { WorkflowLog, WorkflowRun } from "../../../operations/workflows.ts";
import { logColumns } from "./query.ts";
import type { Formulas } from "../../task/command-spec.ts";

/** Formats of an export. */
export type LogFormat = "jsonl" | "csv";

/** A log row with the details of its run: undefined if not requested, null if the server has none. */
export interface DetailedLog {
  readonly log: WorkflowLog;
  readonly detail: WorkflowRun | null | undefined;
}

/** The header of a file and the lines of log rows. */
export interface LogLines {
  readonly head: string;
  of(logs: readonly DetailedLog[]): string;
}

/** Columns of a CSV file. Their order is part of its format: exports append to files of older versions. */
const fileColumns = [
  "run",
  "status",
  "started",
  "elapsed",
  "tokens",
  "steps",
  "by",
  "error",
  "exceptions",
  "finished",
  "version",
  "triggered_from",
  "created_from",
  "log",
].flatMap((name) => logColumns.find(({ label }) => label === name) ?? []);

/** JSON as received with a field `run_detail`, or CSV with every column of `wf logs`, times in UTC. */
export async function logLines(
  format: LogFormat,
  withDetail: boolean,
  formulas: Formulas,
): Promise<LogLines> {
  if (format === "jsonl") {
    return {
      head: "",
      of: (logs) => logs.map(jsonLine).join(""),
    };
  }
  const lines = await csvLines();
  const detailed = withDetail ? ["inputs", "outputs"] : [];
  const cells = ({ log, detail }: DetailedLog) =>
    [
      ...fileColumns.map(({ value }) => value(log)),
      ...(withDetail ? [detail?.inputs, detail?.outputs] : []),
    ].map((value) => formulas.cell(cell(value)));
  return {
    head: lines([[...fileColumns.map(({ label }) => label), ...detailed]]),
    of: (logs) => lines(logs.map(cells)),
  };
}

const jsonLine = ({ log, detail }: DetailedLog): string =>
  `${JSON.stringify(detail === undefined ? log : { ...log, run_detail: detail })}\n`;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  return typeof value === "string" ? value : JSON.stringify(value);
}
