import { getAppInfo } from "../../../operations/apps.ts";
import { getForm, submitForm } from "../../../operations/forms.ts";
import { repeatedReport } from "../../../operations/operation.ts";
import {
  getWorkflowRun,
  listWorkflowLogs,
  streamRunEvents,
} from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";

export const workflowTop = task({
  command: "wf top",
  action: "show active runs",
  summary: "Show active runs, recent failures and waiting forms, live",
  about:
    "Shows runs that are running or paused with their nodes, failures of the last hour, and how long runs\ntook. Keys: up and down select a run, f follows its events, a answers its\nform, o opens its page, q quits. In a pipe, or with KB_ACCESSIBLE, it prints a report every\nten seconds.",
  params: {},
  returns: repeatedReport,
  sends: [listWorkflowLogs, streamRunEvents, getWorkflowRun, getAppInfo, getForm, submitForm],
  effect: "reads",
  exits: ["cut"],
  examples: ["wf top", "wf top -o jsonl"],
});
