import { requireField } from "../../../api/response.ts";
import { getAppParameters } from "../../../operations/apps.ts";
import { createCompletion, createCompletionBlocking } from "../../../operations/completions.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { startStream } from "../follow/index.ts";
import { assignedInputs } from "../forms/index.ts";
import { blockingFailure, replyForm, ReplyPrinter } from "./reply-events.ts";
import type { completionParams } from "./command.ts";

type CompletionInput = Input<typeof completionParams>;

/** Requests a completion, once. */
export async function* run(input: CompletionInput, context: Context): AsyncGenerator<unknown> {
  const { blocking, ...rest } = input;
  const body = { ...rest, inputs: await inputsOf(input, context) };
  if (blocking) {
    yield await context.api.call(createCompletionBlocking, body).catch((error: unknown) => {
      throw blockingFailure(error);
    });
    return;
  }
  const printer = new ReplyPrinter(replyForm(context.options.format));
  yield* printer.print(await startStream(createCompletion, body, context), context);
}

/** The query is an input if the form has a field of that name (server §18). */
async function inputsOf(
  input: CompletionInput,
  context: Context,
): Promise<Record<string, unknown>> {
  const inputs = await assignedInputs(input, context);
  const { query } = input;
  if (query === undefined || "query" in inputs) return inputs;
  const { user_input_form: form } = await context.api.call(getAppParameters, {});
  const fields = requireField(form, "user_input_form").flatMap((field) => Object.values(field));
  return fields.some(({ variable }) => variable === "query") ? { ...inputs, query } : inputs;
}
