import type { ChatAnswer } from "./chats.ts";
import {
  body,
  events,
  more,
  operation,
  path,
  reading,
  record,
  success,
  time,
} from "./operation.ts";
import { userInBody } from "./shared.ts";
import { run } from "./workflows.ts";

/** A completion in one piece; like a chat answer, without a conversation. */
export type Completion = Omit<
  ChatAnswer,
  "event" | "conversation_id" | "workflow_run_id" | "data"
> & { readonly event: "message" };

const completion = {
  id: "createCompletionMessage",
  key: "app",
  route: "POST /completion-messages",
  params: {
    inputs: run.params.inputs,
    query: body.text("Text to complete, where the application's inputs do not hold it"),
    files: run.params.files,
    user: userInBody,
  },
} as const;

export const complete = operation({
  ...completion,
  summary: "Complete a text and follow the events of the answer",
  fixed: { response_mode: "streaming" },
  returns: events,
  idle: 45,
});

export const completeBlocking = operation({
  ...completion,
  summary: "Complete a text and wait for the answer",
  fixed: { response_mode: "blocking" },
  returns: reading(
    { answer: "text", message_id: "id" },
    record<Completion>(
      "answer",
      "message_id",
      time("created", "created_at"),
      ["tokens", ({ metadata }) => metadata?.usage?.total_tokens],
      more,
      "event",
      "mode",
      "task_id",
    ),
  ),
  idle: 1260,
});

export const stop = operation({
  id: "stopGenerate",
  command: "wf completion stop <task>",
  summary: "Ask the server to stop a completion; it says success either way",
  key: "app",
  route: "POST /completion-messages/{task_id}/stop",
  params: {
    task_id: path.text("Task id, from the events of the completion", { word: "task" }),
    user: userInBody,
  },
  returns: success,
  retry: "idempotent",
  examples: ["wf completion stop $TASK", "wf completion stop $TASK --user ann"],
});
