import type { ChatResponse } from "./chats.ts";
import { body, wfOperation, path, withFields, record, success } from "./operation.ts";
import { blocking, streaming, userInBody } from "./shared.ts";
import { runWorkflow } from "./workflows.ts";

/** A complete response; like a chat response, without a conversation. */
type Completion = Pick<ChatResponse, "id" | "message_id" | "answer" | "metadata">;

const completion = {
  id: "createCompletionMessage",
  route: "POST /completion-messages",
  params: {
    inputs: runWorkflow.params.inputs,
    query: body.text("Text to complete, unless the inputs contain it"),
    files: runWorkflow.params.files,
    user: userInBody,
  },
} as const;

export const createCompletion = wfOperation({
  ...completion,
  action: "generate text",
  ...streaming,
});

export const createCompletionBlocking = wfOperation({
  ...completion,
  action: "generate text",
  ...blocking,
  returns: withFields(
    { answer: "text", message_id: "id" },
    record<Completion>(
      "answer message_id created=created_at:time tokens=metadata.usage.total_tokens:count",
      "... event mode task_id",
    ),
  ),
});

export const stopCompletion = wfOperation({
  id: "stopGenerate",
  command: "wf text stop <task>",
  action: "stop task {task}",
  done: "Sent a stop request for task {task}",
  summary: "Stop generating text; reports success in any case",
  route: "POST /completion-messages/{task_id}/stop",
  params: {
    task_id: path.text("Task ID, from the events of `wf text create`", { placeholder: "task" }),
    user: userInBody,
  },
  returns: success,
  retry: "idempotent",
  examples: ["wf text stop $TASK", "wf text stop $TASK --user ann"],
});
