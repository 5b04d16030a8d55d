import { speakText, transcribeAudio } from "../../operations/audio.ts";
import { sendMessage, stopMessage, listSuggestedQuestions } from "../../operations/chats.ts";
import { createCompletion, stopCompletion } from "../../operations/completions.ts";
import { fileLookup } from "./app-files.ts";
import type { AppDefinition } from "./app-definitions.ts";
import { openConversation } from "./conversations.ts";
import { type Handler, on, HttpError } from "../http/handler.ts";
import { validateInputs, resolveFile } from "./input-form.ts";
import { rejectedStart } from "./rejected-start.ts";
import { invalidParam, notFound } from "../http/errors.ts";
import { messageMetadata, type RunEvent, systemInputs } from "./run-events.ts";
import { newId, toSeconds } from "../storage/ids.ts";
import { type RunStore, type StoredRun, type Variables } from "../storage/runs-store.ts";
import {
  requireApp,
  type AppContext,
  newProgress,
  startStream,
  stopMode,
  requireUser,
  isStreaming,
} from "./runs.ts";

/** What a person said, and where. */
interface Said {
  readonly user: string;
  readonly query: string;
  readonly inputs?: unknown;
  readonly conversation_id?: string | undefined;
  readonly files?: unknown;
}

/** Chat messages, and the routes that need a model: those only refuse, as recorded. */
export function chatHandlers(room: AppContext): readonly Handler[] {
  const { records, engine } = room;
  return [
    on(sendMessage, async (input, call) => {
      const user = requireUser(input);
      const app = requireApp(call, "advanced-chat");
      let run: StoredRun;
      try {
        run = records.store.transaction(() => newMessage(records, app, { ...input, user }));
      } catch (failure) {
        if (!isStreaming(call)) throw failure;
        const told = { app: app.name, inputs: input.inputs ?? {} };
        return rejectedStart(failure, told, call, { ...room, random: records.random });
      }
      if (isStreaming(call)) return startStream(room, run, call);
      return {
        json: blockingAnswer(run, await engine.go(run, "initial", call.version), call.version),
        utf8: true,
      };
    }),

    on(stopMessage, (input, call) => {
      const user = requireUser(input);
      const app = requireApp(call, "advanced-chat");
      engine.stop(
        input.task_id,
        stopMode(call),
        (live) => live.app === app.name && live.user === user,
      );
      return { json: { result: "success" } };
    }),

    on(listSuggestedQuestions, (input, call) => {
      requireUser(input);
      const app = requireApp(call, "advanced-chat");
      if (!records.message(app.name, input.message_id)) {
        throw notFound("Message Not Exists.");
      }
      throw new HttpError(400, "bad_request", "Suggested Questions Is Disabled.");
    }),

    // No application of the sandbox completes text, hears or speaks.
    on(createCompletion, (input) => {
      requireUser(input);
      throw unavailable();
    }),
    on(stopCompletion, (input) => {
      requireUser(input);
      throw unavailable();
    }),
    on(transcribeAudio, () => {
      throw invalidParam("Speech to text is not enabled");
    }),
    on(speakText, () => {
      throw invalidParam("TTS is not enabled");
    }),
  ];
}

const unavailable = () =>
  new HttpError(400, "app_unavailable", "App unavailable, please check your app configurations.");

/** Stores the message and the run that will answer it. */
function newMessage(records: RunStore, app: AppDefinition, said: Said): StoredRun {
  const { store, now, random } = records;
  const endUser = records.endUser(app.name, said.user);
  const fileOf = fileLookup(records, app.name, endUser.id);
  const inputs = validateInputs(app, said.inputs, fileOf);
  const files = (Array.isArray(said.files) ? said.files : []).map((file) =>
    resolveFile(file, fileOf),
  );
  const conversation = openConversation(records, app, endUser, said);
  const before = store.get<{ readonly count: number }>(
    "SELECT count(*) AS count FROM messages WHERE conversation_id = ?",
    conversation.id,
  );
  const position = (before?.count ?? 0) + 1;
  const id = newId(random);
  const messageId = newId(random);
  const createdAt = now();
  const system = systemInputs(app.name, said.user, id, {
    query: said.query,
    dialogue: position,
    files,
  });
  const variables: Variables = {
    s: inputs,
    sys: { query: said.query, user_id: said.user },
    conversation: conversation.variables,
  };
  const run: StoredRun = {
    id,
    app: app.name,
    endUserId: endUser.id,
    user: said.user,
    taskId: newId(random),
    logId: null,
    conversationId: conversation.id,
    messageId,
    status: "running",
    inputs: { ...inputs, ...system },
    outputs: {},
    error: null,
    createdAt,
    finishedAt: null,
    elapsed: 0,
    totalSteps: 0,
    exceptions: 0,
    progress: newProgress(variables),
  };
  store.run(
    "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, '', 'normal', ?, ?)",
    messageId,
    position,
    app.name,
    conversation.id,
    id,
    JSON.stringify(inputs),
    said.query,
    JSON.stringify(files),
    createdAt,
  );
  store.run("UPDATE conversations SET updated_at = ? WHERE id = ?", createdAt, conversation.id);
  records.addRun(run);
  return run;
}

/** What a blocking message answers; a pause is told twice over, as recorded (server §18). */
function blockingAnswer(run: StoredRun, ending: RunEvent, version: string): object {
  const told = ending.data ?? {};
  const where = { conversation_id: run.conversationId, mode: "advanced-chat" };
  const answer = run.progress.said;
  const created_at = toSeconds(run.createdAt);
  const metadata = messageMetadata(run.elapsed, version);
  if (told["status"] !== "paused") {
    return {
      event: "message",
      task_id: run.taskId,
      id: run.messageId,
      message_id: run.messageId,
      ...where,
      answer,
      metadata,
      created_at,
    };
  }
  const noUsage = { ...metadata, usage: null };
  return {
    event: "workflow_paused",
    task_id: run.taskId,
    id: run.messageId,
    message_id: run.messageId,
    ...where,
    answer,
    metadata: noUsage,
    created_at,
    workflow_run_id: run.id,
    data: {
      id: run.messageId,
      ...where,
      message_id: run.messageId,
      workflow_run_id: run.id,
      answer,
      metadata: noUsage,
      created_at,
      paused_nodes: told["paused_nodes"],
      reasons: told["reasons"],
      status: "paused",
      elapsed_time: told["elapsed_time"],
      total_tokens: 0,
      total_steps: run.totalSteps,
    },
  };
}
