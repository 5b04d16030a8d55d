import { getAppInfo } from "../../../operations/apps.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import { local, repeatedReport } from "../../../operations/operation.ts";
import {
  getWorkflowRun,
  listWorkflowLogs,
  streamRunEvents,
} from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";

export const topParams = { all_apps: local.flag("Show all applications of the profile") };

export const workflowTop = task({
  command: "wf top",
  action: "show active runs",
  meant: ["ps", "monitor"],
  summary: "Show active runs, recent failures and waiting forms, live",
  about:
    "Shows runs that are running or paused with their nodes, failures of the last hour, and how long runs\ntook; --app can be repeated. Keys: up and down select a run, f follows its events, a answers its form,\no opens its page, q quits, ? explains them. In a pipe, or with KB_ACCESSIBLE, it prints a report every\nten seconds.",
  manyApps: true,
  params: topParams,
  returns: repeatedReport,
  sends: [listWorkflowLogs, streamRunEvents, getWorkflowRun, getAppInfo, getForm, submitForm],
  effect: "reads",
  exits: ["cut"],
  examples: ["wf top", "wf top --app echo --app review", "wf top --all-apps -o jsonl"],
});
