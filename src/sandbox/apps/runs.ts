import {
  streamRunEvents,
  runWorkflow,
  runWorkflowById,
  getWorkflowRun,
  stopWorkflowRun,
} from "../../operations/workflows.ts";
import { fileLookup } from "./app-files.ts";
import { findApp, type AppDefinition } from "./app-definitions.ts";
import type { Engine, StopMode } from "./engine.ts";
import { type Call, type Clock, type Handler, on, HttpError, type Reply } from "../http/handler.ts";
import { validateInputs } from "./input-form.ts";
import { rejectedStart } from "./rejected-start.ts";
import { invalidParam, notFound, internalServerError } from "../http/errors.ts";
import {
  finishedLine,
  replayedLine,
  type RunEvent,
  snapshotEvents,
  spacedJson,
  storedInputs,
  systemInputs,
} from "./run-events.ts";
import { atLeast } from "../http/router.ts";
import { isUuidText, newId, toSeconds, workflowId } from "../storage/ids.ts";
import { type StoredProgress, type RunStore, type StoredRun } from "../storage/runs-store.ts";
import { type Channels, endEvents, eventStream } from "../http/sse.ts";
import { isObject } from "../../lib/json.ts";

/** What the handlers of applications share. */
export interface AppContext {
  readonly records: RunStore;
  readonly engine: Engine;
  readonly channels: Channels;
  readonly clock: Clock;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** The application whose key was sent; throws Refused where it is of the other mode. */
export function requireApp(call: Call, mode?: AppDefinition["mode"]): AppDefinition {
  const app = findApp(call.app);
  if (!app) throw new HttpError(403, "forbidden", "The app no longer exists.");
  if (mode !== undefined && app.mode !== mode) {
    const code = mode === "workflow" ? "not_workflow_app" : "not_chat_app";
    const text = "Please check if your app mode matches the right API route.";
    throw new HttpError(400, code, text);
  }
  return app;
}

/** The end user that a route insists on (server §2). */
export function requireUser(input: { readonly user?: string | undefined }): string {
  if (input.user) return input.user;
  throw invalidParam("Arg user must be provided.");
}

/** Did the request ask for events? Without a word the answer blocks (server §13). */
export const isStreaming = (call: Call): boolean =>
  isObject(call.body) && call.body["response_mode"] === "streaming";

/** Will the record of the run tell of the stop? A fault may keep it from that. */
export const stopMode = (call: Call): StopMode =>
  call.plan["stays-running"] ? "stays running" : "recorded";

/** A run that has done nothing yet. */
export const newProgress = (variables: StoredProgress["variables"]): StoredProgress => ({
  position: 0,
  variables,
  executions: [],
  steps: 0,
  exceptions: 0,
  said: "",
});

const isAbrupt = (version: string) => !atLeast(version, "1.13.0") || atLeast(version, "1.15.0");

/** Runs what was stored, and answers with its events: until it ends or pauses. */
export function startStream(room: AppContext, run: StoredRun, call: Call): Reply {
  const subscription = room.channels.subscribe(run.id, call.version);
  const both = AbortSignal.any([call.signal, room.closing]);
  const rules = {
    endsOn: endEvents.pause,
    kept: () => room.engine.live(run.id) !== undefined,
    abrupt: isAbrupt(call.version),
  };
  const lines = eventStream(subscription, rules, room.clock, both);
  void room.engine.go(run, "initial", call.version);
  return { stream: lines };
}

/** Start of a run, its detail, its events and its stop. */
export function runHandlers(room: AppContext): readonly Handler[] {
  const { records, engine } = room;

  async function execute(
    app: AppDefinition,
    input: { readonly inputs?: unknown; readonly user?: string | undefined },
    call: Call,
  ): Promise<Reply> {
    const user = records.endUser(app.name, requireUser(input));
    const inputs = validateInputs(app, input.inputs, fileLookup(records, app.name, user.id));
    const id = newId(records.random);
    const started: StoredRun = {
      id,
      app: app.name,
      endUserId: user.id,
      user: user.session_id,
      taskId: newId(records.random),
      logId: newId(records.random),
      conversationId: null,
      messageId: null,
      status: "running",
      inputs: { ...inputs, ...systemInputs(app.name, user.session_id, id) },
      outputs: {},
      error: null,
      createdAt: records.now(),
      finishedAt: null,
      elapsed: 0,
      totalSteps: 0,
      exceptions: 0,
      progress: newProgress({ s: inputs }),
    };
    records.addRun(started);
    if (isStreaming(call)) return startStream(room, started, call);
    return {
      json: blockingAnswer(started, await engine.go(started, "initial", call.version)),
      utf8: true,
    };
  }

  async function start(
    app: AppDefinition,
    input: { readonly inputs?: unknown; readonly user: string },
    call: Call,
  ): Promise<Reply> {
    try {
      return await execute(app, input, call);
    } catch (failure) {
      if (!isStreaming(call)) throw failure;
      const told = { app: app.name, inputs: input.inputs };
      return rejectedStart(failure, told, call, { ...room, random: records.random });
    }
  }

  return [
    on(runWorkflow, (input, call) => {
      const user = requireUser(input);
      return start(requireApp(call, "workflow"), { ...input, user }, call);
    }),

    on(runWorkflowById, (input, call) => {
      const user = requireUser(input);
      const app = requireApp(call, "workflow");
      const { workflow_id } = input;
      if (!isUuidText(workflow_id)) {
        // The blank at the end is the server's.
        throw new HttpError(400, "bad_request", `Invalid workflow_id format: '${workflow_id}'. `);
      }
      if (workflow_id !== workflowId(app.name)) {
        throw notFound(`Workflow not found with id: ${workflow_id}`);
      }
      return start(app, { ...input, user }, call);
    }),

    on(getWorkflowRun, ({ workflow_run_id }, call) => {
      if (!isUuidText(workflow_run_id)) throw internalServerError();
      const found = records.run(requireApp(call).name, workflow_run_id);
      if (!found) throw notFound("Workflow run not found.");
      return { json: detail(found) };
    }),

    on(stopWorkflowRun, (input, call) => {
      const user = requireUser(input);
      const app = requireApp(call, "workflow");
      records.endUser(app.name, user);
      engine.stop(input.task_id, stopMode(call), (live) => live.app === app.name);
      return { json: { result: "success" } };
    }),

    on(streamRunEvents, (input, call) => {
      const app = requireApp(call);
      const user = records.endUser(app.name, requireUser(input));
      if (!isUuidText(input.workflow_run_id)) throw internalServerError();
      const found =
        engine.live(input.workflow_run_id) ?? records.run(app.name, input.workflow_run_id);
      if (!found || found.app !== app.name || found.endUserId !== user.id) {
        throw notFound("Workflow run not found");
      }
      return { stream: attached(room, found, call) };
    }),
  ];
}

/** The events of a run for somebody who comes later (server §15.3). */
function attached(room: AppContext, found: StoredRun, call: Call): AsyncIterable<string> {
  const flag = (name: string) => call.query.get(name)?.toLowerCase() === "true";
  const replay = flag("include_state_snapshot");
  const onwards = flag("continue_on_pause");
  if (found.finishedAt !== null) return once(finishedLine(found));

  const both = AbortSignal.any([call.signal, room.closing]);
  const subscription = room.channels.subscribe(found.id, call.version, call.plan.lose);
  const abrupt = isAbrupt(call.version);
  const live = () => room.engine.live(found.id) !== undefined;
  if (!replay) {
    const endsOn = onwards ? endEvents.never : endEvents.pause;
    return eventStream(subscription, { endsOn, kept: live, abrupt }, room.clock, both);
  }
  const { records } = room;
  const answer =
    found.messageId === null ? null : (records.message(found.app, found.messageId)?.answer ?? "");
  // What the run waits for, also where a form was answered that it never learns of (server §14).
  const waiting = records
    .formsOf(found.id)
    .filter(({ nodeId }) => !(nodeId in found.progress.variables));
  const first = snapshotEvents(found, waiting, answer, call.version).map((event) =>
    replayedLine(found, event),
  );
  return eventStream(
    subscription,
    {
      first,
      endsOn: onwards ? endEvents.finish : endEvents.pause,
      ended: found.status === "paused" && !onwards,
      abrupt,
    },
    room.clock,
    both,
  );
}

async function* once(line: string): AsyncGenerator<string> {
  yield line;
}

/** What a blocking run answers: HTTP 200 also where it failed or waits (server §13). */
function blockingAnswer(ran: StoredRun, ending: RunEvent): object {
  const told = ending.data ?? {};
  const waits = told["status"] === "paused";
  return {
    task_id: ran.taskId,
    workflow_run_id: ran.id,
    data: {
      id: ran.id,
      workflow_id: workflowId(ran.app),
      status: ran.status,
      outputs: ran.outputs,
      error: ran.error,
      elapsed_time: told["elapsed_time"],
      total_tokens: 0,
      total_steps: ran.totalSteps,
      created_at: toSeconds(ran.createdAt),
      finished_at: ran.finishedAt === null ? null : toSeconds(ran.finishedAt),
      ...(waits && { paused_nodes: told["paused_nodes"], reasons: told["reasons"] }),
    },
  };
}

const detail = (found: StoredRun) => ({
  id: found.id,
  workflow_id: workflowId(found.app),
  status: found.status,
  inputs: spacedJson(storedInputs(found)),
  outputs: found.outputs,
  error: found.error,
  total_steps: found.totalSteps,
  total_tokens: 0,
  created_at: toSeconds(found.createdAt),
  finished_at: found.finishedAt === null ? null : toSeconds(found.finishedAt),
  elapsed_time: found.elapsed,
});
