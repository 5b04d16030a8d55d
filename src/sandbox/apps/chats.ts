import * as chats from "../../operations/chats.ts";
import { raise, HttpError } from "../protocol/response.ts";
import type { Reply } from "../protocol/handler.ts";
import type { StoredEndUser, StoredRun } from "./records/runs-store.ts";
import { unlessModelFails } from "../models/marks.ts";
import { findAnnotation } from "./annotations.ts";
import {
  requireApp,
  requireChat,
  requireUser,
  stopMode,
  closing,
  isStreaming,
  requireModel,
} from "./context.ts";
import type { AppContext, AppHandlers, AppCall } from "./context.ts";
import {
  nameConversation,
  openConversation,
  requireOwnConversation,
  variablesOf,
} from "./conversations.ts";
import { messageMetadata } from "./records/run-events.ts";
import { fillShape, appError } from "./records/shapes.ts";
import type { RunEvent } from "../protocol/fill.ts";
import { storeRun, startRun, drawAnswer, conversationOf, openTurn, turnLine } from "./start-run.ts";
import type { SentMessage, Turn } from "./start-run.ts";
import { ruleModel } from "../models/language-model.ts";
import { fileLookup, resolveFile } from "./inputs.ts";
import { atLeast, nextServer } from "../../lib/version.ts";
import { newAnswer, writeAnswer } from "./write-answer.ts";

/** Sending and stopping of chat messages and completions. */
export const chatHandlers = {
  sendMessage(context, input, call) {
    const user = requireUser(input);
    const app = requireChat(call);
    const { config } = app;
    const { inputs = {} } = input;
    requireOwnConversation(context, call, user, input.conversation_id);
    if (config) return replyToMessage(context, call, { app, config, user }, { ...input, inputs });
    return startRun(context, call, {
      user,
      inputs,
      annotation: findAnnotation(context, app, input.query),
      add: (endUser, checked) => addMessage(context, call, endUser, { ...input, inputs: checked }),
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
    const { name: app, mode, features } = requireChat(call);
    const message = records.messages.find({ app, id: input.message_id });
    const { id: end_user_id } = records.endUser(app, user);
    const id = message?.conversation_id ?? "";
    const isOwn = records.conversations.find({ id, end_user_id }) !== undefined;
    if (!message || !isOwn) throw appError("message missing");
    // New agents have none, whatever their parameters say (server §18).
    const isOn = mode !== "agent" && features.suggested_questions_after_answer?.enabled;
    const isNext = atLeast(call.version, nextServer); // has a code of its own (server §3.1)
    if (!isOn) throw appError(isNext ? "suggestions disabled" : "suggestions off");
    const data = unlessModelFails(() => context.model?.suggestions(message.query)) ?? [];
    return { json: { result: "success", data } };
  },

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
} satisfies Partial<AppHandlers<typeof chats>>;

function addMessage(
  context: AppContext,
  call: AppCall,
  endUser: StoredEndUser,
  message: SentMessage & { readonly inputs: StoredRun["inputs"] },
): StoredRun {
  const { records } = context;
  const { query, inputs } = message;
  const findFile = fileLookup(records, endUser);
  const sentFiles = Array.isArray(message.files) ? message.files : [];
  const files = sentFiles.map((file) => resolveFile(file, findFile));
  const asked = { query, conversation_id: message.conversation_id };
  const { id: conversation_id } = openConversation(records, call.app, endUser, asked);
  const position = records.messages.count({ conversation_id }) + 1;
  if (position === 1) nameConversation(context, conversation_id, query);
  const conversation = { id: conversation_id, variables: variablesOf(records, conversation_id) };
  const chat = { query, dialogue: position, files, conversation };
  const run = storeRun(context, endUser, { call, inputs, chat });
  records.messages.insert({
    id: run.message_id ?? "", // set for messages
    position,
    app: call.app.name,
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

/** Answers a message to a basic application, streaming or blocking. Throws HttpError. */
async function replyToMessage(
  context: AppContext,
  call: AppCall,
  { app, config, user }: Pick<Turn, "app" | "config"> & { readonly user: string },
  sent: SentMessage,
): Promise<Reply> {
  const { records } = context;
  const streaming = isStreaming(call, app.mode === "agent" ? "streaming" : "blocking");
  if (app.mode === "agent-chat" && !streaming) throw appError("agent blocking");
  if (app.mode === "agent" && !streaming) throw appError("new agent blocking");
  if (app.mode !== "completion" && sent.query === "") throw appError("query missing");
  const drawn = drawAnswer(context, call, sent);
  const model = drawn ? ruleModel(context.clock, drawn) : requireModel(context, config.model.name);
  const endUser = records.endUser(app.name, user);
  const turn = openTurn(context, { app, config, endUser }, sent, call);
  const answer = newAnswer();
  const events = writeAnswer(context, model, { turn, answer, drawn }, closing(context, call));
  if (streaming) return { stream: linesOf(turn, events) };
  let last: RunEvent | undefined;
  for await (const event of events) last = event;
  if (answer.error) throw new HttpError(400, answer.error.code, answer.error.message);
  const values = { metadata: last?.fields?.["metadata"], conversation_id: conversationOf(turn) };
  return { json: fillShape("blocking answer", { ...turn, answer, ...values }), utf8: true };
}

async function* linesOf(turn: Turn, events: AsyncGenerator<RunEvent>): AsyncGenerator<string> {
  for await (const event of events) yield turnLine(turn, event);
}

function stopAnswer({ answers }: AppContext, { app, id }: StoredEndUser, taskId: string): void {
  const task = answers.get(taskId);
  if (task?.app === app && task.end_user_id === id) task.stop.abort();
}
