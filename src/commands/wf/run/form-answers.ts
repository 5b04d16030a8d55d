import { ApiError, CliError } from "../../../errors.ts";
import { isObject, own } from "../../../lib/json.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import { assigned, checkValues, formFields } from "./form-fields.ts";
import { requireFiles, uploadInputFiles } from "./upload-files.ts";
import type { Form } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/** What answers a form. */
export interface FormAnswer {
  /** File that it was read from. */
  readonly path: string;
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
        sideEffect: "none",
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
    answers.push({ path, action, inputs, node });
  }
  return answers;
}

/**
 * Gives what answers one of the forms that a run waits for: with the first answer that fits and was
 * not used. Two forms that are submitted at once can leave a run paused for ever (server §14), so
 * the next one has to wait until the run is paused again. It gives true when the run will go on, or
 * why no form was submitted.
 */
export function answering(
  answers: readonly FormAnswer[],
  context: Context,
): (forms: readonly Form[]) => Promise<true | string> {
  const left = [...answers];
  const done = new Set<string>();
  let vain = 0;
  return async (forms) => {
    const open = forms.filter(({ token }) => !done.has(token));
    if (open.length === 0 && forms.length > 0) {
      // The server has not yet resumed the run, if it ever will.
      return ++vain <= 3 || "its forms were submitted, but it is still paused";
    }
    const chosen = chosenFor(open, left);
    if (typeof chosen === "string") return chosen;
    const { token } = chosen.form;
    const { action, inputs, path } = chosen.answer;
    try {
      await submitted(token, action, [], inputs, context);
    } catch (error) {
      if (!(error instanceof CliError) || error.kind !== "usage") throw error;
      const { hint } = error.info;
      return `--answer ${path}: ${error.message}${hint === undefined ? "" : ` (${hint})`}`;
    }
    left.splice(left.indexOf(chosen.answer), 1);
    done.add(token);
    vain = 0;
    await context.notice(`answered the form ${token} with ${action}`);
    return true;
  };
}

/** A form and the answer to it, or why there is none. */
function chosenFor(
  open: readonly Form[],
  answers: readonly FormAnswer[],
): { readonly form: Form; readonly answer: FormAnswer } | string {
  const left = [...answers];
  const pairs = open.flatMap((form) => {
    const at = left.findIndex(
      ({ node }) => node === undefined || node === form.node || node === form.nodeId,
    );
    const [answer] = at < 0 ? [] : left.splice(at, 1);
    return answer ? [{ form, answer }] : [];
  });
  // An answer that names its node is meant for it, whatever else is open.
  const chosen =
    pairs.length === open.length ? pairs[0] : pairs.find(({ answer }) => answer.node !== undefined);
  if (chosen) return chosen;
  const names = open.map(({ node, nodeId }) => JSON.stringify(node ?? nodeId ?? "")).join(", ");
  const [spare] = pairs;
  if (open.length === 0) return "it has no form that can be answered here";
  if (spare === undefined) return `no --answer is given for the form of ${names}`;
  return `--answer ${spare.answer.path} was not used: it names no node, and ${open.length} forms are open (${names}); add "node" to it`;
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
  const form = await context.call(getForm, { form_token });
  const actions = form.user_actions.map(({ id }) => id);
  if (!actions.includes(action)) {
    throw new CliError("usage", `the form has no action ${JSON.stringify(action)}`, {
      sideEffect: "none",
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
      sideEffect: "none",
      hint: `add --input ${missing.variable}=…`,
    });
  }
  const inputs = await uploadInputFiles({ ...usual, ...values }, context);
  await submittedOnce({ form_token, action, inputs }, context);
  return { form_token, action, inputs };
}

/**
 * Sends the answer. Where the response is lost, only the form can tell whether it was taken; while it
 * is open the answer is sent once more, which cannot count twice (server §14).
 */
async function submittedOnce(
  answer: { readonly form_token: string; readonly action: string; readonly inputs: object },
  context: Context,
): Promise<void> {
  const { form_token, action } = answer;
  const inputs = { ...answer.inputs };
  for (let attempt = 1; ; attempt++) {
    try {
      await context.call(submitForm, { form_token, action, inputs });
      return;
    } catch (error) {
      const lost = error instanceof CliError && error.info.sideEffect === "unknown";
      const again = attempt > 1 && isSubmittedRefusal(error);
      if (context.signal.aborted || !(lost || again)) throw error;
      const state = again ? "submitted" : await stateOf(form_token, context);
      if (state === "submitted") {
        await context.notice("the answer of the server was lost; the form is submitted");
        return;
      }
      if (state === "unknown" || attempt > 1) throw error;
      await context.notice(
        `the answer to form ${form_token} was lost, and it is still open; retrying`,
      );
    }
  }
}

const isSubmittedRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.response.serverCode === "human_input_form_submitted";

async function stateOf(
  form_token: string,
  context: Context,
): Promise<"open" | "submitted" | "unknown"> {
  try {
    await context.call(getForm, { form_token });
    return "open";
  } catch (error) {
    return isSubmittedRefusal(error) ? "submitted" : "unknown";
  }
}
