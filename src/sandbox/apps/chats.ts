import * as chats from "../../operations/chats.ts";
import * as completions from "../../operations/completions.ts";
import { bindHandlers, type Handlers } from "../http/handler.ts";
import type { StoredEndUser, StoredRun } from "../storage/runs-store.ts";
import { fileLookup } from "./app-files.ts";
import type { AppDefinition } from "./app-definitions.ts";
import { type AppContext, requireApp, requireUser, stopMode } from "./context.ts";
import { openConversation } from "./conversations.ts";
import { resolveFile } from "./input-form.ts";
import { fillShape, appError } from "./shapes.ts";
import { storeRun, startRun } from "./start-run.ts";

/** Sending and stopping of chat messages. */
const messageHandlers: Handlers<typeof chats, AppContext> = {
  sendMessage(context, input, call) {
    const user = requireUser(input);
    const app = requireApp(call, "advanced-chat");
    return startRun(context, call, {
      app,
      user,
      inputs: input.inputs ?? {},
      add: (endUser, inputs) => addMessage(context, app, endUser, { ...input, inputs }),
      respond(run, last) {
        const isPaused = last["status"] === "paused";
        const metadata = fillShape("message metadata", { run, version: call.version });
        if (!isPaused) return fillShape("blocking message", { run, metadata });
        const withoutUsage = { ...metadata, usage: null };
        return fillShape("blocking paused message", { run, last, metadata: withoutUsage });
      },
    });
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
    const app = requireApp(call, "advanced-chat").name;
    const message = records.messages.find({ app, id: input.message_id });
    throw appError(message ? "suggestions off" : "message missing");
  },
};

function refuseCompletion(
  _context: AppContext,
  input: { readonly user?: string | undefined },
): never {
  requireUser(input);
  throw appError("app unavailable");
}

// No application of the sandbox completes text.
const completionHandlers: Handlers<typeof completions, AppContext> = {
  createCompletion: refuseCompletion,
  stopCompletion: refuseCompletion,
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
  const conversation = openConversation(records, app, endUser, message);
  const conversation_id = conversation.id;
  const position = records.messages.count({ conversation_id }) + 1;
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
