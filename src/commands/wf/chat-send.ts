import { getAppParameters } from "../../operations/apps.ts";
import { sendMessage, sendMessageBlocking } from "../../operations/chats.ts";
import type { ChatResponse } from "../../operations/chats.ts";
import type { Input } from "../../operations/operation.ts";
import { isObject } from "../../lib/json.ts";
import { serverEvent } from "../../lib/server-event.ts";
import { finalOutcome } from "../../runs/outcome.ts";
import { raiseOutcome } from "../../runs/outcome.ts";
import type { Context } from "../command-spec.ts";
import { citations } from "./collect-reply.ts";
import { startStream } from "./follow/index.ts";
import { blockingFailure, ReplyPrinter } from "./reply-events.ts";
import { asEvents } from "../stream-or-wait.ts";
import type { chatParams } from "./specs.ts";

type ChatInput = Input<typeof chatParams>;

/** Sends one message, once, and yields the reply. Throws the outcome of the run behind it. */
export async function* run(input: ChatInput, context: Context): AsyncGenerator<unknown> {
  const { blocking, ...rest } = input;
  const body = { ...rest, inputs: isObject(input.inputs) ? input.inputs : {} };
  await warnAboutFiles(input, context);
  if (blocking) {
    const reply = await context.call(sendMessageBlocking, body).catch((error: unknown) => {
      throw blockingFailure(error);
    });
    yield reply;
    await warnAboutConversation(input, reply.conversation_id, context);
    const outcome = finalOutcome(serverEvent({ ...reply }), false);
    if (outcome) await raiseOutcome(reply.workflow_run_id ?? noRunId, outcome, context.notice);
    return;
  }
  const live = asEvents(input, context.options.format);
  const printer = new ReplyPrinter();
  yield* printer.print(await startStream(sendMessage, body, context), live, context);
  const { outcome } = printer;
  const reply = printer.reply.response();
  if (live && context.options.format === undefined) await printCitations(reply, context);
  await warnAboutConversation(input, reply.conversation_id, context);
  if (outcome) await raiseOutcome(reply.workflow_run_id ?? noRunId, outcome, context.notice);
}

/** Shown if the server sent no run ID. */
const noRunId = "(no id)";

/** Prints the sources of a reply, which only its last event has. */
async function printCitations(reply: Partial<ChatResponse>, { notice }: Context): Promise<void> {
  for (const line of citations(reply)) await notice(line);
}

/** For an unknown conversation the server starts a new one (server §18). */
async function warnAboutConversation(
  { conversation_id: requested }: ChatInput,
  actual: string | undefined,
  { notice }: Context,
): Promise<void> {
  if (requested === undefined || actual === undefined || actual === requested) return;
  await notice(`conversation ${requested} not found; a new one was started: ${actual}`);
}

/** An application that accepts no files drops them silently (server §18). */
async function warnAboutFiles({ files }: ChatInput, context: Context): Promise<void> {
  if (!Array.isArray(files) || files.length === 0) return;
  const { file_upload: upload } = await context.call(getAppParameters, {});
  const switches = [upload?.enabled, upload?.image?.enabled];
  if (switches.includes(true) || !switches.includes(false)) return;
  await context.notice(
    "the application does not accept files with a message; the server drops them",
  );
}
