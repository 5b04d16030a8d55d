import { isUuid } from "../../lib/text.ts";
import type { InputOf } from "../../operations/operation.ts";
import type * as workflows from "../../operations/workflows.ts";
import { internalServerError, raise, spaced } from "../protocol/response.ts";
import type { EventLines, Reply } from "../protocol/handler.ts";
import { numberParam } from "../protocol/validation.ts";
import { toSeconds, workflowId } from "../protocol/ids.ts";
import type { StoredRun, RunStore } from "./records/runs-store.ts";
import type { SqlValue } from "../storage/sqlite.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import { requireApp, requireUser, stopMode } from "./context.ts";
import type { AppContext, AppHandlers, AppCall } from "./context.ts";
import { endEvents } from "./run/event-stream.ts";
import {
  isNodeDone,
  finishedLine,
  replayedLine,
  snapshotEvents,
  storedInputs,
  formNode,
} from "./records/run-events.ts";
import { fillShape, appError } from "./records/shapes.ts";
import { storeRun, startRun, streamRun } from "./start-run.ts";
import { isObject } from "../../lib/json.ts";
import type * as forms from "../../operations/forms.ts";

/** Start of a run, its detail, events and stop, and the logs. */
export const runHandlers: AppHandlers<typeof workflows> = {
  runWorkflow: startWorkflow,

  runWorkflowById(context, input, call) {
    requireUser(input);
    const { name } = requireApp(call, "workflow");
    const { workflow_id: id } = input;
    if (!isUuid(id)) throw appError("workflow ID invalid", { id });
    if (id !== workflowId(name)) throw appError("workflow missing", { id });
    return startWorkflow(context, input, call);
  },

  getWorkflowRun({ records }, { workflow_run_id: id }, call) {
    if (!isUuid(id)) throw internalServerError();
    const run = records.runs.find({ app: call.app.name, id }) ?? raise(appError("run missing"));
    return { json: fillShape("run detail", { run, inputs: spaced(storedInputs(run)) }) };
  },

  stopWorkflowRun({ records, engine }, input, call) {
    const user = requireUser(input);
    const app = requireApp(call, "workflow");
    records.endUser(app.name, user);
    engine.stop(input.task_id, stopMode(call), (run) => run.app === app.name);
    return { json: { result: "success" } };
  },

  streamRunEvents(context, input, call) {
    const { records, engine } = context;
    const app = call.app;
    const user = records.endUser(app.name, requireUser(input));
    const id = input.workflow_run_id;
    if (!isUuid(id)) throw internalServerError();
    const run = engine.activeRun(id) ?? records.runs.find({ id });
    const isOwn = run?.app === app.name && run.end_user_id === user.id;
    if (!isOwn) throw appError("events missing");
    return { stream: attach(context, run, call) };
  },

  listWorkflowLogs: listLogs,
};

function startWorkflow(
  context: AppContext,
  input: { readonly inputs?: unknown; readonly user?: string | undefined },
  call: AppCall,
): Promise<Reply> {
  const user = requireUser(input);
  requireApp(call, "workflow");
  return startRun(context, call, {
    user,
    inputs: input.inputs,
    add: (endUser, validated) => storeRun(context, endUser, { call, inputs: validated }),
    // HTTP 200 even if the run failed or paused (server §13)
    respond(run, last) {
      const { paused_nodes, reasons } = last; // only of a pause
      return fillShape("blocking run", { run, last, paused_nodes, reasons });
    },
  });
}

/** Streams the events of a run to a client that connects later (server §15.3). */
function attach(context: AppContext, run: StoredRun, call: AppCall): EventLines {
  const { records, engine } = context;
  if (run.finished_at !== null) return [finishedLine(run)];

  const flag = (name: string) => call.query.get(name)?.toLowerCase() === "true";
  const continueOnPause = flag("continue_on_pause");
  if (!flag("include_state_snapshot")) {
    const endsOn = continueOnPause ? endEvents.never : endEvents.pause;
    const isActive = () => engine.activeRun(run.id) !== undefined;
    return streamRun(context, call, run.id, { endsOn, isActive });
  }
  const { message_id } = run;
  const answer = message_id && (records.messages.find({ id: message_id })?.answer ?? "");
  // Includes forms that were submitted but never reached the run (server §14).
  const waiting = records.forms
    .list({ run_id: run.id }, "expires_at")
    .filter(({ node_id }) => !isNodeDone(run, node_id));
  const events = snapshotEvents(run, { app: call.app, waiting, answer, version: call.version });
  return streamRun(context, call, run.id, {
    first: events.map((event) => replayedLine(run, event)),
    endsOn: continueOnPause ? endEvents.finish : endEvents.pause,
    ended: run.status === "paused" && !continueOnPause,
  });
}

/** Forms of paused runs. */
export const formHandlers: AppHandlers<typeof forms> = {
  getForm({ records }, { form_token }, call) {
    return { json: fillShape("form", openForm(records, call.app, form_token)) };
  },

  submitForm({ records, engine }, input, call) {
    const user = requireUser(input);
    const { form_token: token, action } = input;
    const { form, node } = openForm(records, call.app, token);
    if (!node.user_actions.some(({ id }) => id === action)) {
      throw appError("form action invalid", { action });
    }
    const inputs = isObject(input.inputs) ? input.inputs : {};
    const names = node.inputs.map((field) => field.output_variable_name);
    const missing = names.filter((name) => !(name in inputs));
    if (missing.length > 0) throw appError("form inputs missing", { names: missing.join(", ") });
    records.endUser(form.app, user);
    records.forms.update({ token }, { status: "submitted", action, inputs });
    const run = records.runs.find({ id: form.run_id });
    if (run) engine.resume(run, call.version);
    return { json: {} };
  },
};

/** Returns the open form with that token, and its node; throws HttpError (server §14). */
function openForm(records: RunStore, app: AppDefinition, token: string) {
  const form =
    records.forms.find({ app: app.name, token }) ?? raise(appError("form missing", { token }));
  const node = formNode(app, form) ?? raise(appError("form missing", { token }));
  const { status, id } = form;
  if (status !== "waiting") throw appError(`form ${status}`, { id });
  return { form, node };
}

/** The only account of the sandbox; it started no runs. */
const ACCOUNT = "admin@example.com";

type LogRow = Omit<StoredRun, "inputs" | "outputs" | "progress">;

/** Lists the runs that match the filters of the query. */
function listLogs(
  { records }: AppContext,
  input: InputOf<typeof workflows.listWorkflowLogs>,
  call: AppCall,
): Reply {
  const app = call.app;
  const page = numberParam(call.query, "WorkflowLogQuery", "page", [1, 99_999]);
  const limit = numberParam(call.query, "WorkflowLogQuery", "limit", [1, 100]);
  const conditions: Condition[] = [
    ["app = ? AND log_id IS NOT NULL", app.name],
    ...logConditions(input, call.query),
  ];
  // Without the columns of JSON, which may be large.
  const rows = records.store.all<LogRow>(
    `SELECT log_id, id, status, error, elapsed_time, total_steps, total_tokens, exceptions_count,
       created_at, finished_at, end_user_id, session_id FROM runs
     WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`,
    ...conditions.flatMap(([, ...values]) => values),
  );
  const data = sortBySecond(rows, records.random)
    .slice((page - 1) * limit, page * limit)
    .map((row) => fillShape("log", { ...row }));
  const has_more = rows.length > page * limit;
  return { json: { page, limit, total: rows.length, has_more, data } };
}

/** A condition of a WHERE clause, and its values. */
type Condition = readonly [sql: string, ...values: SqlValue[]];

function* logConditions(
  input: InputOf<typeof workflows.listWorkflowLogs>,
  query: URLSearchParams,
): Generator<Condition> {
  const { keyword, status, created_by_account, created_by_end_user_session_id: session } = input;
  const after = query.get("created_at__after");
  const before = query.get("created_at__before");
  // Rows have whole seconds, and both bounds are inclusive.
  if (after) yield ["created_at >= ?", Math.ceil(isoTime(after) / 1000) * 1000];
  if (before) yield ["created_at < ?", (toSeconds(isoTime(before)) + 1) * 1000];
  if (created_by_account !== undefined && created_by_account !== ACCOUNT)
    throw appError("account missing", { account: created_by_account });
  if (created_by_account !== undefined) yield ["0"];
  // The server joins one table twice and fails (server §12).
  if (keyword && session) throw internalServerError();
  if (session) yield ["session_id = ?", session];
  if (status !== undefined) yield ["status = ?", status];
  if (!keyword) return;
  if (isUuid(keyword)) return void (yield ["id = ?", keyword.toLowerCase()]);
  const pattern = `%${keyword.slice(0, 30).replace(/[\\%_]/g, "\\$&")}%`;
  const columns = ["inputs", "outputs", "session_id"];
  const condition = columns.map((column) => `${column} LIKE ? ESCAPE '\\'`).join(" OR ");
  yield [`(${condition})`, ...columns.map(() => pattern)];
}

/** Newest second first, each in random order: pages can skip and repeat rows, as recorded (server §12). */
const sortBySecond = (rows: readonly LogRow[], random: () => number): LogRow[] =>
  rows
    .map((row) => ({ row, second: toSeconds(row.created_at), chance: random() }))
    .sort((a, b) => b.second - a.second || a.chance - b.chance)
    .map(({ row }) => row);

const FORMAT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Parses an ISO 8601 time to ms since 1970: a date alone, or with a time, and `Z`, an offset or none
 * (UTC). Throws HttpError with the texts of the server's parser for other texts (server §12).
 */
export function isoTime(text: string): number {
  const [, date = "", time = "00:00", zone = "Z"] = FORMAT.exec(text) ?? [];
  const day = new Date(`${date}T00:00Z`);
  const ms = Date.parse(`${date}T${time}${zone}`);
  // Date.parse takes the 30th of February for the 2nd of March.
  if (!Number.isNaN(ms) && day.toISOString().startsWith(date)) return ms;
  if (!/^\d{4}/.test(text)) throw appError("time without year", { start: text.slice(0, 4) });
  throw appError(/^\d+$/.test(text) ? "time too short" : "time with more parts");
}
