import * as audio from "../../operations/audio.ts";
import * as chats from "../../operations/chats.ts";
import * as completions from "../../operations/completions.ts";
import { invalidParam, notFound } from "../http/errors.ts";
import { bindHandlers, type Handlers, HttpError } from "../http/handler.ts";
import { toSeconds } from "../storage/ids.ts";
import type { RunStore, StoredRun } from "../storage/runs-store.ts";
import { fileLookup } from "./app-files.ts";
import type { AppDefinition } from "./app-definitions.ts";
import { type AppContext, isStreaming, requireApp, requireUser, stopMode } from "./context.ts";
import { openConversation } from "./conversations.ts";
import { resolveFile, validateInputs } from "./input-form.ts";
import { rejectedStart } from "./rejected-start.ts";
import { messageMetadata, type RunEvent, systemInputs } from "./run-events.ts";
import { startStream } from "./runs.ts";

/** Sending and stopping of chat messages. */
const messageHandlers: Handlers<typeof chats, AppContext> = {
  async sendMessage(context, input, call) {
    const { records, engine } = context;
    const user = requireUser(input);
    const app = requireApp(call, "advanced-chat");
    let run: StoredRun;
    try {
      run = records.store.transaction(() => addMessage(records, app, { ...input, user }));
    } catch (error) {
      return rejectedStart(error, { app: app.name, inputs: input.inputs ?? {} }, call, context);
    }
    if (isStreaming(call)) return startStream(context, run, call);
    const lastEvent = await engine.run(run, "initial", call.version);
    return { json: blockingResponse(run, lastEvent, call.version), utf8: true };
  },

  stopMessage({ engine }, input, call) {
    const user = requireUser(input);
    const { name } = requireApp(call, "advanced-chat");
    const isOwn = (run: StoredRun) => run.app === name && run.session_id === user;
    engine.stop(input.task_id, stopMode(call), isOwn);
    return { json: { result: "success" } };
  },

  listSuggestedQuestions({ records }, input, call) {
    requireUser(input);
    const app = requireApp(call, "advanced-chat");
    if (!records.message(app.name, input.message_id)) throw notFound("Message Not Exists.");
    throw new HttpError(400, "bad_request", "Suggested Questions Is Disabled.");
  },
};

// No application of the sandbox completes text, or has speech.
const completionHandlers: Handlers<typeof completions, AppContext> = {
  createCompletion(_context, input) {
    requireUser(input);
    throw appUnavailable();
  },
  stopCompletion(_context, input) {
    requireUser(input);
    throw appUnavailable();
  },
};

const audioHandlers: Handlers<typeof audio, AppContext> = {
  transcribeAudio() {
    throw invalidParam("Speech to text is not enabled");
  },
  speakText() {
    throw invalidParam("TTS is not enabled");
  },
};

export const chatHandlers = (context: AppContext) => [
  ...bindHandlers(chats, messageHandlers)(context),
  ...bindHandlers(completions, completionHandlers)(context),
  ...bindHandlers(audio, audioHandlers)(context),
];

const appUnavailable = () =>
  new HttpError(400, "app_unavailable", "App unavailable, please check your app configurations.");

interface NewMessage {
  readonly user: string;
  readonly query: string;
  readonly inputs?: unknown;
  readonly conversation_id?: string | undefined;
  readonly files?: unknown;
}

/** Stores a message and the run that replies to it. */
function addMessage(records: RunStore, app: AppDefinition, message: NewMessage): StoredRun {
  const { store } = records;
  const { user, query } = message;
  const endUser = records.endUser(app.name, user);
  const findFile = fileLookup(records, endUser);
  const inputs = validateInputs(app, message.inputs, findFile);
  const sentFiles = Array.isArray(message.files) ? message.files : [];
  const files = sentFiles.map((file) => resolveFile(file, findFile));
  const conversation = openConversation(records, app, endUser, message);
  const position = store.count("messages WHERE conversation_id = ?", conversation.id) + 1;
  const id = records.newId();
  const chat = { query, dialogue: position, files };
  const run = records.addRun({
    id,
    app: app.name,
    endUser,
    conversation_id: conversation.id,
    message_id: records.newId(),
    inputs: { ...inputs, ...systemInputs(app.name, user, id, chat) },
    variables: { s: inputs, sys: { query, user_id: user }, conversation: conversation.variables },
  });
  store.insert("messages", {
    id: run.message_id,
    position,
    app: app.name,
    conversation_id: conversation.id,
    run_id: id,
    inputs: JSON.stringify(inputs),
    query,
    answer: "",
    status: "normal",
    files: JSON.stringify(files),
    created_at: run.created_at,
  });
  store.update("conversations", conversation.id, { updated_at: run.created_at });
  return run;
}

/** Response of a blocking message; a pause is reported twice, as recorded (server §18). */
function blockingResponse(run: StoredRun, { data = {} }: RunEvent, version: string): object {
  const isPaused = data["status"] === "paused";
  const metadata = messageMetadata(run.elapsed_time, version);
  const ids = { id: run.message_id, message_id: run.message_id };
  const place = { conversation_id: run.conversation_id, mode: "advanced-chat" };
  const message = {
    answer: run.progress.said,
    metadata: isPaused ? { ...metadata, usage: null } : metadata,
    created_at: toSeconds(run.created_at),
  };
  const response = { task_id: run.task_id, ...ids, ...place, ...message };
  if (!isPaused) return { event: "message", ...response };
  return {
    event: "workflow_paused",
    ...response,
    workflow_run_id: run.id,
    data: {
      id: run.message_id,
      ...place,
      message_id: run.message_id,
      workflow_run_id: run.id,
      ...message,
      paused_nodes: data["paused_nodes"],
      reasons: data["reasons"],
      status: "paused",
      elapsed_time: data["elapsed_time"],
      total_tokens: 0,
      total_steps: run.total_steps,
    },
  };
}
