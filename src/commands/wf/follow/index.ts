import type { EventBatches, EventStage } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isOn } from "../../../lib/environment.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { pipe } from "../../../lib/pipe.ts";
import { serverEvent } from "../../../lib/server-event.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import type { FollowCounts } from "../../../follow/event-filter.ts";
import { followRun } from "../../../follow/follow.ts";
import type { FollowOptions } from "../../../follow/follow.ts";
import { isResumedChatflow } from "../../../follow/text-gaps.ts";
import { getForm } from "../../../operations/forms.ts";
import { redactText } from "../../../redact/text.ts";
import { endingOf, finalOutcome, isEnded, isSuccess } from "../../../runs/outcome.ts";
import { RunTexts, TextBuffer, textOfOutputs } from "../../../runs/text.ts";
import type { Piece, TextChange } from "../../../runs/text.ts";
import { nodeError } from "../../../runs/trace.ts";
import type { Context } from "../../task/command-spec.ts";
import { rememberEvents } from "../recording/index.ts";
import { following, saveRun } from "../runs/index.ts";
import type { NodeFailure } from "../runs/index.ts";

type Batch = readonly ServerEvent[];

/** Follows a run whose events are displayed. Throws and returns what `followRun` does. */
export const followDisplayed = (
  options: FollowOptions,
  context: Context,
  counts?: FollowCounts,
): ReturnType<typeof followRun> =>
  pipe(
    followRun(options, following(context), counts),
    warnAboutGaps(context),
    rememberRun(context),
    rememberEvents(context),
  );

/** Adds the text of forms, and warns where text may be missing. */
function warnAboutGaps(context: Context): EventStage {
  let isResumed = false;
  return {
    async batch(batch) {
      isResumed ||= batch.some(isResumedChatflow);
      // The text after the pause of a chatflow is always filled in at the end (server §18).
      const isFilled = isResumed && batch.some(({ event }) => event === "_gap_filled");
      const gap = batch.find(({ event }) => event === "_gap");
      if (gap && !isFilled) await context.notice(gapNotice(gap));
      return batch.some(isForm)
        ? Promise.all(batch.map((event) => withForm(event, pauseIn(batch), context)))
        : batch;
    },
  };
}

const gapNotice = ({ data, fields }: ServerEvent): string =>
  data["reconnected"] === true
    ? "events sent while disconnected, such as text, may be missing here"
    : `the server did not send some events, such as ${fields.missing?.[0] ?? "text"}`;

/**
 * Saves what the record of a run does not show: its task ID, so that the run can be stopped by its own
 * ID, that it was stopped (server §13), the nodes at which it failed (server §15.3), and whether it is
 * paused, and for which forms: the log has no runs of chats (server §12).
 */
function rememberRun(context: Context): EventStage {
  let isSaved = false;
  let isPaused = false;
  const keepsErrors = isOn(context.host.env["KB_KEEP_ERRORS"] || "1");
  let failures: readonly NodeFailure[] = [];
  const tokens = new Set<string>();
  const savePause = async ({ event, fields: { workflow_run_id: run } }: ServerEvent) => {
    const pauses = event === "workflow_paused";
    if (isPaused === pauses || !/^workflow_(paused|started|finished)$/.test(event)) return;
    isPaused = pauses;
    if (run !== undefined)
      await saveRun(run, { paused: isPaused, ...(isPaused && { forms: [...tokens] }) }, context);
    tokens.clear();
  };
  return {
    async batch(batch) {
      for (const event of batch) {
        isSaved ||= await saveTask(event, context);
        if (isForm(event) && event.fields.form_token) tokens.add(event.fields.form_token);
        await savePause(event);
      }
      if (keepsErrors)
        failures = [...failures, ...failuresIn(batch, context)].slice(-MAX_SAVED_FAILURES);
      const last = batch.at(-1);
      const outcome = last && finalOutcome(last, true);
      const run = last?.fields.workflow_run_id;
      if (!outcome || run === undefined) return batch;
      const status = endingOf(outcome);
      if (!isEnded(status)) return batch;
      const hasFailed = status !== "stopped" && failures.length > 0 && status !== "succeeded";
      const facts = {
        status,
        ...(status === "stopped" && { end: { status, error: outcome.error } }),
        ...(hasFailed && { failures }),
      };
      await saveRun(run, facts, context);
      return batch;
    },
  };
}

/** Saves the task ID of a run if the event names it; returns whether it does. */
async function saveTask({ fields }: ServerEvent, context: Context): Promise<boolean> {
  const { workflow_run_id: run, task_id: task } = fields;
  // Events of an ended run and some snapshots have the run ID instead, which stops nothing (server §13).
  if (run === undefined || task === undefined || task === run) return false;
  await saveRun(run, { task }, context);
  return true;
}

/** Nodes of a run whose failures are saved, and characters of each error. */
const MAX_SAVED_FAILURES = 3;
const MAX_SAVED_ERROR = 1000;

/** The failures of nodes in a batch, without credentials. */
function failuresIn(batch: Batch, { host }: Context): readonly NodeFailure[] {
  const ends = batch.filter(({ event }) => event === "node_finished");
  return ends.flatMap(({ fields }) => {
    const error = nodeError(fields);
    if (error === undefined) return [];
    const node = fields.title ?? fields.node_id ?? "";
    const safe = host.secrets.masked(redactText(error));
    return [{ node, error: safe.slice(0, MAX_SAVED_ERROR) }];
  });
}

const isForm = ({ event }: ServerEvent) => event === "human_input_required";

/** Unix time of the pause in a batch, which forms in a snapshot lack. */
const pauseIn = (batch: Batch): number | undefined =>
  batch.find(({ event }) => event === "workflow_paused")?.fields.created_at;

/**
 * Adds the time of the pause to a form, and replaces text that still has placeholders, as in a
 * snapshot, with that of the form's own route (server §15.6). Changes only what is displayed: `raw`
 * stays as the server sent it.
 */
async function withForm(
  event: ServerEvent,
  created_at: number | undefined,
  context: Context,
): Promise<ServerEvent> {
  const form = event.data["data"];
  if (!isForm(event) || !isObject(form)) return event;
  const form_content = await formText(event, context);
  const data = { ...(created_at !== undefined && { created_at }), ...form, form_content };
  return { ...event, ...serverEvent({ ...event.data, data }, event.raw) };
}

async function formText({ data, fields }: ServerEvent, context: Context): Promise<unknown> {
  const { form_content, form_token } = fields;
  const hasPlaceholders = /\{\{#(?!\$output\.)/.test(form_content ?? "");
  if (form_token === undefined || !hasPlaceholders || context.options.format !== undefined)
    return valueAt(data, "data.form_content");
  try {
    return (await context.api.call(getForm, { form_token })).form_content;
  } catch (error) {
    if (context.host.signal.aborted) throw error;
    return form_content; // the form was submitted in the meantime
  }
}

interface TextOptions {
  readonly text?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
  /** Whether the run may have sent text before the first event. */
  readonly late: boolean;
}

/**
 * Yields the text of a run as it grows. A terminal gets every piece at once, with a notice if one is
 * discarded. Other outputs get final text only: that of a node when the node has ended and, after a
 * gap or a late start, when the run has ended, because its outputs hold what is missing.
 */
export class TextStream {
  /** The error if the printed text is known to be incomplete. */
  incomplete: CliError | undefined;
  private readonly options: TextOptions;
  private readonly context: Context;
  /** Whether a terminal shows text as it comes. */
  private readonly live: boolean;
  private readonly texts = new RunTexts();
  private readonly printed = new TextBuffer();
  /** Pieces that are not printed yet. */
  private held: Piece[] = [];
  /** Hold all pieces until the run has ended. */
  private holdAll: boolean;
  /** Pieces may be missing or duplicated. */
  private hasGap = false;
  /** Text was discarded. What replaces it is not always sent (server §15.5). */
  private hasDiscarded = false;
  private lastKind: "answer" | "reasoning" | undefined;

  constructor(options: TextOptions, context: Context) {
    this.options = options;
    this.context = context;
    this.live = context.options.terminal;
    this.holdAll = options.late && !this.live;
  }

  async *read(events: EventBatches<unknown>): AsyncGenerator<string> {
    try {
      for await (const batch of events) for (const event of batch) yield* this.add(event);
    } catch (error) {
      yield* this.print(this.takeHeld()); // partial text; the exit code reports the failure
      throw error;
    }
    yield* this.print(this.takeHeld());
  }

  private async *add(event: ServerEvent) {
    const change = this.texts.add(event);
    if (change?.kind === "piece") this.held.push(change.piece);
    if (change?.kind === "void") yield* this.discard(change);
    if (change?.kind === "all") yield* this.replace(change.text);
    if (event.event === "_gap" || isResumedChatflow(event)) this.hasGap = this.holdAll = true;
    if (event.event === "workflow_finished") yield* this.finish(event);
    // A prompt for the form starts on a new line.
    if (event.event === "workflow_paused" && this.live && this.lastKind !== undefined) yield "\n";
    if (event.event === "reasoning_chunk" && this.options.reasoning)
      yield* this.separate("reasoning", event.fields.reasoning ?? "");
    if (this.holdAll) return;
    const isHeld = ({ node }: Piece) => !this.live && this.texts.isRunning(node);
    yield* this.print(this.takeHeld(this.held.findIndex(isHeld)));
  }

  /** Takes the first pieces from those held; all by default. */
  private takeHeld(count = -1): string {
    const taken = this.held.splice(0, count < 0 ? this.held.length : count);
    return taken.map((piece) => piece.text).join("");
  }

  private *separate(kind: "answer" | "reasoning", text: string) {
    if (text === "") return;
    const separator = this.lastKind !== undefined && this.lastKind !== kind ? "\n\n" : "";
    this.lastKind = kind;
    yield separator + text;
  }

  private *print(text: string) {
    if (!this.options.text || text === "") return;
    this.printed.add(text);
    yield* this.separate("answer", text);
  }

  private async *discard({ node, sources }: TextChange & { readonly kind: "void" }) {
    this.held = this.held.filter(({ source }) => !sources.has(source));
    this.hasDiscarded = true;
    if (!this.live || this.holdAll || !this.options.text) return;
    yield* this.print("\n");
    await this.context.notice(`ignore the text of node ${node} above: the node failed`);
  }

  /** The whole text continues the printed text, is its end, or starts a new line. */
  private *replace(text: string) {
    this.held = [];
    this.holdAll = this.hasGap = false;
    const continues = this.printed.isPrefixOf(text);
    if (!continues && this.printed.whole().endsWith(text)) return;
    yield* this.print(continues ? text.slice(this.printed.length) : `\n${text}`);
  }

  private async *finish(event: ServerEvent) {
    const full = textOfOutputs(event);
    const pieces = this.takeHeld();
    const ends = full === undefined || `${this.printed.whole()}${pieces}`.endsWith(full);
    if (!this.hasGap && (ends || !this.hasDiscarded)) {
      // A run that streamed nothing has its text in the outputs.
      yield* this.print(pieces === "" && this.lastKind === undefined ? (full ?? "") : pieces);
    } else if (full !== undefined && this.printed.isPrefixOf(full)) {
      yield* this.print(full.slice(this.printed.length));
    } else if (!isSuccess(event.fields.status)) {
      yield* this.print(pieces);
    } else if (this.live && full !== undefined) {
      await this.context.notice("some text is missing above; the full text follows");
      yield* this.print(`\n${full}`);
    } else {
      yield* this.print(pieces);
      this.incomplete = incompleteText(event);
    }
  }
}

const incompleteText = ({ fields: { workflow_run_id: run } }: ServerEvent): CliError =>
  new CliError("partial", `the text of run ${run} is incomplete: the connection was lost`, {
    isResult: true,
    details: { run },
    hint: run && `read its outputs: ${commandLine("wf show", [run], { jq: ".outputs" })}`,
  });
