import { body, events, list, local, named, nothing, record } from "../operations/operation.ts";
import * as apps from "../operations/apps.ts";
import * as chats from "../operations/chats.ts";
import * as completions from "../operations/completions.ts";
import * as documents from "../operations/documents.ts";
import * as forms from "../operations/forms.ts";
import * as knowledge from "../operations/knowledge.ts";
import * as metadata from "../operations/metadata.ts";
import {
  dataset_id,
  file,
  required,
  searchMethods,
  userInBody,
  userInQuery,
  workflow_run_id,
} from "../operations/shared.ts";
import * as pipeline from "../operations/pipeline.ts";
import * as tags from "../operations/tags.ts";
import * as workflows from "../operations/workflows.ts";
import type { ChatInput } from "./chat-send.ts";
import { asEvents } from "./as-events.ts";
import type { CompletionInput } from "./completion-create.ts";
import type { PipelineInput } from "./kb-pipeline-run.ts";
import { task } from "./task.ts";
import type { Task } from "./task.ts";
import type { RunInput } from "./workflow-run.ts";

const docWait = task({
  command: "kb doc wait <kb> [doc...]",
  summary: "Wait until documents are indexed",
  about:
    "Waits for the documents named, for those of --batch, or for every document of the knowledge\nbase. --timeout sets the deadline; a document that ends in error ends the command with 9.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", { many: true, word: "doc" }),
    batch: local.text("Batch that an upload or update answered"),
  },
  returns: list("", "id", "name", "indexing_status", "error"),
  sends: [documents.list, documents.show, documents.indexingStatus, knowledge.list],
  effect: "reads",
  exits: ["remote-failed"],
  examples: [
    "kb doc wait Handbook",
    "kb doc wait Handbook welcome.md --timeout 5m",
    "kb doc wait Handbook --batch $BATCH",
  ],
  load: () => import("./kb-doc-wait.ts"),
});

const kbSearch = task({
  command: "kb search <kb> <query>",
  summary: "Search a knowledge base for the chunks that answer a query",
  about:
    "Searches with the settings of the knowledge base; a flag changes that one setting. On economy\nindexing only keyword search works, so that is what is asked there.",
  key: "dataset",
  params: {
    ...knowledge.search.params,
    search_method: local.choice(searchMethods, "How chunks are searched"),
    top_k: local.integer("Chunks at most", { range: [1, 100] }),
    score_threshold: local.number("Only chunks with at least this score", { range: [0, 1] }),
  },
  returns: knowledge.search.returns,
  sends: [knowledge.search, knowledge.show],
  wraps: knowledge.search,
  effect: "reads",
  examples: [
    "kb search Handbook onboarding",
    "kb search Handbook onboarding --top-k 3 -o json",
    "kb search Handbook 'parking at the office' --search-method keyword_search",
  ],
  load: () => import("./kb-search.ts"),
});

const docReplace = task({
  command: "kb doc replace <kb> <doc> <file>",
  summary: "Replace the file of an available document and index it again",
  about: "A server before 1.14.0 lacks the route and gets the older one by itself.",
  key: "dataset",
  params: { ...documents.replace.params, file },
  returns: documents.replace.returns,
  sends: [documents.replace, documents.updateByFile],
  wraps: documents.replace,
  effect: "writes",
  examples: [
    "kb doc replace Handbook welcome.md welcome.md",
    `kb doc replace Handbook welcome.md welcome.md --process-rule '{"mode":"automatic"}'`,
  ],
  load: () => import("./kb-doc-replace.ts"),
});

const docDownload = task({
  command: "kb doc download <kb> <doc...>",
  summary: "Download documents, byte for byte",
  about:
    "Writes files below --dir, under the documents' own names, or the ZIP of the server to --zip.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", {
      many: true,
      required,
      word: "doc",
    }),
    dir: local.text("Folder for the files"),
    zip: local.text("File for the ZIP"),
  },
  returns: named("path", list("", "path", "bytes", "document_id")),
  sends: [documents.downloadZip, documents.show],
  wraps: documents.downloadZip,
  effect: "reads",
  examples: [
    "kb doc download Handbook welcome.md --dir downloads",
    "kb doc download Handbook welcome.md leave.md --zip handbook.zip",
  ],
  load: () => import("./kb-doc-download.ts"),
});

const metadataSet = task({
  command: "kb metadata set <kb> <doc...>",
  summary: "Set metadata values of documents",
  about: "Values not named stay, unless --replace. Numbers and times are typed by their field.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", {
      many: true,
      required,
      word: "doc",
    }),
    set: local.text("One value: field=value", { many: true }),
    unset: local.text("Field to take the value from", { many: true }),
    replace: local.flag("Take away every value that is not set here"),
  },
  returns: metadata.set.returns,
  sends: [metadata.set, metadata.list, documents.show],
  wraps: metadata.set,
  effect: "writes",
  examples: [
    "kb metadata set Handbook welcome.md leave.md --set team=people",
    "kb metadata set Handbook welcome.md --unset team",
    "kb metadata set Handbook welcome.md --set team=people --replace",
  ],
  load: () => import("./kb-metadata-set.ts"),
});

const pipelineRun = task({
  command: "kb pipeline run <kb>",
  summary: "Run the pipeline of a knowledge base and follow its events",
  key: "dataset",
  params: { ...pipeline.run.params, blocking: local.flag("Wait for one answer instead of events") },
  returns: events,
  output: (input: PipelineInput, format) =>
    asEvents(input, format) ? undefined : pipeline.runBlocking.returns,
  sends: [pipeline.run, pipeline.runBlocking],
  wraps: pipeline.run,
  effect: "writes",
  exits: ["remote-failed"],
  examples: [
    `kb pipeline run Handbook --datasource-type local_file --datasource-info-list "[{\\"reference\\":\\"$FILE\\"}]" --start-node-id 1 --is-published`,
    "kb pipeline run Handbook --datasource-type local_file --datasource-info-list @files.json --start-node-id 1 --no-is-published --blocking",
  ],
  load: () => import("./kb-pipeline-run.ts"),
});

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

const switched = record<{ built_in_field_enabled: boolean }>("built_in_field_enabled");

const builtInEnable = task({
  command: "kb metadata built-in enable <kb>",
  summary: "Switch the built-in metadata fields on",
  about: "The server answers success whatever happened, so the switch is read afterwards.",
  key: "dataset",
  params: { dataset_id },
  returns: switched,
  sends: [metadata.enableBuiltIn, metadata.overview],
  wraps: metadata.enableBuiltIn,
  effect: "writes",
  examples: [
    "kb metadata built-in enable Handbook",
    "kb metadata built-in enable Handbook --jq .built_in_field_enabled",
  ],
  load: async () => (await import("./kb-metadata-built-in.ts")).enable,
});

const builtInDisable = task({
  command: "kb metadata built-in disable <kb>",
  summary: "Switch the built-in metadata fields off",
  about: "The server answers success whatever happened, so the switch is read afterwards.",
  key: "dataset",
  params: { dataset_id },
  returns: switched,
  sends: [metadata.disableBuiltIn, metadata.overview],
  wraps: metadata.disableBuiltIn,
  effect: "writes",
  examples: [
    "kb metadata built-in disable Handbook",
    "kb metadata built-in disable Handbook --dry-run",
  ],
  load: async () => (await import("./kb-metadata-built-in.ts")).disable,
});

const tagUnbind = task({
  command: "kb tag unbind <kb> <tag...>",
  summary: "Take tags off a knowledge base",
  key: "dataset",
  params: {
    target_id: body.ref("kb", "Knowledge base, name or id", { required }),
    tag_ids: body.ref("tag", "Tag, name or id", { many: true, required, word: "tag" }),
  },
  returns: nothing,
  sends: [tags.unbind],
  wraps: tags.unbind,
  effect: "writes",
  examples: ["kb tag unbind Handbook published", "kb tag unbind Handbook draft published"],
  load: () => import("./kb-tag-unbind.ts"),
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
  command: "wf events <run>",
  summary: "Show the events of a run as they come",
  about:
    "Begins with what has happened so far. Without --follow it reads the stream to its end once, with\n--follow it reconnects until the run has ended and shows every event once. The exit code is what\nbecame of the run either way.",
  key: "app",
  params: {
    workflow_run_id,
    follow: local.flag("Reconnect until the run has ended", { short: "F" }),
    through_pauses: local.flag("Go on when the run waits for a person"),
    no_snapshot: local.flag("Show only what happens from now on"),
    user: userInQuery,
  },
  returns: events,
  sends: [workflows.events, workflows.show, forms.show],
  wraps: workflows.events,
  effect: "reads",
  exits: ["paused", "remote-failed", "cut"],
  examples: ["wf events $RUN", "wf events $RUN --follow -o jsonl"],
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

/** Commands around operations, by program word. */
export const tasks: readonly Task[] = [
  kbSearch,
  docWait,
  docReplace,
  docDownload,
  metadataSet,
  pipelineRun,
  completionCreate,
  builtInEnable,
  builtInDisable,
  tagUnbind,
  workflowRun,
  workflowEvents,
  workflowStop,
  chatSend,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all

const profileSheet = record(
  "name",
  "default",
  "base_url",
  "key",
  "apps",
  "default_app",
  "user",
  "output",
  "read_only",
);

const profileAdd = task({
  command: "profile add <name>",
  summary: "Store a base URL and a key under a name",
  about:
    "The key comes from a file (- is standard input), from a command that prints it, or from a hidden\nprompt; never from the line itself. With --app the key is that application's. What is not given\nstays as it is.",
  params: {
    name: local.text("Name of the profile", { required, length: [1, 64] }),
    key_file: local.content("File that holds the key, - for standard input"),
    key_command: local.text("Command that prints the key, run each time it is needed"),
    user: local.text("End user of this profile"),
    format: local.text("Output format of this profile"),
    mark_read_only: local.flag("Refuse to change anything with this profile"),
  },
  returns: profileSheet,
  sends: [],
  effect: "writes",
  examples: [
    "kb profile add work --base-url https://example.com/v1 --key-command 'pass show work/kb'",
    "kb profile add work --app support --key-command 'pass show work/support'",
    "kb profile add work --user ann --mark-read-only",
  ],
  load: async () => (await import("./profile.ts")).add,
});

const profileList = task({
  command: "profile list",
  summary: "List the stored profiles, keys masked",
  params: {},
  returns: named(
    "name",
    list("", "name", "default", "base_url", "key", "default_app", "read_only"),
  ),
  sends: [],
  effect: "reads",
  examples: ["kb profile list", "kb profile list -o json"],
  load: async () => (await import("./profile.ts")).list,
});

const profileShow = task({
  command: "profile show [name]",
  summary: "Show a stored profile, keys masked",
  params: { name: local.text("Name of the profile, the default one when absent") },
  returns: named("name", profileSheet),
  sends: [],
  effect: "reads",
  examples: ["kb profile show", "kb profile show work"],
  load: async () => (await import("./profile.ts")).show,
});

const profileUse = task({
  command: "profile use <name>",
  summary: "Make a profile the default one",
  params: { name: local.text("Name of the profile", { required }) },
  returns: nothing,
  sends: [],
  effect: "writes",
  examples: ["kb profile use work", "kb profile use work && kb config explain"],
  load: async () => (await import("./profile.ts")).use,
});

const profileRemove = task({
  command: "profile remove <name>",
  summary: "Forget a profile and its keys",
  params: { name: local.text("Name of the profile", { required }) },
  returns: nothing,
  sends: [],
  effect: "destroys",
  examples: ["kb profile remove work --yes", "kb profile remove work --yes --if-exists"],
  load: async () => (await import("./profile.ts")).remove,
});

const configExplain = task({
  command: "config explain",
  summary: "Show every setting, keys masked, and where it came from",
  params: {},
  returns: named("setting", list("", "setting", "value", "source")),
  sends: [],
  effect: "reads",
  examples: ["kb config explain", "kb config explain --profile work -o json"],
  load: () => import("./config-explain.ts"),
});

const api = task({
  command: "api <method> <path>",
  summary: "Send a request to any route below the base URL",
  about:
    "Fields become the query of a GET and the JSON body of the rest. kb sends the knowledge key, wf\nthe application key.",
  params: {
    method: local.text("GET, POST, PUT, PATCH or DELETE", { required }),
    path: local.text("Path below the base URL: /datasets", { required }),
    raw_field: local.text("Field as text: name=value", { many: true, short: "f" }),
    field: local.text("Field: true, false, null and numbers as such, @file", {
      many: true,
      short: "F",
    }),
    input: local.content("File that holds the body, - for standard input"),
    header: local.text("Further header: 'Name: value'", { many: true }),
    include: local.flag("Print status and headers of the answer, too", { short: "i" }),
    all: local.flag("Read every page of a list"),
  },
  returns: { kind: "json" },
  sends: [],
  requests: true,
  asks: true,
  effect: "writes",
  examples: [
    "kb api GET /datasets -f limit=1",
    "kb api GET /datasets --all --jq '.[].name'",
    "kb api POST /datasets -f name=Handbook -f indexing_technique=economy",
  ],
  load: () => import("./api.ts"),
});

const doctor = task({
  command: "doctor",
  summary: "Look at everything between this machine and an answer",
  about: "Reads only. Each finding that is not ok names the next step.",
  params: {},
  returns: named("check", list("", "check", "result", "found", "next")),
  sends: [],
  requests: true,
  effect: "reads",
  examples: ["kb doctor", `kb doctor --jq '.[] | select(.result != "ok") | .next'`],
  load: () => import("./doctor.ts"),
});

const sandbox = task({
  command: "sandbox [command...]",
  summary: "Start a local server to try things on",
  about:
    "Listens on this machine only. With a command after -- it runs that against a sandbox of its own\nand ends with its exit code; without one it stays in the foreground, and the built-in profile\n`sandbox` reaches it. Faults are 'METHOD PATTERN ACTION[=value] [times=N] [skip=N]' with the actions\nstatus, html, delay, cut-after, cut-bytes, reset, silence, drip and version.",
  params: {
    command: local.text("Command to run", { many: true }),
    port: local.integer("Port, a free one when absent", { range: [0, 65535] }),
    data: local.text("Folder that keeps the data"),
    ephemeral: local.flag("Keep nothing"),
    fault: local.text("Something to go wrong: 'GET /datasets* status=503 times=2'", { many: true }),
  },
  returns: named("base_url", record("base_url", "key", "apps", "profile", "data")),
  sends: [],
  effect: "reads",
  examples: [
    "kb sandbox --data sandbox",
    "kb sandbox --ephemeral -- kb create Handbook --indexing-technique economy",
    "kb sandbox --ephemeral --fault 'GET /datasets* status=503 times=2' -- kb list -vv",
  ],
  load: () => import("./sandbox.ts"),
});

const shellLines = [
  ["bash", "source <(kb completion bash)", "echo 'source <(kb completion bash)' >> ~/.bashrc"],
  ["zsh", "source <(kb completion zsh)", "echo 'source <(kb completion zsh)' >> ~/.zshrc"],
  ["fish", "kb completion fish | source", "kb completion fish >> ~/.config/fish/config.fish"],
  [
    "powershell",
    "kb completion powershell | Out-String | Invoke-Expression",
    "kb completion powershell >> $PROFILE",
  ],
] as const;

/** One command a shell, because `completion` is a noun of wf, too. */
const completion = shellLines.map(([shell, ...lines]) =>
  task({
    command: `completion ${shell}`,
    summary: `Print the script that completes commands, flags and names in ${shell}`,
    about:
      "The first example is for this shell, the second for every new one. kb and wf have a script each.",
    params: {},
    returns: { kind: "json" },
    sends: [],
    effect: "reads",
    examples: lines,
    load: async () => (await import("./completion.ts"))[shell],
  }),
);

/** Commands that both programs have; their first word is the program's name. */
export const sharedTasks: readonly Task[] = [
  profileAdd,
  profileList,
  profileShow,
  profileUse,
  profileRemove,
  configExplain,
  api,
  doctor,
  sandbox,
  ...completion,
] as readonly Task[]; // as above
