import type { EventBatches, EventStage } from "../../../api/sse.ts";
import { CliError, isFatal, usage } from "../../../errors.ts";
import { backoff, delays } from "../../../lib/backoff.ts";
import { pipe, resultOfStream } from "../../../lib/pipe.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { createCompletion, listMessages, sendMessage } from "../../../operations/chats.ts";
import { runWorkflow, runWorkflowById } from "../../../operations/workflows.ts";
import { valueAt } from "../../../lib/json.ts";
import { endingOf, isSuccess } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import { citedChunks, RunTrace } from "../../../runs/trace.ts";
import type { Context } from "../../task/command-spec.ts";
import { versionIn } from "../../task/read-server.ts";
import { isChatMode } from "../../wf/app/index.ts";
import { runFields, traceEvents } from "../../wf/expect/index.ts";
import { followDisplayed } from "../../wf/follow/index.ts";
import { startStream } from "../../../follow/open-stream.ts";
import { appFields } from "../../wf/forms/index.ts";
import { isModelLimit, ReplyPrinter } from "../../wf/chat/index.ts";

/** What an application has answered. */
export interface SuiteAnswer {
  readonly trace: RunTrace;
  readonly conversation: string | undefined;
  /** Whether there is none because the model limits its rate. */
  readonly limited?: boolean;
  /** Whether it is that of a run that was started before. */
  readonly followed?: boolean;
}

/** Takes events as they arrive; `again`: the question is repeated, and the events so far do not count. */
export type OnEvents = (events: readonly ServerEvent[] | "again") => void | Promise<void>;

/** What is sent to an application. */
interface Question {
  /** What is said to a chat. */
  readonly query?: string | undefined;
  /** As they are sent: files are uploaded. */
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly onEvents?: OnEvents | undefined;
}

/** How often a question is repeated, and after how many without success no more. */
const MAX_REPEATS = 3;

/** An application that is asked. */
export type SuiteApp = Awaited<ReturnType<typeof openApp>>;

/** Opens an application by its name in the profile, or that of the command line. */
export async function openApp(
  {
    app,
    user,
    version,
  }: {
    readonly app?: string | undefined;
    readonly user?: string | undefined;
    /** ID of a version of its workflow (default: the published one). */
    readonly version?: string | undefined;
  },
  common: Context,
) {
  const context = common.with({ app, user });
  let serverVersion: string | undefined;
  const onHeaders = (headers: Readonly<Record<string, string | undefined>>) => {
    serverVersion = versionIn(headers["x-version"]);
  };
  const { mode = "", name = "" } = await context.api.call(getAppInfo, {}, { onHeaders });
  const isChat = isChatMode(mode);
  if (version !== undefined && mode !== "workflow" && mode !== "advanced-chat")
    throw usage(
      `application ${JSON.stringify(name)} has mode ${mode}, which has no versions of a workflow`,
    );
  const sendOnce = async ({ query, inputs, onEvents }: Question, conversation?: string) => {
    if (mode === "workflow") {
      const first =
        version === undefined
          ? await startStream(runWorkflow, { inputs }, context)
          : await startStream(runWorkflowById, { inputs, workflow_id: version }, context);
      return runAnswer({ first }, onEvents, context);
    }
    if (!isChat) {
      const said = query === undefined ? {} : { query };
      const stream = startStream(createCompletion, { inputs, ...said }, context);
      return replyAnswer(await stream, { onEvents }, context);
    }
    const continued = conversation === undefined ? {} : { conversation_id: conversation };
    const chosen = version === undefined ? {} : { workflow_id: version };
    const message = { query: query ?? "", inputs, ...continued, ...chosen };
    const stream = await startStream(sendMessage, message, context);
    return replyAnswer(stream, { onEvents, conversation }, context);
  };
  /** Questions in a row that were repeated without success. */
  let refused = 0;
  return {
    name,
    mode,
    isChat,
    context,
    /** Undefined if the server does not tell. */
    serverVersion,
    /** Asks, as an asker does. */
    async send(question: Question, conversation?: string): Promise<SuiteAnswer> {
      // A continued conversation would hold the question twice.
      const repeats = conversation === undefined && refused < MAX_REPEATS ? MAX_REPEATS : 0;
      let answer = await sendOnce(question, conversation);
      for (let attempt = 0; answer.limited && attempt < repeats; attempt++) {
        await context.trace(1, `${answer.trace.error}; asking again`);
        await context.pause(backoff(attempt, delays.model));
        await question.onEvents?.("again");
        answer = await sendOnce(question, conversation);
      }
      refused = answer.limited ? refused + 1 : 0;
      return answer;
    },
  };
}

/**
 * Asks with `send`. An answer that fails is a result, with the reason as `error`, and so is a failure that another
 * question may not have; throws any that every question would have.
 */
export async function answerOrError(
  send: () => Promise<SuiteAnswer>,
  { host, abortError }: Context,
): Promise<{ readonly answer?: SuiteAnswer; readonly error?: string }> {
  try {
    const answer = await send();
    const { status, error = `the run ended as ${status}` } = answer.trace;
    return isSuccess(status) ? { answer } : { answer, error };
  } catch (error) {
    if (host.signal.aborted) throw abortError();
    if (!(error instanceof CliError) || stopsSuite(error) || error.kind === "usage") throw error;
    return { error: error.message };
  }
}

type Stream = Awaited<ReturnType<typeof startStream>>;

/** Follows a run to its end or its first pause. */
export async function runAnswer(
  which: { readonly first: Stream } | { readonly runId: string },
  onEvents: OnEvents | undefined,
  context: Context,
): Promise<SuiteAnswer> {
  const trace = new RunTrace();
  const options = { ...which, reconnect: true, throughPauses: false, snapshot: true };
  const events = followDisplayed(options, context);
  const { outcome } = await readInto(trace, events, onEvents, context);
  return { trace: ended(trace, outcome), conversation: undefined };
}

/** Follows a reply to its end. */
async function replyAnswer(
  stream: Stream,
  {
    onEvents,
    conversation,
  }: { readonly onEvents: OnEvents | undefined; readonly conversation?: string | undefined },
  context: Context,
): Promise<SuiteAnswer> {
  const trace = new RunTrace();
  const printer = new ReplyPrinter("events");
  const events = printer.print(stream, context) as EventBatches;
  try {
    await readInto(trace, events, onEvents, context);
  } catch (error) {
    // The model has failed: that is its answer.
    const limited = error instanceof CliError && isModelLimit(error);
    if (!(error instanceof CliError) || (error.kind !== "remote-failed" && !limited)) throw error;
    const failed = ended(trace, { status: "failed", error: error.message });
    return { trace: failed, conversation, limited };
  }
  const outcome = printer.outcome ?? { status: "succeeded" };
  const answer = {
    trace: ended(trace, outcome),
    conversation: printer.reply.id("conversation_id") ?? conversation,
  };
  if (outcome.status !== "paused") await completeCitations(answer, printer.reply, context);
  return answer;
}

/** What a reply cites comes at its end, which a lost connection hides: the server stores it, too. */
async function completeCitations(
  { trace, conversation: conversation_id }: SuiteAnswer,
  reply: ReplyPrinter["reply"],
  context: Context,
): Promise<void> {
  if (trace.sources || conversation_id === undefined) return;
  const stored = await context.api.call(listMessages, { conversation_id });
  const message = stored.find(({ id }) => id === reply.id("message_id"));
  if (!message) throw new CliError("cut", "lost the end of the reply, so its sources are unknown");
  trace.sources = citedChunks(message);
}

/** The text of an answer, as conditions see it: streams may lack a part of it. Null if it is unknown. */
export function answerText({ trace }: SuiteAnswer): string | null {
  const { value, missing } = runFields.text.read(trace);
  if (missing === "unknown") return null;
  return typeof value === "string" ? value : "";
}

/** Reads a stream to its end: its events are handed on, then added to the trace. */
function readInto<Result>(
  trace: RunTrace,
  events: EventBatches<Result>,
  onEvents: OnEvents | undefined,
  context: Context,
): Promise<Result> {
  const handOn: EventStage = {
    async batch(batch) {
      await onEvents?.(batch);
      return batch;
    },
  };
  return resultOfStream(pipe(events, handOn, traceEvents(trace, context)));
}

const ended = (trace: RunTrace, outcome: RunOutcome): RunTrace =>
  Object.assign(trace, { status: endingOf(outcome), error: outcome.error ?? trace.error });

/**
 * Reads the input form of an application: which of some values it takes; none for a chat, which takes a message. What
 * it returns throws usage if the form takes none of them, or needs others.
 */
export async function openInputs({ name, isChat, context }: SuiteApp) {
  const form = isChat ? [] : (await context.api.call(getAppParameters, {})).user_input_form;
  const fields = appFields(form ?? []);
  return (values: Readonly<Record<string, string>>): Record<string, string> => {
    const known = Object.entries(values).filter(([key]) =>
      fields.some(({ variable }) => variable === key),
    );
    const needed = fields.find(
      (field) => field.required && field.default === undefined && !(field.variable in values),
    );
    if (isChat || (!needed && known.length > 0)) return Object.fromEntries(known);
    throw usage(
      `application ${JSON.stringify(name)} ${needed ? `needs the input ${needed.variable}` : "has no input for it"}`,
      `it gets the inputs ${Object.keys(values).join(", ")}, as far as its form has them`,
    );
  };
}

/** What the searches of an application found: the outputs of their nodes, or else the sources that a reply cites. */
export function retrievedChunks({ trace }: SuiteAnswer) {
  const searches = trace.nodes.filter(({ type }) => type === "knowledge-retrieval");
  const found = searches.flatMap(({ outputs }): unknown => valueAt(outputs, "result") ?? []);
  if (searches.length === 0)
    return (trace.sources ?? []).map((source, index) => ({ ...source, score: -index }));
  return found.map((chunk, index) => {
    const textAt = (path: string) => {
      const text = valueAt(chunk, path);
      return typeof text === "string" ? text : null;
    };
    const document = textAt("metadata.document_name") ?? textAt("title");
    const score = valueAt(chunk, "metadata.score");
    return { document, content: textAt("content"), score: Number(score ?? -index) };
  });
}

/** Whether an error keeps every further test from being asked. */
export const stopsSuite = (error: unknown): boolean =>
  !(error instanceof CliError) || isFatal(error) || error.kind === "auth";
