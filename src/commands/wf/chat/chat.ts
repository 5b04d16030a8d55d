import { CliError, endOfInput, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { valueAt } from "../../../lib/json.ts";
import { getAppParameters } from "../../../operations/apps.ts";
import { sendMessage, stopMessage } from "../../../operations/chats.ts";
import type { Input } from "../../../operations/operation.ts";
import { ask } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import { requireKind } from "../app/index.ts";
import { printCitations, raiseReply, warnAboutConversation } from "./send.ts";
import { startStream } from "../../../follow/open-stream.ts";
import {
  appFields,
  askFields,
  assignedInputs,
  parseAssignments,
  promptsForForms,
  uploadInputFiles,
} from "../forms/index.ts";
import { ReplyPrinter } from "./reply-events.ts";
import type { conversationParams } from "./command.ts";

type ConversationInput = Input<typeof conversationParams>;

/** Failures of one reply, after which the conversation continues. */
const repliesFail: readonly string[] = ["remote-failed", "limited", "network", "cut", "failure"];

/**
 * A conversation on the terminal: prompts for a message, yields the text of its reply, and so on until
 * Ctrl-D or `/exit`.
 */
export async function* run(input: ConversationInput, context: Context): AsyncGenerator<unknown> {
  if (!context.options.input)
    throw usage(
      "a conversation needs a terminal",
      `send one message with ${commandLine("wf chat send", ["hello"])}`,
    );
  let { conversation_id } = input;
  const inputs = yield* firstInputs(input, context);
  await context.notice("Ctrl-C stops an answer; Ctrl-D or /exit ends the conversation");
  for (;;) {
    const query = await nextMessage(conversation_id, context);
    if (query === undefined || context.host.stdout.closed) break;
    if (query === "") continue;
    const printer = new ReplyPrinter("text", promptsForForms(context));
    yield* reply(printer, { ...input, query, inputs, conversation_id }, context);
    conversation_id = printer.reply.id("conversation_id") ?? conversation_id;
  }
  if (conversation_id !== undefined)
    await context.notice(`continue with ${continueCommand(conversation_id, context)}`);
}

/** Prints the opening statement of a new conversation and prompts for its required inputs. */
async function* firstInputs(
  input: ConversationInput,
  context: Context,
): AsyncGenerator<string, Record<string, unknown>> {
  const given = await assignedInputs(input, context);
  if (input.conversation_id !== undefined) return given;
  const parameters = await context.api.call(getAppParameters, {});
  const opening = valueAt(parameters, "opening_statement");
  if (typeof opening === "string" && opening !== "") yield `${opening}\n`;
  const fields = appFields(parameters.user_input_form ?? []);
  const missing = fields.filter(
    ({ variable, required }) => required && !Object.hasOwn(given, variable),
  );
  if (missing.length > 0) await requireKind("chat", context);
  const asked = await askFields(missing, context);
  return uploadInputFiles(parseAssignments(asked, fields, given), context);
}

/** The next message; undefined at the end of the conversation. */
async function nextMessage(
  conversation_id: string | undefined,
  context: Context,
): Promise<string | undefined> {
  try {
    const typed = await ask("> ", context, { multiline: true });
    return typed === "/exit" || typed === "/quit" ? undefined : typed;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    if (error.info.code === endOfInput) return undefined;
    throw conversation_id === undefined
      ? error
      : error.with({
          sideEffect: undefined,
          hint: `continue with ${continueCommand(conversation_id, context)}`,
        });
  }
}

type Body = ConversationInput & {
  readonly query: string;
  readonly inputs: Record<string, unknown>;
};

/** Sends a message once and yields the text of its reply. */
async function* reply(
  printer: ReplyPrinter,
  body: Body,
  context: Context,
): AsyncGenerator<unknown> {
  const stop = stopByInterrupt(printer, context);
  try {
    yield* printer.print(await startStream(sendMessage, body, context), context);
    if (stop.isSent()) return await context.notice(wasStopped);
    await warnAboutConversation(body, printer.reply.id("conversation_id"), context);
    await printCitations(printer.reply.response(), context);
    await raiseReply(printer, context);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    if (context.host.signal.aborted) throw withStopHint(error, printer, context);
    if (!repliesFail.includes(error.kind)) throw error;
    await context.notice(stop.isSent() ? wasStopped : `error: ${error.message}`);
  } finally {
    stop.release();
  }
}

const wasStopped = "the answer was stopped";

/**
 * The next Ctrl-C stops a reply instead of the command: at once, or, as only events name its task, with
 * the first of them. Another one ends the command.
 */
function stopByInterrupt(printer: ReplyPrinter, context: Context) {
  let [isWanted, isSent] = [false, false];
  const stop = async () => {
    const task_id = printer.reply.id("task_id");
    if (!isWanted || task_id === undefined) return;
    isWanted = false;
    try {
      await context.api.call(stopMessage, { task_id });
      isSent = true;
    } catch (error) {
      if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
      await context.notice(`${error.message}; Ctrl-C leaves the conversation`);
    }
  };
  printer.onBatch = stop;
  const release = context.host.takeInterrupt(() => {
    isWanted = true;
    void stop().catch(() => {}); // aborted: the reply itself ends with that
  });
  // What ends a reply that was stopped does not count as a failure.
  return { isSent: () => isSent, release };
}

/** After Ctrl-C the run of a chatflow continues; other replies end with their stream (server §18). */
function withStopHint(error: CliError, { reply }: ReplyPrinter, context: Context): CliError {
  const [task, conversation] = [reply.id("task_id"), reply.id("conversation_id")];
  const { user } = context.options.flags;
  const continues = reply.id("workflow_run_id") !== undefined;
  const parts = [
    continues && "the reply continues on the server",
    continues && task && `stop it with ${commandLine("wf chat stop", [task], { user })}`,
    !continues &&
      (reply.id("message_id") === undefined
        ? "the message may have reached the server"
        : "the server stores the message without its answer"),
    conversation && `continue the conversation with ${continueCommand(conversation, context)}`,
  ];
  return error.with({ sideEffect: undefined, hint: parts.filter(Boolean).join("; ") });
}

const continueCommand = (conversation_id: string, { options }: Context): string =>
  commandLine("wf chat", [], {
    "conversation-id": conversation_id,
    user: options.flags.user,
  });
