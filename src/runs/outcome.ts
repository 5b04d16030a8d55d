import { CliError } from "../errors.ts";
import { valueAt, stringifyJson } from "../lib/json.ts";
import { eventFields } from "../lib/server-event.ts";
import type { EventFields, ServerEvent } from "../lib/server-event.ts";
import { commandLine } from "../lib/command-line.ts";

/** How a run ended or paused, from its final event or its record. */
export interface RunOutcome {
  readonly status: string;
  readonly error?: string | null | undefined;
  readonly exceptions?: number | undefined;
  /** Open forms of a paused run: none if they can be answered elsewhere only, undefined if unknown. */
  readonly forms?: readonly Form[] | undefined;
  /** The node that made the run fail, by its title, and why, if its events were seen. */
  readonly node?: { readonly title: string; readonly error: string } | undefined;
  /** Why no form of a paused run was submitted; empty by choice. */
  readonly unanswered?: string | undefined;
}

/** An open form. */
export interface Form {
  readonly token: string;
  /** Title and ID of its node. */
  readonly node?: string | undefined;
  readonly nodeId?: string | undefined;
  /** IDs of the actions. */
  readonly actions: readonly string[];
  /** Inputs without a value. */
  readonly inputs: readonly string[];
  /** A value for each input, as `name=value`: its default, or an example. */
  readonly values: readonly string[];
}

/** The outcome that an event announces; undefined while the run continues. */
export function finalOutcome(
  { event, fields }: ServerEvent,
  throughPauses: boolean,
): RunOutcome | undefined {
  if (event === "workflow_paused" && !throughPauses) return outcomeOf(fields, "paused");
  // Without a status the event announces nothing; the run's record decides.
  return event === "workflow_finished" && fields.status !== undefined
    ? outcomeOf(fields)
    : undefined;
}

/** The outcome in the fields of a final event or of a blocking response. */
export const outcomeOf = (
  { status = "unknown", error, exceptions_count, reasons }: EventFields,
  known = status,
): RunOutcome =>
  known === "paused"
    ? { status: known, forms: formsIn(reasons?.map((each) => eventFields(each)) ?? []) }
    : { status: known, error, exceptions: exceptions_count };

/** The forms among events or reasons of a pause; undefined if none of them is a form. */
export function formsIn(all: readonly EventFields[]): readonly Form[] | undefined {
  const forms = all.filter(({ form_id, form_token, node_id }) => form_id ?? form_token ?? node_id);
  return forms.length === 0 ? undefined : forms.flatMap(formIn);
}

/** The form in a pause reason, as a list of one; empty for a form sent by e-mail (server §14). */
function formIn(reason: EventFields): readonly Form[] {
  const { form_token: token, node_title: node, node_id: nodeId, actions, inputs } = reason;
  if (token === undefined) return [];
  const fields = (Array.isArray(inputs) ? inputs : []).flatMap((input: unknown) =>
    textAt(input, "output_variable_name").map((name) => ({
      name,
      value: valueAt(reason.resolved_default_values, name) || valueAt(input, "default.value"),
      example: exampleOf(input),
    })),
  );
  const names = fields.filter(({ value }) => !value).map(({ name }) => name);
  const values = fields.map(
    ({ name, value, example }) => `${name}=${value ? textOf(value) : example}`,
  );
  const ids = (actions ?? []).flatMap((action) => textAt(action, "id"));
  return [{ token, node, nodeId, actions: ids, inputs: names, values }];
}

/** A value for an input without a default: its first choice, or the word for what it takes. */
function exampleOf(input: unknown): string {
  const [choice] = textAt(input, "option_source.value.0");
  if (choice !== undefined) return choice;
  return String(valueAt(input, "type")).startsWith("file") ? "@FILE" : "TEXT";
}

/** Text as it is, anything else as JSON. */
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : stringifyJson(value);

/** The string at a path as a list of one, or an empty list. */
const textAt = (value: unknown, path: string): readonly string[] =>
  [valueAt(value, path)].filter((each) => typeof each === "string");

/** The command that submits a form. */
export function submitCommand({
  token,
  actions: [action = "ACTION", ...others],
  values,
}: Form): string {
  const submit = commandLine("wf form submit", [token], { action, input: values });
  return `answer it with ${submit}${others.length > 0 ? ` (or --action ${others.join(", ")})` : ""}`;
}

/**
 * Ends a command with the outcome of its run: prints a notice for partial success, throws
 * `remote-failed` or `paused` if the run did not succeed.
 */
export async function raiseOutcome(
  runId: string,
  outcome: RunOutcome,
  notice: (text: string) => Promise<void>,
): Promise<void> {
  const { status, exceptions, forms, unanswered } = outcome;
  if (status === "succeeded") return;
  if (status === "partial-succeeded") {
    // The server counts failed attempts, even if a retry succeeded (server §13).
    await notice(
      `run ${runId} partial-succeeded: ${exceptions ?? "some"} failed ${exceptions === 1 ? "attempt was" : "attempts were"} retried or handled by an error branch or a default value`,
    );
    return;
  }
  if (status === "paused") {
    const [form] = forms ?? [];
    const why = unanswered ? `: ${unanswered}` : "";
    throw new CliError("paused", `run ${runId} is waiting for human input${why}`, {
      isResult: true,
      details: { run: runId, forms: forms ?? [] },
      hint: form ? submitCommand(form) : hintWithoutForm(runId, forms !== undefined),
    });
  }
  throw endedBadly(runId, outcome);
}

/** A form has no token if it is sent by e-mail, or shown in the console or the web app alone (server §14). */
export const hintWithoutForm = (runId: string, hasForm: boolean): string =>
  hasForm
    ? `its form has no token, so it cannot be answered here: answer it in the e-mail, the web app or the console that shows it, and wait with ${commandLine("wf wait", [runId], { "through-pauses": true })}`
    : `see what it waits for: ${commandLine("wf events", [runId])}`;

/** The error of a run that failed or was stopped; it names the node, if that is known. */
function endedBadly(runId: string, { node, ...outcome }: RunOutcome): CliError {
  const status = endingOf(outcome);
  const stopped = status === "stopped";
  const where = stopped
    ? "was stopped"
    : `${outcome.status}${node ? ` at node ${node.title}` : ""}`;
  const why = outcome.error || node?.error;
  const show = `${commandLine("wf show", [runId])} shows its inputs and outputs`;
  // The server sends node events only during a run (server §15.3).
  const nodes = `its nodes are known only from a recording: ${commandLine("wf run", [], { record: "FILE" })}`;
  return new CliError("remote-failed", `run ${runId} ${where}${why ? `: ${why}` : ""}`, {
    code: stopped ? "stopped" : "failed",
    isResult: true,
    details: { run: runId, status, ...(node && { node }) },
    hint: stopped || node ? show : `${show}; ${nodes}`,
  });
}

/** The status of a run. A stopped run streams `failed`; only its error text differs (server §13). */
export const endingOf = ({ status, error }: RunOutcome): string =>
  /^(Aborted|Stopped by user)/.test(error ?? "") ? "stopped" : status;

/** Whether a run with this status has succeeded, even if only after failed attempts (server §13). */
export const isSuccess = (status: string | undefined): boolean =>
  status === "succeeded" || status === "partial-succeeded";

/** Whether a run with this status has ended (server §7). */
export const isEnded = (status: string): boolean =>
  ["succeeded", "failed", "stopped", "partial-succeeded"].includes(status);
