import { requireField } from "../../../api/response.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject } from "../../../lib/json.ts";
import { serverEvent } from "../../../lib/server-event.ts";
import { getAppParameters } from "../../../operations/apps.ts";
import {
  sendMessage,
  sendMessageBlocking,
  createCompletion,
  createCompletionBlocking,
} from "../../../operations/chats.ts";
import type { ChatResponse } from "../../../operations/chats.ts";
import type { Input } from "../../../operations/operation.ts";
import { finalOutcome, raiseOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import { startStream } from "../../../follow/open-stream.ts";
import { assignedInputs, promptsForForms } from "../forms/index.ts";
import type { chatParams, completionParams } from "./command.ts";
import { ReplyPrinter, blockingFailure, citations, replyForm } from "./reply-events.ts";

type ChatInput = Input<typeof chatParams>;

/** Sends one message, once, and yields the reply. Throws the outcome of the run behind it. */
export async function* run(input: ChatInput, context: Context): AsyncGenerator<unknown> {
  const { blocking, ...rest } = input;
  const body = { ...rest, inputs: await assignedInputs(input, context) };
  await warnAboutFiles(input, context);
  if (blocking) {
    const reply = await context.api.call(sendMessageBlocking, body).catch((error: unknown) => {
      throw blockingFailure(error);
    });
    yield reply;
    await warnAboutConversation(input, reply.conversation_id, context);
    const outcome = finalOutcome(serverEvent({ ...reply }), false);
    if (outcome) await raiseOutcome(reply.workflow_run_id ?? noRunId, outcome, context.notice);
    return;
  }
  const form = replyForm(context.options.format);
  const printer = new ReplyPrinter(form, promptsForForms(context));
  yield* printer.print(await startStream(sendMessage, body, context), context);
  const reply = printer.reply.response();
  await warnAboutConversation(input, reply.conversation_id, context);
  if (form === "text") await printBelow(reply, context);
  await raiseReply(printer, context);
}

/** Shown if the server sent no run ID. */
const noRunId = "(no id)";

/** Throws the outcome of the run behind a reply, or that its text is incomplete. */
export async function raiseReply(
  { reply, outcome, incomplete }: ReplyPrinter,
  { notice }: Context,
): Promise<void> {
  if (outcome) await raiseOutcome(reply.id("workflow_run_id") ?? noRunId, outcome, notice);
  if (incomplete) throw incomplete;
}

/** Prints the sources of a reply, and the command that continues its conversation. */
async function printBelow(reply: Partial<ChatResponse>, context: Context): Promise<void> {
  await printCitations(reply, context);
  const { conversation_id } = reply;
  if (typeof conversation_id !== "string") return; // from events, which are not checked
  const next = commandLine("wf chat send", ["…"], {
    "conversation-id": conversation_id,
    user: context.options.flags.user,
  });
  await context.notice(`continue with ${next}`);
}

/** Prints the sources of a reply, which only its last event has. */
export async function printCitations(
  reply: Partial<ChatResponse>,
  { notice }: Context,
): Promise<void> {
  for (const line of citations(reply)) await notice(line);
}

/** For an unknown conversation the server starts a new one (server §18). */
export async function warnAboutConversation(
  { conversation_id: requested }: Pick<ChatInput, "conversation_id">,
  actual: string | undefined,
  { notice }: Context,
): Promise<void> {
  if (requested === undefined || actual === undefined || actual === requested) return;
  await notice(`conversation ${requested} not found; a new one was started: ${actual}`);
}

/** An application that accepts no files drops them silently (server §18). */
async function warnAboutFiles({ files }: ChatInput, context: Context): Promise<void> {
  if (!Array.isArray(files) || files.length === 0) return;
  const { file_upload: upload } = await context.api.call(getAppParameters, {});
  // Without the feature it is {} since 1.16.
  if (!isObject(upload) || upload.enabled === true || upload.image?.enabled === true) return;
  await context.notice(
    "the application does not accept files with a message; the server drops them",
  );
}

type CompletionInput = Input<typeof completionParams>;

/** `wf text create`: requests a completion, once. */
export const createText = {
  async *run(input: CompletionInput, context: Context): AsyncGenerator<unknown> {
    const { blocking, ...rest } = input;
    const body = { ...rest, inputs: await inputsOf(input, context) };
    if (blocking) {
      yield await context.api.call(createCompletionBlocking, body).catch((error: unknown) => {
        throw blockingFailure(error);
      });
      return;
    }
    const printer = new ReplyPrinter(replyForm(context.options.format));
    yield* printer.print(await startStream(createCompletion, body, context), context);
  },
};

/** The query is an input if the form has a field of that name (server §18). */
async function inputsOf(
  input: CompletionInput,
  context: Context,
): Promise<Record<string, unknown>> {
  const inputs = await assignedInputs(input, context);
  const { query } = input;
  if (query === undefined || "query" in inputs) return inputs;
  const { user_input_form: form } = await context.api.call(getAppParameters, {});
  const fields = requireField(form, "user_input_form").flatMap((field) => Object.values(field));
  return fields.some(({ variable }) => variable === "query") ? { ...inputs, query } : inputs;
}
