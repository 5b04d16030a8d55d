import type { EventBatches, ServerEvent } from "../../api/sse.ts";
import { ApiError, CliError } from "../../errors.ts";
import { listMessages } from "../../operations/chats.ts";
import type { Message } from "../../operations/chats.ts";
import { asText } from "../../operations/operation.ts";
import { collectedAnswer } from "./collected-answer.ts";
import type { CollectedAnswer } from "./collected-answer.ts";
import { checkStart, followRun, rememberTaskId, warnAboutGaps } from "./follow/index.ts";
import type { EventStream } from "./follow/index.ts";
import type { RunOutcome } from "../../runs/outcome.ts";
import type { Context } from "../command-spec.ts";

/** How an answer ended. */
interface Answered {
  /** How the run behind it ended or stands; undefined where it has none. */
  readonly outcome?: RunOutcome | undefined;
}

/** ms between looks at a message that is being answered. */
const looks = [1000, 2000, 4000, 8000, 15_000, 30_000];

/**
 * The events of an answer to their end, across a cut line; the message is never sent again. A run
 * behind it is followed as `wf run` does; of any other answer the stored message is read, when it has
 * one, and comes as an event `_answer`. Throws `remote-failed` where the answer failed, and `cut`
 * where nobody can tell its end.
 */
export async function* answerEvents(line: EventStream, context: Context): EventBatches<Answered> {
  const events = checkStart(line.events);
  try {
    const first = await events.next();
    if (
      !first.done &&
      first.value.some(({ data }) => typeof data["workflow_run_id"] === "string")
    ) {
      const following = { reconnect: true, throughPauses: false, snapshot: true };
      const run = followRun(
        { ...following, first: resumed(first.value, events), leave: line.leave },
        context,
      );
      return yield* rememberTaskId(warnAboutGaps(run, context), context);
    }
    yield* streamed(first.done ? [] : first.value, events, context);
    return {};
  } finally {
    await events.return(); // its connection is left
  }
}

/** Events of which the first ones were read already. */
async function* resumed(first: readonly ServerEvent[], events: EventBatches): EventBatches {
  yield first;
  yield* events;
}

/** The events of an answer without a run: they end with `message_end` (server §15.5). */
async function* streamed(
  first: readonly ServerEvent[],
  events: EventBatches,
  context: Context,
): EventBatches {
  const heard = collectedAnswer();
  let why = "the server closed the stream before the answer ended";
  try {
    for await (const batch of resumed(first, events)) {
      if (batch.length === 0) continue;
      for (const event of batch) heard.see(event);
      yield batch;
      const error = batch.find(({ event }) => event === "error");
      if (error) throw answerFailed(error.data["message"], heard);
      if (batch.some(({ event }) => event === "message_end")) return;
    }
  } catch (error) {
    if (context.signal.aborted || !(error instanceof CliError) || error.kind !== "network")
      throw error;
    why = error.message;
  }
  yield* stored(heard, why, context);
}

/** The message as the server has stored it, when its answer is whole. */
async function* stored(heard: CollectedAnswer, why: string, context: Context): EventBatches {
  const conversation_id = heard.id("conversation_id");
  const message_id = heard.id("message_id");
  if (conversation_id === undefined || message_id === undefined) throw cut(why, heard);
  await context.notice(`${why}; waiting for the stored message`);
  for (const wait of looks) {
    await context.host.sleep(wait, context.signal).catch(() => {
      throw context.abortError();
    });
    const message = await messageOf(conversation_id, message_id, context);
    if (message?.status === "error") throw answerFailed(message.error, heard);
    // It is stored when all of it was said.
    if (message === undefined || message.answer === "") continue;
    const { answer, retriever_resources } = message;
    const data = {
      event: "_answer",
      conversation_id,
      message_id,
      answer,
      metadata: { retriever_resources },
    };
    if (answer !== heard.text()) yield [{ event: "_answer", raw: JSON.stringify(data), data }];
    return;
  }
  throw cut(why, heard);
}

/** A message of a conversation, among its newest; undefined where it cannot be read now. */
async function messageOf(
  conversation_id: string,
  id: string,
  context: Context,
): Promise<Message | undefined> {
  try {
    const messages = await context.call(listMessages, { conversation_id });
    return messages.find((message) => message.id === id);
  } catch (error) {
    if (context.signal.aborted || !(error instanceof CliError)) throw error;
    await context.trace(1, error.message);
    return undefined;
  }
}

/** The model or the application failed; message and conversation are stored all the same. */
const answerFailed = (message: unknown, heard: CollectedAnswer): CliError =>
  new CliError("remote-failed", `the answer failed: ${asText(message)}`, {
    isResult: true,
    sideEffect: "applied",
    details: idsOf(heard),
  });

const cut = (why: string, heard: CollectedAnswer): CliError => {
  const conversation = heard.id("conversation_id");
  return new CliError("cut", `the stream ended before the answer did: ${why}`, {
    sideEffect: heard.id("message_id") === undefined ? "unknown" : "applied",
    details: idsOf(heard),
    hint:
      conversation === undefined
        ? "the answer may be whole on the server, but no route reads it again"
        : `wf conversation messages ${conversation}`,
  });
};

const idsOf = (heard: CollectedAnswer) => ({
  message: heard.id("message_id") ?? null,
  conversation: heard.id("conversation_id") ?? null,
  task: heard.id("task_id") ?? null,
});

/**
 * What a refused call in one piece means: a model that fails is a failure of the work, as in the
 * stream, and message and conversation are stored (server §18).
 */
export function blockingFailure(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { message, response: refusal, info } = error;
  if (/does not support blocking/.test(message)) {
    const hint = "an agent application answers by events alone: leave out --blocking";
    return new ApiError("refused", message, refusal, { ...info, hint });
  }
  const failed = refusal.serverCode === "completion_request_error" || /Run failed: /.test(message);
  if (!failed) return error;
  return new ApiError("remote-failed", message, refusal, {
    ...info,
    code: "remote-failed",
    hint: undefined,
    sideEffect: "applied",
  });
}
