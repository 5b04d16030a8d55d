import { getAppInfo } from "../../../operations/apps.ts";
import { uploadFile } from "../../../operations/files.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import { list, local, record, withNamePath } from "../../../operations/operation.ts";
import { userInBody } from "../../../operations/shared.ts";
import { listWorkflowLogs, streamRunEvents } from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";
import { logFilters } from "../logs/index.ts";

export const assignedInput = local.text("Input as name=value; @path uploads a file", {
  many: true,
  short: "i",
  placeholder: "name=value",
});

export const formSubmitParams = {
  form_token: submitForm.params.form_token,
  action: local.text("ID of the form's action to take"),
  input: assignedInput,
  inputs: local.json("All inputs as one object", { shape: { kind: "object" } }),
  user: userInBody,
};

/** What finds the form that is meant. */
const findsForms = [listWorkflowLogs, streamRunEvents];

export const formShowParams = { form_token: getForm.params.form_token };

export const formShow = task({
  command: "wf form show [token]",
  tool: {},
  summary: "Show the form of a paused run",
  params: formShowParams,
  sends: findsForms,
  wraps: getForm,
  effect: "reads",
  examples: ["wf --app review form show $TOKEN", "wf --app review form show $TOKEN -o json"],
});

export const formSubmit = task({
  command: "wf form submit [token]",
  meant: ["approve", "reject"],
  summary: "Submit the form of a paused run so that it continues",
  about:
    "On a terminal it shows the form and prompts for the action and for missing inputs. Inputs are\nchecked against the form; files are uploaded first.",
  params: formSubmitParams,
  returns: withNamePath("form_token", record("form_token action inputs")),
  sends: [getForm, uploadFile, ...findsForms],
  wraps: submitForm,
  effect: "writes",
  exits: ["paused"],
  examples: [
    "wf --app review form submit $TOKEN --action approve --input comment=fine",
    `wf --app review form submit $TOKEN --action reject --inputs '{"comment":""}'`,
  ],
});

export const formListParams = {
  created_at__after: {
    ...logFilters.created_at__after,
    help: "Only runs since this time (default 7d, the time that a form waits)",
  },
};

/** A form that a paused run is waiting for. */
export interface ListedForm {
  /** Title of the node that asks; null if the form cannot be read. */
  readonly node: string | null;
  readonly run: string;
  /** End user or account that started the run, if known. */
  readonly by: string | null;
  /** Unix seconds. */
  readonly expires: number | null;
  /** One that has expired can no longer be submitted, even while its run still waits. */
  readonly status: "expired" | null;
  /** Null if the form cannot be submitted through the API. */
  readonly token: string | null;
}

export const formList = task({
  command: "wf form list",
  tool: {},
  action: "list open forms",
  summary: "List the forms that paused runs are waiting for",
  about:
    "Reads the log, which has the paused runs of workflows, and the events of each paused run, which have\nits form. Runs of chat applications are not in the log: only those that were followed on this machine\nare listed. The API shows no forms of runs that were started in the console or by a trigger.",
  params: formListParams,
  returns: list<ListedForm>("", "node expires=expires:time by status:sparse run token=token:id"),
  sends: [listWorkflowLogs, streamRunEvents, getAppInfo],
  effect: "reads",
  exits: ["partial"],
  examples: ["wf --app review form list", "wf --app review form list -o name"],
});
