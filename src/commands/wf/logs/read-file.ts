import { secondsIn } from "../../../api/time-windows.ts";
import { usage } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { linesOf } from "../../../lib/formats/lines.ts";
import { readFileRows } from "../../../lib/formats/rows-file.ts";
import type { FileRow, Mistake } from "../../../lib/formats/rows-file.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { RunStatus, WorkflowLog } from "../../../operations/workflows.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** A row of the log; any field may be missing. */
export type FiledLog = Partial<WorkflowLog>;

/**
 * Streams the rows of a file written by `wf logs` or `wf logs export`: JSON Lines, or CSV with a
 * header. Reports and skips damaged lines. Throws `usage` if no line is valid.
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
      `--from takes the output of ${commandLine("wf logs", [], { all: true, o: "jsonl" })} or -o csv`,
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
    if (columns?.includes("status") === false) throw notLog(1, "missing column status");
    for (const row of rows) {
      const log = columns ? logOf(row) : row.values;
      if (isLog(log)) {
        used = true;
        yield log;
      } else onMistake({ line: row.line, problem: "not a log row" });
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
function isLog(row: Readonly<Record<string, unknown>> | FiledLog): row is FiledLog {
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

/** The log row of CSV cells with the columns of `wf logs`. An empty cell can be null or an empty text. */
function logOf({ values }: FileRow): FiledLog {
  const text = (column: string) => (values[column] as string | undefined) || null; // cells are texts
  const number = (column: string) => {
    const value = Number(text(column) ?? Number.NaN);
    return Number.isFinite(value) ? value : null;
  };
  const time = (column: string) => secondsIn(text(column), Math.floor) ?? null;
  const [run, status, user, at] = [text("run"), text("status"), text("by"), time("started")];
  const id = text("log") ?? run;
  return {
    ...(id !== null && { id }),
    ...(at !== null && { created_at: at }),
    workflow_run:
      run === null && status === null
        ? null
        : {
            id: run ?? "",
            version: text("version"),
            status: status as RunStatus | null, // as the server wrote it
            triggered_from: text("triggered_from"),
            error: text("error"),
            elapsed_time: number("elapsed"),
            total_tokens: number("tokens"),
            total_steps: number("steps"),
            created_at: at,
            finished_at: time("finished"),
            exceptions_count: number("exceptions"),
          },
    created_from: text("created_from") ?? "",
    created_by_end_user: user === null ? null : endUser(user),
  };
}

/** The column may also be an account; filters by account compare this text. */
const endUser = (session_id: string): WorkflowLog["created_by_end_user"] => ({
  id: "",
  type: "",
  is_anonymous: false,
  session_id,
});
