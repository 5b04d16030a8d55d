import type { EventBatches } from "../../../api/sse.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { CliError } from "../../../errors.ts";
import { isSuccess } from "../../../runs/status.ts";
import { TextBuffer, RunTexts, textOfOutputs } from "../../../runs/text.ts";
import type { Piece, TextChange } from "../../../runs/text.ts";
import { isResumedChatflow } from "./text-gaps.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

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
