// The main job on a sandbox of its own: real command lines in child processes, typed and answered.
//   npm start -- --keep             leaves the sandbox running
//   npm start -- --package FOLDER   takes the programs of an installed package instead of the clone's
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare, root } from "./prepare.mjs";

const at = process.argv.indexOf("--package");
const installed = at < 0 ? root : process.argv[at + 1];
if (at < 0) prepare();

/** What the commands keep of themselves, and a recording: gone when the tour ends. */
const home = mkdtempSync(join(tmpdir(), "kb-tour-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

const program = (name) => join(installed, "bin", `${name}.js`);
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(KB_|DIFY_)/.test(name))),
  KB_CONFIG_DIR: join(home, "config"),
  KB_STATE_DIR: join(home, "state"),
  KB_CACHE_DIR: join(home, "cache"),
};

const sandbox = spawn(process.execPath, [program("kb"), "sandbox", "--ephemeral", "-o", "json"], {
  cwd: root,
  env: environment,
  stdio: ["ignore", "pipe", "inherit"],
});
sandbox.on("exit", (code) => {
  if (!ending) fail(`the sandbox ended with ${code}`);
});
let ending = false;

function fail(why) {
  ending = true;
  sandbox.kill("SIGTERM");
  console.error(`\nThe tour stopped: ${why}`);
  process.exit(1);
}

const address = await new Promise((resolve, reject) => {
  let text = "";
  sandbox.on("error", reject);
  sandbox.stdout.on("data", (chunk) => {
    text += chunk;
    try {
      resolve(JSON.parse(text));
    } catch {
      // the rest of the line is still to come
    }
  });
});

/** What is typed, as it is shown: words with blanks in quotes. */
const shown = (words) =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`)).join(" ");

/** Runs a command line and shows it with its output; `exit` is the code it must end with. */
function type(words, { exit = 0, quiet = false } = {}) {
  const [name, ...args] = words;
  console.log(`\n$ ${shown(words)}`);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program(name), ...args], {
      cwd: root,
      env: {
        ...environment,
        KB_BASE_URL: address.base_url,
        KB_KEY: address.key,
        KB_PROFILE: address.profile,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      if (!quiet) process.stdout.write(chunk);
    });
    child.stderr.on("data", (chunk) => process.stdout.write(chunk));
    child.on("close", (code) => {
      if (code !== exit) fail(`\`${shown(words)}\` ended with ${code}, not ${exit}`);
      resolve(output.trim());
    });
  });
}

const say = (text) => console.log(`\n── ${text}`);

console.log(
  `A sandbox runs at ${address.base_url}. Every line below is a real command against it.`,
);

say("A knowledge base and its documents");
await type(["kb", "create", "Handbook", "--indexing-technique", "economy", "-o", "name"]);
const pages = readdirSync(join(root, "examples", "handbook")).filter((name) =>
  name.endsWith(".md"),
);
for (const page of pages) {
  await type([
    "kb",
    "doc",
    "add",
    "Handbook",
    page,
    "--text-file",
    `examples/handbook/${page}`,
    "-o",
    "name",
  ]);
}
await type([
  "kb",
  "doc",
  "wait",
  "Handbook",
  "--timeout",
  "1m",
  "-o",
  "grid",
  "--columns",
  "name,indexing_status",
]);

say("Search, in three languages");
const hits =
  '.[] | .segment.document.name + ": " + (.segment.content | gsub("\\\\s+"; " ") | .[0:60])';
for (const query of ["parental leave", "有給休暇", "报销"]) {
  await type(["kb", "search", "Handbook", query, "--top-k", "3", "--jq", hits]);
}

say("The same by one command, and how good the search is");
await type(["kb", "sync", "Handbook", "examples/handbook", "-o", "name"]);
await type(["kb", "eval", "Handbook", "examples/questions.jsonl", "--top-k", "5", "-o", "grid"]);

say("Tags and metadata");
await type(["kb", "tag", "create", "draft", "-o", "name"]);
await type(["kb", "tag", "rename", "draft", "published"]);
await type(["kb", "tag", "bind", "Handbook", "published"]);
await type(["kb", "tag", "list", "-o", "grid"]);
await type(["kb", "metadata", "create", "Handbook", "team", "--type", "string"]);
await type(["kb", "metadata", "built-in", "enable", "Handbook"]);

say("A workflow, followed live");
await type(["wf", "run", "--input", "query=hello"]);
const slow = await type([
  "wf",
  "--app",
  "slow",
  "run",
  "--detach",
  "--input",
  "query=take your time",
  "--input",
  "seconds=2",
  "-o",
  "name",
]);
await type(["wf", "--app", "slow", "events", slow, "--follow"]);

say("A workflow that waits for a person (exit code 8), and the answer");
const paused = await type([
  "wf",
  "--app",
  "review",
  "run",
  "--detach",
  "--input",
  "query=invoice 42",
  "-o",
  "name",
]);
await type(["wf", "--app", "review", "events", paused, "--follow"], { exit: 8 });
const token = await type(
  [
    "wf",
    "--app",
    "review",
    "events",
    paused,
    "-o",
    "jsonl",
    "--jq",
    'select(.event == "human_input_required").data.form_token',
  ],
  { exit: 8 },
);
await type([
  "wf",
  "--app",
  "review",
  "form",
  "submit",
  token,
  "--action",
  "approve",
  "--inputs",
  '{"comment":"fine by me"}',
]);
await type(["wf", "--app", "review", "events", paused, "--follow"]);

say("What a run must do, and when each node ran");
const recording = join(home, "loop.jsonl");
const expected = 'node "Variable Assigner" ran 4 times';
const watched = ["--jq", ".outputs", "--record", recording, "--expect", expected];
await type(["wf", "--app", "loop", "run", "--input", "query=x", ...watched]);
await type(["wf", "timeline", recording, "-o", "grid"]);

say("What has run");
await type(["wf", "--app", "review", "logs", "-o", "grid"]);
await type(["wf", "--app", "review", "stats", "--since", "1h", "-o", "grid"]);
await type([
  "wf",
  "--app",
  "review",
  "logs",
  "--jq",
  ".[] | {id: .workflow_run.id, status: .workflow_run.status}",
]);

say("Your own server");
console.log(`
  kb profile add work --base-url https://example.com/v1    # asks for a knowledge key (dataset-…)
  wf profile add work --app support                     # asks for an application key (app-…)
  kb -p work list
  kb doctor

In a clone, \`kb\` is \`node bin/kb.js\`. \`npm install --global .\` puts kb and wf on your PATH.`);

if (process.argv.includes("--keep")) {
  console.log(`
The sandbox stays at ${address.base_url} until Ctrl-C. From another terminal:

  export KB_BASE_URL=${address.base_url} KB_KEY=${address.key} KB_PROFILE=${address.profile}
  kb list`);
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      ending = true;
      sandbox.kill("SIGTERM");
    });
  }
  await new Promise((resolve) => sandbox.on("close", resolve));
} else {
  ending = true;
  sandbox.kill("SIGTERM");
}
process.exit(0);
