import type { Values } from "../api/request.ts";
import { isObject, tryParseJson } from "../lib/json.ts";
import type { AnyOperation } from "../operations/operation.ts";
import {
  getWorkflowRun,
  listWorkflowLogs,
  runWorkflow,
  runWorkflowById,
} from "../operations/workflows.ts";
import type { Following } from "./run-state.ts";

type Clock = Following["host"]["elapsed"];

/** Runs that were found, and when, by the clock of their process: two equal starts never take the same one. */
const foundBy = new WeakMap<Clock, Map<string, number>>();
/** ms after which no start looks for its run any more: a row waits 20 minutes for a response. */
const FORGET_AFTER = 3_600_000;

/**
 * Returns what finds the run that a request starts now, if its response does not arrive: the only one in the
 * log that its end user started since (server §12), with its inputs. Finds none if there are several.
 */
export function runFinder(
  { id }: AnyOperation,
  input: Values,
  { api, host }: Pick<Following, "api" | "host">,
): (() => Promise<string | undefined>) | undefined {
  if (id !== runWorkflow.id && id !== runWorkflowById.id) return undefined;
  const sentAt = host.elapsed();
  const found = foundBy.get(host.elapsed) ?? new Map<string, number>();
  foundBy.set(host.elapsed, found);
  return async () => {
    let serverNow = NaN;
    const user = String(input["user"] ?? (await api.user()));
    const logs = await api.call(
      listWorkflowLogs,
      { created_by_end_user_session_id: user },
      { onHeaders: ({ date = "" }) => void (serverNow = Date.parse(date) / 1000) },
    );
    const since = serverNow - Math.ceil((host.elapsed() - sentAt) / 1000) - 1;
    const runs: string[] = [];
    for (const { workflow_run: run, created_at } of logs) {
      if (!run || !(created_at >= since)) continue;
      const { inputs } = await api.call(getWorkflowRun, { workflow_run_id: run.id });
      if (!found.has(run.id) && hasInputs(inputs, input["inputs"])) runs.push(run.id);
    }
    const [run] = runs;
    if (run === undefined || runs.length > 1) return undefined;
    const now = host.elapsed();
    for (const [id, at] of found) if (now - at > FORGET_AFTER) found.delete(id);
    found.set(run, now);
    return run;
  };
}

/** Does a record have the inputs that were sent? Numbers may be sent as text, and files are stored differently. */
function hasInputs(stored: string | null, sent: unknown): boolean {
  const values: unknown = tryParseJson(stored ?? "");
  return Object.entries(isObject(sent) ? sent : {}).every(
    ([name, value]) =>
      typeof value === "object" || (isObject(values) && String(values[name]) === String(value)),
  );
}
