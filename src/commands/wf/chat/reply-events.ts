import { isQuotaCode } from "../../../api/api-error.ts";
import type { EventBatches, EventStage } from "../../../api/sse.ts";
import { ApiError, CliError } from "../../../errors.ts";
import { backoff, delays } from "../../../lib/backoff.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { pipe, resultOfStream } from "../../../lib/pipe.ts";
import { serverEvent } from "../../../lib/server-event.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { listMessages } from "../../../operations/chats.ts";
import type { AnswerMetadata, ChatResponse, Message } from "../../../operations/chats.ts";
import { asText } from "../../../operations/operation.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import { TextSoFar, textOfOutputs } from "../../../runs/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { TextStream, followDisplayed } from "../follow/index.ts";
import type { EventStream } from "../../../follow/open-stream.ts";
import type { AnswerPause } from "../forms/index.ts";

/** The end of a reply, with the outcome of the run behind it if there is one. */
type ReplyEnd = Pick<ReplyPrinter, "outcome">;

/** How often to read the stored message: its answer is there at once or never (server §18). */
const MAX_POLLS = 3;

/**
 * Yields the events of a reply to its end, even if the connection is lost; never sends the message
 * twice. A run behind the reply is followed as in `wf run`; otherwise the stored message is read and
 * yielded as an event `_answer`. Throws `remote-failed` if the reply failed, and `cut` if its end is
 * unknown.
 */
async function* replyEvents(
  { events, close }: EventStream,
  answer: AnswerPause | undefined,
  context: Context,
): EventBatches<ReplyEnd> {
  try {
    const first = await events.next();
    const batch = first.done ? [] : first.value;
    const all = resume(batch, events);
    if (batch.some(({ fields }) => fields.workflow_run_id)) {
      const options = {
        first: { events: all, close },
        reconnect: true,
        throughPauses: answer !== undefined,
        snapshot: true,
        answer,
      };
      return yield* followDisplayed(options, context);
    }
    yield* replyWithoutRun(all, context);
    return { outcome: undefined };
  } finally {
    await events.return(); // closes the connection
  }
}

/** What is printed of a reply: its events, its text as it grows, or one response at the end. */
export type ReplyForm = "events" | "text" | "response";

/** The form of a reply for an output format of the command line or the settings. */
export function replyForm(format: string | undefined): ReplyForm {
  if (format === undefined) return "text";
  return format === "jsonl" ? "events" : "response";
}

/** A reply to print, which is collected at the same time. */
export class ReplyPrinter {
  readonly reply = new ReplyCollector();
  /** Outcome of the run behind the reply, if there is one. */
  outcome: RunOutcome | undefined;
  /** The error if the printed text is known to be incomplete. */
  incomplete: CliError | undefined;
  /** Called after each batch of events was collected. */
  onBatch: () => Promise<void> = () => Promise.resolve();
  private readonly form: ReplyForm;
  private readonly answer: AnswerPause | undefined;

  /** `answer` submits the forms of a reply that is paused. */
  constructor(form: ReplyForm, answer?: AnswerPause) {
    this.form = form;
    this.answer = answer;
  }

  /** The events of the reply, which are collected. */
  events(stream: EventStream, context: Context): EventBatches<ReplyEnd> {
    const collect: EventStage<ReplyEnd> = {
      batch: async (batch) => {
        for (const event of batch) this.reply.add(event);
        await this.onBatch();
        return batch;
      },
      end: ({ outcome }) => {
        this.outcome = outcome;
      },
    };
    return pipe(replyEvents(stream, this.answer, context), collect);
  }

  /** Yields batches of events, pieces of text, or one response. */
  async *print(stream: EventStream, context: Context): AsyncGenerator<unknown> {
    const events = this.events(stream, context);
    if (this.form === "events") yield* events;
    else if (this.form === "response") {
      await resultOfStream(events);
      yield this.reply.response();
    } else {
      const text = new TextStream({ text: true, late: false }, context);
      yield* withLineEnd(text.read(pipe(events, traceSteps(context))));
      this.incomplete = text.incomplete;
    }
  }
}

/** Ends a text with a line end, also if it fails: what follows starts on a new line. */
async function* withLineEnd(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let last = "\n";
  try {
    for await (const piece of pieces) {
      yield piece;
      last = piece;
    }
  } catch (error) {
    if (!last.endsWith("\n")) yield "\n";
    throw error;
  }
  if (!last.endsWith("\n")) yield "\n";
}

/** Prints the steps behind a text with -v: nodes and tools. */
function traceSteps({ trace }: Context): EventStage {
  let last = "";
  return {
    async batch(batch) {
      for (const { event, fields } of batch) {
        const { title, status, tool, tool_input, observation } = fields;
        if (event === "node_finished") await trace(1, `node ${title} ${status}`);
        if (event !== "agent_thought" || tool === undefined) continue;
        const done = observation === undefined ? tool_input : `gave ${observation}`;
        const step = `tool ${tool} ${done}`;
        if (step !== last) await trace(1, step); // new agents send a call again (server §18)
        last = step;
      }
      return batch;
    },
  };
}

/** Puts back the first batch. */
async function* resume(first: readonly ServerEvent[], events: EventBatches): EventBatches {
  if (first.length > 0) yield first;
  yield* events;
}

/** A reply without a run ends with `message_end` (server §15.5). */
async function* replyWithoutRun(events: EventBatches, context: Context): EventBatches {
  const reply = new ReplyCollector();
  let reason = "stream closed";
  try {
    for await (const batch of events) {
      for (const event of batch) reply.add(event);
      yield batch;
      const error = batch.find(({ event }) => event === "error");
      if (error) throw replyFailed(error.fields.message, reply, error.fields.code);
      if (batch.some(({ event }) => event === "message_end")) return;
    }
  } catch (error) {
    if (context.host.signal.aborted || !(error instanceof CliError) || error.kind !== "network")
      throw error;
    reason = error.message;
  }
  yield* storedReply(reply, reason, context);
}

/** Reads the stored message and yields its text if it differs from the text received. */
async function* storedReply(reply: ReplyCollector, reason: string, context: Context): EventBatches {
  const conversation_id = reply.id("conversation_id");
  const message_id = reply.id("message_id");
  if (conversation_id === undefined || message_id === undefined) throw replyLost(reason, reply);
  await context.notice(`${reason}; reading the stored message`);
  for (let attempt = 0; attempt < MAX_POLLS; attempt++) {
    await context.pause(backoff(attempt, delays.message));
    const message = await readMessage(conversation_id, message_id, context);
    if (message?.status === "error") throw replyFailed(message.error, reply);
    if (message === undefined || message.answer === "") continue;
    const { answer, retriever_resources } = message;
    const data = {
      event: "_answer",
      conversation_id,
      message_id,
      answer,
      metadata: { retriever_resources },
    };
    if (answer !== reply.text()) yield [serverEvent(data)];
    return;
  }
  throw replyLost(reason, reply);
}

/** A message among the newest of a conversation; undefined if it cannot be read now. */
async function readMessage(
  conversation_id: string,
  id: string,
  context: Context,
): Promise<Message | undefined> {
  try {
    const messages = await context.api.call(listMessages, { conversation_id });
    return messages.find((message) => message.id === id);
  } catch (error) {
    if (context.host.signal.aborted || !(error instanceof CliError)) throw error;
    await context.trace(1, error.message);
    return undefined;
  }
}

/** The model or the application failed; message and conversation are stored nevertheless. */
const replyFailed = (message: unknown, reply: ReplyCollector, code = ""): CliError =>
  new CliError(
    isQuotaCode(code) ? "limited" : "remote-failed",
    `the reply failed: ${asText(message)}`,
    {
      isResult: true,
      sideEffect: "applied",
      effect: "the message was stored without an answer",
      // Of the model: an exhausted quota has other codes in a stream.
      ...(code === "rate_limit_error" && { retryable: true, hint: waitForModel }),
      details: idsOf(reply),
    },
  );

const waitForModel = "wait until the model takes requests again, then send it once more";

/** Whether the model of a reply limits its rate: a later question may be answered. */
export const isModelLimit = (error: CliError): boolean =>
  error.kind === "limited" && error.info.retryable === true && !(error instanceof ApiError);

const replyLost = (reason: string, reply: ReplyCollector): CliError => {
  const conversation = reply.id("conversation_id");
  const isStored = reply.id("message_id") !== undefined;
  const rest =
    conversation === undefined
      ? ", and cannot send it again"
      : `; ${commandLine("wf conversation messages", [conversation])} shows whether it was`;
  return new CliError("cut", `lost the event stream before the end of the reply: ${reason}`, {
    sideEffect: isStored ? "applied" : "unknown",
    effect: isStored ? "the message was stored" : undefined,
    details: idsOf(reply),
    hint: `the server stores an answer only if its stream is read to the end${rest}`,
  });
};

const idsOf = (reply: ReplyCollector) => ({
  message: reply.id("message_id") ?? null,
  conversation: reply.id("conversation_id") ?? null,
  task: reply.id("task_id") ?? null,
});

/**
 * Converts the error of a blocking call: a failed model is `remote-failed`, as in a stream, and
 * message and conversation are stored (server §18).
 */
export function blockingFailure(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { message, response, info } = error;
  if (/does not support blocking|only supports streaming/.test(message)) {
    const hint = "agent applications only stream; remove --blocking";
    return new ApiError("refused", message, response, { ...info, hint });
  }
  const failed = response.serverCode === "completion_request_error" || /Run failed: /.test(message);
  if (!failed) return error;
  return new ApiError("remote-failed", message, response, {
    ...info,
    code: "remote-failed",
    hint: undefined,
    sideEffect: "applied",
  });
}

const sharedFields = [
  "task_id",
  "message_id",
  "conversation_id",
  "workflow_run_id",
  "created_at",
] as const;

/** Assembles a reply from its events. The outputs of a chatflow hold its full text (server §18). */
export class ReplyCollector {
  private readonly texts = new TextSoFar();
  private readonly shared: Record<string, unknown> = {};
  private fullText: string | undefined;
  private metadata: AnswerMetadata | undefined;
  private paused: unknown;

  add(event: ServerEvent): void {
    this.texts.add(event);
    const { event: kind, data, fields } = event;
    for (const name of sharedFields) this.shared[name] ??= data[name];
    if (kind === "message_end" && isObject(fields.metadata))
      this.metadata = fields.metadata as unknown as AnswerMetadata; // as the server sends it
    if (kind === "workflow_finished") this.fullText = textOfOutputs(event) ?? this.fullText;
    if (kind === "workflow_paused") this.paused = data["data"];
    if (kind === "_answer") this.fullText = fields.answer;
  }

  text(): string {
    return this.fullText ?? this.texts.text();
  }

  id(name: "task_id" | "message_id" | "conversation_id" | "workflow_run_id"): string | undefined {
    const value = this.shared[name];
    return typeof value === "string" ? value : undefined;
  }

  /** The reply in the format of a blocking response, as far as the events provide it. */
  response(): Partial<ChatResponse> {
    const { metadata, paused } = this;
    const answer = this.text();
    const message = this.id("message_id");
    return {
      event: paused === undefined ? "message" : "workflow_paused",
      ...this.shared,
      ...(message !== undefined && { id: message }),
      answer,
      ...(metadata && { metadata }),
      ...(isObject(paused) && { data: { ...paused, answer } as never }),
    };
  }
}

/** The chunks of knowledge that a reply is based on, one line each. */
export const citations = (reply: Partial<ChatResponse>): readonly string[] => {
  const resources: unknown = valueAt(reply, "metadata.retriever_resources");
  const sources: readonly unknown[] = Array.isArray(resources) ? resources : [];
  return sources.map((source, index) => {
    const score: unknown = valueAt(source, "score");
    const parts = [
      `source ${asText(valueAt(source, "position") ?? index + 1)}`,
      asText(valueAt(source, "document_name") ?? valueAt(source, "title") ?? "unnamed"),
      `(${asText(valueAt(source, "dataset_name") ?? "no knowledge base")})`,
      ...(typeof score === "number" ? [score.toFixed(2)] : []),
    ];
    return parts.join("  ");
  });
};
