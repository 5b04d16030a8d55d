import { sandboxApps } from "../../../config/profiles.ts";
import { local, record, withNamePath } from "../../../operations/operation.ts";
import { task } from "../../task/command-spec.ts";

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
  server: local.choice(
    ["1.12", "1.14", "1.15", "1.16", "next"],
    "Server version to emulate (default 1.14)",
  ),
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

export const sandbox = task({
  command: "sandbox [command...]",
  action: "start sandbox",
  summary: "Start a local sandbox server",
  about: [
    "Listens on 127.0.0.1. With a command after --, it runs that command against a new sandbox and exits\nwith its code. Otherwise it stays in the foreground, and the built-in profile `sandbox` connects to\nit. The page at its address and the routes below /_sandbox show and control it.",
    `Its applications are ${sandboxApps.slice(0, -1).join(", ")} and ${sandboxApps.at(-1)};\nwith --server 1.16 or next also new-agent. The key of each is app- and its name. The key\ndataset-sandbox opens all knowledge bases, dataset-bound-ID,ID only these.`,
    "A fault is 'METHOD PATTERN ACTION[=value] [times=N] [skip=N] [for=TIME] [app=NAME]' with one of the\nactions status, html, answer (of an application with rules: this text), delay, cut-after, cut-bytes,\nreset, silence, drip, length (wrong Content-Length), version, plain-metadata, stays-running (for a\nstop: the run never stops running), stays-locked (for a status: the document rejects others for ten\nminutes), lose (for events: this many are lost after the snapshot) and split-users (requests side by\nside make several new end users).",
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
});
