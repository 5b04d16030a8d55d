import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { uploadFile } from "../../../operations/files.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import {
  events,
  list,
  local,
  record,
  textChunks,
  withNamePath,
} from "../../../operations/operation.ts";
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
import { recordingParams } from "../recording/index.ts";

export const runParams = {
  workflow_id: local.uuid("Published version of the workflow (default: newest)"),
  input: assignedInput,
  inputs: local.json("All inputs as one object", { shape: { kind: "object" } }),
  files: local.json("Input files: [{type, transfer_method, upload_file_id}]", {
    shape: { kind: "list", of: { kind: "object" } },
  }),
  blocking: local.flag("Wait for one response instead of streaming"),
  detach: local.flag("Start the run, print its ID and exit"),
  through_pauses: local.flag("Keep following while the run is paused"),
  answer: local.text("JSON file that fills in a form: {action, inputs, node}", {
    placeholder: "file",
    many: true,
  }),
  ...recordingParams,
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

export const workflowRun = task({
  command: "wf run [name=value...]",
  summary: "Run the workflow and follow it to the end",
  about:
    "Streams the events of the run. If the connection is lost, it reconnects to the same run and never\nstarts a second one. -o json prints the result at the end. The exit code is the outcome of the run.\nWith --each, the values of a row override --input.\n\nOn a terminal it prompts for required inputs that are missing, and for the form of a pause.",
  parallel: true,
  params: runParams,
  namesFiles: true,
  returns: events,
  output(input, format) {
    if (input.each !== undefined) return eachRow;
    if (input.text || input.only_output !== undefined) return textChunks;
    if (asEvents(input, format)) return undefined;
    if (input.detach) return started;
    return input.blocking ? runWorkflowBlocking.returns : getWorkflowRun.returns;
  },
  sends: [
    runWorkflowById,
    streamRunEvents,
    getWorkflowRun,
    getAppParameters,
    getAppInfo,
    uploadFile,
    getForm,
    submitForm,
  ],
  wraps: runWorkflow,
  effect: "writes",
  exits: ["paused", "remote-failed", "partial", "cut", "gate"],
  examples: [
    "wf run query=hello",
    `wf run --inputs '{"query":"hello"}' --only-output query`,
    "wf --app review run --input query=hello --answer approve.json",
    "wf run --each questions.csv --errors-to failed.csv",
  ],
});

const eachRow = withNamePath("run", list("", "row status elapsed:seconds error outputs run:id"));

const started = {
  ...record<{ workflow_run_id: string; task_id: string }>("workflow_run_id task_id"),
  namePath: "workflow_run_id",
};

export const workflowShow = task({
  command: "wf show <run>",
  tool: {},
  summary: "Show a run with its inputs and outputs",
  params: { workflow_run_id },
  returns: getWorkflowRun.returns,
  sends: [streamRunEvents, getForm],
  wraps: getWorkflowRun,
  effect: "reads",
  examples: ["wf show $RUN", "wf show $RUN --jq .outputs"],
});
