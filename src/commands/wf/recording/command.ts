import { local, pastEvents, report } from "../../../operations/operation.ts";
import { required, userInQuery } from "../../../operations/shared.ts";
import { getWorkflowRun, streamRunEvents } from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";
import { expectParams } from "../expect/index.ts";

export const recordingParams = {
  record: local.text("Record the events to a new file", {
    isOutputPath: true,
  }),
  redact: local.flag("Record the lengths of texts instead of the texts"),
} as const;

const place = local.text("Recording (- for stdin), or ID of an active run", {
  required,
});

export const replayParams = {
  file: local.text("Recording (- for stdin)", { required }),
  speed: local.text("Speed: 5x, 0.5x or max", { placeholder: "factor" }),
  idle_limit: local.duration("Maximum pause between two events"),
  ...expectParams,
};

export const workflowReplay = task({
  command: "wf replay <file>",
  action: "replay {file}",
  summary: "Replay a recorded run",
  about:
    "Reads a recording from --record or `wf events -o jsonl`. A terminal replays at the original speed, a\npipe at once. The exit code is that of the run, or 13 if the recording ends before the run.",
  params: replayParams,
  returns: pastEvents,
  effect: "reads",
  exits: ["paused", "remote-failed", "cut", "gate"],
  examples: [
    "wf replay run.jsonl",
    "wf replay run.jsonl --speed 5x --idle-limit 2s",
    "wf replay run.jsonl -o jsonl",
    "wf replay run.jsonl --expect 'run succeeded within 2m' -q",
  ],
});

export const timelineParams = {
  run: place,
  expand: local.flag("Show one row for each round of a loop"),
  user: userInQuery,
};

export const workflowTimeline = task({
  command: "wf timeline [run]",
  action: "build timeline of {run}",
  meant: ["trace", "nodes"],
  summary: "Show when each node of a run started and finished",
  about:
    "Reads a recording, or follows an active run until it ends or pauses: the server reports nodes only\nwhile a run is active. Loops of more than five rounds have one row per node.",
  params: timelineParams,
  returns: report,
  sends: [streamRunEvents, getWorkflowRun],
  effect: "reads",
  exits: ["cut"],
  examples: [
    "wf timeline run.jsonl",
    "wf timeline last",
    "wf timeline run.jsonl -o html > run.html",
    "wf timeline run.jsonl --jq '.nodes | max_by(.took_ms).node'",
  ],
});

export const diffParams = {
  a: { ...place, placeholder: "a" },
  b: { ...place, placeholder: "b" },
  exit_code: local.flag("Exit with code 14 if the runs differ"),
  user: userInQuery,
};

export const workflowDiff = task({
  command: "wf diff <a> <b>",
  action: "compare {a} with {b}",
  meant: ["compare"],
  summary: "Compare two runs: status, path, time, tokens, outputs",
  about:
    "The server has no nodes of a finished run: without a recording only status, time, tokens and outputs\nare compared. With --exit-code, a difference in status, path (which nodes ran and how they ended),\noutputs or text exits with code 14, as do a path or outputs that cannot be compared. Replies of chats\nwithout nodes are compared by status and text. Differences in time do not count.",
  params: diffParams,
  returns: report,
  sends: [streamRunEvents, getWorkflowRun],
  effect: "reads",
  exits: ["cut", "gate"],
  examples: [
    "wf diff before.jsonl after.jsonl",
    "wf diff before.jsonl last",
    "wf diff before.jsonl after.jsonl --exit-code -o md",
  ],
});
