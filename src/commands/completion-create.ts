import { CliError } from "../errors.ts";
import { isObject } from "../json.ts";
import * as completions from "../operations/completions.ts";
import { singly } from "../api/events.ts";
import { asEvents } from "./as-events.ts";
import type { Context } from "./task.ts";

/** Input of `wf completion create`. */
export interface CompletionInput {
  readonly inputs?: unknown;
  readonly query?: string | undefined;
  readonly files?: unknown;
  readonly blocking?: boolean | undefined;
}

/** Completes a text, once; a stream ends with `message_end` (server §15.5). */
export async function* run(input: CompletionInput, context: Context): AsyncGenerator<unknown> {
  const { blocking: _, ...rest } = input;
  const body = { ...rest, inputs: isObject(input.inputs) ? input.inputs : {} };
  if (!asEvents(input, context.asked.format)) {
    yield await context.call(completions.completeBlocking, body);
    return;
  }
  for await (const event of singly(await context.open(completions.complete, body))) {
    yield [event];
    if (event.event === "error") {
      throw new CliError("remote-failed", `the answer failed: ${String(event.data["message"])}`);
    }
    if (event.event === "message_end") return;
  }
  throw new CliError("cut", "the stream ended before the answer did", {
    hint: "the answer may be whole on the server; a completion is not read again",
  });
}
