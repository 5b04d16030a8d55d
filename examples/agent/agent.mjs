// How a program uses kb and wf without knowing them: it reads the short list of commands, chooses one
// by what it does, reads that command's parameters, makes the line, and goes by the exit code. A model
// would choose by meaning; here words are counted.
//
//   kb sandbox --ephemeral -- node examples/agent/agent.mjs
import { spawnSync } from "node:child_process";

/** What is to be done, and the values at hand by the names of parameters. */
const jobs = [
  {
    goal: "Create an empty knowledge base",
    values: { name: "Handbook", indexing_technique: "economy" },
  },
  {
    goal: "Sync a directory or another source to a knowledge base",
    values: { dataset_id: "Handbook", directory: "examples/handbook" },
  },
  {
    goal: "Search a knowledge base for matching chunks",
    values: { dataset_id: "Handbook", query: "stolen laptop", top_k: 1 },
  },
  {
    goal: "Run the workflow and follow it",
    values: { inputs: '{"query":"hello"}' },
  },
  {
    goal: "Delete documents",
    values: { dataset_id: "Handbook", document_id: "glossary.md" },
  },
];

const programs = ["kb", "wf"].map((program) => read([program, "help", "--json", "--compact"]));
for (const job of jobs) perform(job);

function perform({ goal, values }) {
  const { command, effect } = chosen(goal);
  const [program, ...words] = command.split(" ");
  const line = [
    program,
    ...words,
    ...valuesOf(read([program, "help", ...words, "--json"]), values),
  ];
  console.log(`${goal}: ${line.map(quoted).join(" ")}`);
  // What destroys is shown before it is done; a person would be asked here.
  if (effect === "destroys") report([...line, "--dry-run"]);
  report(effect === "destroys" ? [...line, "--yes"] : line);
}

function wordsOf(text) {
  return text.toLowerCase().match(/[a-z]+/g);
}

function quoted(word) {
  return /^[\w./-]+$/.test(word) ? word : `'${word}'`;
}

/** The command whose summary has most words of the goal, and fewest others. */
function chosen(goal) {
  const wanted = wordsOf(goal);
  const rate = ({ summary }) => {
    const words = wordsOf(summary);
    return words.filter((word) => wanted.includes(word)).length / (words.length + wanted.length);
  };
  const [best] = programs.flatMap(({ commands }) => commands).sort((a, b) => rate(b) - rate(a));
  return best;
}

/** The arguments and flags of a command for the values at hand. */
function valuesOf({ parameters }, values) {
  const lacking = parameters.filter(({ name, required }) => required && !(name in values));
  if (lacking.length > 0) throw new Error(`no value for ${lacking.map(({ name }) => name)}`);
  return parameters.flatMap(({ name, flag }) => {
    if (!(name in values)) return [];
    return flag === null ? [values[name]] : [flag, String(values[name])];
  });
}

function report(line) {
  const { status, stdout, stderr } = run([...line, "-o", "json"]);
  const { exits } = programs.find(({ program }) => program === line[0]);
  if (status === 0) return console.log(`  ok: ${stdout.length} bytes of JSON`);
  const { error } = JSON.parse(stderr.trimEnd().split("\n").at(-1));
  console.log(`  ${exits[status]}: ${error.message}; changed: ${error.changed}; ${error.hint}`);
  process.exitCode = 1;
}

function read(line) {
  return JSON.parse(run(line).stdout);
}

function run([program, ...args]) {
  return spawnSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
