import { ApiError, CliError, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject } from "../../../lib/json.ts";
import { serverEvent } from "../../../lib/server-event.ts";
import type { EventStage } from "../../../api/sse.ts";
import { getForm } from "../../../operations/forms.ts";
import type { HumanInputForm } from "../../../operations/forms.ts";
import type { Input } from "../../../operations/operation.ts";
import { submitCommand } from "../../../runs/outcome.ts";
import type { Form } from "../../../runs/outcome.ts";
import { askChoice, askUntil } from "../../task/ask.ts";
import type { Choice } from "../../task/ask.ts";
import type { Context, Ending } from "../../task/command-spec.ts";
import { runOfForm } from "../runs/index.ts";
import type { formSubmitParams } from "./command.ts";
import { formFields, checkValues, parseAssignments, requireFiles } from "./fields.ts";
import type { Field } from "./fields.ts";
import { printForm } from "./list.ts";
import { checkAndSubmitForm, formAnswerer, requireAction } from "./submission.ts";
import type { AnswerPause, Submission, SubmitOne, SubmittedForm } from "./submission.ts";

/** Submits a form once. On a terminal it prompts for the action and the inputs that are missing. */
export async function* run(
  input: Input<typeof formSubmitParams>,
  context: Context,
): AsyncGenerator<SubmittedForm, Ending> {
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
  return sayNext(form_token, context);
}

/** Says on a terminal how to follow the run, which only this machine may know: its form does not tell. */
async function sayNext(form_token: string, context: Context): Promise<Ending> {
  const run = await runOfForm(form_token, context);
  const next =
    run === undefined
      ? `find its run with ${commandLine("wf logs")}, then follow it with ${commandLine("wf events", ["RUN"], { follow: true })}`
      : `follow its run with ${commandLine("wf events", [run], { follow: true })}`;
  return { success: `Submitted form ${form_token}; ${next}` };
}

const stillOpen = (form_token: string): CliError =>
  new CliError("paused", "the form was not submitted; the run is waiting for human input", {
    isResult: true,
    sideEffect: "none",
    hint: commandLine("wf form submit", [form_token]),
  });

/** What is known of a submission before the dialog. */
type KnownValues = Omit<Submission, "action"> & { readonly action?: string | undefined };

const nothingKnown: KnownValues = { inputs: {}, assignments: [] };

/** How often values that the server rejects are asked for again. */
const MAX_REJECTIONS = 5;

/**
 * Prompts for the action to take on a form, then for its inputs, and submits it. Values that the
 * server rejects are asked for again, with the typed values as defaults. Returns undefined if the reply
 * is to do it later; throws what `checkAndSubmitForm` throws.
 */
async function promptForForm(
  form_token: string,
  known: KnownValues,
  context: Context,
  { title = "Action", showsText = true } = {},
): Promise<SubmittedForm | undefined> {
  let { assignments } = known;
  for (let attempt = 0; ; attempt++) {
    const form = await context.api.call(getForm, { form_token });
    if (attempt === 0 && showsText) await printForm(form, context, context.promptLine);
    const action = known.action ?? (await askChoice(title, actionsOf(form), context));
    if (action === undefined) return undefined;
    requireAction(form, action);
    const isRetry = attempt > 0;
    const fields = fieldsToAsk(form, { ...known, assignments }, isRetry);
    assignments = [...(isRetry ? [] : assignments), ...(await askFields(fields, context))];
    try {
      const values = { action, inputs: known.inputs, assignments };
      return await checkAndSubmitForm(form_token, values, context, form);
    } catch (error) {
      if (!isRejectedValue(error) || attempt === MAX_REJECTIONS) throw error;
      await context.promptLine(error.message);
    }
  }
}

/** The actions of a form, and to do it later, whose value is undefined. */
function actionsOf({ user_actions }: HumanInputForm): readonly Choice<string | undefined>[] {
  const actions = user_actions.map(({ id, title }) => ({
    label: title.toLowerCase() === id.toLowerCase() ? title : `${title} (${id})`,
    names: [id, title],
    value: id,
  }));
  return [...actions, { label: "later", names: ["later", "q"], value: undefined }];
}

/** With a given action only inputs that are missing are asked for; after a rejection all of them. */
function fieldsToAsk(
  form: HumanInputForm,
  { action, inputs, assignments }: KnownValues,
  isRetry: boolean,
): readonly Field[] {
  const fields = formFields(form.inputs, form.resolved_default_values);
  const given = new Map(assignments.map((each) => splitAssignment(each)));
  if (isRetry)
    return fields.map((field) => ({
      ...field,
      default: given.get(field.variable) || field.default,
    }));
  return fields.filter(
    (field) =>
      !given.has(field.variable) &&
      !Object.hasOwn(inputs, field.variable) &&
      (action === undefined || !Object.hasOwn(form.resolved_default_values, field.variable)),
  );
}

function splitAssignment(text: string): readonly [name: string, value: string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

const isRejectedValue = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.response.serverCode === "invalid_form_data";

/**
 * Submits a form of a paused run by prompts; `showsText` prints its text first. Of several forms that
 * are shown together, the text says which one is meant.
 */
function submitByPrompts(
  context: Context,
  { showsText }: { readonly showsText: boolean },
): SubmitOne {
  const shownTogether = new Set<string>();
  return async (open) => {
    const [form] = open;
    if (form === undefined) return "";
    const { token, node: title } = form;
    if (open.length > 1) for (const each of open) shownTogether.add(each.token);
    const options = { title, showsText: showsText || shownTogether.has(token) };
    try {
      const submitted = await promptForForm(token, nothingKnown, context, options);
      if (!submitted) return "";
      await context.notice(`submitted form with action ${submitted.action}`);
    } catch (error) {
      const gone = goneText(error);
      if (gone === undefined) throw withAnswerHint(error, form);
      await context.notice(`${gone}; following the run`);
    }
    return { token };
  };
}

/**
 * Submits the forms of a paused run by prompts, on a terminal that shows the run; undefined
 * elsewhere. The text of the forms is printed first, unless `isShown`.
 */
export function promptsForForms(
  context: Context,
  { isShown = false } = {},
): AnswerPause | undefined {
  const { input, terminal, format } = context.options;
  if (!input || !terminal || format !== undefined) return undefined;
  return formAnswerer(submitByPrompts(context, { showsText: !isShown }));
}

/** Why a form is not open any more; undefined for other errors. */
function goneText(error: unknown): string | undefined {
  const code = error instanceof ApiError ? error.response.serverCode : undefined;
  if (code === "human_input_form_submitted") return "the form was submitted in the meantime";
  return code === "human_input_form_expired" ? "the form has expired" : undefined;
}

/** After Ctrl-C in a prompt, or without a valid reply, the form is still open. */
const withAnswerHint = (error: unknown, form: Form): unknown =>
  error instanceof CliError && (error.kind === "interrupted" || error.kind === "usage")
    ? error.with({
        sideEffect: undefined,
        hint: `the run stays paused; ${submitCommand(form)}`,
      })
    : error;

/** Removes from displayed forms what the dialog asks for: inputs, actions and the token. */
export const withoutChoices: EventStage = {
  batch: (batch) =>
    batch.map((event) => {
      const form = event.data["data"];
      if (event.event !== "human_input_required" || !isObject(form)) return event;
      const data = { ...form, inputs: [], actions: [], form_token: null };
      return { ...event, ...serverEvent({ ...event.data, data }, event.raw) };
    }),
};

/** Prompts for the values of fields, as `name=value`. */
export async function askFields(
  fields: readonly Field[],
  context: Context,
): Promise<readonly string[]> {
  const typed: string[] = [];
  for (const field of fields) typed.push(...(await askField(field, context)));
  return typed;
}

/** Prompts for the value of a field until it is valid. Returns it as `name=value`, files each. */
async function askField(field: Field, context: Context): Promise<readonly string[]> {
  const { label, options, control } = field;
  if (options.length > 0) {
    await context.promptLine(`${label}:`);
    const choices = options.map((each) => ({ label: each, names: [each], value: each }));
    const preset = choices.find(({ value }) => value === defaultText(field));
    return [assignment(field, await askChoice(label, choices, context, preset))];
  }
  if (control === "file-list") return askFiles(field, context);
  const preset = defaultText(field);
  const shown = preset === undefined ? "" : ` [${shortened(preset)}]`;
  const question = `${label} (${kindOf(field)})${shown}: `;
  const read = async (typed: string) => {
    const text = typed === "" && preset !== undefined ? preset : typed;
    return checked(field, [assignment(field, text)], text, context);
  };
  return askUntil(question, read, context, { multiline: control === "paragraph" });
}

/** Prompts for the files of a list one by one, up to an empty reply. */
async function askFiles(field: Field, context: Context): Promise<readonly string[]> {
  const { label, max = Infinity } = field;
  const assignments: string[] = [];
  while (assignments.length < max) {
    const hint = assignments.length > 0 ? "; Enter to finish" : "";
    const question = `${label} (file ${assignments.length + 1}: path or URL${hint}): `;
    const read = async (typed: string) => {
      if (typed === "" && assignments.length > 0) return [];
      return checked(field, [...assignments, assignment(field, typed)], typed, context);
    };
    const next = await askUntil(question, read, context);
    if (next.length === 0) break;
    assignments.splice(0, assignments.length, ...next);
  }
  return assignments;
}

const isFile = ({ control }: Field): boolean => control === "file" || control === "file-list";

/** The default as text; undefined for a file or JSON. */
const defaultText = ({ default: value }: Field): string | undefined =>
  ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;

/** Characters of a default in a prompt. */
const MAX_DEFAULT = 50;

/** The beginning of a default; Enter takes all of it. */
function shortened(text: string): string {
  const [line = ""] = text.split("\n", 1);
  const start = line.slice(0, MAX_DEFAULT);
  return start === text ? text : `${start} …`;
}

function kindOf({ control, max }: Field): string {
  if (control === "number") return "number";
  if (control === "checkbox") return "yes or no";
  if (control === "json_object") return "JSON";
  if (control === "file") return "path or URL of a file";
  return max === undefined ? "text" : `text, at most ${max} characters`;
}

/** A reply as an argument of `--input`: a path gets its `@`, yes and no become true and false. */
function assignment(field: Field, typed: string): string {
  const { variable, control } = field;
  const isPath = isFile(field) && typed !== "" && !/^(@|https?:\/\/|\{)/.test(typed);
  if (isPath) return `${variable}=@${typed}`;
  if (control === "checkbox" && /^y(es)?$/i.test(typed)) return `${variable}=true`;
  if (control === "checkbox" && /^no?$/i.test(typed)) return `${variable}=false`;
  return `${variable}=${typed}`;
}

async function checked(
  field: Field,
  assignments: readonly string[],
  typed: string,
  context: Context,
): Promise<readonly string[] | string> {
  if (typed === "" && (field.required || isFile(field))) return `${field.label} is required`;
  try {
    const values = parseAssignments(assignments, [field], {});
    checkValues([field], values);
    await requireFiles(values, context);
    return assignments;
  } catch (error) {
    if (error instanceof CliError && error.kind === "usage") return error.message;
    throw error;
  }
}
