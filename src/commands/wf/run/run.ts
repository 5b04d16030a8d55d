import { eachEvent } from "../../../api/sse.ts";
import type { EventBatches } from "../../../api/sse.ts";
import { CliError, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, stringifyJson } from "../../../lib/json.ts";
import { pipe, resultOfStream } from "../../../lib/pipe.ts";
import { eventFields } from "../../../lib/server-event.ts";
import type { Input } from "../../../operations/operation.ts";
import {
  getWorkflowRun,
  runWorkflow,
  runWorkflowBlocking,
  runWorkflowById,
  runWorkflowByIdBlocking,
} from "../../../operations/workflows.ts";
import type { WorkflowRun as RunRecord } from "../../../operations/workflows.ts";
import { isSuccess, outcomeOf, raiseOutcome } from "../../../runs/outcome.ts";
import { asEvents } from "../../task/command-spec.ts";
import type { Context } from "../../task/command-spec.ts";
import { evaluate, readExpectations } from "../expect/index.ts";
import { TextStream, followDisplayed } from "../follow/index.ts";
import { noRunId, startStream } from "../../../follow/open-stream.ts";
import type { EventStream } from "../../../follow/open-stream.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import {
  formAnswerer,
  promptsForForms,
  readAnswers,
  submitWithAnswers,
  uploadInputFiles,
  withoutChoices,
} from "../forms/index.ts";
import type { AnswerPause, FormAnswer } from "../forms/index.ts";
import { traceStages } from "../otlp/index.ts";
import { checkRecord, recordTo } from "../recording/index.ts";
import { saveRun } from "../runs/index.ts";
import { runEach } from "./batch.ts";
import type { RowRun } from "./batch.ts";
import type { runParams } from "./command.ts";
import { readInputForm, withAskedInputs } from "./inputs.ts";

type RunInput = Input<typeof runParams>;

/** Request body that starts a run. */
type Body = { readonly inputs: Readonly<Record<string, unknown>>; readonly files?: unknown[] };

const bodyOf = ({ files }: RunInput, inputs: Body["inputs"]): Body => ({
  inputs,
  ...(Array.isArray(files) && { files }),
});

/** Starts a run and follows it to its end, reconnecting to its events; never starts it twice. */
export async function* run(typed: RunInput, context: Context): AsyncGenerator<unknown> {
  checkFlags(typed, context);
  await checkRecord(typed, context);
  const expectations = await readExpectations(typed, context);
  const answers = await readAnswers(typed.answer ?? [], context);
  const traced = await traceStages(typed, context);
  const { fields, makeInputs } = await readInputForm(context);
  if (typed.each !== undefined) {
    const followRow = (row: RowRun) => {
      const run = "runId" in row ? row : { body: bodyOf(typed, row.inputs) };
      return pipe(follow(typed, run, answererOf(typed, answers, context), context), traced());
    };
    yield* runEach({ ...typed, each: typed.each, otlp: undefined }, makeInputs, followRow, context);
    return;
  }
  const input = await withAskedInputs(typed, fields, context);
  const body = bodyOf(input, await uploadInputFiles(await makeInputs(input), context));
  if (input.blocking) {
    yield* runBlocking(input, body, context);
    return;
  }
  if (input.detach) {
    const { events } = await start(input, body, context);
    const ids = await readIds(events, context);
    yield ids;
    await noticeNext(ids.workflow_run_id, context);
    return;
  }
  const live = asEvents(input, context.options.format);
  const evaluation = evaluate(expectations, context);
  const printsRecord = input.only_output !== undefined || !(input.text || live);
  let record: RunRecord | undefined;
  const readRecord = async ({ runId }: FollowResult) => {
    if (printsRecord) record = await context.api.call(getWorkflowRun, { workflow_run_id: runId });
  };
  const prompts = promptsAtPauses(input, context);
  const events = pipe(
    follow(input, { body }, prompts ?? answererOf(input, answers, context), context),
    recordTo(input, context),
    traced(),
    { end: readRecord }, // before the evaluation, which reports if reading fails
    evaluation,
    prompts ? withoutChoices : {},
  );
  const text = new TextStream({ text: true, late: false }, context);
  if (!printsRecord) yield* input.text ? text.read(events) : events;
  else await resultOfStream(events); // only the record is printed
  const { only_output: output } = input;
  if (record && output === undefined) yield record;
  if (output !== undefined && hasOutput(record?.outputs, output)) {
    const value = record.outputs[output];
    yield typeof value === "string" ? value : stringifyJson(value);
  }
  await evaluation.report();
  // The outcome takes precedence over a missing output.
  if (record && output !== undefined) await requireOutput(output, record, context);
  if (text.incomplete) throw text.incomplete;
}

function checkFlags(input: RunInput, context: Context): void {
  const [first, second] = Object.entries({
    "--blocking": input.blocking,
    "--detach": input.detach,
    "--text": input.text,
    "--only-output": input.only_output !== undefined,
    "--each": input.each !== undefined,
  }).flatMap(([flag, isSet]) => (isSet ? [flag] : []));
  if (second !== undefined) throw usage(`${first} and ${second} cannot be used together`);
  if (input.answer && (input.blocking || input.detach))
    throw usage(`--answer cannot be used with ${first}: it needs the events of the run`);
  const followsOne = !input.blocking && !input.detach && input.each === undefined;
  if ((input.expect || input.junit !== undefined) && !followsOne)
    throw usage(`--expect and --junit cannot be used with ${first}`);
  if (input.otlp !== undefined && (input.blocking || input.detach))
    throw usage(`--otlp cannot be used with ${first}: it needs the events of the run`);
  if (input.record !== undefined && !followsOne)
    throw usage(`--record cannot be used with ${first}`);
  const rowFlag = Object.entries({
    "--errors-to": input.errors_to,
    "--concurrency": context.options.flags.concurrency,
    "--stop-on-error": input.stop_on_error,
  }).find(([, value]) => value !== undefined);
  if (rowFlag && input.each === undefined) throw usage(`${rowFlag[0]} requires --each`);
  if ((input.text || input.only_output !== undefined) && context.options.typed !== undefined)
    throw usage(`${first} prints text; it cannot be used with -o, --json or --jq`);
}

/** Starts the run; the events throw if the server rejects the start. */
const start = ({ workflow_id }: RunInput, body: Body, context: Context): Promise<EventStream> =>
  workflow_id === undefined
    ? startStream(runWorkflow, body, context)
    : startStream(runWorkflowById, { ...body, workflow_id }, context);

/** Follows the run that a body starts, or one that was started before. */
async function* follow(
  input: RunInput,
  run: { readonly body: Body } | { readonly runId: string },
  answer: AnswerPause | undefined,
  context: Context,
): EventBatches<FollowResult> {
  const options = {
    ...("runId" in run ? run : { first: await start(input, run.body, context) }),
    isOwn: true,
    reconnect: true,
    throughPauses: input.through_pauses || answer !== undefined,
    snapshot: true,
    answer,
  };
  return yield* followDisplayed(options, context);
}

/** Prompts for the forms of a pause, unless flags say how to treat them or judge the run. */
function promptsAtPauses(input: RunInput, context: Context): AnswerPause | undefined {
  const { through_pauses, answer, expect, junit, only_output, text } = input;
  const others = [through_pauses, answer, expect, junit, only_output];
  if (others.some((flag) => flag !== undefined && flag !== false)) return undefined;
  return promptsForForms(context, { isShown: !text });
}

/** Submits the forms of --answer. With --through-pauses, a form without one is left to others. */
function answererOf(
  input: RunInput,
  answers: readonly FormAnswer[],
  context: Context,
): AnswerPause | undefined {
  if (answers.length === 0) return undefined;
  const answer = formAnswerer(submitWithAnswers(answers, context));
  if (!input.through_pauses) return answer;
  return async (forms) => {
    const unanswered = await answer(forms);
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
      ? await context.api.call(runWorkflowBlocking, body)
      : await context.api.call(runWorkflowByIdBlocking, { ...body, workflow_id });
  yield result;
  await raiseOutcome(result.workflow_run_id, outcomeOf(eventFields(result.data)), context.notice);
}

const hasOutput = (outputs: unknown, name: string): outputs is Readonly<Record<string, unknown>> =>
  isObject(outputs) && Object.hasOwn(outputs, name);

/** Throws `not-found` if a successful run lacks the output; a failed run has none. */
async function requireOutput(
  name: string,
  { id, status, outputs }: RunRecord,
  context: Context,
): Promise<void> {
  if (hasOutput(outputs, name)) return;
  const message = `output ${JSON.stringify(name)} of run ${id} not found`;
  if (!isSuccess(status)) return context.notice(message);
  const names = isObject(outputs) ? Object.keys(outputs).join(", ") : "";
  throw new CliError("not-found", message, {
    sideEffect: "applied",
    hint: names === "" ? `see the run: ${commandLine("wf show", [id])}` : `outputs: ${names}`,
  });
}

/** Prints on a terminal how to follow a detached run, and how to stop it. */
async function noticeNext(run: string, { notice, options }: Context): Promise<void> {
  if (!options.terminal || options.format !== undefined) return;
  await notice(`follow it with ${commandLine("wf events", [run], { follow: true })}`);
  await notice(`stop it with ${commandLine("wf stop", [run])}`);
}

/** Returns the IDs of a run as soon as they arrive; leaving the stream does not stop the run. */
async function readIds(
  events: EventBatches,
  context: Context,
): Promise<{ workflow_run_id: string; task_id: string }> {
  for await (const { event, fields } of eachEvent(events)) {
    if (event === "error") break;
    const { workflow_run_id, task_id } = fields;
    if (workflow_run_id !== undefined && task_id !== undefined) {
      await saveRun(workflow_run_id, { task: task_id }, context);
      return { workflow_run_id, task_id };
    }
  }
  throw noRunId("stream closed");
}
