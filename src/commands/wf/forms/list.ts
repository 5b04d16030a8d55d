import { secondsIn } from "../../../api/time-windows.ts";
import { counted } from "../../../lib/text.ts";
import { getAppInfo } from "../../../operations/apps.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { formListParams } from "./command.ts";
import { openForms } from "./open-forms.ts";
import type { ListedForm } from "./open-forms.ts";

/** Seconds for which a run waits for its form by default (server §14). */
const WEEK = 7 * 86_400;

/** Lists the forms that wait, and says which of them cannot be seen. */
export async function* run(
  input: Input<typeof formListParams>,
  context: Context,
): AsyncGenerator<ListedForm> {
  const now = Math.floor(context.host.now().getTime() / 1000);
  const since = secondsIn(input.created_at__after, Math.ceil) ?? now - WEEK;
  let count = 0;
  let unreadable = 0;
  for await (const form of openForms(since, context)) {
    count++;
    if (form.node === null) unreadable++;
    yield { ...form, status: form.expires !== null && form.expires <= now ? "expired" : null };
  }
  const { notice } = context;
  if (unreadable > 0)
    await notice(
      `${counted(unreadable, "paused run")} without a form here: started in the console or by a trigger, whose forms only the console shows`,
    );
  const { mode } = await context.api.call(getAppInfo, {});
  if (mode !== undefined && mode !== "workflow")
    await notice(
      `an application of mode ${mode} has no log: only forms of runs that were followed on this machine are listed`,
    );
  else if (count === 0 && input.created_at__after === undefined)
    await notice("only runs of the last 7 days were read; --since reads older ones");
}
