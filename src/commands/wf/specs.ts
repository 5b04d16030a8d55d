import {
  disableAnnotationReply,
  enableAnnotationReply,
  getAnnotationReplyStatus,
} from "../../operations/annotations.ts";
import { getAppInfo, getAppParameters } from "../../operations/apps.ts";
import {
  listConversationVariables,
  listMessages,
  sendMessage,
  sendMessageBlocking,
  stopMessage,
} from "../../operations/chats.ts";
import { createCompletion, createCompletionBlocking } from "../../operations/completions.ts";
import { uploadFile } from "../../operations/files.ts";
import { getForm, submitForm } from "../../operations/forms.ts";
import {
  drawnReport,
  events,
  list,
  local,
  withNamePath,
  pastEvents,
  record,
  report,
  someEvents,
  textChunks,
} from "../../operations/operation.ts";
import { required, userInBody, userInQuery, workflow_run_id } from "../../operations/shared.ts";
import {
  getWorkflowRun,
  listWorkflowLogs,
  runWorkflow,
  runWorkflowBlocking,
  runWorkflowById,
  stopWorkflowRun,
  streamRunEvents,
} from "../../operations/workflows.ts";
import { asEvents } from "../stream-or-wait.ts";
import type { ChatInput } from "./chat-send.ts";
import type { CompletionInput } from "./completion-create.ts";
import { logFilters } from "./logs/filters.ts";
import { figureKinds, groupings } from "./stats/fields.ts";
import { task } from "../command-spec.ts";
import type { Task } from "../command-spec.ts";
import type { LogsInput } from "./logs/list.ts";
import type { RunInput } from "./run/run.ts";

const completionCreate = task({
  command: "wf text create",
  summary: "Generate text with a text generation application",
  about:
    "Streams the answer; with -o json it waits for the whole of it. --query goes into the inputs as well\nwhere the application's form has a field of that name. A model that fails ends with 9 in every\nformat.",
  key: "app",
  params: {
    ...createCompletion.params,
    blocking: local.flag("Ask the server for one answer instead of events"),
  },
  returns: events,
  output: (input: CompletionInput, format) =>
    asEvents(input, format) ? undefined : createCompletionBlocking.returns,
  sends: [createCompletion, createCompletionBlocking, getAppParameters],
  wraps: createCompletion,
  effect: "writes",
  exits: ["remote-failed", "cut"],
  examples: [
    `wf text create --inputs '{"topic":"leave"}'`,
    "wf text create --query 'Sum up the leave policy' --blocking --jq .answer",
  ],
  load: () => import("./completion-create.ts"),
});

const recordingParams = {
  record: local.text("Write the events to a new file, for replay, timeline and diff", {
    isOutputPath: true,
  }),
  redact: local.flag("Keep texts out of the recording: only their length is written"),
} as const;

/** Parameters of every command that watches a run. */
const expectParams = {
  expect: local.text("Sentence or YAML file that the run must meet (`wf help expect`)", {
    many: true,
  }),
  junit: local.text("File for what became of the expectations, as JUnit XML", {
    isOutputPath: true,
  }),
} as const;

const runParams = {
  workflow_id: local.uuid("Published version of the workflow, the newest when absent"),
  input: local.text("One input as name=value, typed by the application's form; a file as @path", {
    many: true,
  }),
  inputs: local.json("All inputs as one JSON object", { shape: { kind: "object" } }),
  files: local.json("Files of the run, JSON list", {
    shape: { kind: "list", of: { kind: "object" } },
  }),
  blocking: local.flag("Wait for one answer instead of events"),
  detach: local.flag("Start the run and print its id at once"),
  through_pauses: local.flag("Go on when the run waits for a person"),
  answer: local.text("JSON file that answers a form: {action, inputs, node}", { many: true }),
  ...recordingParams,
  ...expectParams,
  text: local.flag("Print the answer alone; to a file or pipe each node's text when it has ended"),
  only_output: local.text("Print this one output of the run, as it is"),
  each: local.text(
    "Run once per row of a CSV or JSON Lines file (-: standard input), whose values win over --input",
  ),
  errors_to: local.text("With --each, write the rows whose runs failed or did not start to a file"),
  concurrency: local.integer("Runs at once with --each", { range: [1, 10], serverDefault: "3" }),
  user: userInBody,
} as const;

const workflowRun = task({
  command: "wf run",
  summary: "Run the workflow and follow it to the end",
  about:
    "Streams the events of the run; when the line is cut it goes on by following the run, and never\nstarts a second one. With -o json it prints the run's detail at the end. The exit code is what\nbecame of the run.",
  key: "app",
  params: runParams,
  returns: events,
  output: (input: RunInput, format) =>
    input.each !== undefined
      ? eachRow
      : input.text || input.only_output !== undefined
        ? textChunks
        : asEvents(input, format)
          ? undefined
          : input.detach
            ? started
            : input.blocking
              ? runWorkflowBlocking.returns
              : getWorkflowRun.returns,
  sends: [
    runWorkflow,
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
    "wf run --input query=hello",
    `wf run --inputs '{"query":"hello"}' --only-output query`,
    "wf --app review run --input query=hello --answer approve.json",
    "wf run --each questions.csv --errors-to failed.csv",
  ],
  load: () => import("./run/run.ts"),
});

const eachRow = withNamePath(
  "run",
  list("", "row", "status", "run", "elapsed", "outputs", "error"),
);

const started = {
  ...record<{ workflow_run_id: string; task_id: string }>("workflow_run_id", "task_id"),
  namePath: "workflow_run_id",
};

const workflowEvents = task({
  command: "wf events <run...>",
  summary: "Show the events of runs as they arrive",
  about:
    "Begins with what has happened so far. Without --follow it reads the stream to its end once, with\n--follow it reconnects until the run has ended and shows every event once. What a cut line lost is\nannounced (_gap) and filled from the run's outputs at the end (_gap_filled). The exit code is what\nbecame of the run either way; of several runs, the gravest.",
  key: "app",
  params: {
    workflow_run_id: local.uuid("Runs", { many: true, required, placeholder: "run" }),
    follow: local.flag("Reconnect until the run has ended", { short: "F" }),
    through_pauses: local.flag("Go on when the run waits for a person"),
    no_snapshot: local.flag("Show only what happens from now on"),
    only: local.text("Only events of these kinds, separated by commas", { many: true }),
    text: local.flag("Print the answer alone; to a file or pipe when the run has ended"),
    reasoning: local.flag("Print the reasoning alone, or with --text both"),
    ...recordingParams,
    ...expectParams,
    user: userInQuery,
  },
  returns: events,
  output: ({ text: asText, reasoning, only }) =>
    asText || reasoning ? textChunks : only ? someEvents : undefined,
  sends: [streamRunEvents, getWorkflowRun, getForm],
  wraps: streamRunEvents,
  effect: "reads",
  exits: ["paused", "remote-failed", "partial", "cut", "gate"],
  examples: [
    "wf events $RUN",
    "wf events $RUN --follow --only node_finished,workflow_finished -o jsonl",
    "wf events $RUN --follow --text",
    `wf events $RUN --follow --expect 'run succeeded within 2m' --expect 'output query is "hello"' --junit report.xml`,
  ],
  load: () => import("./events/events.ts"),
});

const place = local.text("Recording (-: standard input), or id of a run that goes on", {
  required,
});

const workflowReplay = task({
  command: "wf replay <file>",
  action: "replay {file}",
  summary: "Replay a recorded run",
  about:
    "Takes what --record wrote, or the output of wf events -o jsonl. On a terminal it takes the time\nthat the run took, in a pipe none. The exit code is that of the run; 13 where the recording ends\nbefore it.",
  params: {
    file: local.text("Recording (-: standard input)", { required }),
    speed: local.text("How fast: 5x, 0.5x or max"),
    idle_limit: local.duration("Wait no longer than this between two events"),
    ...expectParams,
  },
  returns: pastEvents,
  sends: [],
  effect: "reads",
  exits: ["paused", "remote-failed", "cut", "gate"],
  examples: [
    "wf replay run.jsonl",
    "wf replay run.jsonl --speed 5x --idle-limit 2s",
    "wf replay run.jsonl -o jsonl",
    "wf replay run.jsonl --expect 'run succeeded within 2m' -q",
  ],
  load: () => import("./recording/replay.ts"),
});

const workflowTimeline = task({
  command: "wf timeline <run>",
  action: "build timeline of {run}",
  summary: "Show when each node of a run started and finished",
  about:
    "Takes a recording, or a run that goes on, which is followed until it ends or waits for a person:\nthe server tells of nodes only as long as a run goes on. Of more than five rounds of a loop each\nnode has one row.",
  key: "app",
  params: {
    run: place,
    expand: local.flag("A row for each round, however many there are"),
    user: userInQuery,
  },
  returns: drawnReport,
  sends: [streamRunEvents, getWorkflowRun],
  effect: "reads",
  exits: ["cut"],
  examples: [
    "wf timeline run.jsonl",
    "wf timeline run.jsonl -o svg > run.svg",
    "wf timeline run.jsonl --jq '.nodes | max_by(.took_ms).node'",
  ],
  load: () => import("./recording/timeline.ts"),
});

const workflowDiff = task({
  command: "wf diff <a> <b>",
  action: "compare {a} with {b}",
  summary: "Compare two runs: status, path, time, tokens, outputs",
  about:
    "Of a run that is over and was not recorded the server tells no nodes: status, time, tokens and\noutputs are compared. With --exit-code a difference in status, path, outputs or text ends with 14,\nas does a path or outputs that cannot be compared; one in time only where --timing says how much\nmore is too much.",
  key: "app",
  params: {
    a: { ...place, placeholder: "a" },
    b: { ...place, placeholder: "b" },
    timing: local.text(
      "The run or a node of b that takes this much longer is a difference, as in 20% (from 0.1 s)",
    ),
    exit_code: local.flag("End with 14 when the runs differ"),
    user: userInQuery,
  },
  returns: report,
  sends: [streamRunEvents, getWorkflowRun],
  effect: "reads",
  exits: ["cut", "gate"],
  examples: [
    "wf diff before.jsonl after.jsonl",
    "wf diff before.jsonl after.jsonl --timing 20% --exit-code -o md",
  ],
  load: () => import("./recording/diff.ts"),
});

const workflowShow = task({
  command: "wf show <run>",
  summary: "Show a run with its inputs and outputs",
  key: "app",
  params: { workflow_run_id },
  returns: getWorkflowRun.returns,
  sends: [getWorkflowRun],
  wraps: getWorkflowRun,
  effect: "reads",
  examples: ["wf show $RUN", "wf show $RUN --jq .outputs"],
  load: () => import("./show.ts"),
});

const workflowWait = task({
  command: "wf wait <run>",
  action: "wait for run {run}",
  summary: "Wait until a run has ended, then show it",
  about:
    "Reads the run's record, again and again, without its events. The exit code is what became of the\nrun; --timeout sets a deadline. Without one it gives up (13) when the record has said running for an\nhour: on some servers that of a stopped run says so for ever.",
  key: "app",
  params: {
    workflow_run_id,
    through_pauses: local.flag("Go on when the run waits for a person"),
  },
  returns: getWorkflowRun.returns,
  sends: [getWorkflowRun],
  effect: "reads",
  exits: ["paused", "remote-failed", "cut"],
  examples: ["wf wait $RUN", "wf wait $RUN --timeout 10m --jq .outputs"],
  load: () => import("./wait.ts"),
});

const formSubmit = task({
  command: "wf form submit <token>",
  summary: "Submit the form of a paused run so that it continues",
  about:
    "On a terminal it shows the form and asks for what the line leaves out. Inputs are checked against\nthe form; a file is uploaded first.",
  key: "app",
  params: {
    form_token: submitForm.params.form_token,
    action: local.text("Id of the action to take, from the form"),
    input: local.text("One input as name=value; a file as @path", { many: true }),
    inputs: local.json("All inputs as one JSON object", { shape: { kind: "object" } }),
    user: userInBody,
  },
  returns: withNamePath("form_token", record("form_token", "action", "inputs")),
  sends: [submitForm, getForm, uploadFile],
  wraps: submitForm,
  effect: "writes",
  examples: [
    "wf --app review form submit $TOKEN --action approve --input comment=fine",
    `wf --app review form submit $TOKEN --action reject --inputs '{"comment":""}'`,
  ],
  load: () => import("./run/form-submit.ts"),
});

const workflowStop = task({
  command: "wf stop <task>",
  summary: "Stop a running task",
  about:
    "Takes the task id of the stream, or the id of a run that was started or followed here. The server\nsays the same for every id, so the run's event stream and its record tell whether it ended; where\nthe run is not known (--run), the stop is sent, not verified. A paused run cannot be stopped.",
  key: "app",
  params: {
    task_id: local.text("Task id, from the stream of the run, or run id", {
      required,
      placeholder: "task",
    }),
    run: local.uuid("Run id, to verify that it stopped"),
    user: userInBody,
  },
  returns: record("result", "verified", "status"),
  sends: [stopWorkflowRun, stopMessage, getWorkflowRun, streamRunEvents, getAppInfo],
  wraps: stopWorkflowRun,
  effect: "writes",
  examples: ["wf stop $TASK", "wf stop $TASK --run $RUN", "wf stop $RUN"],
  load: () => import("./stop.ts"),
});

const workflowLogs = task({
  command: "wf logs",
  summary: "List the runs of the workflow, newest first",
  about:
    "With --follow it looks for new runs every 2 seconds and prints them oldest first: each run when it\nappears, and again when its status has changed. It begins with the newest 20 (--limit), or with all\nsince --since; json and --jq then take one run at a time.",
  key: "app",
  params: {
    ...logFilters,
    follow: local.flag("Go on with runs as they come", { short: "F" }),
  },
  returns: listWorkflowLogs.returns,
  output: ({ follow }: LogsInput, format) => (follow && format === "json" ? oneLog : undefined),
  pages: true,
  sends: [listWorkflowLogs],
  wraps: listWorkflowLogs,
  effect: "reads",
  exits: ["cut"],
  examples: [
    "wf logs --status failed --since 2h",
    "wf logs --keyword hello --all -o jsonl",
    "wf logs --since today --all --where 'elapsed>20s' --where 'error~timeout'",
    "wf logs --follow -o jsonl",
  ],
  load: () => import("./logs/list.ts"),
});

const workflowLogsExport = task({
  command: "wf logs export <target>",
  action: "export runs to {target}",
  summary: "Export the runs of the workflow to a file, each once",
  about:
    "A target that ends in .jsonl or .csv is a file, any other a folder that gets one file per export,\nnamed by the time up to which the log was read (-o csv for CSV there). The file appears when it is\nwhole, newest run first; killed or interrupted, the same command goes on where it stood. With --state\nthe next export goes on where this one ended: a file grows at its end, a folder gets a further one,\nand runs that have not ended are written once, when they have.",
  key: "app",
  params: {
    target: local.text("File or folder to write to", { required, length: [1, 4096] }),
    ...logFilters,
    state: local.text(
      "File that remembers where the next export goes on; --since then counts for the first",
      { length: [1, 4096] },
    ),
    overwrite: local.flag("Replace the file where there is one already"),
    with_detail: local.flag("Add inputs and outputs of each run, one request a run"),
    concurrency: local.integer("Requests for details at a time, 3 when absent", {
      range: [1, 50],
    }),
  },
  returns: withNamePath(
    "file",
    record("rows", "read", "refetched", "missing", "waiting", "running", "file", "since", "until"),
  ),
  sends: [listWorkflowLogs, getWorkflowRun, getAppInfo],
  wraps: listWorkflowLogs,
  effect: "reads",
  runsToEnd: true,
  exits: ["partial"],
  examples: [
    "wf logs export runs.jsonl --since 30d",
    "wf logs export runs.csv --status failed --with-detail",
    "wf logs export runs --state runs.state",
  ],
  load: () => import("./logs/export.ts"),
});

const oneLog = withNamePath("workflow_run.id", record(...listWorkflowLogs.returns.columns));

const workflowStats = task({
  command: "wf stats",
  action: "compute statistics",
  summary: "Show statistics about the runs of the workflow",
  about:
    "Reads the log of the last 24 hours, or since --since; with --from a file of it, whole. Shares are of\nthe runs that have ended, times and tokens are theirs. A percentile is the smallest value that at\nleast so many percent of the runs do not exceed (nearest rank). Of a run that waited for a person the\ntime is that from its start to its finish. The time before, of the same length, is read to compare.\n\nA condition of --fail-if that holds ends the command with 14, after the figures. So does one on a\nfigure that no run tells anything about: a check that measured nothing must not look green.",
  key: "app",
  params: {
    ...logFilters,
    created_at__after: {
      ...logFilters.created_at__after,
      help: "Only runs since this time; 24 hours when absent, with --from all",
    },
    from: local.file("File of runs instead of the server, from wf logs -o jsonl or -o csv"),
    by: local.choice(groupings, "Figures of each version or end user as well", { many: true }),
    top: local.integer("Most rows of a list of errors, versions or users, 10 when absent", {
      range: [1, 10_000],
    }),
    no_compare: local.flag("Do not read the time before"),
    fail_if: local.text(
      `End with 14 if this holds, as in 'p95>20s' or 'failed>2%'; of ${Object.keys(figureKinds).join(", ")}`,
      { many: true },
    ),
    pass_without_runs: local.flag("Let conditions pass that no run tells anything about"),
  },
  returns: report,
  sends: [listWorkflowLogs],
  wraps: listWorkflowLogs,
  effect: "reads",
  exits: ["partial", "gate"],
  examples: [
    "wf stats --since 7d --by version",
    "wf stats --since 1h --fail-if 'p95>20s' --fail-if 'failed>2%'",
    "wf stats --from november.jsonl -o md",
  ],
  load: () => import("./stats/stats.ts"),
});
const chatSend = task({
  command: "wf chat send <query>",
  summary: "Send a message to a chat application",
  about:
    "Streams the answer; with -o json it waits for the whole of it. A line that is cut is followed up: the\nrun behind the answer, or the stored message; the message is never sent again. The sources of the\nanswer are told below it on standard error. A model that fails ends with 9 in every format.",
  key: "app",
  params: {
    ...sendMessage.params,
    blocking: local.flag("Ask the server for one answer instead of events"),
  },
  returns: pastEvents,
  output: (input: ChatInput, format) =>
    asEvents(input, format) ? undefined : sendMessageBlocking.returns,
  sends: [
    sendMessage,
    sendMessageBlocking,
    listMessages,
    streamRunEvents,
    getWorkflowRun,
    getForm,
    getAppParameters,
  ],
  wraps: sendMessage,
  effect: "writes",
  exits: ["paused", "remote-failed", "cut"],
  examples: [
    "wf --app chat chat send 'How many days of leave do I have?'",
    "wf --app chat chat send 'And in the first year?' --conversation-id $CONVERSATION",
    "wf --app chat chat send Hello --blocking --jq .answer",
  ],
  load: () => import("./chat-send.ts"),
});

const chatStop = task({
  command: "wf chat stop <task>",
  summary: "Stop a chat response; reports success in any case",
  about: "Takes the task id of the events, or the id of a run that was started or followed here.",
  key: "app",
  params: stopMessage.params,
  returns: stopMessage.returns,
  sends: [stopMessage],
  wraps: stopMessage,
  effect: "writes",
  examples: ["wf --app chat chat stop $TASK", "wf --app chat chat stop $TASK --user ann"],
  load: () => import("./chat-stop.ts"),
});

const conversationVariables = task({
  command: "wf conversation variables <conversation>",
  summary: "List the variables of a conversation",
  key: "app",
  params: {
    ...listConversationVariables.params,
    variable_name: local.text("Only the variable of this name", { length: [1, 255] }),
  },
  returns: listConversationVariables.returns,
  pages: true,
  sends: [listConversationVariables],
  wraps: listConversationVariables,
  effect: "reads",
  examples: [
    "wf conversation variables $CONVERSATION",
    "wf conversation variables $CONVERSATION --variable-name mood",
  ],
  load: () => import("./conversation-variables.ts"),
});

const wait = local.flag("Wait until the job is done, a minute for it to begin");

const replyEnable = task({
  command: "wf annotation reply enable",
  summary: "Start the job that enables annotation replies",
  key: "app",
  params: { ...enableAnnotationReply.params, wait },
  returns: getAnnotationReplyStatus.returns,
  sends: [enableAnnotationReply, getAnnotationReplyStatus],
  wraps: enableAnnotationReply,
  effect: "writes",
  exits: ["remote-failed", "deadline"],
  examples: [
    "wf --app chat annotation reply enable --embedding-provider-name langgenius/openai/openai --embedding-model-name text-embedding-3-small --score-threshold 0.9",
    "wf --app chat annotation reply enable --embedding-provider-name langgenius/openai/openai --embedding-model-name text-embedding-3-small --score-threshold 0.8 -o name",
  ],
  load: async () => (await import("./annotation-reply.ts")).enable,
});

const replyDisable = task({
  command: "wf annotation reply disable",
  summary: "Start the job that disables annotation replies",
  about: "Where annotations do not answer already, the job never begins.",
  key: "app",
  params: { ...disableAnnotationReply.params, wait },
  returns: getAnnotationReplyStatus.returns,
  sends: [disableAnnotationReply, getAnnotationReplyStatus],
  wraps: disableAnnotationReply,
  effect: "writes",
  exits: ["remote-failed", "deadline"],
  examples: [
    "wf --app chat annotation reply disable --embedding-provider-name langgenius/openai/openai --embedding-model-name text-embedding-3-small --score-threshold 0.9",
    "wf --app chat annotation reply disable --embedding-provider-name langgenius/openai/openai --embedding-model-name text-embedding-3-small --score-threshold 0.9 --dry-run",
  ],
  load: async () => (await import("./annotation-reply.ts")).disable,
});

const replyStatus = task({
  command: "wf annotation reply status <action> <job>",
  summary: "Show the status of an annotation reply job",
  about: "A job that failed ends the command with 9.",
  key: "app",
  params: getAnnotationReplyStatus.params,
  returns: getAnnotationReplyStatus.returns,
  sends: [getAnnotationReplyStatus],
  wraps: getAnnotationReplyStatus,
  effect: "reads",
  exits: ["remote-failed"],
  examples: [
    "wf --app chat annotation reply status enable $JOB",
    "wf --app chat annotation reply status enable $JOB --jq .job_status",
  ],
  load: async () => (await import("./annotation-reply.ts")).status,
});

/** Commands of `wf` around operations, or of several. */
export const workflowTasks: readonly Task[] = [
  completionCreate,
  workflowRun,
  workflowEvents,
  workflowShow,
  workflowWait,
  workflowReplay,
  workflowTimeline,
  workflowDiff,
  workflowStop,
  formSubmit,
  workflowLogs,
  workflowLogsExport,
  workflowStats,
  chatSend,
  chatStop,
  conversationVariables,
  replyEnable,
  replyDisable,
  replyStatus,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
