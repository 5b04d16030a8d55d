import { stopMessage } from "../../operations/chats.ts";
import { loadTaskId } from "./task-ids.ts";
import type { Context } from "../command-spec.ts";

/** Stops a reply, by its task ID or by the ID of a run that was followed on this machine. */
export async function* run(
  { task_id: id }: { readonly task_id: string },
  context: Context,
): AsyncGenerator<unknown> {
  yield await context.call(stopMessage, { task_id: (await loadTaskId(id, context)) ?? id });
}
