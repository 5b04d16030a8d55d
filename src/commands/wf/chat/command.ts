import { getAppParameters } from "../../../operations/apps.ts";
import {
  listConversationVariables,
  listMessages,
  sendMessage,
  sendMessageBlocking,
  stopMessage,
  createCompletion,
  createCompletionBlocking,
} from "../../../operations/chats.ts";
import { uploadFile } from "../../../operations/files.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import { events, local, pastEvents, textChunks } from "../../../operations/operation.ts";
import type { Returns } from "../../../operations/operation.ts";
import { userInBody } from "../../../operations/shared.ts";
import { getWorkflowRun, streamRunEvents } from "../../../operations/workflows.ts";
import { asEvents, task } from "../../task/command-spec.ts";
import { assignedInput } from "../forms/index.ts";

export const completionParams = {
  input: assignedInput,
  ...createCompletion.params,
  blocking: local.flag("Wait for one response instead of streaming"),
};

/** A reply is text as it grows, events with -o jsonl, and one response in other formats. */
function replyOutput(
  input: { readonly blocking?: boolean | undefined },
  format: string | undefined,
  response: Returns<never>,
): Returns<never> | undefined {
  if (!asEvents(input, format)) return response;
  return format === undefined ? textChunks : undefined;
}

export const completionCreate = task({
  command: "wf text create",
  meant: ["completion-messages", "generate"],
  summary: "Generate text with a text generation application",
  about:
    "Streams the text; -o json prints it when it is complete. --query is also sent as an input if the\napplication's form has a field of that name. Exits with code 9 if the model fails.",
  params: completionParams,
  returns: events,
  output: (input, format) => replyOutput(input, format, createCompletionBlocking.returns),
  sends: [createCompletionBlocking, getAppParameters, uploadFile],
  wraps: createCompletion,
  effect: "writes",
  exits: ["remote-failed", "cut"],
  examples: [
    "wf text create --input 'query=Sum up the leave policy'",
    "wf text create --input 'query=Sum up the leave policy' --blocking --jq .answer",
  ],
});

export const chatParams = {
  input: assignedInput,
  ...sendMessage.params,
  blocking: local.flag("Wait for one response instead of streaming"),
};

export const conversationParams = {
  conversation_id: sendMessage.params.conversation_id,
  input: assignedInput,
  inputs: sendMessage.params.inputs,
  workflow_id: sendMessage.params.workflow_id,
  user: userInBody,
} as const;

/** What a message may send besides. */
const replyRequests = [
  listMessages,
  streamRunEvents,
  getWorkflowRun,
  getForm,
  submitForm,
  uploadFile,
  getAppParameters,
];

export const chat = task({
  command: "wf chat",
  action: "hold conversation",
  summary: "Chat with a chat application in the terminal",
  about:
    "Prompts for messages and streams the replies. Ctrl-C stops a reply, a second Ctrl-C leaves. Ctrl-D or\n/exit ends the conversation and prints the command that continues it. Required inputs of the\napplication are asked for first. `wf chat send` sends a single message, `wf chat stop` stops a reply.",
  params: conversationParams,
  returns: pastEvents,
  output: () => textChunks,
  sends: [...replyRequests, stopMessage],
  wraps: sendMessage,
  effect: "writes",
  exits: ["paused", "remote-failed", "partial", "cut"],
  examples: ["wf --app chat chat", "wf --app chat chat --conversation-id $CONVERSATION"],
});

export const chatSend = task({
  command: "wf chat send <query>",
  meant: ["ask", "chat-messages"],
  summary: "Send a message to a chat application",
  about:
    "Streams the text of the reply; -o json prints the response when it is complete, -o jsonl the events.\nIf the connection is lost, the rest of a chatflow's reply is read from its run; for other applications\nit is lost (13). The message is never sent twice. Sources, and the command that continues the\nconversation, are printed to stderr. Exits with code 9 if the model fails, 7 if it limits its rate.",
  params: chatParams,
  returns: pastEvents,
  output: (input, format) => replyOutput(input, format, sendMessageBlocking.returns),
  sends: [sendMessageBlocking, ...replyRequests],
  wraps: sendMessage,
  effect: "writes",
  exits: ["paused", "remote-failed", "partial", "cut"],
  examples: [
    "wf --app chat chat send 'How many days of leave do I have?'",
    "wf --app chat chat send 'And in the first year?' --conversation-id $CONVERSATION",
    "wf --app chat chat send Hello --blocking --jq .answer",
  ],
});

export const conversationVariables = task({
  command: "wf conversation variables <conversation>",
  tool: {},
  summary: "List the variables of a conversation",
  params: {
    ...listConversationVariables.params,
    variable_name: local.text("Only the variable with this name", { length: [1, 255] }),
  },
  pages: true,
  wraps: listConversationVariables,
  effect: "reads",
  examples: [
    "wf conversation variables $CONVERSATION",
    "wf conversation variables $CONVERSATION --variable-name mood",
  ],
});
