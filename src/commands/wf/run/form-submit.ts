import { CliError } from "../../../errors.ts";
import { isObject, own } from "../../../lib/json.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import { submitted } from "./form-answers.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `wf form submit`. */
interface SubmitInput {
  readonly form_token: string;
  readonly action?: string | undefined;
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
}

/** Answers a form once. What the line leaves out is asked for on a terminal. */
export async function* run(input: SubmitInput, context: Context): AsyncGenerator<unknown> {
  const { form_token } = input;
  const given = isObject(input.inputs) ? input.inputs : {};
  const asks = context.options.input && !context.options.dryRun && input.action === undefined;
  if (!asks && input.action === undefined) {
    const form = await context.call(getForm, { form_token });
    throw new CliError("usage", "--action is required", {
      sideEffect: "none",
      hint: `actions are ${form.user_actions.map(({ id }) => id).join(", ")}`,
    });
  }
  const answers = asks ? await askFor(input, given, context) : undefined;
  yield await submitted(
    form_token,
    answers?.action ?? input.action ?? "",
    [...(input.input ?? []), ...(answers?.inputs ?? [])],
    given,
    context,
  );
}

/** Shows the form and asks for each input that was not given, and for the action. */
async function askFor(
  { form_token, input = [] }: SubmitInput,
  given: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<{ readonly action: string; readonly inputs: readonly string[] }> {
  const form = await context.call(getForm, { form_token });
  for (const line of form.form_content.split(/\r?\n/)) await context.notice(`  ${line}`);
  await context.notice(expiry(form, context));
  const there = new Set([...Object.keys(given), ...input.map((each) => each.split("=", 1)[0])]);
  const inputs: string[] = [];
  for (const { output_variable_name: name, type, option_source } of form.inputs) {
    if (there.has(name)) continue;
    const usual = own(form.resolved_default_values, name);
    const kind = option_source?.value.join(", ") ?? (type === "paragraph" ? "text" : type);
    const shown = usual === undefined ? "" : ` [${usual}]`;
    const typed = await ask(`${name} (${kind})${shown}: `, context);
    if (typed !== "" || usual === undefined) inputs.push(`${name}=${typed}`);
  }
  const ids = form.user_actions.map(({ id, title }) => (id === title ? id : `${id} (${title})`));
  return { action: await ask(`Action, one of ${ids.join(", ")}: `, context), inputs };
}

const ask = async (question: string, context: Context): Promise<string> =>
  (
    await context.host.prompt(question, { signal: context.signal }).catch((error: unknown) => {
      throw context.signal.aborted ? context.abortError() : error;
    })
  ).trim();

/** `expires in 6 days`, and when that is. */
function expiry({ expiration_time }: HumanInputForm, { host }: Context): string {
  if (expiration_time === null) return "";
  const minutes = Math.round((expiration_time * 1000 - host.now().getTime()) / 60_000);
  const [amount, unit] =
    minutes >= 2880
      ? [Math.floor(minutes / 1440), "days"]
      : minutes >= 120
        ? [Math.floor(minutes / 60), "hours"]
        : [minutes, "minutes"];
  const when = new Date(expiration_time * 1000).toISOString().replace(/\.\d+Z$/, "Z");
  return minutes <= 0 ? "it has expired" : `it expires in ${amount} ${unit}, ${when}`;
}
