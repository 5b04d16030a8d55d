import type { EventBatches } from "../../../api/sse.ts";
import { CliError, isFatal, usage } from "../../../errors.ts";
import { resultOfStream } from "../../../lib/pipe.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { getAppInfo } from "../../../operations/apps.ts";
import { sendMessage } from "../../../operations/chats.ts";
import { createCompletion } from "../../../operations/completions.ts";
import { runWorkflow } from "../../../operations/workflows.ts";
import { redactKeys } from "../../../redact/recordings.ts";
import { endingOf } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import { RunTrace } from "../../../runs/trace.ts";
import type { Context } from "../../command-spec.ts";
import { followDisplayed, startStream } from "../follow/index.ts";
import { assignedInputs } from "../forms/index.ts";
import { ReplyPrinter } from "../reply-events.ts";
import type { Suite, SuiteTurn } from "./read-suite.ts";

/** What an application has answered. */
export interface SuiteAnswer {
  readonly trace: RunTrace;
  readonly conversation: string | undefined;
}

/** Sends the turns of a suite to its application. */
export interface Asker {
  /** Asks once, never again. Throws what kept the answer from being known. */
  ask(turn: SuiteTurn, conversation: string | undefined): Promise<SuiteAnswer>;
  readonly context: Context;
}

/** The asker of a suite's application. Throws `usage` if a test does not suit its kind. */
export async function openAsker(suite: Suite, common: Context): Promise<Asker> {
  const context = suite.app === undefined ? common : common.withApp(suite.app);
  const { mode = "" } = await context.call(getAppInfo, {});
  const isChat = mode.endsWith("chat");
  for (const { turns, from, name } of suite.tests) {
    const place = `${from.path} line ${from.line}: test ${JSON.stringify(name)}`;
    if (isChat && turns.some(({ query }) => query === undefined))
      throw usage(`${place} has no query`, `the application has mode ${mode}`);
    if (!isChat && turns.length > 1)
      throw usage(`${place} has several turns`, `an application of mode ${mode} has no memory`);
  }
  const user = suite.user === undefined ? {} : { user: suite.user };
  return {
    context,
    async ask({ query, inputs: raw }, conversation) {
      const inputs = await assignedInputs(filesApart(raw), context);
      const trace = new RunTrace();
      if (mode === "workflow") {
        const first = await startStream(runWorkflow, { inputs, ...user }, context);
        const options = { first, reconnect: true, throughPauses: false, snapshot: true };
        const { outcome } = await resultOfStream(
          recorded(followDisplayed(options, context), trace, context),
        );
        return { trace: ended(trace, outcome), conversation: undefined };
      }
      const stream = isChat
        ? startStream(
            sendMessage,
            {
              query: query ?? "",
              inputs,
              ...(conversation !== undefined && { conversation_id: conversation }),
              ...user,
            },
            context,
          )
        : startStream(
            createCompletion,
            { inputs, ...(query !== undefined && { query }), ...user },
            context,
          );
      const printer = new ReplyPrinter("events");
      const events = printer.print(await stream, context) as EventBatches;
      try {
        await resultOfStream(recorded(events, trace, context));
      } catch (error) {
        // The model has failed: that is its answer.
        if (!(error instanceof CliError) || error.kind !== "remote-failed") throw error;
        return { trace: ended(trace, { status: "failed", error: error.message }), conversation };
      }
      const outcome = printer.outcome ?? { status: "succeeded" };
      return {
        trace: ended(trace, outcome),
        conversation: printer.reply.id("conversation_id") ?? conversation,
      };
    },
  };
}

/** Values such as `@report.pdf` are files to upload, as with --input. */
function filesApart(inputs: SuiteTurn["inputs"]) {
  const isFile = (value: unknown): value is string =>
    typeof value === "string" && value.startsWith("@");
  const entries = Object.entries(inputs);
  return {
    input: entries.flatMap(([name, value]) => (isFile(value) ? [`${name}=${value}`] : [])),
    inputs: Object.fromEntries(entries.filter(([, value]) => !isFile(value))),
  };
}

/** Adds the events to a trace as they pass. */
async function* recorded<R>(
  events: AsyncGenerator<readonly ServerEvent[], R>,
  trace: RunTrace,
  { host }: Context,
): AsyncGenerator<readonly ServerEvent[], R> {
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    for (const event of next.value)
      trace.add(redactKeys(event, host.secrets), event.at ?? host.now().getTime());
    yield next.value;
  }
}

const ended = (trace: RunTrace, outcome: RunOutcome): RunTrace =>
  Object.assign(trace, { status: endingOf(outcome), error: outcome.error ?? trace.error });

/** Whether an error keeps every further test from being asked. */
export const stopsSuite = (error: unknown): boolean =>
  !(error instanceof CliError) || isFatal(error) || error.kind === "auth";
