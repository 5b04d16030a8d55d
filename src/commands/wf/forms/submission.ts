import { ApiError, CliError, usage } from "../../../errors.ts";
import { own } from "../../../lib/json.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import {
  checkValues,
  formFields,
  parseAssignments,
  requireFiles,
  uploadInputFiles,
} from "./fields.ts";
import type { Context } from "../../task/command-spec.ts";

/** An action with the values of the form. */
export interface Submission {
  readonly action: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Inputs as `name=value`, which override `inputs`. */
  readonly assignments: readonly string[];
}

/** A form that was submitted. */
export interface SubmittedForm {
  readonly form_token: string;
  readonly action: string;
  readonly inputs: Record<string, unknown>;
}

/**
 * Checks an action and inputs against a form, which is read unless it is known, uploads files, and
 * submits the form once.
 */
export async function checkAndSubmitForm(
  form_token: string,
  { action, inputs: given, assignments }: Submission,
  context: Context,
  known?: HumanInputForm,
): Promise<SubmittedForm> {
  const form = known ?? (await context.api.call(getForm, { form_token }));
  requireAction(form, action);
  const fields = formFields(form.inputs, form.resolved_default_values);
  const values = parseAssignments(assignments, fields, given);
  checkValues(fields, values);
  await requireFiles(values, context);
  const defaults = Object.fromEntries(
    fields.flatMap(({ variable }) => {
      const value = own(form.resolved_default_values, variable);
      return own(values, variable) === undefined && value !== undefined ? [[variable, value]] : [];
    }),
  );
  const all = { ...defaults, ...values };
  const missing = fields.find(({ variable }) => own(all, variable) === undefined);
  if (missing) {
    throw usage(`missing form input ${missing.variable}`, `add --input ${missing.variable}=…`);
  }
  const submitted = { form_token, action, inputs: await uploadInputFiles(all, context) };
  await sendOnce(submitted, context);
  return submitted;
}

/** Throws `usage` for an action that the form does not have. */
export function requireAction({ user_actions }: HumanInputForm, action: string): void {
  const actions = user_actions.map(({ id }) => id);
  if (actions.includes(action)) return;
  throw usage(
    `action ${JSON.stringify(action)} not found in the form`,
    `actions: ${actions.join(", ")}`,
  );
}

/**
 * Submits a form. If the response is lost, only the form itself shows whether it was submitted; while
 * it is open the request is sent again, which cannot count twice (server §14). A second attempt that
 * is rejected because the form was submitted confirms the first one.
 */
async function sendOnce(body: SubmittedForm, context: Context): Promise<void> {
  const { form_token } = body;
  for (let attempt = 1; ; attempt++) {
    try {
      await context.api.call(submitForm, body);
      return;
    } catch (error) {
      const isLost = error instanceof CliError && error.info.sideEffect === "unknown";
      const isConfirmed = attempt > 1 && isAlreadySubmitted(error);
      if (context.signal.aborted || !(isLost || isConfirmed)) throw error;
      const state = isConfirmed ? "submitted" : await readFormState(form_token, context);
      if (state === "submitted") {
        await context.notice("the response was lost, but the form was submitted");
        return;
      }
      if (state === "unknown" || attempt > 1) throw error;
      await context.notice(`the response was lost and form ${form_token} is still open; retrying`);
    }
  }
}

const isAlreadySubmitted = (error: unknown): boolean =>
  error instanceof ApiError && error.response.serverCode === "human_input_form_submitted";

async function readFormState(
  form_token: string,
  context: Context,
): Promise<"open" | "submitted" | "unknown"> {
  try {
    await context.api.call(getForm, { form_token });
    return "open";
  } catch (error) {
    return isAlreadySubmitted(error) ? "submitted" : "unknown";
  }
}
