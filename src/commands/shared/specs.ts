import { list, local, withNamePath, noContent, record } from "../../operations/operation.ts";
import { required } from "../../operations/shared.ts";
import { MAX_LOGGED_ERRORS } from "../../host/error-log.ts";
import { task } from "../command-spec.ts";
import type { Task } from "../command-spec.ts";

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
  "knowledge_bases",
);

const profileAdd = task({
  command: "profile add <name>",
  action: "save profile {name}",
  summary: "Store a base URL and a key as a profile",
  about:
    "The key comes from a file (- is standard input), from a command that prints it, or from a hidden\nprompt; never from the line itself. It rests in the keyring of the operating system when one\nanswers, otherwise in the profile file. With --app the key is that application's. What is not given\nstays as it is. A key that opens only some knowledge bases lists none: --kb names those it opens.",
  params: {
    name: local.text("Name of the profile", { required, length: [1, 64] }),
    key_file: local.content("File that holds the key, - for standard input"),
    key_command: local.text("Command that prints the key, run each time it is needed"),
    user: local.text("End user of this profile"),
    format: local.text("Output format of this profile"),
    insecure_storage: local.flag("Store the key in the profile file, not in the keyring"),
    mark_read_only: local.flag("Refuse to change anything with this profile"),
    kb: local.text("Knowledge base that the key opens, where it does not open all", {
      many: true,
      placeholder: "name=id",
    }),
  },
  returns: profileSheet,
  sends: [],
  effect: "writes",
  examples: [
    "kb profile add work --base-url https://example.com/v1 --key-command 'pass show work/kb'",
    "kb profile add work --app support --key-command 'pass show work/support'",
    "kb profile add work --user ann --mark-read-only",
    "kb profile add work --kb Handbook=0f4ba1c2-7d7e-4f6c-9d0e-0a6b2f6f3c11",
  ],
  load: async () => (await import("./profile.ts")).addProfile,
});

const profileList = task({
  command: "profile list",
  action: "list profiles",
  summary: "List the stored profiles (keys masked)",
  params: {},
  returns: withNamePath(
    "name",
    list("", "name", "default", "base_url", "key", "default_app", "read_only"),
  ),
  sends: [],
  effect: "reads",
  examples: ["kb profile list", "kb profile list -o json"],
  load: async () => (await import("./profile.ts")).listProfiles,
});

const profileShow = task({
  command: "profile show [name]",
  action: "get profile {name}",
  summary: "Show a stored profile (keys masked)",
  params: { name: local.text("Name of the profile, the default one when absent") },
  returns: withNamePath("name", profileSheet),
  sends: [],
  effect: "reads",
  exits: ["not-found"],
  examples: ["kb profile show", "kb profile show work"],
  load: async () => (await import("./profile.ts")).showProfile,
});

const profileUse = task({
  command: "profile use <name>",
  action: "set default profile to {name}",
  summary: "Set the default profile",
  params: { name: local.text("Name of the profile", { required }) },
  returns: noContent,
  sends: [],
  effect: "writes",
  exits: ["not-found"],
  examples: ["kb profile use work", "kb profile use work && kb config explain"],
  load: async () => (await import("./profile.ts")).useProfile,
});

const profileRemove = task({
  command: "profile remove <name>",
  action: "remove profile {name}",
  summary: "Remove a profile and its keys",
  params: { name: local.text("Name of the profile", { required }) },
  returns: noContent,
  sends: [],
  effect: "destroys",
  exits: ["not-found"],
  examples: ["kb profile remove work --yes", "kb profile remove work --yes --if-exists"],
  load: async () => (await import("./profile.ts")).removeProfile,
});

const configExplain = task({
  command: "config explain",
  action: "read configuration",
  summary: "Show every setting and its source (keys masked)",
  params: {},
  returns: withNamePath("setting", list("", "setting", "value", "source")),
  sends: [],
  effect: "reads",
  examples: ["kb config explain", "kb config explain --profile work -o json"],
  load: () => import("./config-explain.ts"),
});

const api = task({
  command: "api <method> <path>",
  action: "send request",
  summary: "Send a request to any path below the base URL",
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
  sendsRequests: true,
  confirms: true,
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
  action: "run diagnostics",
  summary: "Diagnose configuration and connectivity",
  about:
    "Reads only. Each finding that is not ok names the next step.\n--capabilities asks for things that nobody has, to learn which routes there are; kb asks with the\nknowledge key, wf with the application key. What only a write would tell is judged by the version.\n--last-error sends nothing. The last 20 failures that came after a request, or from a bug of ours, are\nkept in the state folder: the command line, the error, the last requests with status and times, and the\none that failed as a curl command. Credentials are masked, long words cut, and of bodies only the\nfields and lengths are kept. KB_KEEP_ERRORS=0 keeps none.",
  params: {
    capabilities: local.flag("Show what the server supports, and how that is known"),
    last_error: local.integer("Show the last failure, or that many before: 1 is the last", {
      range: [1, MAX_LOGGED_ERRORS],
      placeholder: "n",
      bareValue: "1",
    }),
  },
  returns: withNamePath("check", list("", "check", "result", "found", "next")),
  output: ({ last_error, capabilities }) =>
    last_error !== undefined
      ? { kind: "json" }
      : capabilities
        ? withNamePath("capability", list("", "capability", "supported", "how"))
        : undefined,
  sends: [],
  sendsRequests: true,
  effect: "reads",
  examples: [
    "kb doctor",
    "kb doctor --capabilities",
    "kb doctor --last-error",
    `kb doctor --jq '.[] | select(.result != "ok") | .next'`,
  ],
  load: () => import("./doctor/doctor.ts"),
});

const sandbox = task({
  command: "sandbox [command...]",
  action: "start sandbox",
  summary: "Start a local sandbox server",
  about:
    "Listens on this machine only. With a command after -- it runs that against a sandbox of its own\nand ends with its exit code; without one it stays in the foreground, and the built-in profile\n`sandbox` reaches it. Faults are 'METHOD PATTERN ACTION[=value] [times=N] [skip=N]' with the actions\nstatus, html, delay, cut-after, cut-bytes, reset, silence, drip, length (a wrong Content-Length),\nversion, plain-metadata, stays-running (on the route of a stop: the record of that run says running for ever) and\nlose (on the events of a run: so many are lost between the snapshot and the first live one). The key\ndataset-bound-ID,ID opens only the knowledge bases with these ids.",
  params: {
    command: local.text("Command to run", { many: true }),
    port: local.integer("Port, a free one when absent", { range: [0, 65535] }),
    data: local.text("Folder that keeps the data"),
    ephemeral: local.flag("Keep nothing"),
    server: local.choice(
      ["1.12", "1.14", "1.15"],
      "The server version it behaves as; 1.14 when absent",
    ),
    fault: local.text("Something to go wrong: 'GET /datasets* status=503 times=2'", { many: true }),
  },
  returns: withNamePath("base_url", record("base_url", "key", "apps", "profile", "data")),
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
    action: "print completion script",
    summary: `Print the completion script for ${shell}`,
    about:
      "The first example is for this shell, the second for every new one. kb and wf have a script each.",
    params: {},
    returns: { kind: "json" },
    sends: [],
    effect: "reads",
    examples: lines,
    load: async () => (await import("./shell-scripts.ts"))[shell],
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
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
