import { CliError, usage } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { getForm } from "../../../operations/forms.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { formSubmitParams } from "./command.ts";
import { runOfForm } from "../runs/index.ts";
import { promptForForm } from "./dialog.ts";
import { checkAndSubmitForm } from "./submission.ts";
import type { SubmittedForm } from "./submission.ts";

type SubmitInput = Input<typeof formSubmitParams>;

/** Submits a form once. On a terminal it prompts for the action and the inputs that are missing. */
export async function* run(input: SubmitInput, context: Context): AsyncGenerator<SubmittedForm> {
  const { form_token, action } = input;
  const known = {
    action,
    inputs: isObject(input.inputs) ? input.inputs : {},
    assignments: input.input ?? [],
  };
  if (context.options.input && !context.options.dryRun) {
    const submitted = await promptForForm(form_token, known, context, {
      showsText: action === undefined,
    });
    if (!submitted) throw stillOpen(form_token);
    yield submitted;
    return sayNext(form_token, context);
  }
  if (action === undefined) {
    const form = await context.api.call(getForm, { form_token });
    throw usage(
      "--action is required",
      `actions: ${form.user_actions.map(({ id }) => id).join(", ")}`,
    );
  }
  yield await checkAndSubmitForm(form_token, { ...known, action }, context);
  await sayNext(form_token, context);
}

/** Says on a terminal how to follow the run, which only this machine may know: its form does not tell. */
async function sayNext(form_token: string, context: Context): Promise<void> {
  const run = await runOfForm(form_token, context);
  const next =
    run === undefined
      ? `find its run with ${commandLine("wf logs")}, then follow it with ${commandLine("wf events", ["RUN"], { follow: true })}`
      : `follow its run with ${commandLine("wf events", [run], { follow: true })}`;
  context.success(`Submitted form ${form_token}; ${next}`);
}

const stillOpen = (form_token: string): CliError =>
  new CliError("paused", "the form was not submitted; the run is waiting for human input", {
    isResult: true,
    sideEffect: "none",
    hint: commandLine("wf form submit", [form_token]),
  });
