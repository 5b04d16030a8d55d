import { once } from "node:events";
import { atLeast } from "../../lib/version.ts";
import type { Reply } from "../protocol/handler.ts";
import { HttpError, statusError, dataLine } from "../protocol/response.ts";
import type {
  StoredAnnotation,
  StoredEndUser,
  StoredRun,
  StoredMessage,
} from "./records/runs-store.ts";
import { type AppDefinition, nodesOf, type ModelConfig } from "./definitions/app-definitions.ts";
import { closing, isStreaming, requireNodeModels } from "./context.ts";
import type { AppContext, AppCall } from "./context.ts";
import { endEvents, streamLines, type StreamRules } from "./run/event-stream.ts";
import { PING, liveLine, messageMetadata, outputText } from "./records/run-events.ts";
import { citationsOfAnswer, fillShape, appError } from "./records/shapes.ts";
import { type RunEvent, runEvent } from "../protocol/fill.ts";
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { RuleAnswer } from "../models/language-model.ts";
import { fileLookup, validateInputs, type FileLookup, resolveFile } from "./inputs.ts";
import { toSeconds } from "../protocol/ids.ts";
import { findConversation, openConversation } from "./conversations.ts";

/** A request that starts a run. */
interface Start {
  readonly user: string;
  readonly inputs: unknown;
  /** Stores the run with the validated inputs; throws HttpError if another field is invalid. */
  readonly add: (endUser: StoredEndUser, inputs: Inputs) => StoredRun;
  /** What replies without a run. */
  readonly annotation?: StoredAnnotation | undefined;
  /** The response of a blocking run. */
  readonly respond: (run: StoredRun, last: NonNullable<RunEvent["data"]>) => object;
}

type Inputs = Readonly<Record<string, unknown>>;

/** Validates the inputs, starts the run, and streams its events or waits until it ends or pauses. */
export async function startRun(context: AppContext, call: AppCall, start: Start): Promise<Reply> {
  const { records, engine } = context;
  const { user, inputs, add, respond } = start;
  const { app } = call;
  requireNodeModels(context, app);
  let run: StoredRun;
  try {
    const endUser = records.endUser(app.name, user);
    const validated = validateInputs(app, inputs, fileLookup(records, endUser));
    run = records.store.transaction(() => add(endUser, validated));
  } catch (error) {
    return rejectedStart(error, start, call, context);
  }
  if (start.annotation) return replyWithAnnotation(context, call, run, start.annotation);
  if (!isStreaming(call)) {
    const { data = {} } = await engine.run(run, "initial", call.version);
    return { json: respond(run, data), utf8: true };
  }
  const isActive = () => engine.activeRun(run.id) !== undefined;
  const stream = streamRun(context, call, run.id, { endsOn: endEvents.pause, isActive });
  void engine.run(run, "initial", call.version);
  return { stream };
}

/** Streams the events of a run from now on to the client of a request. */
export function streamRun(
  context: AppContext,
  call: AppCall,
  runId: string,
  rules: StreamRules,
): AsyncIterable<string> {
  const { version, plan } = call;
  const subscription = context.channels.subscribe(runId, version, plan.lose);
  const closesAtOnce = !atLeast(version, "1.13.0") || atLeast(version, "1.15.0");
  const signal = closing(context, call);
  // A generator that was never started does not run its `finally` block.
  signal.addEventListener("abort", () => subscription.close("disconnected"), { once: true });
  return streamLines(subscription, { ...rules, closesAtOnce }, context.clock, signal);
}

interface NewRun {
  readonly call: AppCall;
  readonly inputs: Inputs;
  /** What a run of a chatflow has beside its inputs. */
  readonly chat?: {
    readonly query: string;
    readonly dialogue: number;
    readonly files: readonly object[];
    readonly conversation: { readonly id: string; readonly variables: Record<string, string> };
  };
}

/** Stores a run that has not started yet; of a chatflow, with the IDs of its conversation and message. */
export function storeRun(
  context: AppContext,
  endUser: StoredEndUser,
  { call, inputs, chat }: NewRun,
): StoredRun {
  const { records } = context;
  const { app } = call;
  const id = records.newId();
  const { id: end_user_id, session_id } = endUser;
  const { query, dialogue, files = [], conversation } = chat ?? {};
  const asked = { query: query ?? "", inputs, conversation_id: conversation?.id };
  const drawn = drawAnswer(context, call, asked);
  const system = { app: app.name, user: session_id, id, query, dialogue, files };
  const variables = conversation && {
    sys: { query, user_id: session_id },
    conversation: conversation.variables,
  };
  const starts = nodesOf(app, "start").map((node) => [node.id, inputs] as const);
  return records.runs.insert({
    id,
    app: app.name,
    end_user_id,
    session_id,
    task_id: records.newId(),
    log_id: chat ? null : records.newId(),
    conversation_id: conversation?.id ?? null,
    message_id: chat ? records.newId() : null,
    status: "running",
    inputs: { ...inputs, ...fillShape("system inputs", system) },
    outputs: {},
    elapsed_time: 0,
    total_steps: 0,
    total_tokens: 0,
    exceptions_count: 0,
    progress: {
      variables: { ...Object.fromEntries(starts), ...variables },
      executions: [],
      steps: 0,
      exceptions: 0,
      said: "",
      ...(drawn && { drawn, citations: citationsOfAnswer(drawn, "workflow") }),
    },
  });
}

/**
 * The reply to a streaming start with invalid inputs: the server's worker checks them after the
 * status 200 was sent. Since 1.15 the stream shows a run that is stored nowhere; in 1.14 it shows
 * the error, and then pings (server §13). Rethrows any other error.
 */
function rejectedStart(
  error: unknown,
  { inputs }: Start,
  call: AppCall,
  context: AppContext,
): Reply {
  const isRejection = error instanceof HttpError && error.code === "invalid_param";
  if (!isRejection || !isStreaming(call) || !atLeast(call.version, "1.14.0")) throw error;
  const id = context.records.newId();
  if (!atLeast(call.version, "1.15.0")) {
    const first = [dataLine({ event: "error", message: error.message, status: 500 })];
    return { stream: streamRun(context, call, id, { first, endsOn: endEvents.never }) };
  }
  const run = { id, task_id: id, app: call.app.name, inputs };
  return { stream: [PING, ...unstartedRun(run, error.message, context.records.now())] };
}

/** The events of a run that failed before it began. */
function unstartedRun(
  { id, task_id, app, inputs }: Pick<StoredRun, "id" | "task_id" | "app"> & { inputs: unknown },
  error: string,
  since: number,
): string[] {
  const counts = { elapsed_time: 0, total_tokens: 0, total_steps: 0, exceptions_count: 1 };
  const withoutUser = { end_user_id: null, session_id: null };
  const ended = { status: "failed", error, outputs: null, finished_at: since };
  const run = { id, app, ...counts, ...withoutUser, ...ended };
  const { data: started } = runEvent("workflow_started", { run, inputs, since, reason: "initial" });
  const { data: finished } = runEvent("workflow_finished", { run, since });
  const envelope = { task_id, workflow_run_id: id };
  return [
    dataLine({ event: "workflow_started", ...envelope, data: started }),
    dataLine({ event: "workflow_finished", ...envelope, data: { ...finished, created_by: {} } }),
  ];
}

/**
 * Replies to a message of a chatflow with an annotation: the run of the message never starts. Streams of
 * 1.16 say at their end that it failed, others never end (server §18).
 */
function replyWithAnnotation(
  context: AppContext,
  call: AppCall,
  run: StoredRun,
  { answer }: StoredAnnotation,
): Reply {
  run.status = "succeeded";
  run.finished_at = context.records.now();
  run.progress.said = answer;
  context.records.saveSegment(run, "normal");
  // The annotation is not named here (server §18).
  const metadata = { ...messageMetadata(run, call.version), annotation_reply: undefined };
  if (!isStreaming(call))
    return { json: fillShape("blocking message", { run, metadata }), utf8: true };
  const isNew = atLeast(call.version, "1.16.0");
  const message = runEvent("message", { run, text: answer, selector: isNew ? [] : null });
  const end = runEvent("message_end", { run, metadata });
  const lines = [PING, liveLine(run, message), liveLine(run, end)];
  if (!isNew) return { stream: endless(lines, closing(context, call)) };
  const error = "Workflow stream ended without a terminal event";
  const failed = unstartedRun({ ...run, inputs: {} }, error, context.records.now());
  return { stream: [...lines, ...failed] };
}

/** A stream that sends these lines, and then nothing until the client leaves (server §18). */
async function* endless(lines: readonly string[], left: AbortSignal): AsyncGenerator<string> {
  yield* lines;
  if (!left.aborted) await once(left, "abort");
}

/**
 * Draws what an application with rules answers; undefined for any other application. Without a message the
 * inputs are the question. Throws HttpError if the answer is a status.
 */
export function drawAnswer(
  { draws, records }: AppContext,
  { app, plan }: AppCall,
  { query, inputs: sent, conversation_id }: SentMessage,
): RuleAnswer | undefined {
  if (!app.rules) return undefined;
  const inputs = isObject(sent) ? sent : {};
  const values = app.inputs.map(({ variable }) => inputs[variable] ?? "");
  const earlier = conversation_id
    ? records.messages.list({ conversation_id }, "position").map((message) => message.query)
    : [];
  const question = query || values.map(outputText).join("\n");
  const drawn = draws.draw(app.rules, { app: app.name, question, earlier });
  const { answer } = plan;
  if (answer !== undefined) return { ...drawn, answer, error: undefined };
  if (drawn.status !== undefined) throw statusError(drawn.status);
  return drawn;
}

/** A message to a basic application, as sent. */
export interface SentMessage {
  /** Empty for completions, whose text is in the inputs. */
  readonly query: string;
  readonly inputs: unknown;
  readonly conversation_id?: string | undefined;
  readonly files?: unknown;
  readonly auto_generate_name?: boolean | undefined;
}

/** A stored message that a basic application answers. */
export interface Turn {
  readonly app: AppDefinition;
  readonly config: ModelConfig;
  readonly endUser: StoredEndUser;
  readonly message: StoredMessage;
  readonly task_id: string;
  /** Origin of the addresses of files. */
  readonly origin: string;
  /** Server version to imitate. */
  readonly version: string;
  /** The answer names the conversation. */
  readonly names: boolean;
}

/** Validates a message and stores it, in a new conversation or in that of the request. */
export function openTurn(
  { records }: AppContext,
  { app, config, endUser }: Pick<Turn, "app" | "config" | "endUser">,
  sent: SentMessage,
  call: AppCall,
): Turn {
  const findFile = fileLookup(records, endUser);
  const { query, conversation_id, auto_generate_name = true } = sent;
  const known = findConversation(records, endUser, conversation_id);
  // A conversation keeps the inputs of its first message; those that were not sent are null.
  const inputs = known?.inputs ?? {
    ...Object.fromEntries(app.inputs.map(({ variable }) => [variable, null])),
    ...validateInputs(app, sent.inputs, findFile),
  };
  const files = acceptedFiles(app, sent.files, findFile);
  return records.store.transaction(() => {
    const { id } = known ?? openConversation(records, app, endUser, { query, inputs });
    const position = records.messages.count({ conversation_id: id }) + 1;
    const message = records.messages.insert({
      position,
      app: app.name,
      conversation_id: id,
      run_id: "",
      inputs,
      query,
      answer: "",
      status: "normal",
      files,
    });
    const names = position === 1 && auto_generate_name;
    const { origin, version } = call;
    return { app, config, endUser, message, task_id: records.newId(), origin, version, names };
  });
}

/** The files of a message; they are dropped if the application accepts none (server §18). */
function acceptedFiles(app: AppDefinition, sent: unknown, findFile: FileLookup): object[] {
  const { file_upload } = app.features;
  if (!file_upload?.enabled || !Array.isArray(sent)) return [];
  return sent.map((each: unknown) => {
    const file: { readonly filename?: string } = resolveFile(each, findFile);
    const type = isObject(each) ? each["type"] : undefined;
    if (!file_upload.allowed_file_types.some((allowed) => allowed === type)) {
      throw appError("file not allowed", { name: file.filename ?? "" });
    }
    return file;
  });
}

/** The conversation that a message reports; completions have none (server §18). */
export const conversationOf = ({ app, message }: Turn): string | undefined =>
  app.mode === "completion" ? undefined : message.conversation_id;

/** Formats an event of a turn; an error names no task, and an end of 1.16 has no nulls (server §18). */
export function turnLine(turn: Turn, { event, fields }: RunEvent): string {
  const isShort = event === "message_end" && atLeast(turn.version, "1.16.0");
  return dataLine({
    event,
    conversation_id: conversationOf(turn),
    message_id: turn.message.id,
    created_at: toSeconds(turn.message.created_at),
    task_id: event === "error" ? undefined : turn.task_id,
    ...(isShort
      ? { ...(withoutInnerNulls(fields) as object), files: fields?.["files"] ?? [] }
      : fields),
  });
}

function withoutInnerNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutInnerNulls);
  if (!isObject(value)) return value;
  const fields = Object.entries(withoutNulls(value));
  return Object.fromEntries(fields.map(([name, each]) => [name, withoutInnerNulls(each)]));
}
