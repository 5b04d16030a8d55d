import { getForm } from "../../../operations/forms.ts";
import { events, local, someEvents, textChunks } from "../../../operations/operation.ts";
import { required, userInQuery } from "../../../operations/shared.ts";
import { getWorkflowRun, streamRunEvents } from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";
import { expectParams } from "../expect/index.ts";
import { otlpParams } from "../otlp/index.ts";
import { recordingParams } from "../recording/index.ts";

export const eventsParams = {
  workflow_run_id: local.uuid("Runs", {
    many: true,
    required,
    placeholder: "run",
    listed: "run",
  }),
  follow: local.flag("Reconnect until the run has ended", { short: "F", meant: ["--watch", "-w"] }),
  through_pauses: local.flag("Keep following while the run is paused"),
  no_snapshot: local.flag("Show new events only"),
  only: local.text("Only these kinds of events, comma-separated", {
    placeholder: "kinds",
    many: true,
    meant: ["--type", "--filter"],
  }),
  text: local.flag("Print only the generated text"),
  reasoning: local.flag("Print only the reasoning, or both with --text"),
  ...recordingParams,
  ...otlpParams,
  ...expectParams,
  user: userInQuery,
};

export const workflowEvents = task({
  command: "wf events [run...]",
  meant: ["tail", "watch"],
  summary: "Show the events of runs as they arrive",
  about:
    "Starts with the events so far. Without --follow it reads the stream once; with --follow it reconnects\nuntil the run has ended and shows each event once. Events that are lost on reconnecting are marked\n(_gap) and completed from the run's outputs at the end (_gap_filled). The exit code is the outcome\nof the run; the worst one of several runs.",
  params: eventsParams,
  returns: events,
  output({ text, reasoning, only }) {
    if (text || reasoning) return textChunks;
    return only ? someEvents : undefined;
  },
  sends: [getWorkflowRun, getForm],
  wraps: streamRunEvents,
  effect: "reads",
  exits: ["paused", "remote-failed", "partial", "cut", "gate"],
  examples: [
    "wf events $RUN",
    "wf events $RUN --follow --only node_finished,workflow_finished -o jsonl",
    "wf events $RUN --follow --text",
    `wf events $RUN --follow --expect 'run succeeded within 2m' --expect 'output query is "hello"' --junit report.xml`,
  ],
});
