import { stopMessage } from "../../operations/chats.ts";
import { loadTaskId } from "./task-ids.ts";
import type { Context } from "../command-spec.ts";

/** Asks the server to stop an answer, by its task or by the run behind it that was followed here. */
export async function* run(
  { task_id: id }: { readonly task_id: string },
  context: Context,
): AsyncGenerator<unknown> {
  yield await context.call(stopMessage, { task_id: (await loadTaskId(id, context)) ?? id });
}
