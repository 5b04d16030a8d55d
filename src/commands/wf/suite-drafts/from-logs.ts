import { isObject, tryParseJson } from "../../../lib/json.ts";
import { textOfOutputs } from "../../../runs/text.ts";
import { isSuccess } from "../../../runs/status.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";
import type { Context } from "../../command-spec.ts";
import { requireKind } from "../application.ts";
import type { LogFilters } from "../log-filters.ts";
import { logQuery, runDetail } from "../logs/index.ts";
import type { DraftOrReason } from "./draft.ts";

/** Filters of the log that are of use for runs that have succeeded. */
export type DraftFilters = Omit<LogFilters, "status" | "failed">;

/** Succeeded runs of the log, newest first, with their inputs and outputs: one request each. */
export async function* logDrafts(
  filters: DraftFilters,
  context: Context,
): AsyncGenerator<DraftOrReason> {
  await requireKind("workflow", context);
  const { sent, keeps } = logQuery({ ...filters, status: "succeeded" });
  for await (const log of context.each(listWorkflowLogs, sent)) {
    if (keeps && !keeps(log)) continue;
    const detail = await runDetail(log, context);
    yield detail ? draftOf(detail) : "that the server has removed";
  }
}

function draftOf({ status, inputs: json, outputs: stored }: WorkflowRun): DraftOrReason {
  if (!isSuccess(status)) return "that have not succeeded";
  const values = tryParseJson(json ?? "");
  if (!isObject(values)) return "without inputs";
  const inputs = Object.fromEntries(
    Object.entries(values).filter(([name]) => !name.startsWith("sys.")),
  );
  const files = values["sys.files"];
  if (Array.isArray(files) && files.length > 0) return "with files";
  const outputs = typeof stored === "string" ? tryParseJson(stored) : stored;
  if (!isObject(outputs) || Object.keys(outputs).length === 0) return "without outputs";
  const expected = Object.fromEntries(Object.entries(outputs).filter(isRepeatable));
  const text = textOfOutputs({ fields: { outputs } });
  const hasAnswer = Object.keys(expected).length === 0 && text !== undefined && text.trim() !== "";
  return { turns: [{ inputs }], answers: hasAnswer ? [text] : [], outputs: expected };
}

/** Longest text of an output that a model is expected to repeat. */
const MAX_REPEATED = 80;

/** IDs, times and addresses differ in each run. */
const differs =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\d|\d\d:\d\d|\d{10,}|:\/\//i;

/** Whether an output is likely to be the same again: short, and no ID, time or address. */
function isRepeatable([name, value]: readonly [string, unknown]): boolean {
  if (name === "" || name.includes(".")) return false; // a condition would take it for a path
  if (typeof value === "number") return !differs.test(String(value));
  if (typeof value !== "string") return typeof value === "boolean";
  const isShort = value.trim() !== "" && value.length <= MAX_REPEATED && !/[\r\n]/.test(value);
  return isShort && !differs.test(value);
}
