// A tour of kb and wf: real commands in child processes, against a sandbox server of its own.
//   npm start -- --keep             leave the sandbox running after the tour
//   npm start -- --package PATH     use the programs of an installed package instead of the clone
//   npm start -- --binary PATH      use the single executables of this directory, with an empty PATH
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare, root } from "./prepare.mjs";

/** The value of a flag; undefined without the flag. */
function valueOf(flag) {
  const at = process.argv.indexOf(flag);
  return at < 0 ? undefined : process.argv[at + 1];
}

const installed = valueOf("--package") ?? root;
const binary = valueOf("--binary");
if (installed === root && binary === undefined) prepare();

/** State of the commands and a recording; deleted when the tour ends. */
const home = mkdtempSync(join(tmpdir(), "kb-tour-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

/** What to spawn for a program: the executable and its first arguments. */
const program = (name) =>
  binary === undefined
    ? [process.execPath, join(installed, "bin", `${name}.js`)]
    : [join(binary, name)];
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(KB_|DIFY_)/.test(name))),
  KB_CONFIG_DIR: join(home, "config"),
  KB_STATE_DIR: join(home, "state"),
  KB_CACHE_DIR: join(home, "cache"),
  ...(binary !== undefined && { PATH: "" }),
};

/** Runs a program in the clone. */
function start(name, words, options) {
  const [command, ...first] = program(name);
  return spawn(command, [...first, ...words], { cwd: root, env: environment, ...options });
}

let ending = false;
const sandbox = start("kb", ["sandbox", "--ephemeral", "-q", "-o", "json"], {
  stdio: ["ignore", "pipe", "inherit"],
});
sandbox.on("exit", (code) => {
  if (!ending) fail(`the sandbox exited with code ${code}`);
});

function fail(reason) {
  ending = true;
  sandbox.kill("SIGTERM");
  console.error(`\nThe tour stopped: ${reason}`);
  process.exit(1);
}

const server = await new Promise((resolve, reject) => {
  let text = "";
  sandbox.on("error", reject);
  sandbox.stdout.on("data", (chunk) => {
    text += chunk;
    try {
      resolve(JSON.parse(text));
    } catch {
      // The line is not complete yet.
    }
  });
});
const settings = { KB_BASE_URL: server.base_url, KB_KEY: server.key, KB_PROFILE: server.profile };

/** Splits a command into words: `kb search 'two words'` → ["kb", "search", "two words"]. */
const wordsOf = (command) => command.match(/'[^']*'|\S+/g).map((word) => word.replaceAll("'", ""));

/** Runs a command and returns its stdout; with `stdio` "inherit" the command writes it itself. */
function run(command, { exit = 0, stdio = ["ignore", "pipe", "ignore"], env = {} } = {}) {
  const [name, ...args] = wordsOf(command);
  return new Promise((resolve) => {
    const child = start(name, args, { env: { ...environment, ...settings, ...env }, stdio });
    let output = "";
    child.stdout?.on("data", (chunk) => (output += chunk));
    child.on("close", (code) => {
      if (code !== exit) fail(`\`${command}\` exited with code ${code} instead of ${exit}`);
      resolve(output.trim());
    });
  });
}

const terminal = process.stdout.isTTY === true;

/** Shows a command and runs it as if it were typed: on a terminal it draws tables and live runs. */
async function show(command, { exit } = {}) {
  console.log(`\n$ ${command}`);
  // In a pipe, lists would have no header row; runs and replies are printed as they arrive there.
  const table = !terminal && !/^wf .*\b(run|events|chat)\b/.test(command);
  const env = table ? { KB_OUTPUT: "grid" } : {};
  await run(command, { exit, env, stdio: ["ignore", "inherit", "inherit"] });
  if (exit !== undefined) console.log(`(exit code ${exit})`);
}

/** Shows a command that prints an id, and returns the id. */
async function showId(command) {
  console.log(`\n$ ${command}`);
  const id = await run(command);
  console.log(id);
  return id;
}

const heading = (text) => console.log(`\n── ${text}`);
// Only a terminal shortens the text of a chunk to one line.
const columns = terminal ? "" : " --columns score,document";

console.log(`A sandbox server is running at ${server.base_url}. All commands run against it.`);

heading("Create a knowledge base and add documents");
await show("kb create Handbook --indexing-technique economy");
await show("kb doc add Handbook lunch.md --text 'Lunch is at noon, on the ground floor.'");
await show("kb doc wait Handbook --timeout 1m --columns name,indexing_status");
await show("kb sync Handbook examples/handbook");

heading("Search, in three languages");
await show(`kb search Handbook 'parental leave' --top-k 3${columns}`);
await show(`kb search Handbook 有給休暇 --top-k 3${columns}`);
await show(`kb search Handbook 报销 --top-k 3${columns}`);

heading("Measure how good the search is");
await show("kb eval Handbook examples/questions.jsonl --top-k 5");

heading("Find better search settings, and prove them on questions that were held out");
await show("kb create Wiki --indexing-technique high_quality");
await show("kb sync Wiki examples/handbook --quiet");
await show("kb tune Wiki examples/questions.jsonl --yes --quiet");
await run("kb delete Wiki --yes");

heading("A PDF and a Word file, found despite typing errors");
await show("kb create Office --indexing-technique high_quality");
await show("kb doc upload Office examples/office/parking.pdf examples/office/canteen.docx");
await show("kb doc wait Office --timeout 1m --columns name,indexing_status");
await show(`kb search Office 'gests parkng' --search-method hybrid_search${columns}`);

heading("An application answers from the documents, and cites them");
await show("wf --app assistant chat send 'Where do guests park?'");

heading("Tags and metadata");
await show("kb tag create draft");
await show("kb tag rename draft published");
await show("kb tag bind Handbook published");
await show("kb tag list");
await show("kb metadata create Handbook team --type string");
await show("kb metadata set Handbook leave.md --set team=people");

heading("Run a workflow and follow it");
await show("wf run --input query=hello");
const slow = await showId(
  "wf --app slow run --input query=hello --input seconds=2 --detach -o name",
);
await show(`wf --app slow events ${slow} --follow`);

heading("A run that waits for human input, and the form that resumes it");
await show("wf --app review run --input 'query=invoice 42'", { exit: 8 });
const paused = await run("wf --app review logs --limit 1 -o name");
const events = await run(`wf --app review events ${paused} -o jsonl`, { exit: 8 });
const form = events
  .split("\n")
  .map((line) => JSON.parse(line))
  .find(({ event }) => event === "human_input_required").data.form_token;
await show(`wf --app review form submit ${form} --action approve --input 'comment=fine by me'`);
await show(`wf --app review wait ${paused} --columns status,outputs`);

heading("Check what a run did, and when each node ran");
const recording = join(home, "loop.jsonl");
const expected = `--expect 'node "Variable Assigner" ran 4 times'`;
await show(`wf --app loop run --input query=x --record ${recording} ${expected}`);
await show(`wf timeline ${recording}`);

heading("Logs and statistics");
await show("wf --app broken run --input query=hello", { exit: 9 });
await show("wf --app broken logs --status failed");
await show("wf --app broken stats --since 1h");

heading("Your own server");
console.log(`
  kb login work                 # asks for the address and a knowledge key (dataset-…)
  wf login work --app support   # asks for an application key (app-…)
  kb -p work list
  kb -p work doctor

In a clone, \`kb\` is \`node bin/kb.js\`. The README describes how to install kb and wf.`);

if (process.argv.includes("--keep")) {
  console.log(`
The sandbox stays at ${server.base_url} until you press Ctrl-C. To use it from another terminal:

  export ${Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ")}
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
