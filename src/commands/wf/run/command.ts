import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { uploadFile } from "../../../operations/files.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import { events, list, local, record, textChunks } from "../../../operations/operation.ts";
import type { Input, Returns } from "../../../operations/operation.ts";
import { userInBody, workflow_run_id } from "../../../operations/shared.ts";
import {
  getWorkflowRun,
  runWorkflow,
  runWorkflowBlocking,
  runWorkflowById,
  streamRunEvents,
} from "../../../operations/workflows.ts";
import { asEvents, task } from "../../task/command-spec.ts";
import { expectParams } from "../expect/index.ts";
import { assignedInput } from "../forms/index.ts";
import { otlpParams } from "../otlp/index.ts";
import { recordingParams } from "../recording/index.ts";

export const runParams = {
  workflow_id: local.uuid("Published version of the workflow (default: newest)"),
  input: assignedInput,
  inputs: local.json("All inputs as one object", {
    shape: { kind: "object" },
    meant: ["--params", "--data"],
  }),
  files: local.json("Input files: [{type, transfer_method, upload_file_id}]", {
    shape: { kind: "list", of: { kind: "object" } },
  }),
  blocking: local.flag("Wait for one response instead of streaming"),
  detach: local.flag("Start the run, print its ID and exit", {
    meant: ["--background", "--async"],
  }),
  through_pauses: local.flag("Keep following while the run is paused"),
  answer: local.text("JSON file that fills in a form: {action, inputs, node}", {
    placeholder: "file",
    many: true,
  }),
  ...recordingParams,
  ...otlpParams,
  ...expectParams,
  text: local.flag("Print only the generated text"),
  only_output: local.text("Print only this output, unchanged", { placeholder: "name" }),
  each: local.text("Run once per row of a CSV or JSON Lines file", { placeholder: "file" }),
  errors_to: local.text("Write rows that failed or did not start to this file", {
    placeholder: "file",
  }),
  stop_on_error: local.flag("With --each: start no run after the first row that failed"),
  user: userInBody,
} as const;

const runRequests = [
  runWorkflowById,
  streamRunEvents,
  getWorkflowRun,
  getAppParameters,
  getAppInfo,
  uploadFile,
  getForm,
  submitForm,
] as const;

/** What a run prints, by its flags and the output format. */
function runOutput(
  input: Partial<Input<typeof runParams>>,
  format: string | undefined,
): Returns<never> | undefined {
  if (input.each !== undefined) return eachRow;
  if (input.text || input.only_output !== undefined) return textChunks;
  if (asEvents(input, format)) return undefined;
  if (input.detach) return started;
  return input.blocking ? runWorkflowBlocking.returns : getWorkflowRun.returns;
}

/** What starting a run and starting it again have in common. */
const starts = {
  returns: events,
  output: runOutput,
  sends: runRequests,
  wraps: runWorkflow,
  effect: "writes",
  exits: ["paused", "remote-failed", "partial", "cut", "gate"],
} as const;

export const workflowRun = task({
  ...starts,
  command: "wf run [name=value...]",
  summary: "Run the workflow and follow it to the end",
  about:
    "Streams the events of the run. If the connection is lost, it reconnects to the same run and never\nstarts a second one. -o json prints the result at the end, --only-output one output and no events: for\nout=$(wf run …). The exit code is the outcome of the run. With --each, a row overrides --input.\n\nOn a terminal it prompts for required inputs that are missing, and for the form of a pause.",
  parallel: true,
  params: runParams,
  namesFiles: true,
  examples: [
    "wf run query=hello --only-output query",
    `wf run --inputs '{"query":"hello"}'`,
    "wf --app review run --input query=hello --answer approve.json",
    "wf run --each questions.csv --errors-to failed.csv",
  ],
});

const eachRow = list("", "row status elapsed:seconds error outputs run:id");

const started = {
  ...record<{ workflow_run_id: string; task_id: string }>("workflow_run_id task_id"),
  namePath: "workflow_run_id",
};

const { workflow_id, input, detach, through_pauses, answer, text, only_output, user } = runParams;

export const retryParams = {
  workflow_run_id,
  workflow_id,
  input: { ...input, help: "Replace an input: name=value; @path uploads a file" },
  detach,
  through_pauses,
  answer,
  ...recordingParams,
  ...otlpParams,
  ...expectParams,
  text,
  only_output,
  user,
} as const;

export const workflowRetry = task({
  ...starts,
  command: "wf retry [run]",
  action: "run workflow",
  summary: "Run the workflow again with the inputs of a run",
  about:
    "Reads the inputs from the record of the run, also of one that was started elsewhere, and runs the\nworkflow as `wf run` does, in its newest version unless --workflow-id names one. Asks before that; a\nscript passes --yes. An input that cannot be sent again is named before anything is sent: --input\nreplaces it. Uploaded files are sent again only as the end user who uploaded them.",
  params: retryParams,
  confirms: true,
  examples: ["wf retry $RUN --yes", "wf retry last --yes --input query=hello", "wf retry $RUN -n"],
});

/** The nodes of a run, as JSON of `wf timeline` has them. */
const nodeList = list<{ readonly took_ms: number }>(
  "",
  "node status",
  ["elapsed", ({ took_ms }) => took_ms / 1000, "seconds"],
  "error:sparse round:sparse type ... node_id within retries:count tokens:count",
);

export const workflowShow = task({
  command: "wf show [run]",
  tool: {},
  meant: ["status", "result"],
  summary: "Show a run with its inputs and outputs",
  about:
    "--nodes lists the nodes of a run whose events this machine has: recorded (--record), or remembered\nwith KB_REMEMBER_RUNS=30d. Exits with code 10 if the server shows that some are missing.",
  params: {
    workflow_run_id,
    nodes: local.flag("List its nodes, from the events on this machine"),
  },
  output: ({ nodes }) => (nodes ? nodeList : undefined),
  exits: ["partial"],
  sends: [streamRunEvents, getForm],
  wraps: getWorkflowRun,
  effect: "reads",
  examples: ["wf show $RUN", "wf show last --jq .outputs", "wf show last --nodes"],
});
