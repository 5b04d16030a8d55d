import type { ServerEvent } from "../api/events.ts";
import { ApiError, CliError } from "../errors.ts";
import { isObject, own, valueAt } from "../json.ts";
import * as forms from "../operations/forms.ts";
import { assigned, checkValues, formFields } from "./input-fields.ts";
import { requireFiles, uploaded } from "./input-files.ts";
import type { Context } from "./task.ts";

/** What answers a form. */
export interface FormAnswer {
  /** Title or id of the node that asks; any form when absent. */
  readonly node?: string | undefined;
  readonly action: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** Reads answers from JSON files: `{"action": "approve", "inputs": {…}, "node": "Review"}`. */
export async function readAnswers(
  paths: readonly string[],
  { host: { files } }: Context,
): Promise<FormAnswer[]> {
  const answers: FormAnswer[] = [];
  for (const path of paths) {
    const wrong = (problem: string) =>
      new CliError("usage", `--answer ${path}: ${problem}`, {
        changed: "nothing",
        hint: `an answer looks like {"action": "approve", "inputs": {"comment": "fine"}}`,
      });
    if ((await files.stat(path)) === null) throw wrong("there is no such file");
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(await files.read(path)));
    } catch {
      throw wrong("this is not JSON");
    }
    if (!isObject(value)) throw wrong("this is no JSON object");
    const { action, inputs = {}, node, ...others } = value;
    const [other] = Object.keys(others);
    if (other !== undefined) throw wrong(`there is no field ${JSON.stringify(other)}`);
    if (typeof action !== "string") throw wrong("the action is missing");
    if (!isObject(inputs)) throw wrong("inputs is no object");
    if (node !== undefined && typeof node !== "string") throw wrong("node is no text");
    answers.push({ action, inputs, node });
  }
  return answers;
}

/**
 * Answers each form that waits with the first answer that fits and was not used. Says false, and
 * sends nothing, when a form has no answer.
 */
export function answering(
  answers: readonly FormAnswer[],
  context: Context,
): (waiting: readonly ServerEvent[]) => Promise<boolean> {
  const left = [...answers];
  return async (waiting) => {
    const chosen: (readonly [token: string, answer: FormAnswer])[] = [];
    for (const { data } of waiting) {
      const token = valueAt(data, "data.form_token");
      const names = [valueAt(data, "data.node_title"), valueAt(data, "data.node_id")];
      const at = left.findIndex(({ node }) => node === undefined || names.includes(node));
      const [answer] = at < 0 ? [] : left.splice(at, 1);
      if (typeof token !== "string" || !answer) return false;
      chosen.push([token, answer]);
    }
    for (const [token, answer] of chosen) {
      await submitted(token, answer.action, [], answer.inputs, context);
      await context.notice(`answered the form ${token} with ${answer.action}`);
    }
    return chosen.length > 0;
  };
}

/**
 * Answers a form once, after its action and inputs were checked against it. A try whose answer was
 * lost may have counted: a refusal because it was submitted says so (server §14).
 */
export async function submitted(
  form_token: string,
  action: string,
  assignments: readonly string[],
  before: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<Readonly<Record<string, unknown>>> {
  const form = await context.call(forms.show, { form_token });
  const actions = form.user_actions.map(({ id }) => id);
  if (!actions.includes(action)) {
    throw new CliError("usage", `the form has no action ${JSON.stringify(action)}`, {
      changed: "nothing",
      hint: `actions are ${actions.join(", ")}`,
    });
  }
  const fields = formFields(form.inputs, form.resolved_default_values);
  const values = assigned(assignments, fields, before);
  checkValues(fields, values);
  await requireFiles(values, context);
  const usual = Object.fromEntries(
    fields.flatMap(({ variable }) => {
      const value = own(form.resolved_default_values, variable);
      return own(values, variable) === undefined && value !== undefined ? [[variable, value]] : [];
    }),
  );
  const missing = fields.find(
    ({ variable }) => own({ ...usual, ...values }, variable) === undefined,
  );
  if (missing) {
    throw new CliError("usage", `the form's input ${missing.variable} is missing`, {
      changed: "nothing",
      hint: `add --input ${missing.variable}=…`,
    });
  }
  const inputs = await uploaded({ ...usual, ...values }, context);
  try {
    await context.call(forms.submit, { form_token, action, inputs });
  } catch (error) {
    const lost = error instanceof CliError && error.told.changed === "unknown";
    if (!lost) throw error;
    // Only the form can tell whether the lost try counted.
    if (!(await isSubmitted(form_token, context))) throw error;
    await context.notice("the answer of the server was lost; the form is submitted");
  }
  return { form_token, action, inputs };
}

async function isSubmitted(form_token: string, context: Context): Promise<boolean> {
  try {
    await context.call(forms.show, { form_token });
    return false;
  } catch (error) {
    return error instanceof ApiError && error.refusal.serverCode === "human_input_form_submitted";
  }
}
