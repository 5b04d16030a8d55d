import type { Values } from "../api/request.ts";
import type { EventStage } from "../api/sse.ts";
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

/** Runs of starts, and since when they are known, by the clock of their process: two equal starts never take the same one. */
const knownBy = new WeakMap<Clock, Map<string, number>>();
/** ms after which no start looks for its run any more: a row waits 20 minutes for a response. */
const FORGET_AFTER = 3_600_000;

function knownRuns({ host }: Pick<Following, "host">): Map<string, number> {
  const known = knownBy.get(host.elapsed) ?? new Map<string, number>();
  knownBy.set(host.elapsed, known);
  return known;
}

function addKnown(id: string, known: Map<string, number>, now: number): void {
  for (const [earlier, at] of known) {
    if (now - at <= FORGET_AFTER) break; // they are in the order of time
    known.delete(earlier);
  }
  known.set(id, now);
}

/** Notes the run whose events arrive: no equal start whose response is lost takes it for its own. */
export function noteRun(context: Pick<Following, "host">): EventStage {
  let isNoted = false;
  return {
    batch(batch) {
      if (isNoted) return batch;
      const id = batch.find(({ fields }) => fields.workflow_run_id)?.fields.workflow_run_id;
      if (id) addKnown(id, knownRuns(context), context.host.elapsed());
      isNoted = Boolean(id);
      return batch;
    },
  };
}

/**
 * Returns what finds the run that a request starts now, if its response does not arrive: the only one in the
 * log that its end user started since (server §12), with its inputs. Finds none if there are several.
 */
export function runFinder(
  { id }: AnyOperation,
  input: Values,
  context: Pick<Following, "api" | "host">,
): (() => Promise<string | undefined>) | undefined {
  if (id !== runWorkflow.id && id !== runWorkflowById.id) return undefined;
  const { api, host } = context;
  const sentAt = host.elapsed();
  const known = knownRuns(context);
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
      if (!run || known.has(run.id) || !(created_at >= since)) continue;
      const { inputs } = await api.call(getWorkflowRun, { workflow_run_id: run.id });
      if (hasInputs(inputs, input["inputs"])) runs.push(run.id);
    }
    // Other starts may have got theirs while the records were read.
    const [run, another] = runs.filter((each) => !known.has(each));
    if (run === undefined || another !== undefined) return undefined;
    addKnown(run, known, host.elapsed());
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
