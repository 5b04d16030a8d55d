import { newCounter } from "../../../api/pages.ts";
import { listConversationVariables } from "../../../operations/chats.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { noticeRowCount } from "../../task/row-counts.ts";
import type { Context } from "../../task/command-spec.ts";

type Input = InputOf<typeof listConversationVariables> & {
  readonly variable_name?: string | undefined;
};

/** Lists the variables of a conversation. Filters by name here: the server's filter fails (server §18). */
export async function* run(
  { variable_name, ...input }: Input,
  context: Context,
): AsyncGenerator<unknown> {
  if (variable_name !== undefined) {
    for await (const row of context.api.rows(listConversationVariables, input))
      if (row.name === variable_name) yield row;
    return;
  }
  const counter = newCounter();
  yield* context.api.rows(listConversationVariables, input, { ...context.options.rows, counter });
  await noticeRowCount(counter, context);
}
