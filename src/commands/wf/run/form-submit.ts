import { usage } from "../../../errors.ts";
import { isObject, own } from "../../../lib/json.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import type { Input } from "../../../operations/operation.ts";
import { checkAndSubmitForm } from "./form-answers.ts";
import type { Context } from "../../command-spec.ts";
import type { formSubmitParams } from "../specs.ts";

type SubmitInput = Input<typeof formSubmitParams>;

/** Submits a form once. Prompts for missing values on a terminal. */
export async function* run(input: SubmitInput, context: Context): AsyncGenerator<unknown> {
  const { form_token, action } = input;
  const inputs = isObject(input.inputs) ? input.inputs : {};
  const canPrompt = context.options.input && !context.options.dryRun;
  if (action === undefined && !canPrompt) {
    const form = await context.call(getForm, { form_token });
    throw usage(
      "--action is required",
      `actions: ${form.user_actions.map(({ id }) => id).join(", ")}`,
    );
  }
  const prompted = action === undefined ? await promptForValues(input, inputs, context) : undefined;
  const submission = {
    action: prompted?.action ?? action ?? "",
    inputs,
    assignments: [...(input.input ?? []), ...(prompted?.assignments ?? [])],
  };
  yield await checkAndSubmitForm(form_token, submission, context);
}

/** Shows the form and prompts for each missing input and for the action. */
async function promptForValues(
  { form_token, input = [] }: SubmitInput,
  inputs: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<{ readonly action: string; readonly assignments: readonly string[] }> {
  const form = await context.call(getForm, { form_token });
  for (const line of form.form_content.split(/\r?\n/)) await context.notice(`  ${line}`);
  await context.notice(expiryOf(form, context));
  const given = new Set([...Object.keys(inputs), ...input.map((each) => each.split("=", 1)[0])]);
  const assignments: string[] = [];
  for (const { output_variable_name: name, type, option_source } of form.inputs) {
    if (given.has(name)) continue;
    const value = own(form.resolved_default_values, name);
    const kind = option_source?.value.join(", ") ?? (type === "paragraph" ? "text" : type);
    const suffix = value === undefined ? "" : ` [${value}]`;
    const typed = await prompt(`${name} (${kind})${suffix}: `, context);
    if (typed !== "" || value === undefined) assignments.push(`${name}=${typed}`);
  }
  const ids = form.user_actions.map(({ id, title }) => (id === title ? id : `${id} (${title})`));
  return { action: await prompt(`Action (one of: ${ids.join(", ")}): `, context), assignments };
}

const prompt = async (question: string, context: Context): Promise<string> =>
  (
    await context.host.prompt(question, { signal: context.signal }).catch((error: unknown) => {
      throw context.signal.aborted ? context.abortError() : error;
    })
  ).trim();

/** Example: `expires in 6 days (2026-11-28T12:00:00Z)`. */
function expiryOf({ expiration_time }: HumanInputForm, { host }: Context): string {
  if (expiration_time === null) return "";
  const minutes = Math.round((expiration_time * 1000 - host.now().getTime()) / 60_000);
  if (minutes <= 0) return "expired";
  const time = new Date(expiration_time * 1000).toISOString().replace(/\.\d+Z$/, "Z");
  return `expires in ${roughly(minutes)} (${time})`;
}

function roughly(minutes: number): string {
  if (minutes >= 2880) return `${Math.floor(minutes / 1440)} days`;
  if (minutes >= 120) return `${Math.floor(minutes / 60)} hours`;
  return `${minutes} minutes`;
}
