import { ApiError } from "../../../errors.ts";
import { localClock } from "../../../lib/local-clock.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import { expiryText, formText } from "../../../runs/form-text.ts";
import { formIn, submitCommand } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";
import { readPause } from "./open-forms.ts";

/** Prints the text of a form and when it expires. */
export async function printForm(form: HumanInputForm, context: Context): Promise<void> {
  const { notice, host, options } = context;
  for (const line of formText(form.form_content).split("\n")) await notice(`  ${line}`);
  const { expiration_time: expires } = form;
  if (expires === null || expires === undefined) return;
  const clock = localClock(options.timeZone());
  const format = (date: Date) => clock(date.getTime() / 1000);
  await notice(`  ${expiryText(new Date(expires * 1000), host.now(), format)}`);
}

/** Prints the forms that a run is waiting for, with the commands that submit them. */
export async function noticeForms(run: string, context: Context): Promise<void> {
  try {
    for (const form of (await readPause(run, context)).flatMap(formIn)) {
      await context.notice(`waiting for form ${form.node ?? form.token}:`);
      await printForm(await context.call(getForm, { form_token: form.token }), context);
      await context.notice(submitCommand(form));
    }
  } catch (error) {
    // The run of another end user, or a form that was submitted meanwhile: the record was shown.
    if (!(error instanceof ApiError) || error.response.status >= 500) throw error;
    await context.notice(`its form cannot be shown: ${error.message}`);
  }
}
