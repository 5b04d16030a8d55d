import * as operations from "../../operations/workflows.ts";
import { internalServerError, notFound } from "../http/errors.ts";
import { bindHandlers, type Call, type Handlers, HttpError, type Reply } from "../http/handler.ts";
import { atLeast } from "../http/router.ts";
import { endEvents, eventStream } from "../http/sse.ts";
import { isUuidText, toSeconds, toSecondsOrNull, workflowId } from "../storage/ids.ts";
import type { StoredRun } from "../storage/runs-store.ts";
import { fileLookup } from "./app-files.ts";
import type { AppDefinition } from "./app-definitions.ts";
import { type AppContext, isStreaming, requireApp, requireUser, stopMode } from "./context.ts";
import { validateInputs } from "./input-form.ts";
import { listLogs } from "./logs.ts";
import { rejectedStart } from "./rejected-start.ts";
import {
  finishedLine,
  replayedLine,
  type RunEvent,
  snapshotEvents,
  spacedJson,
  storedInputs,
  systemInputs,
} from "./run-events.ts";

/** Start of a run, its detail, events and stop, and the logs. */
const handlers: Handlers<typeof operations, AppContext> = {
  runWorkflow(context, input, call) {
    const user = requireUser(input);
    return startRun(context, requireApp(call, "workflow"), { ...input, user }, call);
  },

  runWorkflowById(context, input, call) {
    const user = requireUser(input);
    const app = requireApp(call, "workflow");
    const { workflow_id } = input;
    if (!isUuidText(workflow_id)) {
      // The server's text ends with a space.
      throw new HttpError(400, "bad_request", `Invalid workflow_id format: '${workflow_id}'. `);
    }
    if (workflow_id !== workflowId(app.name)) {
      throw notFound(`Workflow not found with id: ${workflow_id}`);
    }
    return startRun(context, app, { ...input, user }, call);
  },

  getWorkflowRun({ records }, { workflow_run_id }, call) {
    if (!isUuidText(workflow_run_id)) throw internalServerError();
    const run = records.run(requireApp(call).name, workflow_run_id);
    if (!run) throw notFound("Workflow run not found.");
    return { json: runDetail(run) };
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
    const app = requireApp(call);
    const user = records.endUser(app.name, requireUser(input));
    const id = input.workflow_run_id;
    if (!isUuidText(id)) throw internalServerError();
    const run = engine.activeRun(id) ?? records.run(app.name, id);
    if (!run || run.app !== app.name || run.end_user_id !== user.id) {
      throw notFound("Workflow run not found");
    }
    return { stream: attach(context, run, call) };
  },

  listWorkflowLogs: listLogs,
};

export const runHandlers = bindHandlers(operations, handlers);

/** Starts a stored run and streams its events until it ends or pauses. */
export function startStream(context: AppContext, run: StoredRun, call: Call): Reply {
  const subscription = context.channels.subscribe(run.id, call.version);
  const signal = AbortSignal.any([call.signal, context.closing]);
  const rules = {
    endsOn: endEvents.pause,
    isActive: () => context.engine.activeRun(run.id) !== undefined,
    closesAtOnce: closesAtOnce(call.version),
  };
  const stream = eventStream(subscription, rules, context.clock, signal);
  void context.engine.run(run, "initial", call.version);
  return { stream };
}

const closesAtOnce = (version: string) => !atLeast(version, "1.13.0") || atLeast(version, "1.15.0");

async function startRun(
  context: AppContext,
  app: AppDefinition,
  input: { readonly inputs?: unknown; readonly user: string },
  call: Call,
): Promise<Reply> {
  const { records, engine } = context;
  let run: StoredRun;
  try {
    const endUser = records.endUser(app.name, input.user);
    const inputs = validateInputs(app, input.inputs, fileLookup(records, endUser));
    const id = records.newId();
    run = records.addRun({
      id,
      app: app.name,
      endUser,
      log_id: records.newId(),
      inputs: { ...inputs, ...systemInputs(app.name, endUser.session_id, id) },
      variables: { s: inputs },
    });
  } catch (error) {
    return rejectedStart(error, { app: app.name, inputs: input.inputs }, call, context);
  }
  if (isStreaming(call)) return startStream(context, run, call);
  return {
    json: blockingResponse(run, await engine.run(run, "initial", call.version)),
    utf8: true,
  };
}

/** Streams the events of a run to a client that connects later (server §15.3). */
function attach(context: AppContext, run: StoredRun, call: Call): AsyncIterable<string> {
  const flag = (name: string) => call.query.get(name)?.toLowerCase() === "true";
  const continueOnPause = flag("continue_on_pause");
  if (run.finished_at !== null) return streamOf(finishedLine(run));

  const { records, channels, engine, clock } = context;
  const signal = AbortSignal.any([call.signal, context.closing]);
  const subscription = channels.subscribe(run.id, call.version, call.plan.lose);
  const common = { closesAtOnce: closesAtOnce(call.version) };
  if (!flag("include_state_snapshot")) {
    const endsOn = continueOnPause ? endEvents.never : endEvents.pause;
    const isActive = () => engine.activeRun(run.id) !== undefined;
    return eventStream(subscription, { ...common, endsOn, isActive }, clock, signal);
  }
  const answer =
    run.message_id === null ? null : (records.message(run.app, run.message_id)?.answer ?? "");
  // Includes forms that were submitted but never reached the run (server §14).
  const waiting = records
    .formsOf(run.id)
    .filter(({ node_id }) => !(node_id in run.progress.variables));
  const events = snapshotEvents(run, waiting, answer, call.version);
  const rules = {
    ...common,
    first: events.map((event) => replayedLine(run, event)),
    endsOn: continueOnPause ? endEvents.finish : endEvents.pause,
    ended: run.status === "paused" && !continueOnPause,
  };
  return eventStream(subscription, rules, clock, signal);
}

async function* streamOf(line: string): AsyncGenerator<string> {
  yield line;
}

/** Response of a blocking run: HTTP 200 even if it failed or paused (server §13). */
function blockingResponse(run: StoredRun, { data = {} }: RunEvent): object {
  return {
    task_id: run.task_id,
    workflow_run_id: run.id,
    data: {
      id: run.id,
      workflow_id: workflowId(run.app),
      status: run.status,
      outputs: run.outputs,
      error: run.error,
      elapsed_time: data["elapsed_time"],
      total_tokens: 0,
      total_steps: run.total_steps,
      created_at: toSeconds(run.created_at),
      finished_at: toSecondsOrNull(run.finished_at),
      ...(data["status"] === "paused" && {
        paused_nodes: data["paused_nodes"],
        reasons: data["reasons"],
      }),
    },
  };
}

const runDetail = (run: StoredRun) => ({
  id: run.id,
  workflow_id: workflowId(run.app),
  status: run.status,
  inputs: spacedJson(storedInputs(run)),
  outputs: run.outputs,
  error: run.error,
  total_steps: run.total_steps,
  total_tokens: 0,
  created_at: toSeconds(run.created_at),
  finished_at: toSecondsOrNull(run.finished_at),
  elapsed_time: run.elapsed_time,
});
