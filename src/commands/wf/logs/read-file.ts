import { usage } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { linesOf } from "../../../lib/formats/lines.ts";
import { readFileRows } from "../../../lib/formats/rows-file.ts";
import type { Mistake } from "../../../lib/formats/rows-file.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** A row of the log; any field may be missing. */
export type FiledLog = Partial<WorkflowLog>;

/**
 * Streams the rows of a file of JSON Lines written by `wf logs` or `wf logs export`. Reports and skips
 * damaged lines. Throws `usage` if no line is valid.
 */
export async function* logsOfFile(
  { path, name }: FileInput,
  context: Context,
  damaged: (line: number, reason: string) => void,
): AsyncGenerator<FiledLog> {
  const { files, stdin } = context.host;
  const notLog = (line: number, problem: string) =>
    usage(
      `${name} line ${line}: ${problem}`,
      `--from takes the output of ${commandLine("wf logs", [], { all: true, o: "jsonl" })}`,
    );
  let first: Mistake | undefined;
  const onMistake = (mistake: Mistake) => {
    first ??= mistake;
    damaged(mistake.line, mistake.problem);
  };
  const bytes = path === "-" ? stdin.bytes() : files.bytes(path);
  const lines = linesOf(bytes, (line) => notLog(line, "line too long"), context);
  let used = false;
  for await (const { rows, columns } of readFileRows(name, lines, onMistake)) {
    if (columns) throw notLog(1, "expected JSON Lines, not CSV");
    for (const { line, values } of rows) {
      if (isLog(values)) {
        used = true;
        yield values;
      } else onMistake({ line, problem: "not a log row" });
    }
  }
  if (!used && first) throw notLog(first.line, first.problem);
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
function isLog(row: Readonly<Record<string, unknown>>): row is FiledLog {
  if (!Object.hasOwn(row, "workflow_run")) return false;
  const run = row.workflow_run;
  if (!isOptional("number", row.created_at)) return false;
  if (run === null) return true;
  if (!isObject(run)) return false;
  for (const name of numbers) if (!isOptional("number", run[name])) return false;
  for (const name of texts) if (!isOptional("string", run[name])) return false;
  return true;
}

const isOptional = (kind: "number" | "string", value: unknown): boolean =>
  value === undefined || value === null || typeof value === kind;
