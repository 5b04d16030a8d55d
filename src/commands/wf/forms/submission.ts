import { ApiError, CliError, usage } from "../../../errors.ts";
import { isObject, own, tryParseJson, stringifyJson } from "../../../lib/json.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import type { Form } from "../../../runs/outcome.ts";
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
      if (context.host.signal.aborted || !(isLost || isConfirmed)) throw error;
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

const readFormState = (form_token: string, { api }: Context) =>
  api.call(getForm, { form_token }).then(
    () => "open",
    (error: unknown) => (isAlreadySubmitted(error) ? "submitted" : "unknown"),
  );

const isAlreadySubmitted = (error: unknown): boolean =>
  error instanceof ApiError && error.response.serverCode === "human_input_form_submitted";

/** Submits one of these forms; returns which, or why none was submitted (empty: by choice). */
export type SubmitOne = (open: readonly Form[]) => Promise<{ readonly token: string } | string>;

/** Submits one form of a paused run: true if the run will continue, or why it stays paused. */
export type AnswerPause = (forms: readonly Form[]) => Promise<true | string>;

/** How often a run may be paused for forms that were submitted: the server may still be resuming it. */
const MAX_WAITS = 3;

/**
 * Returns a function that submits one form at each pause of a run. One at a time, because two forms
 * submitted at once can leave a run paused forever (server §14): the next one waits until the run is
 * paused again.
 */
export function formAnswerer(submitOne: SubmitOne): AnswerPause {
  const submitted = new Set<string>();
  let waits = 0;
  return async (forms) => {
    const open = forms.filter(({ token }) => !submitted.has(token));
    if (open.length === 0 && forms.length > 0)
      return ++waits <= MAX_WAITS || "its forms were submitted, but it is still paused";
    if (open.length === 0) return "it has no form that can be submitted here";
    const result = await submitOne(open);
    if (typeof result === "string") return result;
    submitted.add(result.token);
    waits = 0;
    return true;
  };
}

/** An answer to a form, from a file of --answer. */
export interface FormAnswer {
  readonly path: string;
  /** Title or ID of the node that asks (default any). */
  readonly node?: string | undefined;
  readonly action: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** Reads JSON files such as `{"action": "approve", "inputs": {…}, "node": "Review"}`. */
export async function readAnswers(
  paths: readonly string[],
  { host: { files } }: Context,
): Promise<FormAnswer[]> {
  const answers: FormAnswer[] = [];
  for (const path of paths) {
    const wrong = (problem: string) =>
      usage(
        `--answer ${path}: ${problem}`,
        `expected {"action": "approve", "inputs": {"comment": "fine"}}`,
      );
    if ((await files.stat(path)) === null) throw wrong("file not found");
    const value = tryParseJson(new TextDecoder().decode(await files.read(path)));
    if (value === undefined) throw wrong("invalid JSON");
    if (!isObject(value)) throw wrong("not a JSON object");
    const { action, inputs = {}, node, ...others } = value;
    const [other] = Object.keys(others);
    if (other !== undefined) throw wrong(`unknown field ${stringifyJson(other)}`);
    if (typeof action !== "string") throw wrong("action is missing");
    if (!isObject(inputs)) throw wrong("inputs is not an object");
    if (node !== undefined && typeof node !== "string") throw wrong("node is not a string");
    answers.push({ path, action, inputs, node });
  }
  return answers;
}

/** Submits one of the open forms with the first unused answer that fits. */
export function submitWithAnswers(answers: readonly FormAnswer[], context: Context): SubmitOne {
  const unused = [...answers];
  return async (open) => {
    const choice = chooseForm(open, unused);
    if (typeof choice === "string") return choice;
    const { token } = choice.form;
    const { action, inputs, path } = choice.answer;
    try {
      await checkAndSubmitForm(token, { action, inputs, assignments: [] }, context);
    } catch (error) {
      if (!(error instanceof CliError) || error.kind !== "usage") throw error;
      const { hint } = error.info;
      return `--answer ${path}: ${error.message}${hint === undefined ? "" : ` (${hint})`}`;
    }
    unused.splice(unused.indexOf(choice.answer), 1);
    await context.notice(`submitted form ${token} with action ${action}`);
    return { token };
  };
}

/** Returns a form with its answer, or why none can be submitted. */
function chooseForm(
  open: readonly Form[],
  answers: readonly FormAnswer[],
): { readonly form: Form; readonly answer: FormAnswer } | string {
  const unused = [...answers];
  const pairs = open.flatMap((form) => {
    const index = unused.findIndex(
      ({ node }) => node === undefined || node === form.node || node === form.nodeId,
    );
    const [answer] = index < 0 ? [] : unused.splice(index, 1);
    return answer ? [{ form, answer }] : [];
  });
  // With more forms than answers, only an answer that names its node is unambiguous.
  const choice =
    pairs.length === open.length ? pairs[0] : pairs.find(({ answer }) => answer.node !== undefined);
  if (choice) return choice;
  const names = open.map(({ node, nodeId }) => JSON.stringify(node ?? nodeId ?? "")).join(", ");
  const [spare] = pairs;
  if (spare === undefined) return `no --answer matches the form of ${names}`;
  return `--answer ${spare.answer.path} was not used: ${open.length} forms are open (${names}) and it names no node; add "node" to it`;
}
