import { CliError, usage } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { linesOf } from "../../lines.ts";
import type { Line } from "../../lines.ts";
import type { Context } from "../../command-spec.ts";

/** Reports a damaged line, numbered from 1, with the reason. */
export type OnDamaged = (line: number, reason: string) => void;

/** A row of the log; any field may be missing. */
export type FiledLog = Partial<WorkflowLog>;

/** Parses lines to rows; `last` with the final ones. */
export type LogReader = (lines: readonly Line[], last: boolean) => readonly FiledLog[];

/**
 * Streams the rows of a file written by `wf logs` or `wf logs export`: JSON Lines, or CSV with a
 * header. Reports and skips damaged lines. Throws `usage` if no line is valid.
 */
export async function* logsOfFile(
  { path, name }: FileInput,
  context: Context,
  damaged: OnDamaged,
): AsyncGenerator<FiledLog> {
  const { files, stdin } = context.host;
  const pieces = linesOf(
    path === "-" ? stdin.bytes() : files.bytes(path),
    (line) => notLog(name, "line too long", line),
    context,
  );
  let read: LogReader | undefined;
  let first: readonly [line: number, reason: string] | undefined;
  let used = false;
  for await (const { lines, last } of pieces) {
    read ??= await readerFor(name, lines, (line, reason) => {
      first ??= [line, reason];
      damaged(line, reason);
    });
    const logs = read?.(lines, last) ?? [];
    used ||= logs.length > 0;
    yield* logs;
  }
  if (!used && first) throw notLog(name, first[1], first[0]);
}

/** The error for a file without log rows. */
export const notLog = (name: string, problem: string, line?: number): CliError =>
  usage(
    `${name}${line === undefined ? "" : ` line ${line}`}: ${problem}`,
    "--from takes the output of `wf logs --all -o jsonl` or -o csv",
  );

export const isBlank = ({ text }: Line): boolean => text.trim() === "";

/** Chooses the format by the name, then by the first character; undefined for blank lines only. */
async function readerFor(
  name: string,
  lines: readonly Line[],
  damaged: OnDamaged,
): Promise<LogReader | undefined> {
  const start = lines.find((line) => !isBlank(line))?.text.trimStart();
  if (start === undefined) return undefined;
  if (start.startsWith("[")) throw notLog(name, "expected one JSON object per line, not an array");
  if (/\.(jsonl|ndjson)$/i.test(name) || start.startsWith("{")) return jsonReader(damaged);
  const { csvReader } = await import("./read-csv.ts");
  return csvReader(name, damaged);
}

const jsonReader =
  (damaged: OnDamaged): LogReader =>
  (lines) => {
    const logs: FiledLog[] = [];
    for (const line of lines) {
      if (isBlank(line)) continue;
      const row = jsonIn(line.text);
      if (isLog(row)) logs.push(row);
      else damaged(line.number, row === undefined ? "invalid JSON" : "not a log row");
    }
    return logs;
  };

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const numbers = [
  "elapsed_time",
  "total_tokens",
  "total_steps",
  "created_at",
  "finished_at",
] as const;
const texts = ["id", "status", "error", "version"] as const;

/** Whether the fields that are computed with are numbers, and those that are shown texts. */
function isLog(row: unknown): row is FiledLog {
  if (!isObject(row) || !Object.hasOwn(row, "workflow_run")) return false;
  const run = row["workflow_run"];
  if (!isOptional("number", row["created_at"])) return false;
  if (run === null) return true;
  if (!isObject(run)) return false;
  for (const name of numbers) if (!isOptional("number", run[name])) return false;
  for (const name of texts) if (!isOptional("string", run[name])) return false;
  return true;
}

const isOptional = (kind: "number" | "string", value: unknown): boolean =>
  value === undefined || value === null || typeof value === kind;
