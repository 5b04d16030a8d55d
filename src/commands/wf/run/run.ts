import { eachEvent } from "../../../api/sse.ts";
import type { EventBatches } from "../../../api/sse.ts";
import { CliError, usage } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import {
  getWorkflowRun,
  runWorkflow,
  runWorkflowBlocking,
  runWorkflowById,
  runWorkflowByIdBlocking,
} from "../../../operations/workflows.ts";
import { outcomeOf } from "../../../runs/final-event.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";
import { evaluateWhileFollowing, expectationReport, readExpectations } from "../expect/index.ts";
import type { ExpectInput } from "../expect/index.ts";
import {
  checkStart,
  followRun,
  openStream,
  rememberTaskId,
  streamText,
  warnAboutGaps,
} from "../follow/index.ts";
import type { EventStream, FollowResult, TextEnd } from "../follow/index.ts";
import { checkRecord, recordTo } from "../recording/index.ts";
import type { RecordInput } from "../recording/index.ts";
import { asEvents } from "../../stream-or-wait.ts";
import { saveTaskId } from "../task-ids.ts";
import { runEach } from "./batch.ts";
import { formAnswerer, readAnswers } from "./form-answers.ts";
import type { FormAnswer } from "./form-answers.ts";
import { inputMaker } from "./inputs.ts";
import { uploadInputFiles } from "./upload-files.ts";

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

/** Request body that starts a run. */
type Body = { readonly inputs: Readonly<Record<string, unknown>>; readonly files?: unknown[] };

const bodyOf = ({ files }: RunInput, inputs: Body["inputs"]): Body => ({
  inputs,
  ...(Array.isArray(files) && { files }),
});

/** Starts a run and follows it to its end, reconnecting to its events; never starts it twice. */
export async function* run(input: RunInput, context: Context): AsyncGenerator<unknown> {
  checkFlags(input, context);
  await checkRecord(input, context);
  const expectations = await readExpectations(input, context);
  const answers = await readAnswers(input.answer ?? [], context);
  const makeInputs = await inputMaker(context);
  if (input.each !== undefined) {
    const startRow = (inputs: Body["inputs"]) =>
      follow(input, bodyOf(input, inputs), answers, context);
    yield* runEach({ ...input, each: input.each }, makeInputs, startRow, context);
    return;
  }
  const body = bodyOf(input, await uploadInputFiles(await makeInputs(input), context));
  if (input.blocking) {
    yield* runBlocking(input, body, context);
    return;
  }
  if (input.detach) {
    const { events } = await start(input, body, context);
    yield await readIds(events, context);
    return;
  }
  // The record is read inside, so that expectations report it if reading fails.
  const followed = recordTo(input, follow(input, body, answers, context), context);
  const stream = withRecord(input, followed, context);
  const events = evaluateWhileFollowing(stream, expectations, context);
  try {
    const { end, incomplete } = yield* printRun(input, events, context);
    await expectationReport(end, expectations, context);
    // The outcome takes precedence over a missing output.
    if (input.only_output !== undefined && end.record)
      await requireOutput(input.only_output, end.record, context);
    if (incomplete) throw incomplete;
  } finally {
    await events.return(undefined as never); // closes the stream if the consumer stopped early
  }
}

type RunRecord = Awaited<ReturnType<typeof readRecord>>;

const readRecord = (workflow_run_id: string, context: Context) =>
  context.call(getWorkflowRun, { workflow_run_id });

/** A run that was followed, with its record if that is printed. */
interface FollowedRun extends FollowResult {
  readonly record?: RunRecord | undefined;
}

/** Whether the record or one of its outputs is printed, instead of events or text. */
const printsRecord = (input: RunInput, context: Context): boolean =>
  input.only_output !== undefined || !(input.text || asEvents(input, context.options.format));

async function* withRecord(
  input: RunInput,
  events: EventBatches<FollowResult>,
  context: Context,
): EventBatches<FollowedRun> {
  const end = yield* events;
  if (!printsRecord(input, context)) return end;
  return { ...end, record: await readRecord(end.runId, context) };
}

/** Yields the events of a followed run, its text, one output, or its record. */
async function* printRun<T extends FollowedRun>(
  input: RunInput,
  events: EventBatches<T>,
  context: Context,
): AsyncGenerator<unknown, TextEnd<T>> {
  if (input.text) return yield* streamText(events, { text: true, late: false }, context);
  if (!printsRecord(input, context)) return { end: yield* events, incomplete: undefined };
  let next = await events.next();
  while (!next.done) next = await events.next();
  const { record } = next.value;
  if (input.only_output === undefined) yield record;
  else if (hasOutput(record?.outputs, input.only_output))
    yield formatOutput(record.outputs[input.only_output]);
  return { end: next.value, incomplete: undefined };
}

function checkFlags(input: RunInput, context: Context): void {
  const wrong = (message: string) => usage(message);
  const [first, second] = Object.entries({
    "--blocking": input.blocking,
    "--detach": input.detach,
    "--text": input.text,
    "--only-output": input.only_output !== undefined,
    "--each": input.each !== undefined,
  }).flatMap(([flag, isSet]) => (isSet ? [flag] : []));
  if (second !== undefined) throw wrong(`${first} and ${second} cannot be used together`);
  if (input.answer && (input.blocking || input.detach))
    throw wrong(`--answer cannot be used with ${first}: it needs the events of the run`);
  const followsOne = !input.blocking && !input.detach && input.each === undefined;
  if ((input.expect || input.junit !== undefined) && !followsOne)
    throw wrong(`--expect and --junit cannot be used with ${first}`);
  if (input.record !== undefined && !followsOne)
    throw wrong(`--record cannot be used with ${first}`);
  const rowFlag = Object.entries({
    "--errors-to": input.errors_to,
    "--concurrency": input.concurrency,
  }).find(([, value]) => value !== undefined);
  if (rowFlag && input.each === undefined) throw wrong(`${rowFlag[0]} requires --each`);
  if ((input.text || input.only_output !== undefined) && context.options.typed !== undefined)
    throw wrong(`${first} prints text; it cannot be used with -o, --json or --jq`);
}

/** Starts the run; the events throw if the server rejects the start. */
async function start(input: RunInput, body: Body, context: Context): Promise<EventStream> {
  const { workflow_id } = input;
  const { events, close } =
    workflow_id === undefined
      ? await openStream(runWorkflow, body, context)
      : await openStream(runWorkflowById, { ...body, workflow_id }, context);
  return { events: checkStart(events), close };
}

async function* follow(
  input: RunInput,
  body: Body,
  answers: readonly FormAnswer[],
  context: Context,
): EventBatches<FollowResult> {
  const options = {
    first: await start(input, body, context),
    reconnect: true,
    throughPauses: input.through_pauses || answers.length > 0,
    snapshot: true,
    answer: answers.length > 0 ? answererOf(input, answers, context) : undefined,
  };
  const events = warnAboutGaps(followRun(options, context), context);
  return yield* rememberTaskId(events, context);
}

/** With --through-pauses, a form without an answer file is left to others. */
function answererOf(input: RunInput, answers: readonly FormAnswer[], context: Context) {
  const answer = formAnswerer(answers, context);
  if (!input.through_pauses) return answer;
  return async (...forms: Parameters<typeof answer>): Promise<true> => {
    const unanswered = await answer(...forms);
    if (unanswered !== true) await context.notice(unanswered);
    return true;
  };
}

async function* runBlocking(
  input: RunInput,
  body: Body,
  context: Context,
): AsyncGenerator<unknown> {
  const { workflow_id } = input;
  const result =
    workflow_id === undefined
      ? await context.call(runWorkflowBlocking, body)
      : await context.call(runWorkflowByIdBlocking, { ...body, workflow_id });
  yield result;
  await raiseOutcome(result.workflow_run_id, outcomeOf(result.data), context.notice);
}

const hasOutput = (outputs: unknown, name: string): outputs is Readonly<Record<string, unknown>> =>
  isObject(outputs) && Object.hasOwn(outputs, name);

/** A string as it is, everything else as JSON. */
const formatOutput = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** Throws `not-found` if a successful run lacks the output; a failed run has none. */
async function requireOutput(
  name: string,
  { id, status, outputs }: RunRecord,
  context: Context,
): Promise<void> {
  if (hasOutput(outputs, name)) return;
  const message = `output ${JSON.stringify(name)} of run ${id} not found`;
  if (status !== "succeeded" && status !== "partial-succeeded") return context.notice(message);
  const names = isObject(outputs) ? Object.keys(outputs).join(", ") : "";
  throw new CliError("not-found", message, {
    sideEffect: "applied",
    hint: names === "" ? `wf show ${id}` : `outputs: ${names}`,
  });
}

/** Returns the IDs of a run as soon as they arrive; leaving the stream does not stop the run. */
async function readIds(
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
  throw new CliError("network", "lost the event stream before the run ID was received", {
    sideEffect: "unknown",
    hint: "the run may have started; check `wf logs` before starting it again",
  });
}
