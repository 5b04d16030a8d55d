import { hiddenRows } from "../../../api/time-windows.ts";
import { CliError, usage } from "../../../errors.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { ExportedRun } from "../../../runs/otlp.ts";
import type { Context } from "../../task/command-spec.ts";
import { traceTools } from "../otlp/index.ts";
import { savedRecordings } from "../recording/index.ts";
import type { logsExportParams } from "./command.ts";
import { loggedRun } from "./query.ts";
import type { LogQuery } from "./query.ts";

type TracesInput = Input<typeof logsExportParams>;

/** Traces of the runs of log rows. */
export type Traces = NonNullable<Awaited<ReturnType<typeof openTraces>>>;

/** Runs without nodes that are named. */
const MAX_NAMED = 3;

/**
 * Makes traces of log rows, and sends them to --otlp; undefined if the command needs none. Throws `usage` for a
 * URL that cannot be used.
 */
export async function openTraces({ otlp, with_detail }: TracesInput, context: Context) {
  const isFormat = context.options.format === "otlp";
  if (otlp === undefined && !isFormat) return undefined;
  if (isFormat && with_detail) throw usage("--with-detail cannot be used with -o otlp");
  const { traceSender, traceWriter } = await traceTools();
  const deliver = otlp === undefined ? undefined : traceSender(otlp, context);
  const { spans, request } = traceWriter(context);
  const recorded = await savedRecordings(context);
  const without: string[] = [];
  let [sent, unfinished, rejected] = [0, 0, 0];

  const runOf = async (log: WorkflowLog): Promise<ExportedRun[]> => {
    const { run: id, at = 0, seconds = 0, ...facts } = loggedRun(log);
    if (id === undefined) return [];
    if (!isEnded(facts.status)) {
      unfinished++;
      return [];
    }
    const trace = recorded.has(id) ? (await recorded.load(id))?.trace : undefined;
    if (!trace) without.push(id);
    const { created_at, finished_at } = log.workflow_run ?? {};
    const startedAt = 1000 * (created_at ?? at);
    const endedAt = Math.max(startedAt + 1000 * seconds, 1000 * (finished_at ?? 0));
    const seen = { startedAt: trace?.startedAt ?? startedAt, endedAt: trace?.lastAt ?? endedAt };
    return [{ id, ...facts, ...seen, trace }];
  };
  return {
    /** Sends the traces if --otlp is given; returns their lines for -o otlp. */
    async take(logs: readonly WorkflowLog[]): Promise<string> {
      const runs: ExportedRun[] = [];
      for (const log of logs) runs.push(...(await runOf(log)));
      if (deliver && runs.length > 0) rejected += await deliver(runs);
      sent += runs.length;
      const texts = isFormat ? await Promise.all(runs.map((run) => request(spans(run)))) : [];
      return texts.map((text) => `${text}\n`).join("");
    },
    /** Says what the traces lack. Throws `partial` if the collector rejected spans. */
    async report() {
      if (deliver) await context.notice(`${counted(sent, "run")} sent to the collector`);
      if (unfinished > 0)
        await context.notice(`${counted(unfinished, "unfinished run")} without a trace`);
      const ids = [...new Set(without)];
      const named = ids.slice(0, MAX_NAMED).join(", ");
      const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : "";
      if (ids.length > 0)
        await context.notice(
          `${counted(ids.length, "run")} without spans of nodes, because this machine has no recording of them: ${named}${more}`,
        );
      if (rejected > 0)
        throw new CliError("partial", `the collector rejected ${counted(rejected, "span")}`, {
          isResult: true,
        });
    },
  };
}

/** Whether the runs go to no file, but to stdout or to a collector alone. */
export const isUnfiled = ({ target, otlp }: TracesInput, { options }: Context): boolean =>
  (target === "-" && options.format === "otlp") ||
  (target === undefined && (otlp !== undefined || options.format === "otlp"));

/** Exports to stdout or to a collector: yields lines of traces, or a summary. */
export async function* exportTraces(
  input: TracesInput,
  { sent, keeps = () => true }: LogQuery,
  traces: Traces | undefined,
  { api, options }: Context,
): AsyncGenerator<unknown> {
  const flag = input.state !== undefined ? "--state" : "--overwrite";
  if (input.state !== undefined || input.overwrite) throw usage(`${flag} requires a target file`);
  let [rows, read, missing] = [0, 0, 0];
  for await (const window of api.windows(listWorkflowLogs, sent)) {
    const logs = window.rows.filter(keeps);
    [rows, read] = [rows + logs.length, read + window.rows.length];
    missing += window.missing;
    const text = await traces?.take(logs);
    if (options.format === "otlp") yield text;
  }
  if (options.format !== "otlp") yield { rows, read, missing, file: null };
  await traces?.report();
  if (missing > 0) throw hiddenRows(read, missing);
}
