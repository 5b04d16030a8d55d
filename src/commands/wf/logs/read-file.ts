import { CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { linesOf } from "../../lines.ts";
import type { Line } from "../../lines.ts";
import type { Context } from "../../command-spec.ts";

/** Told of each line that cannot be used, from 1, and why. */
export type Damaged = (line: number, reason: string) => void;

/** An entry of the log; any field may be missing. */
export type FiledLog = Partial<WorkflowLog>;

/** Turns lines into entries; `last` when no further ones follow. */
export type Reader = (lines: readonly Line[], last: boolean) => readonly FiledLog[];

/**
 * The entries of a file as `wf logs` and `wf logs export` write it: JSON Lines, or CSV with a header.
 * Read as it comes, so its size does not matter. Lines that are damaged are told and left out.
 * Throws usage when no line is of use.
 */
export async function* logsOfFile(
  { path, name }: FileInput,
  context: Context,
  damaged: Damaged,
): AsyncGenerator<FiledLog> {
  const { files, stdin } = context.host;
  const pieces = linesOf(
    path === "-" ? stdin.bytes() : files.bytes(path),
    (line) => noLog(name, "it does not end", line),
    context,
  );
  let read: Reader | undefined;
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
  if (!used && first) throw noLog(name, first[1], first[0]);
}

/** The error for a file that is none of a log. */
export const noLog = (name: string, problem: string, line?: number): CliError =>
  new CliError("usage", `${name}${line === undefined ? "" : ` line ${line}`}: ${problem}`, {
    sideEffect: "none",
    hint: "--from takes what `wf logs --all -o jsonl` prints, or -o csv",
  });

export const isBlank = ({ text }: Line): boolean => text.trim() === "";

/** By its name, else by how it begins; undefined as long as nothing but blank lines came. */
async function readerFor(
  name: string,
  lines: readonly Line[],
  damaged: Damaged,
): Promise<Reader | undefined> {
  const start = lines.find((line) => !isBlank(line))?.text.trimStart();
  if (start === undefined) return undefined;
  if (start.startsWith("[")) throw noLog(name, "it is one JSON list, not one row a line");
  if (/\.(jsonl|ndjson)$/i.test(name) || start.startsWith("{")) return jsonReader(damaged);
  const { csvReader } = await import("./read-csv.ts");
  return csvReader(name, damaged);
}

const jsonReader =
  (damaged: Damaged): Reader =>
  (lines) => {
    const logs: FiledLog[] = [];
    for (const line of lines) {
      if (isBlank(line)) continue;
      const row = jsonIn(line.text);
      if (isLog(row)) logs.push(row);
      else damaged(line.number, row === undefined ? "it is no JSON" : "it is no entry of a log");
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

/** Numbers where figures are made of them, texts where they are shown. */
function isLog(row: unknown): row is FiledLog {
  if (!isObject(row) || !Object.hasOwn(row, "workflow_run")) return false;
  const run = row["workflow_run"];
  if (!is("number", row["created_at"])) return false;
  if (run === null) return true;
  if (!isObject(run)) return false;
  for (const name of numbers) if (!is("number", run[name])) return false;
  for (const name of texts) if (!is("string", run[name])) return false;
  return true;
}

/** Is it of that kind, or not there? */
const is = (kind: "number" | "string", value: unknown): boolean =>
  value === undefined || value === null || typeof value === kind;
