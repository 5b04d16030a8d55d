import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { local, record, withNamePath } from "../../../operations/operation.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";

export const workflowOpenParams = {
  workflow_run_id: local.uuid("Run ID", { placeholder: "run", listed: "run" }),
  print: local.flag("Print the address instead of opening it"),
};

export const workflowOpen = task({
  command: "wf open [run]",
  action: "open the page of {run}",
  summary: "Open the application, or the logs with a run, in the web console",
  about:
    "Opens the page with the command in BROWSER, or in the default browser. Prints the address if stdout\nis not a terminal, or if there is no browser. Only runs show the ID of their application:\nwithout a run, the list of all applications opens.",
  params: workflowOpenParams,
  sends: [getAppInfo, listWorkflowLogs, getWorkflowRun],
  effect: "reads",
  examples: ["wf open", "wf open $RUN", "wf --app slow open --print"],
});

export const appInfo = task({
  command: "wf app info",
  tool: {},
  meant: ["info"],
  summary: "Show the name, mode and inputs of the application",
  params: {},
  returns: withNamePath(
    "name",
    // The first column of the parameters are the inputs.
    record(...getAppInfo.returns.columns, ...getAppParameters.returns.columns.slice(0, 1)),
  ),
  sends: [getAppParameters],
  wraps: getAppInfo,
  effect: "reads",
  examples: ["wf app info", "wf --app chat app info -o json"],
});
