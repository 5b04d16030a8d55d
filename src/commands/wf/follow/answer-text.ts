import type { EventBatches, ServerEvent } from "../../../api/sse.ts";
import { CliError } from "../../../errors.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { runTexts, textOfOutputs } from "../../../runs/text.ts";
import type { Piece, TextChange } from "../../../runs/text.ts";
import { asText } from "../../../operations/operation.ts";
import { isResumedChatflow } from "./text-gaps.ts";
import type { Context } from "../../command-spec.ts";
import { newTextHash } from "../../../lib/text-hash.ts";

/** Which texts of a run are wanted. */
interface Wanted {
  readonly text?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
  /** The run may have said something before anybody listened. */
  readonly late: boolean;
}

/** What a text ends with. */
export interface TextEnd<T> {
  /** What the events return. */
  readonly end: T;
  /** Why what was printed is not the whole answer of a run that has one; a verdict. */
  readonly incomplete: CliError | undefined;
}

/**
 * The answer of a run as it grows. A terminal sees every piece at once, and is told where one is
 * taken back. Whatever else reads it gets text that stands: of a node when the node has ended, and
 * after a gap, or where watching began late, when the run has; its outputs then tell what is missing.
 */
export async function* answerText<T>(
  events: EventBatches<T>,
  wanted: Wanted,
  context: Context,
): AsyncGenerator<string, TextEnd<T>> {
  const live = context.options.terminal;
  const texts = runTexts();
  const printed = newTextHash();
  /** Pieces that are not printed yet. */
  let held: Piece[] = [];
  /** Is nothing more printed before the run has ended? */
  let waits = wanted.late && !live;
  /** May pieces be missing, or stand there twice? */
  let broken = false;
  let incomplete: CliError | undefined;
  let last: "answer" | "reasoning" | undefined;

  try {
    for (;;) {
      const next = await events.next();
      if (next.done) {
        yield* answer(taken());
        return { end: next.value, incomplete };
      }
      for (const event of next.value) yield* seen(event);
    }
  } catch (error) {
    yield* answer(taken()); // what there is; the exit code says that it is not all
    throw error;
  }

  async function* seen(event: ServerEvent) {
    const change = texts.see(event);
    if (change) yield* changed(change);
    if (event.event === "_gap" || isResumedChatflow(event)) broken = waits = true;
    if (event.event === "workflow_finished") yield* finished(event);
    if (event.event === "reasoning_chunk" && wanted.reasoning)
      yield* grown("reasoning", asText(valueAt(event.data, "data.reasoning")));
    if (!waits) yield* answer(taken(({ node }) => live || !texts.runs(node)));
  }

  async function* changed(change: TextChange) {
    if (change.kind === "piece") held.push(change.piece);
    else if (change.kind === "void") yield* takenBack(change);
    else yield* replaced(change.text);
  }

  /** Pieces that may be printed, up to the first that may not. */
  function taken(stands: (piece: Piece) => boolean = () => true): string {
    const end = held.findIndex((piece) => !stands(piece));
    const count = end < 0 ? held.length : end;
    const text = held.slice(0, count).map((piece) => piece.text);
    held = held.slice(count);
    return text.join("");
  }

  function* grown(as: "answer" | "reasoning", text: string) {
    if (text === "") return;
    const between = last !== undefined && last !== as ? "\n\n" : "";
    last = as;
    yield between + text;
  }

  function* answer(text: string) {
    if (!wanted.text || text === "") return;
    printed.grow(text);
    yield* grown("answer", text);
  }

  async function* takenBack({ node, sources }: TextChange & { readonly kind: "void" }) {
    held = held.filter(({ source }) => !sources.has(source));
    if (!live || waits || !wanted.text) return;
    yield* answer("\n");
    await context.notice(`the text of node ${node} above broke off and is not part of the answer`);
  }

  /** A saved answer goes on where the printed one stopped; any other one stands below it. */
  function* replaced(text: string) {
    held = [];
    waits = broken = false;
    const goesOn = printed.begins(text);
    yield* answer(goesOn ? text.slice(printed.length) : `\n${text}`);
  }

  async function* finished(event: ServerEvent) {
    const whole = textOfOutputs(event);
    const pieces = taken();
    if (!broken) {
      // A run that streamed nothing tells its text by its outputs.
      yield* answer(pieces === "" && last === undefined ? (whole ?? "") : pieces);
      return;
    }
    if (whole !== undefined && printed.begins(whole)) {
      yield* answer(whole.slice(printed.length));
      return;
    }
    if (!isGoodEnd(event)) {
      yield* answer(pieces);
    } else if (live && whole !== undefined) {
      await context.notice("text is missing above; the whole of it follows");
      yield* answer(`\n${whole}`);
    } else {
      yield* answer(pieces);
      incomplete = lacking(event);
    }
  }
}

const isGoodEnd = ({ data }: ServerEvent): boolean =>
  /^(partial-)?succeeded$/.test(String(isObject(data["data"]) && data["data"]["status"]));

const lacking = ({ data }: ServerEvent): CliError => {
  const run = asText(data["workflow_run_id"]);
  return new CliError("partial", `the text of run ${run} is incomplete: the connection was lost`, {
    isResult: true,
    details: { run },
    hint: `wf show ${run} --jq .outputs`,
  });
};
