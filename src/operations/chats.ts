import {
  body,
  cursor,
  joinTexts,
  list as rows,
  local,
  withNamePath,
  wfOperation,
  page,
  path,
  query,
  withFields,
  record,
  success,
} from "./operation.ts";
import {
  blocking,
  deletes,
  required,
  stops,
  streaming,
  userInBody,
  userInQuery,
} from "./shared.ts";
import { runWorkflow } from "./workflows.ts";

/** Sources of an answer: chunks of knowledge. */
export interface AnswerMetadata {
  readonly retriever_resources: readonly { readonly document_name: string }[];
}

/**
 * The blocking response of a chat. An unknown `conversation_id` in the request starts another
 * conversation, so compare the ID of the response (server §18).
 */
export interface ChatResponse {
  readonly event: "message" | "workflow_paused";
  readonly id: string;
  readonly message_id: string;
  readonly conversation_id: string;
  /** Incomplete if the run is paused. */
  readonly answer: string;
  /** Missing if the server sent none. */
  readonly metadata?: AnswerMetadata;
  /** Workflow apps only. */
  readonly workflow_run_id?: string;
}

/** A question with its answer. */
export interface Message extends AnswerMetadata {
  readonly id: string;
  readonly query: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** After a pause, it repeats the text before: use the outputs of the run (server §18). */
  readonly answer: string;
  readonly status: string;
  readonly error: string | null;
  readonly message_files: readonly { readonly filename: string }[];
  /** Unix seconds. */
  readonly created_at: number;
}

/** What someone thinks of a message. */
export interface Feedback {
  readonly rating: "like" | "dislike" | null;
  readonly message_id: string;
  readonly conversation_id: string;
  /** Null if the feedback was given in the console. */
  readonly from_end_user_id: string | null;
}

const conversationColumns =
  "name created=created_at:time updated=updated_at:time id:id ... status introduction inputs";
const variableColumns =
  "name value_type value updated=updated_at:time id:id ... description created=created_at:time";

const conversation_id = path.uuid("Conversation ID, or last", {
  placeholder: "conversation",
  listed: "conversation",
});
const message_id = path.uuid("Message ID, or last", { placeholder: "message", listed: "message" });

const message = {
  id: "sendChatMessage",
  action: "send message",
  route: "POST /chat-messages",
  params: {
    query: body.text("Message to send", { required }),
    inputs: runWorkflow.params.inputs,
    conversation_id: body.uuid("Conversation to continue, or last (default: a new one)", {
      listed: "conversation",
    }),
    files: runWorkflow.params.files,
    auto_generate_name: body.flag("Name a new conversation automatically", {
      serverDefault: "true",
    }),
    workflow_id: body.text("Published version of the workflow (default: newest)"),
    user: userInBody,
  },
} as const;

export const sendMessage = wfOperation({ ...message, ...streaming });

export const sendMessageBlocking = wfOperation({
  ...message,
  ...blocking,
  returns: withFields(
    { event: "text", message_id: "id", conversation_id: "id", "workflow_run_id?": "id" },
    record<ChatResponse>(
      "answer conversation_id message_id created=created_at:time",
      "tokens=metadata.usage.total_tokens:count",
      "... event mode task_id workflow_run_id",
      [
        "sources",
        ({ metadata }) =>
          joinTexts(metadata?.retriever_resources?.map(({ document_name }) => document_name)),
      ],
    ),
  ),
});

export const stopMessage = wfOperation({
  id: "stopChatMessageGeneration",
  summary: "Stop a chat response; reports success in any case",
  route: "POST /chat-messages/{task_id}/stop",
  params: {
    task_id: path.text("Task ID from the response's events, or its run ID", {
      placeholder: "task",
    }),
    user: userInBody,
  },
  ...stops,
});

export const listSuggestedQuestions = wfOperation({
  id: "getSuggestedQuestions",
  command: "wf message suggested <message>",
  action: "list suggested questions",
  summary: "List suggested questions after a message (uses a model)",
  route: "GET /messages/{message_id}/suggested",
  params: { message_id, user: userInQuery },
  returns: withFields(
    "text",
    withNamePath("", rows<string>("data", ["question", (question) => question])),
  ),
  examples: [
    "wf --app chat message suggested $MESSAGE",
    "wf --app chat message suggested $MESSAGE --jq '.[]'",
  ],
});

export const setFeedback = wfOperation({
  id: "postChatMessageFeedback",
  command: "wf message feedback <message>",
  action: "update rating of message {message}",
  summary: "Rate a message, or withdraw the rating",
  route: "POST /messages/{message_id}/feedbacks",
  params: {
    message_id,
    rating: body.choice(["like", "dislike"], "Rating"),
    withdraw: local.flag("Withdraw the rating"),
    content: body.text("Why"),
    user: userInBody,
  },
  oneOf: ["rating", "withdraw"],
  returns: success,
  retry: "idempotent",
  examples: [
    "wf --app chat message feedback $MESSAGE --rating dislike --content 'The number is wrong.'",
    "wf --app chat message feedback $MESSAGE --withdraw",
  ],
});

export const listFeedback = wfOperation({
  id: "getChatAppFeedbacks",
  command: "wf feedback list",
  action: "list feedback",
  summary: "List the feedback on messages",
  route: "GET /app/feedbacks",
  params: {},
  returns: page<Feedback>(
    "content rating created=created_at:time message_id:whole-id",
    "... id conversation_id from_source from_end_user_id from_account_id",
    "updated=updated_at:time",
  ),
  examples: ["wf --app chat feedback list", "wf --app chat feedback list --all -o csv"],
});

export const listConversations = wfOperation({
  id: "getConversationsList",
  command: "wf conversation list",
  action: "list conversations",
  summary: "List the conversations of the end user",
  route: "GET /conversations",
  params: {
    sort_by: query.choice(
      ["created_at", "-created_at", "updated_at", "-updated_at"],
      "Sort field; - sorts newest first",
      { serverDefault: "-updated_at" },
    ),
    user: userInQuery,
  },
  returns: withFields({ id: "id" }, cursor("last_id", conversationColumns)),
  examples: ["wf --app chat conversation list", "wf --app chat conversation list --user ann --all"],
});

export const deleteConversation = wfOperation({
  id: "deleteConversation",
  command: "wf conversation delete <conversation>",
  action: "delete conversation {conversation}",
  summary: "Delete a conversation and its messages",
  route: "DELETE /conversations/{conversation_id}",
  params: { conversation_id, user: userInBody },
  ...deletes,
  examples: [
    "wf --app chat conversation delete $CONVERSATION --yes",
    "wf --app chat conversation delete $CONVERSATION --yes --if-exists",
  ],
});

export const renameConversation = wfOperation({
  id: "renameConversation",
  command: "wf conversation rename <conversation>",
  action: "rename conversation {conversation}",
  summary: "Rename a conversation, or let a model name it",
  route: "POST /conversations/{conversation_id}/name",
  params: {
    conversation_id,
    name: body.text("New name; required without --auto-generate"),
    auto_generate: body.flag("Let a model choose the name", { serverDefault: "false" }),
    user: userInBody,
  },
  returns: record(conversationColumns),
  retry: "idempotent",
  examples: [
    "wf --app chat conversation rename $CONVERSATION --name Leave",
    "wf --app chat conversation rename $CONVERSATION --auto-generate",
  ],
});

export const listConversationVariables = wfOperation({
  id: "getConversationVariables",
  action: "list variables of conversation {conversation}",
  route: "GET /conversations/{conversation_id}/variables",
  params: {
    conversation_id,
    user: userInQuery,
  },
  returns: cursor<{ readonly name: string }>("last_id", variableColumns),
});

export const setConversationVariable = wfOperation({
  id: "updateChatConversationVariable",
  command: "wf conversation set-variable <conversation> <variable>",
  action: "set variable {variable} of conversation {conversation}",
  summary: "Set a variable of a conversation",
  route: "PUT /conversations/{conversation_id}/variables/{variable_id}",
  params: {
    conversation_id,
    variable_id: path.uuid("Variable ID from `wf conversation variables`", {
      placeholder: "variable",
      listed: "variable",
    }),
    value: body.json("New value, of the variable's type", { required }),
    user: userInBody,
  },
  returns: record(variableColumns),
  examples: [
    `wf conversation set-variable $CONVERSATION $VARIABLE --value '"happy"'`,
    "wf conversation set-variable $CONVERSATION $VARIABLE --value @mood.json",
  ],
});

export const listMessages = wfOperation({
  id: "getConversationHistory",
  command: "wf conversation messages <conversation>",
  action: "list messages of conversation {conversation}",
  summary: "List the messages of a conversation, newest page first",
  route: "GET /messages",
  params: {
    conversation_id: query.uuid("Conversation ID, or last", {
      placeholder: "conversation",
      listed: "conversation",
      required,
    }),
    user: userInQuery,
  },
  returns: cursor<Message>(
    "first_id",
    "query answer status feedback=feedback.rating:sparse created=created_at:time id:whole-id ...",
    ["files", (row) => joinTexts(row.message_files.map(({ filename }) => filename))],
    [
      "sources",
      (row) => joinTexts(row.retriever_resources.map(({ document_name }) => document_name)),
    ],
    "error inputs",
  ),
  examples: [
    "wf --app chat conversation messages $CONVERSATION",
    "wf --app chat conversation messages $CONVERSATION --all -o jsonl",
  ],
});

/** A complete response; like a chat response, without a conversation. */
type Completion = Pick<ChatResponse, "id" | "message_id" | "answer" | "metadata">;

const completion = {
  id: "createCompletionMessage",
  action: "generate text",
  route: "POST /completion-messages",
  params: {
    inputs: runWorkflow.params.inputs,
    query: body.text("Text to complete, unless the inputs contain it"),
    files: runWorkflow.params.files,
    user: userInBody,
  },
} as const;

export const createCompletion = wfOperation({ ...completion, ...streaming });

export const createCompletionBlocking = wfOperation({
  ...completion,
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
  summary: "Stop generating text; reports success in any case",
  route: "POST /completion-messages/{task_id}/stop",
  params: {
    task_id: path.text("Task ID, from the events of `wf text create`", { placeholder: "task" }),
    user: userInBody,
  },
  ...stops,
  examples: ["wf text stop $TASK", "wf text stop $TASK --user ann"],
});
