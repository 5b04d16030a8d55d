import { eachEvent } from "../../../api/sse.ts";
import type { EventBatches } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import {
  getWorkflowRun,
  runWorkflow,
  runWorkflowBlocking,
  runWorkflowById,
  runWorkflowByIdBlocking,
} from "../../../operations/workflows.ts";
import { asEvents } from "../stream-or-wait.ts";
import { outcomeOf } from "../../../runs/final-event.ts";
import { evaluateWhileFollowing, expectationReport, readExpectations } from "../expect/index.ts";
import type { ExpectInput } from "../expect/index.ts";
import {
  answerText,
  checkStart,
  followRun,
  openStream,
  rememberTaskId,
  warnAboutGaps,
} from "../follow/index.ts";
import type { EventStream, FollowResult, TextEnd } from "../follow/index.ts";
import { checkRecord, recordTo } from "../recording/index.ts";
import type { RecordInput } from "../recording/index.ts";
import { answering, readAnswers } from "./form-answers.ts";
import type { FormAnswer } from "./form-answers.ts";
import { uploadInputFiles } from "./upload-files.ts";
import { saveTaskId } from "../task-ids.ts";
import { runEach } from "./batch.ts";
import { inputMaker } from "./inputs.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `wf run`. */
export interface RunInput extends ExpectInput, RecordInput {
  readonly workflow_id?: string | undefined;
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
  readonly files?: unknown;
  readonly blocking?: boolean | undefined;
  readonly detach?: boolean | undefined;
  readonly through_pauses?: boolean | undefined;
  readonly answer?: readonly string[] | undefined;
  readonly text?: boolean | undefined;
  readonly only_output?: string | undefined;
  readonly each?: string | undefined;
  readonly errors_to?: string | undefined;
  readonly concurrency?: number | undefined;
}

/** What is sent to start a run. */
type Body = { readonly inputs: Readonly<Record<string, unknown>>; readonly files?: unknown[] };

const bodyOf = ({ files }: RunInput, inputs: Body["inputs"]): Body => ({
  inputs,
  ...(Array.isArray(files) && { files }),
});

/**
 * Starts a run, once, and stays with it to its end. A cut line is followed up through the event
 * stream of the run; the run is never started again.
 */
export async function* run(input: RunInput, context: Context): AsyncGenerator<unknown> {
  refuseTogether(input, context);
  await checkRecord(input, context);
  const expectations = await readExpectations(input, context);
  const answers = await readAnswers(input.answer ?? [], context);
  const make = await inputMaker(context);
  if (input.each !== undefined) {
    const start = (inputs: Body["inputs"]) =>
      follow(input, bodyOf(input, inputs), answers, context);
    yield* runEach({ ...input, each: input.each }, make, start, context);
    return;
  }
  const body = bodyOf(input, await uploadInputFiles(await make(input), context));
  if (input.blocking) {
    yield* blocking(input, body, context);
    return;
  }
  if (input.detach) {
    yield await started((await opened(input, body, context)).events, context);
    return;
  }
  // With its detail, so that what keeps it from being read is told where expectations are, too.
  const stream = detailed(
    input,
    recordTo(input, follow(input, body, answers, context), context),
    context,
  );
  const events = evaluateWhileFollowing(stream, expectations, context);
  try {
    const { end, incomplete } = yield* printed(input, events, context);
    await expectationReport(end, expectations, context);
    // What became of the run says more than what is missing of it.
    if (input.only_output !== undefined && end.detail)
      await requireOutput(input.only_output, end.detail, context);
    if (incomplete) throw incomplete;
  } finally {
    await events.return(undefined as never); // where nobody reads on; it has ended otherwise
  }
}

/** A run that was followed, with its detail where that is what is printed. */
interface Detailed extends FollowResult {
  readonly detail?: Detail | undefined;
}

type Detail = Awaited<ReturnType<typeof detailOf>>;

const detailOf = (workflow_run_id: string, context: Context) =>
  context.call(getWorkflowRun, { workflow_run_id });

/** Events, text, one output, or the detail. */
const printsDetail = (input: RunInput, context: Context): boolean =>
  input.only_output !== undefined || !(input.text || asEvents(input, context.options.format));

/** Passes events on and reads the run's detail at their end, where it is printed. */
async function* detailed(
  input: RunInput,
  events: EventBatches<FollowResult>,
  context: Context,
): EventBatches<Detailed> {
  const end = yield* events;
  return printsDetail(input, context)
    ? { ...end, detail: await detailOf(end.runId, context) }
    : end;
}

/** What is shown of a run that is followed: its events, its text, one output, or its detail. */
async function* printed<T extends Detailed>(
  input: RunInput,
  events: EventBatches<T>,
  context: Context,
): AsyncGenerator<unknown, TextEnd<T>> {
  if (input.text) return yield* answerText(events, { text: true, late: false }, context);
  if (!printsDetail(input, context)) return { end: yield* events, incomplete: undefined };
  let next = await events.next();
  while (!next.done) next = await events.next();
  const { detail } = next.value;
  if (input.only_output === undefined) yield detail;
  else if (has(detail?.outputs, input.only_output)) yield asText(detail.outputs[input.only_output]);
  return { end: next.value, incomplete: undefined };
}

/** Flags that each say what is printed, or how long to stay. */
function refuseTogether(input: RunInput, context: Context): void {
  const given = Object.entries({
    "--blocking": input.blocking,
    "--detach": input.detach,
    "--text": input.text,
    "--only-output": input.only_output !== undefined,
    "--each": input.each !== undefined,
  }).filter(([, is]) => is);
  const wrong = (message: string) => new CliError("usage", message, { sideEffect: "none" });
  const [first, second] = given.map(([flag]) => flag);
  if (second !== undefined) throw wrong(`${first} and ${second} cannot be used together`);
  if (input.answer && (input.blocking || input.detach))
    throw wrong(`--answer follows the run, so it cannot be used with ${first}`);
  const watched = Boolean(input.expect) || input.junit !== undefined;
  if (watched && (input.blocking || input.detach || input.each !== undefined))
    throw wrong(`--expect and --junit follow one run, so they cannot be used with ${first}`);
  if (input.record !== undefined && (input.blocking || input.detach || input.each !== undefined))
    throw wrong(`--record follows one run, so it cannot be used with ${first}`);
  const ofRows = Object.entries({
    "--errors-to": input.errors_to,
    "--concurrency": input.concurrency,
  }).find(([, value]) => value !== undefined);
  if (ofRows && input.each === undefined) throw wrong(`${ofRows[0]} is used with --each`);
  if ((input.text || input.only_output !== undefined) && context.options.typed !== undefined)
    throw wrong(`${first} prints text, in no other format`);
}

/** Starts the run. Its events throw where the server refused it after all. */
async function opened(input: RunInput, body: Body, context: Context): Promise<EventStream> {
  const { events, leave } =
    input.workflow_id === undefined
      ? await openStream(runWorkflow, body, context)
      : await openStream(runWorkflowById, { ...body, workflow_id: input.workflow_id }, context);
  return { events: checkStart(events), leave };
}

/** Starts the run and follows it to its end. */
async function* follow(
  input: RunInput,
  body: Body,
  answers: readonly FormAnswer[],
  context: Context,
): EventBatches<FollowResult> {
  const { events: first, leave } = await opened(input, body, context);
  return yield* rememberTaskId(
    warnAboutGaps(
      followRun(
        {
          first,
          leave,
          reconnect: true,
          throughPauses: input.through_pauses || answers.length > 0,
          snapshot: true,
          answer: answers.length > 0 ? answererOf(input, answers, context) : undefined,
        },
        context,
      ),
      context,
    ),
    context,
  );
}

/** With --through-pauses a form without an answer waits for somebody else. */
function answererOf(input: RunInput, answers: readonly FormAnswer[], context: Context) {
  const answer = answering(answers, context);
  if (!input.through_pauses) return answer;
  return async (...forms: Parameters<typeof answer>): Promise<true> => {
    const unanswered = await answer(...forms);
    if (unanswered !== true) await context.notice(unanswered);
    return true;
  };
}

async function* blocking(input: RunInput, body: Body, context: Context): AsyncGenerator<unknown> {
  const answer =
    input.workflow_id === undefined
      ? await context.call(runWorkflowBlocking, body)
      : await context.call(runWorkflowByIdBlocking, { ...body, workflow_id: input.workflow_id });
  yield answer;
  await raiseOutcome(answer.workflow_run_id, outcomeOf(answer.data), context.notice);
}

const has = (outputs: unknown, name: string): outputs is Readonly<Record<string, unknown>> =>
  isObject(outputs) && Object.hasOwn(outputs, name);

/** An output: a text as it is, everything else as JSON. */
const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** Refuses the name of an output that a run which came to its end has not; one that failed has none. */
async function requireOutput(
  name: string,
  { id, status, outputs }: Detail,
  context: Context,
): Promise<void> {
  if (has(outputs, name)) return;
  const message = `run ${id} has no output ${JSON.stringify(name)}`;
  if (status !== "succeeded" && status !== "partial-succeeded") return context.notice(message);
  const names = isObject(outputs) ? Object.keys(outputs).join(", ") : "";
  throw new CliError("not-found", message, {
    sideEffect: "applied",
    hint: names === "" ? `wf show ${id} has the detail` : `it has: ${names}`,
  });
}

/** The ids of a run, as soon as the server names them; leaving the stream does not stop the run. */
async function started(
  events: EventBatches,
  context: Context,
): Promise<{ workflow_run_id: string; task_id: string }> {
  for await (const { event, data } of eachEvent(events)) {
    if (event === "error") break;
    const { workflow_run_id, task_id } = data;
    if (typeof workflow_run_id === "string" && typeof task_id === "string") {
      await saveTaskId(workflow_run_id, task_id, context);
      return { workflow_run_id, task_id };
    }
  }
  throw new CliError("network", "the stream ended before the server named the run", {
    sideEffect: "unknown",
    hint: "the run may have started: `wf logs` shows it; do not start it again before looking",
  });
}
