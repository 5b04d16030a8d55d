import * as apps from "../operations/apps.ts";
import * as chats from "../operations/chats.ts";
import * as completions from "../operations/completions.ts";
import * as forms from "../operations/forms.ts";
import { events, local, named, record, someEvents, text } from "../operations/operation.ts";
import { required, userInBody, userInQuery } from "../operations/shared.ts";
import * as workflows from "../operations/workflows.ts";
import { asEvents } from "./as-events.ts";
import type { ChatInput } from "./chat-send.ts";
import type { CompletionInput } from "./completion-create.ts";
import { logFilters } from "./log-filters.ts";
import { task } from "./task.ts";
import type { Task } from "./task.ts";
import type { LogsInput } from "./workflow-logs.ts";
import type { RunInput } from "./workflow-run.ts";

const completionCreate = task({
  command: "wf completion create",
  summary: "Complete a text with a completion application",
  about: "Streams the answer; with -o json or --blocking it waits for the whole of it.",
  key: "app",
  params: {
    ...completions.complete.params,
    blocking: local.flag("Wait for one answer instead of events"),
  },
  returns: events,
  output: (input: CompletionInput, format) =>
    asEvents(input, format) ? undefined : completions.completeBlocking.returns,
  sends: [completions.complete, completions.completeBlocking],
  wraps: completions.complete,
  effect: "writes",
  exits: ["remote-failed", "cut"],
  examples: [
    `wf completion create --inputs '{"topic":"leave"}'`,
    "wf completion create --query 'Sum up the leave policy' --blocking --jq .answer",
  ],
  load: () => import("./completion-create.ts"),
});

const runParams = {
  workflow_id: local.uuid("Published version of the workflow, the newest when absent"),
  input: local.text("One input as name=value, typed by the application's form", { many: true }),
  inputs: local.json("All inputs as one JSON object", { shape: { kind: "object" } }),
  files: local.json("Files of the run, JSON list", {
    shape: { kind: "list", of: { kind: "object" } },
  }),
  blocking: local.flag("Wait for one answer instead of events"),
  detach: local.flag("Start the run and print its id at once"),
  through_pauses: local.flag("Go on when the run waits for a person"),
  user: userInBody,
} as const;

const workflowRun = task({
  command: "wf run",
  summary: "Run the workflow of an application and follow it to its end",
  about:
    "Streams the events of the run; when the line is cut it goes on by following the run, and never\nstarts a second one. With -o json it prints the run's detail at the end. The exit code is what\nbecame of the run.",
  key: "app",
  params: runParams,
  returns: events,
  output: (input: RunInput, format) =>
    asEvents(input, format)
      ? undefined
      : input.detach
        ? started
        : input.blocking
          ? workflows.runBlocking.returns
          : workflows.show.returns,
  sends: [
    workflows.run,
    workflows.runById,
    workflows.events,
    workflows.show,
    apps.parameters,
    apps.info,
  ],
  wraps: workflows.run,
  effect: "writes",
  exits: ["paused", "remote-failed", "cut"],
  examples: [
    "wf run --input query=hello",
    "wf run --input query=hello --detach -o name",
    `wf run --inputs '{"query":"hello"}' --jq .outputs`,
  ],
  load: () => import("./workflow-run.ts"),
});

const started = {
  ...record<{ workflow_run_id: string; task_id: string }>("workflow_run_id", "task_id"),
  name: "workflow_run_id",
};

const workflowEvents = task({
  command: "wf events <run...>",
  summary: "Show the events of runs as they come",
  about:
    "Begins with what has happened so far. Without --follow it reads the stream to its end once, with\n--follow it reconnects until the run has ended and shows every event once. What a cut line lost is\nannounced (_gap) and filled from the run's outputs at the end (_gap_filled). The exit code is what\nbecame of the run either way; of several runs, the gravest.",
  key: "app",
  params: {
    workflow_run_id: local.uuid("Runs", { many: true, required, word: "run" }),
    follow: local.flag("Reconnect until the run has ended", { short: "F" }),
    through_pauses: local.flag("Go on when the run waits for a person"),
    no_snapshot: local.flag("Show only what happens from now on"),
    only: local.text("Only events of these kinds, separated by commas", { many: true }),
    text: local.flag("Print the text of the answer alone"),
    reasoning: local.flag("Print the reasoning alone, or with --text both"),
    user: userInQuery,
  },
  returns: events,
  output: ({ text: asText, reasoning, only }) =>
    asText || reasoning ? text : only ? someEvents : undefined,
  sends: [workflows.events, workflows.show, forms.show],
  wraps: workflows.events,
  effect: "reads",
  exits: ["paused", "remote-failed", "cut"],
  examples: [
    "wf events $RUN",
    "wf events $RUN --follow -o jsonl",
    "wf events $RUN --follow --only node_finished,workflow_finished",
    "wf events $RUN --follow --text",
  ],
  load: () => import("./workflow-events.ts"),
});

const workflowStop = task({
  command: "wf stop <task>",
  summary: "Stop a running task",
  about:
    "Takes the task id of the stream, not the run id. The server says the same for every id, so --run\nnames the run whose detail is read afterwards; without it the stop is sent, not verified.",
  key: "app",
  params: {
    task_id: local.text("Task id, from the stream of the run", { required, word: "task" }),
    run: local.uuid("Run id, to verify that it stopped"),
    user: userInBody,
  },
  returns: record("result", "verified", "status"),
  sends: [workflows.stop, workflows.show],
  wraps: workflows.stop,
  effect: "writes",
  examples: ["wf stop $TASK", "wf stop $TASK --run $RUN"],
  load: () => import("./workflow-stop.ts"),
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
  returns: workflows.logs.returns,
  output: ({ follow }: LogsInput, format) => (follow && format === "json" ? oneLog : undefined),
  sends: [workflows.logs],
  wraps: workflows.logs,
  effect: "reads",
  exits: ["cut"],
  examples: [
    "wf logs --status failed --since 2h",
    "wf logs --keyword hello --all -o jsonl",
    "wf logs --since today --all --where 'elapsed>20s' --where 'error~timeout'",
    "wf logs --follow -o jsonl",
  ],
  load: () => import("./workflow-logs.ts"),
});

const workflowLogsExport = task({
  command: "wf logs export <target>",
  summary: "Write every run of the workflow to a file, each once",
  about:
    "A target that ends in .jsonl or .csv is a file, any other a folder that gets one file per export,\nnamed by the time up to which the log was read (-o csv for CSV there). The file appears when it is\nwhole, newest run first; killed or interrupted, the same command goes on where it stood. With --state\nthe next export goes on where this one ended: a file grows at its end, a folder gets a further one,\nand runs that have not ended are written once, when they have.",
  key: "app",
  params: {
    target: local.text("File or folder to write to", { required, length: [1, 4096] }),
    ...logFilters,
    state: local.text("File that remembers where the next export goes on", { length: [1, 4096] }),
    with_detail: local.flag("Add inputs and outputs of each run, one request a run"),
    concurrency: local.integer("Requests for details at a time, 3 when absent", {
      range: [1, 50],
    }),
  },
  returns: named(
    "file",
    record("rows", "read", "refetched", "missing", "waiting", "running", "file", "since", "until"),
  ),
  sends: [workflows.logs, workflows.show, apps.info],
  wraps: workflows.logs,
  effect: "reads",
  exits: ["partial"],
  examples: [
    "wf logs export runs.jsonl --since 30d",
    "wf logs export runs.csv --status failed --with-detail",
    "wf logs export runs --state runs.state",
  ],
  load: () => import("./logs-export.ts"),
});

const oneLog = named("workflow_run.id", record(...workflows.logs.returns.columns));

const chatSend = task({
  command: "wf chat send <query>",
  summary: "Send a message to a chat application",
  about: "Streams the answer; with -o json or --blocking it waits for the whole of it.",
  key: "app",
  params: {
    ...chats.send.params,
    blocking: local.flag("Wait for one answer instead of events"),
  },
  returns: events,
  output: (input: ChatInput, format) =>
    asEvents(input, format) ? undefined : chats.sendBlocking.returns,
  sends: [chats.send, chats.sendBlocking],
  wraps: chats.send,
  effect: "writes",
  exits: ["paused", "remote-failed"],
  examples: [
    "wf --app chat chat send 'How many days of leave do I have?'",
    "wf --app chat chat send 'And in the first year?' --conversation-id $CONVERSATION",
    "wf --app chat chat send Hello --blocking --jq .answer",
  ],
  load: () => import("./chat-send.ts"),
});

/** Commands of `wf` around operations, or of several. */
export const workflowTasks: readonly Task[] = [
  completionCreate,
  workflowRun,
  workflowEvents,
  workflowStop,
  workflowLogs,
  workflowLogsExport,
  chatSend,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
