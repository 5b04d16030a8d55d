import { getAppInfo } from "../../../operations/apps.ts";
import { stopMessage } from "../../../operations/chats.ts";
import { local, record } from "../../../operations/operation.ts";
import { required, userInBody, workflow_run_id } from "../../../operations/shared.ts";
import { getWorkflowRun, stopWorkflowRun, streamRunEvents } from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";

export const workflowWait = task({
  command: "wf wait [run]",
  tool: {},
  action: "wait for run {run}",
  summary: "Wait until a run has ended, then show it",
  about:
    "Polls the run without its events. The exit code is the outcome of the run. --timeout sets a deadline;\nwithout one it exits with code 13 after an hour, because some servers report stopped runs as running.",
  params: {
    workflow_run_id,
    through_pauses: local.flag("Keep following while the run is paused"),
  },
  returns: getWorkflowRun.returns,
  sends: [getWorkflowRun],
  effect: "reads",
  exits: ["paused", "remote-failed", "cut"],
  examples: ["wf wait $RUN", "wf wait $RUN --timeout 10m --jq .outputs"],
});

export const stopParams = {
  task_id: local.text("Task ID from the run's events, or run ID", {
    required,
    placeholder: "task",
  }),
  run: local.uuid("Run ID, to verify that it stopped", { listed: "run" }),
  user: userInBody,
};

export const workflowStop = task({
  command: "wf stop [task]",
  tool: {},
  summary: "Stop a running task",
  about:
    "Takes a task ID from the events, or the ID of a run that was started or followed on this machine. The\nserver reports success for any ID, so the run is checked afterwards; for an unknown run (--run) the\nstop is not verified. A paused run cannot be stopped.",
  params: stopParams,
  returns: record("result verified status"),
  sends: [stopMessage, getWorkflowRun, streamRunEvents, getAppInfo],
  wraps: stopWorkflowRun,
  effect: "writes",
  examples: ["wf stop $TASK", "wf stop $TASK --run $RUN", "wf stop $RUN"],
});

export const stopReply = task({
  command: "wf chat stop <task>",
  summary: "Stop a chat response; reports success in any case",
  about:
    "Takes a task ID from the events, or the ID of a run that was started or followed on this machine.",
  params: stopMessage.params,
  wraps: stopMessage,
  effect: "writes",
  examples: ["wf --app chat chat stop $TASK", "wf --app chat chat stop $TASK --user ann"],
});
