import { CliError, usage } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { getForm } from "../../../operations/forms.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { formSubmitParams } from "./command.ts";
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
    return;
  }
  if (action === undefined) {
    const form = await context.api.call(getForm, { form_token });
    throw usage(
      "--action is required",
      `actions: ${form.user_actions.map(({ id }) => id).join(", ")}`,
    );
  }
  yield await checkAndSubmitForm(form_token, { ...known, action }, context);
}

const stillOpen = (form_token: string): CliError =>
  new CliError("paused", "the form was not submitted; the run is waiting for human input", {
    isResult: true,
    sideEffect: "none",
    hint: commandLine("wf form submit", [form_token]),
  });
