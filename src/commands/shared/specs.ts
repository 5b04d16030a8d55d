import { sandboxApps } from "../../config/sandbox-profile.ts";
import {
  list,
  local,
  onTerminal,
  withNamePath,
  noContent,
  record,
} from "../../operations/operation.ts";
import { required } from "../../operations/shared.ts";
import { MAX_LOGGED_ERRORS } from "../../host/error-log.ts";
import { task } from "../command-spec.ts";
import type { Task } from "../command-spec.ts";

const profileSheet = record(
  "name default base_url key apps default_app user output read_only",
  "knowledge_bases console_url",
);

export const loginParams = {
  name: local.text("Name of the profile (default: the one with this server, else its host)", {
    length: [1, 64],
  }),
  key_file: local.content("File with the key, - for stdin"),
  key_command: local.text("Command that prints the key, run on each use", {
    placeholder: "command",
  }),
  no_check: local.flag("Store without a request to the server"),
  console_url: local.text(
    "Address of the web console (default: that of the API without its path)",
    { placeholder: "url" },
  ),
  user: local.text("Default end user"),
  format: local.text("Default output format", { placeholder: "format" }),
  insecure_storage: local.flag("Store the key in the profile file instead of the keyring"),
  mark_read_only: local.flag("Block all writes with this profile"),
  kb: local.text("Knowledge base of a bound key", {
    many: true,
    placeholder: "name=id",
  }),
};

const login = task({
  command: "login [name]",
  action: "sign in to {name}",
  summary: "Sign in: check an address and a key, and store them",
  about:
    'Asks for the address of the server and for the key, which is not shown, and checks both with a\nread. Without a terminal, the address comes from --base-url and the key from a file (- for stdin) or\nfrom a command that prints it, never from the command line; if the check fails, nothing is stored.\n\nA profile has one knowledge key, which kb asks for, and application keys by name, which wf asks for\n(--app names one; the first is "default"). Keys are stored in the OS keyring if available, otherwise\nin the profile file. Everything else in the profile is kept. A key that is bound to some knowledge\nbases cannot list them: name them with --kb.',
  params: loginParams,
  returns: profileSheet,
  sendsRequests: "a read with the key",
  plans: true,
  effect: "writes",
  examples: [
    "kb login",
    "kb login work --base-url https://example.com/v1",
    "kb login work --app support --key-command 'pass show work/support'",
    "kb login work --user ann --mark-read-only",
  ],
  load: async () => (await import("./login/login.ts")).login,
});

const profileList = task({
  command: "profile list",
  action: "list profiles",
  summary: "List the stored profiles (keys masked)",
  params: {},
  returns: withNamePath("name", list("", "name default base_url key default_app read_only")),
  effect: "reads",
  examples: ["kb profile list", "kb profile list -o json"],
  load: async () => (await import("./login/profile.ts")).listProfiles,
});

const profileShow = task({
  command: "profile show [name]",
  action: "get profile {name}",
  summary: "Show a stored profile (keys masked)",
  params: { name: local.text("Name of the profile (default: the selected or the default one)") },
  returns: withNamePath("name", profileSheet),
  effect: "reads",
  exits: ["not-found"],
  examples: ["kb profile show", "kb profile show work"],
  load: async () => (await import("./login/profile.ts")).showProfile,
});

const profileUse = task({
  command: "profile use <name>",
  action: "set default profile to {name}",
  summary: "Set the default profile",
  params: { name: local.text("Name of the profile", { required }) },
  returns: noContent,
  effect: "writes",
  exits: ["not-found"],
  examples: ["kb profile use work", "kb profile use work && kb config explain"],
  load: async () => (await import("./login/profile.ts")).useProfile,
});

const profileRemove = task({
  command: "profile remove <name>",
  action: "remove profile {name}",
  summary: "Remove a profile and its keys",
  params: { name: local.text("Name of the profile", { required }) },
  returns: noContent,
  effect: "destroys",
  exits: ["not-found"],
  examples: ["kb profile remove work --yes", "kb profile remove work --yes --if-exists"],
  load: async () => (await import("./login/profile.ts")).removeProfile,
});

const configExplain = task({
  command: "config explain",
  action: "read configuration",
  summary: "Show every setting and its source (keys masked)",
  params: {},
  returns: withNamePath("setting", list("", "setting value source")),
  effect: "reads",
  examples: ["kb config explain", "kb config explain --profile work -o json"],
  load: () => import("./login/explain.ts"),
});

export const apiParams = {
  method: local.text("GET (default), POST, PUT, PATCH or DELETE"),
  path: local.text("Path below the base URL, e.g. /datasets", { required }),
  raw_field: local.text("Field as text: name=value", {
    placeholder: "name=value",
    many: true,
    short: "f",
  }),
  field: local.text("Typed field: true, false, null, a number or @file", {
    many: true,
    short: "F",
  }),
  input: local.content("File with the request body, - for stdin"),
  header: local.text("Additional header: 'Name: value'", {
    placeholder: "name: value",
    many: true,
  }),
  include: local.flag("Include the response status and headers", { short: "i" }),
  all: local.flag("Read every page of a list"),
};

const api = task({
  command: "api [method] <path>",
  action: "send request",
  summary: "Send a request to any path below the base URL",
  about:
    "Fields become the query of a GET request and the JSON body of others. kb sends the knowledge key,\nwf the application key.",
  params: apiParams,
  returns: { kind: "json" },
  sendsRequests: "the request you specify",
  confirms: true,
  effect: "writes",
  examples: [
    "kb api /datasets -f limit=1",
    "kb api /datasets --all --jq '.[].name'",
    "kb api POST /datasets -f name=Handbook -f indexing_technique=economy",
  ],
  load: () => import("./api/api.ts"),
});

const capabilityList = onTerminal(
  { form: "checks", result: "supported", name: "capability", text: "how" },
  withNamePath("capability", list("", "capability supported how")),
);

export const doctorParams = {
  capabilities: local.flag("Show what the server supports"),
  last_error: local.integer("Show the last error, or the nth last", {
    range: [1, MAX_LOGGED_ERRORS],
    placeholder: "n",
    bareValue: "1",
  }),
};

const doctor = task({
  command: "doctor",
  action: "run diagnostics",
  summary: "Diagnose configuration and connectivity",
  about:
    "Changes nothing. Each check that fails names the next step.\n\n--capabilities requests IDs that do not exist to detect supported routes: kb with the knowledge key,\nwf with the application key. Write-only features are judged by the server version.\n\n--last-error sends nothing. The state directory keeps the last 20 errors of requests and internal\nerrors: command line, error, last requests, and the failed request as a curl command. Credentials\nare redacted, long words truncated, and bodies reduced to fields and lengths. KB_KEEP_ERRORS=0\ndisables this log.",
  params: doctorParams,
  returns: onTerminal(
    { form: "checks", result: "result", name: "check", text: "found", next: "next" },
    withNamePath("check", list("", "check result found next")),
  ),
  output({ last_error, capabilities }) {
    if (last_error !== undefined) return { kind: "json" };
    return capabilities ? capabilityList : undefined;
  },
  sendsRequests: "reads that check the server and the keys",
  effect: "reads",
  examples: [
    "kb doctor",
    "kb doctor --capabilities",
    "kb doctor --last-error",
    `kb doctor --jq '.[] | select(.result != "ok") | .next'`,
  ],
  load: () => import("./doctor/doctor.ts"),
});

export const sandboxParams = {
  command: local.text("Command to run", { many: true }),
  port: local.integer("Port (default: any free port)", { range: [0, 65535] }),
  host: local.text("Address to listen on (default 127.0.0.1)", { placeholder: "address" }),
  allow_host: local.text("Host name that clients may use, besides localhost", {
    placeholder: "name",
    many: true,
  }),
  data: local.text("Directory to store the data in", { placeholder: "dir" }),
  ephemeral: local.flag("Do not store any data"),
  server: local.choice(["1.12", "1.14", "1.15"], "Server version to emulate (default 1.14)"),
  without_models: local.flag("Imitate a server without models"),
  app_file: local.text("Application to add: its export, the recording of a run, or rules", {
    placeholder: "file",
    many: true,
  }),
  fault: local.text("Fault to inject, e.g. 'GET /datasets* status=503 times=2'", {
    placeholder: "script",
    many: true,
  }),
  connections: local.integer("Requests served at a time (default: any number); others wait", {
    range: [1, 1000],
  }),
  seed: local.integer("Make IDs and times depend on this number and the requests only", {
    range: [0, 4_294_967_295],
  }),
  log: local.text("File to append a JSON line to for each request, - for stdout", {
    placeholder: "file",
  }),
};

const sandbox = task({
  command: "sandbox [command...]",
  action: "start sandbox",
  summary: "Start a local sandbox server",
  about: [
    "Listens on 127.0.0.1. With a command after --, it runs that command against a new sandbox and exits\nwith its code. Otherwise it stays in the foreground, and the built-in profile `sandbox` connects to\nit. The page at its address and the routes below /_sandbox show and control it.",
    `Its applications are ${sandboxApps.slice(0, -1).join(", ")} and ${sandboxApps.at(-1)}. The key of\neach is app- and its name. The key dataset-sandbox opens all knowledge bases, dataset-bound-ID,ID\nonly these.`,
    "A fault is 'METHOD PATTERN ACTION[=value] [times=N] [skip=N]' with one of the actions status, html,\ndelay, cut-after, cut-bytes, reset, silence, drip, length (wrong Content-Length), version,\nplain-metadata, stays-running (for a stop: the run never stops running),\nstays-locked (for a status: the document rejects others for ten minutes), lose (for events: this\nmany are lost after the snapshot) and split-users (requests side by side make several new end users).",
  ].join("\n\n"),
  params: sandboxParams,
  returns: withNamePath("base_url", record("base_url key apps profile data")),
  effect: "reads",
  examples: [
    "kb sandbox --data sandbox",
    "kb sandbox --ephemeral -- kb create Handbook --indexing-technique economy",
    "kb sandbox --ephemeral --seed 1 --log requests.jsonl -- kb list",
    "kb sandbox --ephemeral --fault 'GET /datasets* status=503 times=2' -- kb list -vv",
  ],
  load: () => import("./sandbox/sandbox.ts"),
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

/** One command per shell. */
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
    load: async () => (await import("./completion/scripts.ts")).printScript(shell),
  }),
);

export const skillParams = {
  directory: local.text("Directory of the agent's skills", { required, placeholder: "dir" }),
  overwrite: local.flag("Overwrite files with different content"),
};

const skillInstall = task({
  command: "skill install <dir>",
  action: "install skill",
  summary: "Write a skill for coding agents: how to use kb and wf",
  about:
    "Writes SKILL.md and its references to the directory kb-wf below this one, e.g. .claude/skills.\nNothing is sent.",
  params: skillParams,
  returns: onTerminal(
    { form: "results", outcome: "action", name: "file", routine: ["written"] },
    withNamePath("file", list("", "action file")),
  ),
  effect: "reads",
  examples: ["kb skill install .claude/skills", "kb skill install ~/.agents/skills --overwrite"],
  load: () => import("./skill/install.ts"),
});

/** Commands of both programs, without the name of the program. */
export const sharedTasks: readonly Task[] = [
  login,
  profileList,
  profileShow,
  profileUse,
  profileRemove,
  configExplain,
  api,
  doctor,
  sandbox,
  skillInstall,
  ...completion,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
