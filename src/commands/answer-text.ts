import type { Events } from "../api/events.ts";
import { isObject } from "../json.ts";
import type { Context } from "./task.ts";
import { textPrefix } from "./text-prefix.ts";

/** Which texts of a run are wanted. */
interface Wanted {
  readonly text?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
}

/**
 * The text of a run alone, as it grows; returns what the events return. After a gap the answer
 * waits for the outputs at the end, so that what is printed is the text from its beginning to its
 * end; where that cannot be, a notice says what is missing.
 */
export async function* answerText<T>(
  events: Events<T>,
  wanted: Wanted,
  context: Context,
): AsyncGenerator<string, T> {
  const printed = textPrefix();
  /** Pieces that came after a gap; undefined while nothing is missing. */
  let held: string[] | undefined;
  let last: "answer" | "reasoning" | undefined;

  for (;;) {
    const next = await events.next();
    if (next.done) {
      if (held) yield* answer(held.join(""));
      return next.value;
    }
    for (const { event, data: envelope } of next.value) {
      const data = isObject(envelope["data"]) ? envelope["data"] : envelope;
      switch (event) {
        case "text_chunk":
          yield* piece(data["text"]);
          break;
        case "message":
        case "agent_message":
          yield* piece(envelope["answer"]);
          break;
        case "message_replace":
        case "text_replace":
          yield* replaced(String(data["text"] ?? envelope["answer"] ?? ""));
          break;
        case "reasoning_chunk":
          if (wanted.reasoning) yield* grown("reasoning", String(data["reasoning"] ?? ""));
          break;
        case "_gap":
          held ??= [];
          break;
        case "_gap_filled":
          yield* filled(data);
          break;
        case "workflow_finished":
          yield* whole(data["outputs"]);
          break;
      }
    }
  }

  function* grown(as: "answer" | "reasoning", text: string) {
    if (text === "") return;
    const between = last !== undefined && last !== as ? "\n\n" : "";
    last = as;
    yield between + text;
  }

  function* answer(text: string) {
    if (!wanted.text) return;
    printed.grow(text);
    yield* grown("answer", text);
  }

  function* piece(text: unknown) {
    if (typeof text !== "string") return;
    if (held) held.push(text);
    else yield* answer(text);
  }

  /** A saved answer goes on where the printed one stopped; any other one stands below it. */
  function* replaced(text: string) {
    held = undefined;
    const goesOn = printed.begins(text);
    yield* answer(goesOn ? text.slice(printed.length) : `\n${text}`);
  }

  async function* filled(data: Readonly<Record<string, unknown>>) {
    held = undefined;
    if (data["from"] === printed.length) {
      yield* answer(String(data["text"]));
    } else if (wanted.text) {
      await context.notice(
        `text is missing above; the whole of it is the output ${String(data["output"])} of the run (wf show)`,
      );
    }
  }

  /** The answer of a run that streamed none. */
  function* whole(outputs: unknown) {
    if (last !== undefined || held !== undefined || !isObject(outputs)) return;
    const texts = Object.values(outputs).filter((value) => typeof value === "string");
    if (texts.length === 1) yield* answer(String(texts[0]));
  }
}
