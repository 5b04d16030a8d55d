import * as chats from "../operations/chats.ts";
import { isObject } from "../json.ts";
import { CliError } from "../errors.ts";
import { singly } from "../api/events.ts";
import { asEvents } from "./as-events.ts";
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
 * (server §18), so the id that comes back is compared.
 */
export async function* run(input: ChatInput, context: Context): AsyncGenerator<unknown> {
  const { blocking: _, ...rest } = input;
  const body = { ...rest, inputs: isObject(input.inputs) ? input.inputs : {} };
  let conversation: unknown;
  if (!asEvents(input, context.asked.format)) {
    const answer = await context.call(chats.sendBlocking, body);
    conversation = answer.conversation_id;
    yield answer;
    if (answer.event === "workflow_paused") throw paused();
  } else {
    let chatflow = false;
    for await (const event of singly(await context.open(chats.send, body))) {
      conversation ??= event.data["conversation_id"];
      yield [event];
      if (event.event === "error") {
        throw new CliError("remote-failed", `the answer failed: ${String(event.data["message"])}`);
      }
      if (event.event === "workflow_paused") throw paused();
      // In a chatflow message_end is no end; the run's own final event is (server §15.5).
      chatflow ||= event.data["workflow_run_id"] !== undefined;
      if (event.event === "workflow_finished" || (event.event === "message_end" && !chatflow))
        break;
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
}

const paused = () =>
  new CliError("paused", "the application waits for a person", {
    verdict: true,
    hint: "`wf form submit` answers; the form is in the events",
  });
