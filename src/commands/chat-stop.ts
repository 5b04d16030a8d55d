import * as chats from "../operations/chats.ts";
import { taskOf } from "./remembered-runs.ts";
import type { Context } from "./task.ts";

/** Asks the server to stop an answer, by its task or by the run behind it that was followed here. */
export async function* run(
  { task_id: id }: { readonly task_id: string },
  context: Context,
): AsyncGenerator<unknown> {
  yield await context.call(chats.stop, { task_id: (await taskOf(id, context)) ?? id });
}
