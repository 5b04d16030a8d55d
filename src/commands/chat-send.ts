import * as chats from "../operations/chats.ts";
import { isObject } from "../json.ts";
import { CliError } from "../errors.ts";
import { singly } from "../api/events.ts";
import { asEvents } from "./as-events.ts";
import { finalOutcome } from "./following.ts";
import { begun } from "./refused-start.ts";
import { conclude } from "./run-outcome.ts";
import type { Outcome } from "./run-outcome.ts";
import type { Context } from "./task.ts";

/** Input of `wf chat send`. */
export interface ChatInput {
  readonly query: string;
  readonly inputs?: unknown;
  readonly conversation_id?: string | undefined;
  readonly files?: unknown;
  readonly auto_generate_name?: boolean | undefined;
  readonly workflow_id?: string | undefined;
  readonly blocking?: boolean | undefined;
}

/**
 * Sends one message, once. The server answers an unknown conversation by starting another one
 * (server §18), so the id that comes back is compared. Ends with what became of the run behind the
 * answer (conclude); throws `cut` where the stream ended before it was told.
 */
export async function* run(input: ChatInput, context: Context): AsyncGenerator<unknown> {
  const { blocking: _, ...rest } = input;
  const body = { ...rest, inputs: isObject(input.inputs) ? input.inputs : {} };
  let conversation: unknown;
  let run: unknown;
  /** How the run behind the answer ended or stands; undefined where the answer has none. */
  let outcome: Outcome | undefined;
  let whole = false;
  if (!asEvents(input, context.asked.format)) {
    const answer = await context.call(chats.sendBlocking, body);
    conversation = answer.conversation_id;
    run = answer.workflow_run_id;
    outcome = finalOutcome({ event: answer.event, raw: "", data: { ...answer } }, false);
    whole = true;
    yield answer;
  } else {
    for await (const event of singly(begun(await context.open(chats.send, body)))) {
      conversation ??= event.data["conversation_id"];
      run ??= event.data["workflow_run_id"];
      yield [event];
      if (event.event === "error") {
        throw new CliError("remote-failed", `the answer failed: ${String(event.data["message"])}`);
      }
      outcome = finalOutcome(event, false);
      // In a chatflow message_end is no end; the run's own final event is (server §15.5).
      whole = outcome !== undefined || (event.event === "message_end" && run === undefined);
      if (whole) break;
    }
  }
  if (
    input.conversation_id !== undefined &&
    conversation !== undefined &&
    conversation !== input.conversation_id
  ) {
    await context.notice(
      `the conversation ${input.conversation_id} is not known; a new one was started: ${String(conversation)}`,
    );
  }
  if (!whole) throw cut(run);
  if (outcome) await conclude(String(run), outcome, context.notice);
}

const cut = (run: unknown) =>
  new CliError("cut", "the stream ended before the answer did", {
    changed: "yes",
    hint:
      run === undefined
        ? "the answer may be whole on the server; `wf conversation messages` shows it"
        : `wf events ${String(run)} --follow shows what becomes of it`,
  });
