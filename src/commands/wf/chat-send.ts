import { getAppParameters } from "../../operations/apps.ts";
import { sendMessage, sendMessageBlocking } from "../../operations/chats.ts";
import type { ChatResponse } from "../../operations/chats.ts";
import { isObject } from "../../lib/json.ts";
import { answerEvents, blockingFailure } from "./answer-events.ts";
import { asEvents } from "./stream-or-wait.ts";
import { citations, collectedAnswer } from "./collected-answer.ts";
import { finalOutcome } from "../../runs/final-event.ts";
import { openStream } from "./follow/index.ts";
import { raiseOutcome } from "../../runs/outcome.ts";
import type { Context } from "../command-spec.ts";

/** Input of `wf chat send`. */
export interface ChatInput {
  readonly query: string;
  readonly inputs?: unknown;
  readonly conversation_id?: string | undefined;
  readonly files?: unknown;
  readonly auto_generate_name?: boolean | undefined;
  readonly workflow_id?: string | undefined;
  readonly blocking?: boolean | undefined;
}

/**
 * Sends one message, once. The server answers an unknown conversation by starting another one
 * (server §18), so the id that comes back is compared. Ends with what became of the run behind the
 * answer (conclude); throws what answerEvents does.
 */
export async function* run(input: ChatInput, context: Context): AsyncGenerator<unknown> {
  const { blocking, ...rest } = input;
  const body = { ...rest, inputs: isObject(input.inputs) ? input.inputs : {} };
  await tellFiles(input, context);
  if (blocking) {
    const answer = await context.call(sendMessageBlocking, body).catch((error: unknown) => {
      throw blockingFailure(error);
    });
    yield answer;
    await tellConversation(input, answer.conversation_id, context);
    const outcome = finalOutcome({ event: answer.event, data: { ...answer } }, false);
    if (outcome) await raiseOutcome(answer.workflow_run_id ?? unnamed, outcome, context.notice);
    return;
  }
  const answer = collectedAnswer();
  const live = asEvents(input, context.options.format);
  const events = answerEvents(await openStream(sendMessage, body, context), context);
  try {
    let next = await events.next();
    for (; !next.done; next = await events.next()) {
      for (const event of next.value) answer.see(event);
      if (live) yield next.value;
    }
    const whole = answer.answer();
    if (!live) yield whole;
    else if (context.options.format === undefined) await tellSources(whole, context);
    await tellConversation(input, whole.conversation_id, context);
    const { outcome } = next.value;
    if (outcome) await raiseOutcome(whole.workflow_run_id ?? unnamed, outcome, context.notice);
  } finally {
    await events.return({}); // where nobody reads on
  }
}

/** Stands for the id of a run that the server did not name. */
const unnamed = "(no id)";

/** What the answer was made from: people ask for it, and only its end tells it. */
async function tellSources(answer: Partial<ChatResponse>, { notice }: Context): Promise<void> {
  for (const line of citations(answer)) await notice(line);
}

async function tellConversation(
  { conversation_id: asked }: ChatInput,
  given: string | undefined,
  { notice }: Context,
): Promise<void> {
  if (asked === undefined || given === undefined || given === asked) return;
  await notice(`the conversation ${asked} is not known; a new one was started: ${given}`);
}

/** An application that takes no files drops them without a word (server §18). */
async function tellFiles({ files }: ChatInput, context: Context): Promise<void> {
  if (!Array.isArray(files) || files.length === 0) return;
  const { file_upload: takes } = await context.call(getAppParameters, {});
  const switches = [takes?.enabled, takes?.image?.enabled];
  if (switches.includes(true) || !switches.includes(false)) return;
  await context.notice("the application takes no files with a message: the server drops them");
}
