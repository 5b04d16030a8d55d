import * as chats from "../../operations/chats.ts";
import * as completions from "../../operations/completions.ts";
import { raise } from "../protocol/errors.ts";
import { bindHandlers, type Handlers } from "../protocol/handler.ts";
import type { StoredEndUser, StoredRun } from "./records/runs-store.ts";
import { unlessModelFails } from "../models/model-error.ts";
import { findAnnotation } from "./annotation-reply.ts";
import { fileLookup } from "./app-files.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import { replyToMessage, stopAnswer } from "./reply.ts";
import { type AppContext, requireApp, requireChat, requireUser, stopMode } from "./context.ts";
import { nameConversation, openConversation, variablesOf } from "./conversations.ts";
import { resolveFile } from "./input-form.ts";
import { messageMetadata } from "./records/run-events.ts";
import { fillShape, appError } from "./records/shapes.ts";
import { storeRun, startRun } from "./start-run.ts";

/** Sending and stopping of chat messages. */
const messageHandlers: Handlers<typeof chats, AppContext> = {
  sendMessage(context, input, call) {
    const user = requireUser(input);
    const app = requireChat(call);
    const { config } = app;
    const { inputs = {} } = input;
    if (config) return replyToMessage(context, call, { app, config, user }, { ...input, inputs });
    return startRun(context, call, {
      app,
      user,
      inputs,
      annotation: findAnnotation(context, app, input.query),
      add: (endUser, checked) => addMessage(context, app, endUser, { ...input, inputs: checked }),
      respond(run, last) {
        if (run.status === "failed") throw appError("run failed", { error: run.error ?? "" });
        const isPaused = last["status"] === "paused";
        const metadata = messageMetadata(run, call.version);
        if (!isPaused) return fillShape("blocking message", { run, metadata });
        const withoutUsage = { ...metadata, usage: null };
        return fillShape("blocking paused message", { run, last, metadata: withoutUsage });
      },
    });
  },

  stopMessage(context, input, call) {
    const user = requireUser(input);
    const { name } = requireChat(call);
    stopAnswer(context, context.records.endUser(name, user), input.task_id);
    const isOwn = (run: StoredRun) => run.app === name && run.session_id === user;
    context.engine.stop(input.task_id, stopMode(call), isOwn);
    return { json: { result: "success" } };
  },

  listSuggestedQuestions(context, input, call) {
    const { records } = context;
    const user = requireUser(input);
    const { name: app, features } = requireChat(call);
    const message = records.messages.find({ app, id: input.message_id });
    const { id: end_user_id } = records.endUser(app, user);
    const id = message?.conversation_id ?? "";
    const isOwn = records.conversations.find({ id, end_user_id }) !== undefined;
    if (!message || !isOwn) throw appError("message missing");
    if (!features.suggested_questions_after_answer?.enabled) throw appError("suggestions off");
    const data = unlessModelFails(() => context.model?.suggestions(message.query)) ?? [];
    return { json: { result: "success", data } };
  },
};

const completionHandlers: Handlers<typeof completions, AppContext> = {
  createCompletion(context, input, call) {
    const user = requireUser(input);
    const app = requireApp(call, "completion");
    const config = app.config ?? raise(appError("app unavailable"));
    const { inputs, files } = input;
    return replyToMessage(context, call, { app, config, user }, { query: "", inputs, files });
  },

  stopCompletion(context, input, call) {
    const user = requireUser(input);
    const app = requireApp(call, "completion").name;
    stopAnswer(context, context.records.endUser(app, user), input.task_id);
    return { json: { result: "success" } };
  },
};

export const chatHandlers = (context: AppContext) => [
  ...bindHandlers(chats, messageHandlers)(context),
  ...bindHandlers(completions, completionHandlers)(context),
];

interface NewMessage {
  readonly query: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly conversation_id?: string | undefined;
  readonly files?: unknown;
}

/** Stores a message and the run that replies to it. */
function addMessage(
  context: AppContext,
  app: AppDefinition,
  endUser: StoredEndUser,
  message: NewMessage,
): StoredRun {
  const { records } = context;
  const { query, inputs } = message;
  const findFile = fileLookup(records, endUser);
  const sentFiles = Array.isArray(message.files) ? message.files : [];
  const files = sentFiles.map((file) => resolveFile(file, findFile));
  const { id: conversation_id } = openConversation(records, app, endUser, {
    query,
    conversation_id: message.conversation_id,
  });
  const position = records.messages.count({ conversation_id }) + 1;
  if (position === 1) nameConversation(context, conversation_id, query);
  const conversation = { id: conversation_id, variables: variablesOf(records, conversation_id) };
  const chat = { query, dialogue: position, files, conversation };
  const run = storeRun(context, endUser, { app, inputs, chat });
  records.messages.insert({
    id: run.message_id ?? "", // set for messages
    position,
    app: app.name,
    conversation_id,
    run_id: run.id,
    inputs,
    query,
    answer: "",
    status: "normal",
    files,
    created_at: run.created_at,
  });
  records.conversations.update({ id: conversation_id }, { updated_at: run.created_at });
  return run;
}
