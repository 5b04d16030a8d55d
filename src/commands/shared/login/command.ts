import { list, local, noContent, record, withNamePath } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

const profileSheet = record(
  "name default base_url key apps default_app user output read_only",
  "knowledge_bases console_url remember_runs",
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
  remember_runs: local.text("Keep the events of runs on this machine for so long, or off", {
    placeholder: "duration",
  }),
  insecure_storage: local.flag("Store the key in the profile file instead of the keyring"),
  mark_read_only: local.flag("Block all writes with this profile"),
  kb: local.text("Knowledge base of a bound key", {
    many: true,
    placeholder: "name=id",
  }),
};

export const signIn = task({
  command: "login [name]",
  action: "sign in to {name}",
  meant: ["auth login", "profile add"],
  summary: "Sign in: check an address and a key, and store them",
  about:
    "Asks for the address of the server and for the key, which is not shown, and checks both with a\nread. Without a terminal, the address comes from --base-url and the key from a file (- for stdin) or\nfrom a command that prints it, never from the command line; if the check fails, nothing is stored.\n\nA profile has one knowledge key, which kb asks for, and application keys by name, which wf asks for\n(--app; by default the name that the server shows). Keys are stored in the OS keyring if available, otherwise\nin the profile file. Everything else in the profile is kept. A key that is bound to some knowledge\nbases cannot list them: name them with --kb. An access token (sk-…) is stored once for all of its\napplications; --app NAME=ID adds one.",
  params: loginParams,
  instead: { "--key-stdin": "did you mean --key-file -?" },
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
});

export const profileList = task({
  command: "profile list",
  action: "list profiles",
  meant: ["keys", "get-contexts"],
  summary: "List the stored profiles (keys masked)",
  params: {},
  returns: withNamePath("name", list("", "name default base_url key default_app read_only")),
  effect: "reads",
  examples: ["kb profile list", "kb profile list -o json"],
});

export const profileShow = task({
  command: "profile show [name]",
  action: "get profile {name}",
  summary: "Show a stored profile (keys masked)",
  params: { name: local.text("Name of the profile (default: the selected or the default one)") },
  returns: withNamePath("name", profileSheet),
  effect: "reads",
  exits: ["not-found"],
  examples: ["kb profile show", "kb profile show work"],
});

export const profileUse = task({
  command: "profile use <name>",
  action: "set default profile to {name}",
  meant: ["switch", "use-context"],
  summary: "Set the default profile, and with --app the application that wf uses without it",
  params: { name: local.text("Name of the profile", { required }) },
  returns: noContent,
  effect: "writes",
  exits: ["not-found"],
  examples: ["kb profile use work", "kb profile use work && kb config explain"],
});

export const profileRemove = task({
  command: "profile remove <name>",
  action: "remove profile {name}",
  meant: ["logout", "auth logout"],
  summary: "Remove a profile and its keys",
  params: { name: local.text("Name of the profile", { required }) },
  returns: noContent,
  effect: "destroys",
  exits: ["not-found"],
  examples: ["kb profile remove work --yes", "kb profile remove work --yes --if-exists"],
});

export const configExplain = task({
  command: "config explain",
  action: "read configuration",
  meant: ["whoami", "auth status"],
  summary: "Show every setting and its source (keys masked)",
  params: {},
  returns: withNamePath("setting", list("", "setting value source")),
  effect: "reads",
  examples: ["kb config explain", "kb config explain --profile work -o json"],
});
