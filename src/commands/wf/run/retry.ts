import { CliError, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { define, isObject } from "../../../lib/json.ts";
import { firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { getWorkflowRun } from "../../../operations/workflows.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Field } from "../forms/index.ts";
import { inputsIn, shownInput } from "../runs/index.ts";
import type { retryParams } from "./command.ts";
import { readInputForm } from "./inputs.ts";
import { run as runWorkflow } from "./run.ts";

type RetryInput = Input<typeof retryParams>;
type Values = Readonly<Record<string, unknown>>;

/** Asks, and runs the workflow again with the inputs of a run. Throws what `wf run` does. */
export async function* run(
  { workflow_run_id: id, ...flags }: RetryInput,
  context: Context,
): AsyncGenerator<unknown> {
  const record = await context.api.call(getWorkflowRun, { workflow_run_id: id });
  const { own, system } = inputsIn(record);
  if (system["query"] !== undefined) throw isChat(id, system);
  const { fields } = await readInputForm(context);
  const replaced = new Set((flags.input ?? []).map((each) => each.split("=", 1)[0]));
  const kept = Object.entries(own).filter(([name]) => !replaced.has(name));
  const fieldOf = new Map(fields.map((field) => [field.variable, field]));
  const resent = resend(kept, fieldOf, system["files"]);
  await requireSendable(id, resent, system["user_id"], context);
  for (const [name] of kept)
    if (!fieldOf.has(name))
      await context.notice(`input ${name} is not sent: the workflow does not take it any more`);
  const { inputs, files } = resent;
  if (!context.options.dryRun) {
    const values = [...Object.entries(inputs).map(shownInput), ...(flags.input ?? [])];
    const shown = values.length === 0 ? "out inputs" : ` ${firstNames(values)}`;
    const state = isEnded(record.status) ? "" : `Run ${id} is ${record.status}. `;
    await context.confirm(`${state}Run the workflow again with${shown}?`, {
      declined: "nothing was sent",
    });
  }
  try {
    yield* runWorkflow({ ...flags, inputs, ...(files.length > 0 && { files }) }, context);
  } catch (error) {
    throw resent.uploaded.length > 0 ? withFileHint(error, id, resent) : error;
  }
}

/** A run of a chat depends on the messages before it. */
const isChat = (id: string, { query, conversation_id }: Values): CliError =>
  new CliError("unsupported", `run ${id} is a reply of a chat, which a run cannot repeat`, {
    sideEffect: "none",
    hint: `send its message again: ${commandLine("wf chat send", [String(query)], {
      "conversation-id": typeof conversation_id === "string" ? conversation_id : undefined,
    })}`,
  });

type Resent = ReturnType<typeof resend>;

/**
 * The values of a record as the API takes them, the files that are no input of the form, what cannot be
 * sent by the name of the input, and the inputs that hold uploaded files, which belong to an end user
 * (server §18). Inputs that were not set are omitted.
 */
function resend(
  own: readonly (readonly [name: string, value: unknown])[],
  fields: ReadonlyMap<string, Field>,
  systemFiles: unknown,
) {
  const problems = new Map<string, string>();
  const uploaded = new Set<string>();
  const fileOf = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((each) => fileOf(name, each));
    const file = isObject(value) ? fileToSend(value) : undefined;
    if (file === undefined)
      problems.set(name, "the record of the run does not say where its file is");
    else if ("upload_file_id" in file) uploaded.add(name);
    return file;
  };
  const inputs: Record<string, unknown> = {};
  for (const [name, value] of own) {
    const field = fields.get(name);
    if (!field || value === null) continue;
    if (typeof value === "string" && isMasked(value)) problems.set(name, "its value is masked");
    define(inputs, name, field.control.startsWith("file") ? fileOf(name, value) : value);
  }
  const files = Array.isArray(systemFiles)
    ? systemFiles.map((each) => fileOf("sys.files", each))
    : [];
  return { inputs, files, problems, uploaded: [...uploaded] };
}

const isMasked = (text: string): boolean => /^[*•]{3,}$/.test(text);

/** The file of a record as an input; undefined if the record does not say where it is. */
function fileToSend(value: Values): Values | undefined {
  const { type, transfer_method, related_id, upload_file_id = related_id, remote_url } = value;
  if (transfer_method === "local_file" && typeof upload_file_id === "string")
    return { type, transfer_method, upload_file_id };
  if (transfer_method === "remote_url" && typeof remote_url === "string" && remote_url !== "")
    return { type, transfer_method, url: remote_url };
  return undefined;
}

/** Throws usage, before anything is sent, for inputs that cannot be sent again. */
async function requireSendable(
  id: string,
  { problems, uploaded }: Resent,
  owner: unknown,
  { api }: Context,
): Promise<void> {
  const [problem] = problems;
  if (problem) {
    const input = [...problems.keys()].filter((name) => !name.startsWith("sys."));
    throw usage(
      `input ${problem.join(" cannot be sent again: ")}`,
      input.length === 0
        ? `its inputs: ${commandLine("wf show", [id])}`
        : `replace it: ${commandLine("wf retry", [id], { input: input.map((name) => `${name}=…`) })}`,
    );
  }
  const [name] = uploaded;
  if (name === undefined || typeof owner !== "string" || owner === (await api.user())) return;
  throw usage(
    `input ${name} cannot be sent again: its file belongs to ${owner}, who uploaded it`,
    `send it as that end user: ${commandLine("wf retry", [id], { user: owner })}, or another file: --input ${name}=@path`,
  );
}

/** The server rejects a file that it no longer has only at the start (server §13). */
function withFileHint(error: unknown, id: string, { uploaded }: Resent): unknown {
  if (!(error instanceof CliError) || !/Invalid upload file/i.test(error.message)) return error;
  const input = uploaded.map((name) => `${name}=@path`);
  return error.with({
    hint: `the server no longer has an uploaded file; send it again: ${commandLine("wf retry", [id], { input })}`,
  });
}
