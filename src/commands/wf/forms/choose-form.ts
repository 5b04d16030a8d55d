import { notFound, refused, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isUuid, NEWEST } from "../../../lib/text.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import type { Input } from "../../../operations/operation.ts";
import { askChoice } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import type { formShowParams, ListedForm } from "./command.ts";
import { formFields } from "./fields.ts";
import { waitingForms } from "./list.ts";

/** `wf form show`: the form of a token. */
export async function* showForm(
  { form_token }: Input<typeof formShowParams>,
  { api }: Context,
): AsyncGenerator<HumanInputForm> {
  yield await api.call(getForm, { form_token });
}

interface OpenForm extends ListedForm {
  readonly token: string;
}

/** The forms that can be submitted, newest first, of all paused runs or of one. */
export async function* openForms(context: Context, run?: string): AsyncGenerator<OpenForm> {
  const { reading } = await waitingForms(undefined, context);
  for await (const forms of reading)
    for (const { token, status, ...form } of forms)
      if (token !== null && status === null && (run === undefined || form.run === run))
        yield { ...form, token, status };
}

/**
 * The token that an argument stands for: `last` is that of the newest run that waits, the ID of a run that of
 * its form, and without a value a terminal is asked. Throws usage elsewhere, and not-found without a form.
 */
export async function chooseForm(
  typed: unknown,
  { command }: { readonly command: string },
  context: Context,
): Promise<unknown> {
  const run = typeof typed === "string" && isUuid(typed) ? typed : undefined;
  if (typed !== undefined && typed !== NEWEST && run === undefined) return typed;
  const asks = context.options.terminal && context.options.input;
  const list = commandLine("wf form list");
  if (typed === undefined && !asks)
    throw usage(
      "which form? <token> is missing",
      `${commandLine(command, [NEWEST])} takes the newest; ${list} lists all`,
    );
  const forms: OpenForm[] = [];
  for await (const form of openForms(context, run)) {
    forms.push(form);
    if (typed === NEWEST) return form.token;
  }
  const [first, ...others] = forms;
  const whose =
    run === undefined ? "no paused run has a form" : `run ${run} is not waiting for a form`;
  if (!first)
    throw notFound(
      `${whose} that can be submitted here`,
      `all forms of this application: ${list}; --app selects another`,
    );
  if (run !== undefined && others.length === 0) return first.token;
  if (!asks)
    throw refused(`run ${run} is waiting for ${forms.length} forms`, `their tokens: ${list}`);
  const { timeText } = context.options;
  const choices = forms.map(({ node, by, expires, run: id, token }) => {
    const until = expires === null ? undefined : `until ${timeText(new Date(expires * 1000))}`;
    const parts = [node, `run ${id.slice(0, 8)}`, by, until];
    return { label: parts.filter(Boolean).join("  "), names: [token], value: token };
  });
  await context.promptLine("Waiting forms, newest run first:");
  return askChoice("Form", choices, context);
}

/** The form that an argument stands for: its inputs, and what can be done with it. */
export async function chosenForm(typed: unknown, context: Context) {
  const form_token = await chooseForm(typed, { command: "wf form submit" }, context);
  const form = await context.api.call(getForm, { form_token: String(form_token) });
  const fields = formFields(form.inputs, form.resolved_default_values);
  return { fields, actions: form.user_actions };
}
