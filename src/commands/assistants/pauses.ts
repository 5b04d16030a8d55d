import { inputRequired } from "@modelcontextprotocol/server";
import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/server";
import { formText } from "../../lib/form-text.ts";
import { getForm } from "../../operations/forms.ts";
import type { HumanInputForm } from "../../operations/forms.ts";
import type { Form } from "../../runs/outcome.ts";
import type { Context } from "../task/command-spec.ts";
import { structuredResult } from "./results.ts";
import type { UserReply } from "./schema.ts";
import { formFields } from "../wf/forms/index.ts";
import type { Field } from "../wf/forms/index.ts";
import { stringifyJson } from "../../lib/json.ts";

/** A run that is paused, and the application that it belongs to. */
export interface PausedRun {
  readonly app: string | undefined;
  readonly runId: string;
  readonly forms: readonly Form[];
}

/** What a question to the user keeps until it is answered; the client returns it with a signature. */
export interface QuestionState {
  readonly app: string | null;
  readonly run: string;
  readonly token: string;
}

/** The key of the question in a request for input. */
export const questionKey = "form";

/** A paused run as a result: what it asks for, and the call that answers it. */
export async function pausedResult(
  { app, runId, forms }: PausedRun,
  context: Context,
): Promise<CallToolResult> {
  const questions = await Promise.all(forms.map((form) => readQuestion(form, context)));
  const value = { status: "paused", run_id: runId, forms: questions };
  const [first] = questions;
  const call = first && {
    ...(app !== undefined && { app }),
    run_id: runId,
    form_token: first.form_token,
    action: first.actions[0]?.id,
    inputs: Object.fromEntries(first.inputs.map(({ name }) => [name, ""])),
  };
  const result = structuredResult(value, { text: questions.map(shownQuestion).join("\n\n") });
  const next =
    call === undefined
      ? "It waits for input that cannot be given here."
      : `Ask your user, then answer with the tool answer: ${stringifyJson(call)}`;
  const lead = `The run ${runId} is paused, waiting for human input. ${next}`;
  return { ...result, content: [{ type: "text", text: lead }, ...result.content] };
}

/** A form of a paused run, as a client needs it to answer it. */
type OpenQuestion = Awaited<ReturnType<typeof readQuestion>>;

async function readQuestion({ token, node, nodeId }: Form, context: Context) {
  const form = await context.api.call(getForm, { form_token: token });
  return {
    form_token: token,
    node: node ?? nodeId ?? null,
    text: formText(form.form_content),
    inputs: fieldsOf(form).map(({ variable, control, options, default: preset }) => ({
      name: variable,
      type: control,
      options,
      default: preset ?? null,
    })),
    actions: form.user_actions.map(({ id, title }) => ({ id, title })),
    /** Unix seconds. */
    expires: form.expiration_time ?? null,
  };
}

const fieldsOf = ({ inputs, resolved_default_values }: HumanInputForm): readonly Field[] =>
  formFields(inputs, resolved_default_values);

const shownQuestion = ({ text, inputs, actions }: OpenQuestion): string =>
  [
    text,
    ...inputs.map(({ name, type, options }) =>
      [`input ${name} (${type})`, ...(options.length > 0 ? [options.join(", ")] : [])].join(": "),
    ),
    `actions: ${actions.map(({ id, title }) => `${id} (${title})`).join(", ")}`,
  ].join("\n");

/** Asks the user with a form of the client; undefined for inputs that no client can show, such as files. */
export async function questionFor(
  { app, runId, forms }: PausedRun,
  mint: (state: QuestionState) => Promise<string>,
  context: Context,
): Promise<InputRequiredResult | undefined> {
  const [open] = forms;
  if (!open) return undefined;
  const form = await context.api.call(getForm, { form_token: open.token });
  const fields = fieldsOf(form);
  if (fields.some(({ control }) => control.startsWith("file"))) return undefined;
  const requestedSchema = {
    type: "object" as const,
    properties: {
      ...Object.fromEntries(fields.map((field) => [field.variable, controlOf(field)])),
      [actionKey(fields)]: {
        type: "string" as const,
        title: "Action",
        oneOf: form.user_actions.map(({ id, title }) => ({ const: id, title })),
      },
    },
    required: [actionKey(fields)],
  };
  const message = formText(form.form_content) || `The run ${runId} waits for input`;
  return inputRequired({
    inputRequests: { [questionKey]: inputRequired.elicit({ message, requestedSchema }) },
    requestState: await mint({ app: app ?? null, run: runId, token: open.token }),
  });
}

/** A field of a form of a client: a text or a choice. */
function controlOf({ variable, options, default: preset }: Field) {
  const common = {
    type: "string" as const,
    title: variable,
    ...(typeof preset === "string" && { default: preset }),
  };
  return options.length > 0 ? { ...common, enum: [...options] } : common;
}

/** A form may have an input with this name. */
const actionKey = (fields: readonly Pick<Field, "variable">[]): string =>
  fields.some(({ variable }) => variable === "action") ? "form_action" : "action";

/** The action and inputs of a reply. */
export function answerOf({ values }: UserReply) {
  const key = "form_action" in values ? "form_action" : "action";
  const { [key]: action, ...inputs } = values;
  return { action: String(action), inputs };
}
