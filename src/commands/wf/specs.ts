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
  events,
  list,
  noContent,
  local,
  withNamePath,
  pastEvents,
  record,
  repeatedReport,
  report,
  someEvents,
  textChunks,
} from "../../operations/operation.ts";
import type { Returns } from "../../operations/operation.ts";
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
import type { WorkflowLog } from "../../operations/workflows.ts";
import { isEnded } from "../../runs/status.ts";
import { mcpAddress, mcpClient, mcpConfigSpec } from "../shared/mcp/params.ts";
import { asEvents } from "../stream-or-wait.ts";
import type { ListedForm } from "./forms/index.ts";
import { logFilters } from "./logs/filters.ts";
import { figureKinds, groupings, units } from "./stats/fields.ts";
import { task } from "../command-spec.ts";
import type { Task } from "../command-spec.ts";
import { testTasks } from "./test-specs.ts";

const assignedInput = local.text("Input as name=value; @path uploads a file", {
  many: true,
  short: "i",
  placeholder: "name=value",
});

export const completionParams = {
  input: assignedInput,
  ...createCompletion.params,
  blocking: local.flag("Wait for one response instead of streaming"),
};

/** A reply is text as it grows, events with -o jsonl, and one response in other formats. */
function replyOutput(
  input: { readonly blocking?: boolean | undefined },
  format: string | undefined,
  response: Returns<never>,
): Returns<never> | undefined {
  if (!asEvents(input, format)) return response;
  return format === undefined ? textChunks : undefined;
}

const completionCreate = task({
  command: "wf text create",
  summary: "Generate text with a text generation application",
  about:
    "Streams the text; -o json prints it when it is complete. --query is also sent as an input if the\napplication's form has a field of that name. Exits with code 9 if the model fails.",
  params: completionParams,
  returns: events,
  output: (input, format) => replyOutput(input, format, createCompletionBlocking.returns),
  sends: [createCompletionBlocking, getAppParameters, uploadFile],
  wraps: createCompletion,
  effect: "writes",
  exits: ["remote-failed", "cut"],
  examples: [
    "wf text create --input 'query=Sum up the leave policy'",
    "wf text create --input 'query=Sum up the leave policy' --blocking --jq .answer",
  ],
  load: () => import("./chat/create-text.ts"),
});

export const recordingParams = {
  record: local.text("Record the events to a new file", {
    isOutputPath: true,
  }),
  redact: local.flag("Record the lengths of texts instead of the texts"),
} as const;

/** Parameters of every command that follows a run. */
export const expectParams = {
  expect: local.text("Expected result, see `wf help conditions`", {
    placeholder: "condition",
    many: true,
  }),
  junit: local.text("JUnit report of the expectations", {
    isOutputPath: true,
  }),
} as const;

export const runParams = {
  workflow_id: local.uuid("Published version of the workflow (default: newest)"),
  input: { ...assignedInput, alsoFlag: true },
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

const workflowRun = task({
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
  load: () => import("./run/run.ts"),
});

const eachRow = withNamePath("run", list("", "row status elapsed:seconds error outputs run:id"));

const started = {
  ...record<{ workflow_run_id: string; task_id: string }>("workflow_run_id task_id"),
  namePath: "workflow_run_id",
};

export const eventsParams = {
  workflow_run_id: local.uuid("Runs", {
    many: true,
    required,
    placeholder: "run",
    listed: "run",
  }),
  follow: local.flag("Reconnect until the run has ended", { short: "F", aliases: ["f"] }),
  through_pauses: local.flag("Keep following while the run is paused"),
  no_snapshot: local.flag("Show new events only"),
  only: local.text("Only these kinds of events, comma-separated", {
    placeholder: "kinds",
    many: true,
  }),
  text: local.flag("Print only the generated text"),
  reasoning: local.flag("Print only the reasoning, or both with --text"),
  ...recordingParams,
  ...expectParams,
  user: userInQuery,
};

const workflowEvents = task({
  command: "wf events <run...>",
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
  load: () => import("./events/events.ts"),
});

const place = local.text("Recording (- for stdin), or ID of an active run", {
  required,
});

export const replayParams = {
  file: local.text("Recording (- for stdin)", { required }),
  speed: local.text("Speed: 5x, 0.5x or max", { placeholder: "factor" }),
  idle_limit: local.duration("Maximum pause between two events"),
  ...expectParams,
};

const workflowReplay = task({
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
  load: () => import("./recording/replay.ts"),
});

export const timelineParams = {
  run: place,
  expand: local.flag("Show one row for each round of a loop"),
  user: userInQuery,
};

const workflowTimeline = task({
  command: "wf timeline <run>",
  action: "build timeline of {run}",
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
    "wf timeline run.jsonl -o html > run.html",
    "wf timeline run.jsonl -o html > run.html",
    "wf timeline run.jsonl --jq '.nodes | max_by(.took_ms).node'",
  ],
  load: () => import("./recording/timeline.ts"),
});

export const diffParams = {
  a: { ...place, placeholder: "a" },
  b: { ...place, placeholder: "b" },
  timing: local.text("Report runs and nodes slower by this much, e.g. 20% (min 0.1s)", {
    placeholder: "percent",
  }),
  exit_code: local.flag("Exit with code 14 if the runs differ"),
  user: userInQuery,
};

const workflowDiff = task({
  command: "wf diff <a> <b>",
  action: "compare {a} with {b}",
  summary: "Compare two runs: status, path, time, tokens, outputs",
  about:
    "The server has no nodes of a finished run: without a recording only status, time, tokens and outputs\nare compared. With --exit-code, a difference in status, path, outputs or text exits with code 14, as\ndo a path or outputs that cannot be compared. Replies of chats without nodes are compared by status and\ntext. Differences in time count only with --timing.",
  params: diffParams,
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
  tool: {},
  summary: "Show a run with its inputs and outputs",
  params: { workflow_run_id },
  returns: getWorkflowRun.returns,
  sends: [streamRunEvents, getForm],
  wraps: getWorkflowRun,
  effect: "reads",
  examples: ["wf show $RUN", "wf show $RUN --jq .outputs"],
  load: () => import("./run/show.ts"),
});

export const workflowOpenParams = {
  workflow_run_id: local.uuid("Run ID", { placeholder: "run", listed: "run" }),
  print: local.flag("Print the address instead of opening it"),
};

const workflowOpen = task({
  command: "wf open [run]",
  action: "open the page of {run}",
  summary: "Open the application, or the logs with a run, in the web console",
  about:
    "Opens the page with the command in BROWSER, or in the default browser. Prints the address if stdout\nis not a terminal, or if there is no browser. Only runs show the ID of their application:\nwithout a run, the list of all applications opens.",
  params: workflowOpenParams,
  returns: { kind: "json" },
  sends: [getAppInfo, listWorkflowLogs, getWorkflowRun],
  effect: "reads",
  examples: ["wf open", "wf open $RUN", "wf --app slow open --print"],
  load: () => import("./app/open.ts"),
});

const workflowWait = task({
  command: "wf wait <run>",
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
  load: () => import("./runs/wait.ts"),
});

export const formSubmitParams = {
  form_token: submitForm.params.form_token,
  action: local.text("ID of the form's action to take"),
  input: assignedInput,
  inputs: local.json("All inputs as one object", { shape: { kind: "object" } }),
  user: userInBody,
};

const formSubmit = task({
  command: "wf form submit <token>",
  summary: "Submit the form of a paused run so that it continues",
  about:
    "On a terminal it shows the form and prompts for the action and for missing inputs. Inputs are\nchecked against the form; files are uploaded first.",
  params: formSubmitParams,
  returns: withNamePath("form_token", record("form_token action inputs")),
  sends: [getForm, uploadFile],
  wraps: submitForm,
  effect: "writes",
  exits: ["paused"],
  examples: [
    "wf --app review form submit $TOKEN --action approve --input comment=fine",
    `wf --app review form submit $TOKEN --action reject --inputs '{"comment":""}'`,
  ],
  load: () => import("./forms/submit.ts"),
});

export const formListParams = {
  created_at__after: {
    ...logFilters.created_at__after,
    help: "Only runs since this time (default 7d, the time that a form waits)",
  },
};

const formList = task({
  command: "wf form list",
  tool: {},
  action: "list open forms",
  summary: "List the forms that paused runs are waiting for",
  about:
    "Reads the log, which has the paused runs of workflows, and the events of each paused run, which have\nits form. Runs of chat applications are not in the log: only those that were followed on this machine\nare listed. The API shows no forms of runs that were started in the console or by a trigger.",
  params: formListParams,
  returns: withNamePath(
    "token",
    list<ListedForm>("", "node by expires=expires:time status:sparse run token=token:id"),
  ),
  sends: [listWorkflowLogs, streamRunEvents, getAppInfo],
  effect: "reads",
  exits: ["partial"],
  examples: ["wf --app review form list", "wf --app review form list -o name"],
  load: () => import("./forms/list.ts"),
});

export const stopParams = {
  task_id: local.text("Task ID from the run's events, or run ID", {
    required,
    placeholder: "task",
  }),
  run: local.uuid("Run ID, to verify that it stopped", { listed: "run" }),
  user: userInBody,
};

const workflowStop = task({
  command: "wf stop <task>",
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
  load: () => import("./runs/stop.ts"),
});

export const logsParams = {
  ...logFilters,
  follow: local.flag("Keep printing new runs", { short: "F", aliases: ["f"] }),
};

const workflowLogs = task({
  command: "wf logs",
  tool: { without: ["follow"] },
  summary: "List the runs of the workflow, newest first",
  about:
    "--follow polls for new runs every 2 seconds and prints them oldest first: each run when it appears,\nand again when its status changes; a terminal redraws its line instead. It starts with the newest 20\n(--limit), or all since --since; json and --jq then handle one run at a time.",
  params: logsParams,
  returns: listWorkflowLogs.returns,
  output({ follow, status, failed, where }, format) {
    if (!follow) return undefined;
    if (format === "json") return oneLog;
    // A run that no longer matches does not appear again.
    return status || failed || where ? undefined : followedLogs;
  },
  pages: true,
  wraps: listWorkflowLogs,
  effect: "reads",
  exits: ["cut"],
  examples: [
    "wf logs --failed --since yesterday",
    "wf logs --keyword hello --all -o jsonl",
    "wf logs --since today --all --where 'elapsed>20s' --where 'error~timeout'",
    "wf logs --follow -o jsonl",
  ],
  load: () => import("./logs/list.ts"),
});

export const logsExportParams = {
  target: local.text("File or directory to write to", { required, length: [1, 4096] }),
  ...logFilters,
  state: local.text("File with the position of the next export; --since applies to the first", {
    placeholder: "file",
    length: [1, 4096],
  }),
  overwrite: local.flag("Overwrite an existing file"),
  with_detail: local.flag("Include inputs and outputs (one request per run)"),
};

const workflowLogsExport = task({
  command: "wf logs export <target>",
  action: "export runs to {target}",
  summary: "Export the runs of the workflow to a file, each once",
  about:
    "A target that ends in .jsonl or .csv is a file; any other is a directory that gets one file per\nexport, named by its end time (CSV with -o csv). The file appears when it is complete, newest run\nfirst. After an interruption, the same command continues.\n\nWith --state, the next export continues where this one ended: a file is appended to, a directory gets\na new file. Unfinished runs are written once they have ended.",
  parallel: true,
  params: logsExportParams,
  returns: withNamePath(
    "file",
    record("rows read refetched missing waiting running file since until"),
  ),
  sends: [getWorkflowRun, getAppInfo],
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

/** Runs that are printed when they appear, and again when they have ended. */
const followedLogs = {
  ...listWorkflowLogs.returns,
  reappears: ({ workflow_run: run }: WorkflowLog) =>
    typeof run?.status === "string" && !isEnded(run.status),
};

const oneLog = withNamePath("workflow_run.id", record(...listWorkflowLogs.returns.columns));

export const statsParams = {
  ...logFilters,
  created_at__after: {
    ...logFilters.created_at__after,
    help: "Only runs since this time (default 24h; all with --from)",
  },
  from: local.file("Read runs from a file of `wf logs -o jsonl` or `-o csv`"),
  by: local.choice([...groupings, ...units], "Also show statistics for each of these", {
    many: true,
  }),
  top: local.integer("Maximum rows of each list (default 10)", { range: [1, 10_000] }),
  no_compare: local.flag("Do not compare with the preceding period"),
  fail_if: local.text(
    `Exit with code 14 if true, e.g. 'p95>20s' or 'failed>2%' (figures: ${Object.keys(figureKinds).join(", ")})`,
    { placeholder: "condition", many: true },
  ),
  pass_without_runs: local.flag("Let conditions without data pass"),
};

const workflowStats = task({
  command: "wf stats",
  tool: {},
  action: "compute statistics",
  summary: "Show statistics about the runs of the workflow",
  about:
    "Reads the runs of the last 24 hours, since --since, or from the file of --from. Shares,\ntimes and tokens are of runs that have ended; percentiles use the nearest rank. Runs that were\npaused are in no time: the server does not store how long they waited. The preceding period of the same length is read for comparison.\n\nA terminal shows one screen, with hours, days or months only if --by asks for them; -o wide shows all\ntables.\n\nIf a condition of --fail-if is true, or no run has data for it, the exit code is 14: a check without\ndata must not pass.",
  params: statsParams,
  returns: report,
  wraps: listWorkflowLogs,
  effect: "reads",
  exits: ["partial", "gate"],
  examples: [
    "wf stats --since 7d --by version",
    "wf stats --since yesterday --by hour",
    "wf stats --since 1h --fail-if 'p95>20s' --fail-if 'failed>2%'",
    "wf stats --from november.jsonl -o md",
  ],
  load: () => import("./stats/stats.ts"),
});

const workflowTop = task({
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
  load: () => import("./top/top.ts"),
});

export const chatParams = {
  input: assignedInput,
  ...sendMessage.params,
  blocking: local.flag("Wait for one response instead of streaming"),
};

export const conversationParams = {
  conversation_id: sendMessage.params.conversation_id,
  input: assignedInput,
  inputs: sendMessage.params.inputs,
  workflow_id: sendMessage.params.workflow_id,
  user: userInBody,
} as const;

const chat = task({
  command: "wf chat",
  action: "hold conversation",
  summary: "Chat with a chat application in the terminal",
  about:
    "Prompts for a message, streams the reply, and so on; Ctrl-D or /exit ends the conversation and prints\nthe command that continues it. Required inputs of the application are asked for first. `wf chat send`\nsends a single message, `wf chat stop` stops a reply.",
  params: conversationParams,
  returns: pastEvents,
  output: () => textChunks,
  sends: [
    getAppParameters,
    listMessages,
    streamRunEvents,
    getWorkflowRun,
    getForm,
    submitForm,
    uploadFile,
  ],
  wraps: sendMessage,
  effect: "writes",
  exits: ["paused", "remote-failed", "partial", "cut"],
  examples: ["wf --app chat chat", "wf --app chat chat --conversation-id $CONVERSATION"],
  load: () => import("./chat/chat.ts"),
});

const chatSend = task({
  command: "wf chat send <query>",
  summary: "Send a message to a chat application",
  about:
    "Streams the text of the reply; -o json prints the response when it is complete, -o jsonl the events.\nIf the connection is lost, the rest of a chatflow comes from its run; other applications lose what they\nhad not sent (13). The message is never sent twice. Sources, and the command that continues the\nconversation, are printed to stderr. Exits with code 9 if the model fails, 7 if it limits its rate.",
  params: chatParams,
  returns: pastEvents,
  output: (input, format) => replyOutput(input, format, sendMessageBlocking.returns),
  sends: [
    sendMessageBlocking,
    listMessages,
    streamRunEvents,
    getWorkflowRun,
    getForm,
    submitForm,
    uploadFile,
    getAppParameters,
  ],
  wraps: sendMessage,
  effect: "writes",
  exits: ["paused", "remote-failed", "partial", "cut"],
  examples: [
    "wf --app chat chat send 'How many days of leave do I have?'",
    "wf --app chat chat send 'And in the first year?' --conversation-id $CONVERSATION",
    "wf --app chat chat send Hello --blocking --jq .answer",
  ],
  load: () => import("./chat/send.ts"),
});

const chatStop = task({
  command: "wf chat stop <task>",
  summary: "Stop a chat response; reports success in any case",
  about:
    "Takes a task ID from the events, or the ID of a run that was started or followed on this machine.",
  params: stopMessage.params,
  returns: stopMessage.returns,
  wraps: stopMessage,
  effect: "writes",
  examples: ["wf --app chat chat stop $TASK", "wf --app chat chat stop $TASK --user ann"],
  load: async () => (await import("./runs/stop.ts")).chatStop,
});

const conversationVariables = task({
  command: "wf conversation variables <conversation>",
  tool: {},
  summary: "List the variables of a conversation",
  params: {
    ...listConversationVariables.params,
    variable_name: local.text("Only the variable with this name", { length: [1, 255] }),
  },
  returns: listConversationVariables.returns,
  pages: true,
  wraps: listConversationVariables,
  effect: "reads",
  examples: [
    "wf conversation variables $CONVERSATION",
    "wf conversation variables $CONVERSATION --variable-name mood",
  ],
  load: () => import("./chat/variables.ts"),
});

/** A job that switches annotation replies. */
const replyJob = <O extends typeof enableAnnotationReply | typeof disableAnnotationReply>(
  operation: O,
  verb: "enable" | "disable",
  more: { readonly about?: string; readonly example: string },
) => {
  const line = `wf --app chat annotation reply ${verb} --embedding-provider-name langgenius/openai/openai --embedding-model-name text-embedding-3-small --score-threshold`;
  return task({
    command: `wf annotation reply ${verb}`,
    summary: `Start the job that ${verb}s annotation replies`,
    ...(more.about !== undefined && { about: more.about }),
    params: { ...operation.params, wait: local.flag("Wait until the job is done") },
    returns: getAnnotationReplyStatus.returns,
    sends: [getAnnotationReplyStatus],
    wraps: operation,
    effect: "writes",
    exits: ["remote-failed", "deadline"],
    examples: [`${line} 0.9`, `${line} ${more.example}`],
    load: async () => (await import("./annotations/reply.ts"))[verb],
  });
};

const replyEnable = replyJob(enableAnnotationReply, "enable", { example: "0.8 -o name" });
const replyDisable = replyJob(disableAnnotationReply, "disable", {
  about: "The job never starts if annotation replies are not enabled.",
  example: "0.9 --dry-run",
});

const replyStatus = task({
  command: "wf annotation reply status <action> <job>",
  tool: {},
  summary: "Show the status of an annotation reply job",
  about: "Exits with code 9 if the job failed.",
  params: getAnnotationReplyStatus.params,
  returns: getAnnotationReplyStatus.returns,
  wraps: getAnnotationReplyStatus,
  effect: "reads",
  exits: ["remote-failed"],
  examples: [
    "wf --app chat annotation reply status enable $JOB",
    "wf --app chat annotation reply status enable $JOB --jq .job_status",
  ],
  load: async () => (await import("./annotations/reply.ts")).status,
});

const appInfo = task({
  command: "wf app info",
  tool: {},
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
  load: () => import("./app/info.ts"),
});

const mcpAllow = {
  allow: local.choice(["write", "delete"], "What clients may do beside runs and reads", {
    many: true,
  }),
};

export const wfMcpParams = { ...mcpAllow, http: mcpAddress };

const wfMcp = task({
  command: "wf mcp",
  action: "serve clients",
  summary: "Serve applications to AI assistants (MCP)",
  about:
    "A server for clients of the Model Context Protocol, such as Claude, Cursor, VS Code and Codex:\n`wf mcp config` prints the lines for their files. Each application of the profile (or that of --app) is\na tool with its inputs. A run reports its progress; a paused run returns what it asks for, and the tool\nanswer continues it. A read-only profile wins over --allow, and blocks runs.\n\nstdout belongs to the protocol. --http serves several clients on an address of this machine alone, and\nprints a token that they must send.",
  params: wfMcpParams,
  returns: noContent,
  sends: [getAppInfo, getAppParameters, runWorkflow, sendMessage, createCompletion, submitForm],
  effect: "reads",
  serves: true,
  examples: ["wf mcp", "wf --app echo mcp", "wf mcp --http 127.0.0.1:8801"],
  load: () => import("./mcp/mcp.ts"),
});

const wfMcpConfig = task({
  ...mcpConfigSpec,
  command: "wf mcp config",
  params: { ...mcpAllow, client: mcpClient },
  examples: ["wf mcp config --client claude", "wf --app echo mcp config --client vscode"],
  load: () => import("../shared/mcp/client-config.ts"),
});

/** Commands of `wf` that are not a single operation. */
export const workflowTasks: readonly Task[] = [
  completionCreate,
  workflowRun,
  workflowEvents,
  workflowShow,
  workflowOpen,
  workflowWait,
  workflowReplay,
  workflowTimeline,
  workflowDiff,
  ...testTasks,
  workflowStop,
  formSubmit,
  formList,
  workflowLogs,
  workflowLogsExport,
  workflowStats,
  chat,
  workflowTop,
  chatSend,
  chatStop,
  conversationVariables,
  replyEnable,
  replyDisable,
  replyStatus,
  appInfo,
  wfMcp,
  wfMcpConfig,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
