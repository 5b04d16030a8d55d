import { ApiError } from "../../../errors.ts";
import { localClock } from "../../../lib/numbers.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import { expiryText, formText } from "../../../lib/form-text.ts";
import { formIn, submitCommand } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import { readPause } from "./open-forms.ts";

/** Prints the text of a form and when it expires. */
export async function printForm(
  form: HumanInputForm,
  { host, options }: Context,
  print: Context["notice"],
): Promise<void> {
  for (const line of formText(form.form_content).split("\n")) await print(`  ${line}`);
  const { expiration_time: expires } = form;
  if (expires === null || expires === undefined) return;
  const clock = localClock(options.timeZone());
  const format = (date: Date) => clock(date.getTime() / 1000);
  await print(`  ${expiryText(new Date(expires * 1000), host.now(), format)}`);
}

/** Prints the forms that a run is waiting for, with the commands that submit them. */
export async function noticeForms(run: string, context: Context): Promise<void> {
  try {
    for (const form of (await readPause(run, context)).flatMap(formIn)) {
      await context.notice(`waiting for form ${form.node ?? form.token}:`);
      const full = await context.api.call(getForm, { form_token: form.token });
      await printForm(full, context, context.notice);
      await context.notice(submitCommand(form));
    }
  } catch (error) {
    // The run of another end user, or a form that was submitted meanwhile: the record was shown.
    if (!(error instanceof ApiError) || error.response.status >= 500) throw error;
    await context.notice(`its form cannot be shown: ${error.message}`);
  }
}
