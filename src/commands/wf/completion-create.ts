import { isObject } from "../../lib/json.ts";
import { requireField } from "../../api/response-fields.ts";
import { getAppParameters } from "../../operations/apps.ts";
import { createCompletion, createCompletionBlocking } from "../../operations/completions.ts";
import { answerEvents, blockingFailure } from "./answer-events.ts";
import { asEvents } from "./stream-or-wait.ts";
import { collectedAnswer } from "./collected-answer.ts";
import { openStream } from "./follow/index.ts";
import type { Context } from "../command-spec.ts";

/** Input of `wf text create`. */
export interface CompletionInput {
  readonly inputs?: unknown;
  readonly query?: string | undefined;
  readonly files?: unknown;
  readonly blocking?: boolean | undefined;
}

/** Completes a text, once; throws what answerEvents does. */
export async function* run(input: CompletionInput, context: Context): AsyncGenerator<unknown> {
  const { blocking, ...rest } = input;
  const body = { ...rest, inputs: await inputsOf(input, context) };
  if (blocking) {
    yield await context.call(createCompletionBlocking, body).catch((error: unknown) => {
      throw blockingFailure(error);
    });
    return;
  }
  const answer = collectedAnswer();
  const live = asEvents(input, context.options.format);
  const line = await openStream(createCompletion, body, context);
  for await (const batch of answerEvents(line, context)) {
    for (const event of batch) answer.see(event);
    if (live) yield batch;
  }
  if (!live) yield answer.answer();
}

/** The text to complete is an input where the form has one of that name (server §18). */
async function inputsOf(
  { inputs: given, query }: CompletionInput,
  context: Context,
): Promise<Record<string, unknown>> {
  const inputs = isObject(given) ? given : {};
  if (query === undefined || "query" in inputs) return inputs;
  const { user_input_form: form } = await context.call(getAppParameters, {});
  const fields = requireField(form, "user_input_form").flatMap((field) => Object.values(field));
  return fields.some(({ variable }) => variable === "query") ? { ...inputs, query } : inputs;
}
