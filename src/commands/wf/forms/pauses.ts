import type { Form } from "../../../runs/outcome.ts";
import { CliError, usage } from "../../../errors.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { checkAndSubmitForm } from "./submission.ts";
import type { Context } from "../../task/command-spec.ts";

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
    if (other !== undefined) throw wrong(`unknown field ${JSON.stringify(other)}`);
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
