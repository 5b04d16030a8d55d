import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import { afterFile } from "./cleanup.ts";
import { fastClock } from "./fast-clock.ts";
import { cli, temporaryDirectory } from "./support.ts";
import type { Ran } from "./support.ts";
import { root } from "./paths.ts";

/** Examples that do not exit with 0: pattern, exit code, reason. */
const otherEnds: readonly (readonly [RegExp, number, string])[] = [
  [/annotation reply enable --.*openai/, 3, "the sandbox has other models"],
  [/^wf .* message suggested/, 6, "chat suggests no questions"],
  [/^(kb|wf) login$/, 2, "there is no terminal to type the key on"],
  [/ login .*--key-command/, 4, "the password manager has no such key"],
  [/^wf api (\w+ )?\/datasets/, 4, "the route needs a knowledge key"],
  [/^wf diff .*--exit-code/, 14, "the runs ended differently"],
  [/^kb plan .*--exit-code/, 14, "the description would change"],
  [/^kb status .*--exit-code/, 14, "a file would be uploaded"],
  [/^kb backup restore .*--at/, 3, "no snapshot is that old"],
  [/^kb backup diff backups \w/, 3, "IDs of snapshots are random"],
  [/sandbox --data/, 130, "it runs until it is interrupted"],
  [/^wf --app chat chat( --|$)/, 2, "it is a conversation on a terminal"],
  [/mcp --http/, 130, "it runs until it is interrupted"],
  [/^wf logs --follow/, 130, "it follows until it is interrupted"],
  [/^kb source check/, 14, "the programs that examples start fail"],
  [/^kb tune .*--arms/, 2, "it asks first"],
  [/kb (doc|chunk) edit/, 2, "an editor needs a terminal"],
  [/^wf show .*--nodes/, 3, "no events of the run are on this machine"],
  [/^wf top/, 130, "it runs until it is interrupted"],
];

/** Applications of examples that name none and cannot run with the default one. */
const otherApps: readonly (readonly [RegExp, string])[] = [
  [/^wf conversation/, "convo"],
  [/^wf text/, "completion"],
  [/^wf audio/, "assistant"],
];

/** Commands that prepare an example: they create or delete an object. */
const firstDone: readonly (readonly [RegExp, readonly string[]])[] = [
  [/feedback .*--withdraw/, ["wf --app chat message feedback $MESSAGE --rating like"]],
  [/^kb (create Handbook --indexing|api POST)/, ["kb delete Handbook --yes"]],
  [/^kb doc add .*economy/, ["kb delete Handbook --yes", "kb create Handbook"]],
  [/^kb metadata create Handbook team/, ["kb metadata delete Handbook team --yes"]],
  [/^kb tag create draft/, ["kb tag delete draft --yes"]],
  [/^kb tag rename draft published/, ["kb tag delete published --yes"]],
  [/^kb doc unarchive/, ["kb doc archive Handbook welcome.md leave.md"]],
  [/^kb doc enable/, ["kb doc disable Handbook welcome.md"]],
  [/^kb (import|verify)/, ["kb export Handbook backup"]],
  [/^kb backup (list|diff|cat|restore|drill|prune)/, ["kb backup backups Handbook"]],
  [/^kb backup diff backups$/, ["kb backup backups Handbook"]],
  [/^kb chunk import/, ["kb chunk export Handbook chunks.csv"]],
  [/^kb search .*--only FAQ/, ["kb create FAQ --indexing-technique economy"]],
  [/^kb sync FAQ/, ["kb create FAQ --indexing-technique high_quality"]],
  [/^kb undo/, ["kb doc disable Handbook leave.md --backup-dir backups"]],
  [/^wf .*test (run|plan) .*--baseline/, ["wf --app echo test run suite.yaml --save before.json"]],
  [
    /^wf test merge/,
    ["1", "2"].map(
      (shard) => `wf --app echo test run suite.yaml --shard ${shard}/2 --save shard-${shard}.json`,
    ),
  ],
  [/^wf test merge .*--baseline/, ["wf --app echo test run suite.yaml --save before.json"]],
  [
    /^wf test (review|accept|score)/,
    ["results.json", "before.json"].map(
      (name) => `wf --app echo test run suite.yaml --save ${name}`,
    ),
  ],
  [/test init --from conversations --user ann/, ["wf --app chat chat send Hello --user ann -q"]],
  [/^wf timeline last/, ["wf --app echo run query=hello --record recorded.jsonl"]],
  [/^wf test flaky/, ["wf --app echo test run suite.yaml --history results"]],
  [/^kb eval .*--baseline/, ["kb eval Handbook questions.jsonl --save before.json"]],
];

/** A recording of a run with one node. */
const recording = (status: string): string =>
  [
    { event: "workflow_started", data: { id: "r" } },
    { event: "node_started", data: { id: "1", node_id: "s", title: "Start" } },
    { event: "node_finished", data: { id: "1", node_id: "s", status: "succeeded" } },
    { event: "workflow_finished", data: { id: "r", status, outputs: {} } },
  ]
    .map((event, at) => `${JSON.stringify({ at, event: { workflow_run_id: "r", ...event } })}\n`)
    .join("");

const files: Readonly<Record<string, string>> = {
  "welcome.md": "Welcome to the team. Laptops wait on day one. Parking is free for guests.\n",
  "leave.md": "Thirty days of leave a year.\n",
  "question.mp3": "no sound",
  "bases.csv": "name,description\nPolicies,Rules\nHow-tos,Steps\n",
  "tags.csv": "name\nnew\nold\n",
  "old-tags.csv": "tag\ndraft\nlong gone\n",
  "renames.csv": "tag,name\ndraft,first draft\n",
  "bound.csv": "kb\nHandbook\n",
  "fields.csv": "field,name\nteam,department\n",
  "files.csv": "file\nwelcome.md\nleave.md\n",
  "names.csv": "doc,name\nwelcome.md,hello.md\nleave.md,holidays.md\n",
  "values.csv": "doc,team\nwelcome.md,people\nleave.md,hr\n",
  "children.csv": "content\nParking\nLockers\n",
  "promptfooconfig.yaml":
    "tests: [{ vars: { question: Where? }, assert: [{ type: contains, value: street }] }]\n",
  "annotations.csv": "question,answer\nWhere?,Main street 1.\nWhen?,At nine.\n",
  "run.jsonl": recording("succeeded"),
  "before.jsonl": recording("succeeded"),
  "after.jsonl": recording("partial-succeeded"),
  "approve.json": `{"action":"approve","inputs":{"comment":"fine"}}`,
  "faq.csv": "Nr,Frage,Antwort\n1,Where?,Main street 1.\n",
  "questions.csv": "query\nHow many days?\nWhere?\n",
  "labels.csv": "answer,expected,label\n30 days,30 days,pass\nNone,30 days,fail\n",
  "suite.yaml": "tests: [{name: repeats, inputs: {query: hello}}]\n",
  "handbook.yml": "knowledge_base: Handbook\ndescription: What new colleagues ask\n",
  "questions.jsonl":
    '{"question":"When do laptops wait?","documents":["welcome.md"],"part":"tune"}\n{"question":"How many days of leave?","text":"Thirty days","part":"proof"}\n',
  "handbook/welcome.md": "Welcome.\n",
  "pages.json": '[{"source_url":"https://example.com/1","title":"Page 1","content":"# Page 1"}]',
  "rule.yaml":
    "mode: custom\nrules: {segmentation: {separator: '\\n', max_tokens: 500}, pre_processing_rules: []}\n",
  "longer.yaml":
    "mode: custom\nrules: {segmentation: {separator: '\\n', max_tokens: 900}, pre_processing_rules: []}\n",
  "directory.mjs": readFileSync(join(root, "examples/sources/directory.mjs"), "utf8"),
  "prices.yaml": "currency: USD\ntotal: 1\n",
  "arms.yml": "- { search_method: [keyword_search, semantic_search] }\n",
  "sources.yaml": "sources:\n  handbook: { kb: Handbook, source: docs }\n",
  "mood.json": '"happy"',
  "november.jsonl": `${JSON.stringify({ id: "1", created_at: 1795219614, workflow_run: { id: "2", status: "succeeded" } })}\n`,
};

/** The commands compare times with those of the sandbox. */
const clock = { ...fastClock(50), now: () => new Date() };

/** Values of the variables in the examples. */
let variables: Readonly<Record<string, string>> = {};
/** Sandbox data, profiles and files of the examples. Each example runs in a copy. */
const template = await temporaryDirectory();
/** Directory of the copies. */
const places = await temporaryDirectory();

const environment = (origin: string) => ({
  KB_BASE_URL: `${origin}/v1`,
  KB_KEY: "dataset-sandbox",
  KB_PROFILE: "sandbox",
});

/** Fills the template. Changes the working directory until the file ends. */
export async function prepareExamples(): Promise<void> {
  const start = process.cwd();
  afterFile(() => process.chdir(start));
  for (const folder of ["data", "home", "files"]) mkdirSync(join(template, folder));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(template, "files", name)), { recursive: true });
    writeFileSync(join(template, "files", name), text);
  }
  mkdirSync(join(template, "files", "docs", "people"), { recursive: true });
  writeFileSync(join(template, "files", "docs", "people", "leave.md"), "Thirty days.\n");
  process.chdir(join(template, "files"));
  const sandbox = await startSandbox({ clock, directory: join(template, "data"), models: true });
  const env = environment(sandbox.origin);
  const run = async (line: string, more: Readonly<Record<string, string>> = {}) => {
    const ran = await cli(wordsOf(line, more), {
      env: { ...env, ...more },
      folder: join(template, "home"),
      stdin: "dataset-sandbox",
    });
    expect([0, 8], `${line}: ${ran.err}`).toContain(ran.exit);
    return ran.out.trim();
  };
  const json = async (line: string, more?: Readonly<Record<string, string>>) =>
    JSON.parse(await run(line, more)) as Record<string, string>;

  await run("kb login work --base-url https://example.com/v1 --key-file - --no-check");
  await run("kb create Handbook --indexing-technique high_quality");
  const { batch: BATCH = "" } = await json(
    "kb doc add Handbook welcome.md --text-file welcome.md -o json",
  );
  await run("kb doc add Handbook leave.md --text-file leave.md");
  await run("kb doc wait Handbook");
  const uploaded = await json(
    "kb pipeline upload welcome.md --jq '{related_id: .id, name, transfer_method: \"local_file\"}'",
  );
  writeFileSync(join(template, "files", "files.json"), JSON.stringify([uploaded]));
  for (const tag of ["draft", "published"]) await run(`kb tag create ${tag}`);
  await run("kb tag bind Handbook draft published");
  await run("kb metadata create Handbook team --type string");
  await run("kb metadata set Handbook welcome.md --set team=people");
  const CHUNK = await run("kb chunk list Handbook welcome.md -o name");
  const CHILD = await run(
    "kb chunk child add Handbook welcome.md $CHUNK --content Lockers -o name",
    { CHUNK },
  );

  const RUN = await run("wf run --input query=hello --jq .id");
  const TASK = await run("wf --app slow run --input query=hello --detach --jq .task_id");
  const events = await run("wf --app review run --input query=hello -o jsonl");
  const [, TOKEN = ""] = /"form_token": ?"(\w+)"/.exec(events) ?? [];
  const { created_by: USER_ID = "" } = await json("wf file upload welcome.md -o json");
  const FILE = await run("wf --app chat file upload welcome.md -o name");
  const said = await json(
    `wf --app chat chat send Hello --files '[{"type":"document","transfer_method":"local_file","upload_file_id":"${FILE}"}]' --blocking -o json`,
  );
  const CONVERSATION = said["conversation_id"] ?? "";
  const MESSAGE = said["message_id"] ?? "";
  const { conversation_id: CONVO = "" } = await json("wf chat send Hello --blocking -o json", {
    KB_APP_KEY: "app-convo",
  });
  const VARIABLE = await run("wf conversation variables $CONVO -o name", {
    KB_APP_KEY: "app-convo",
    CONVO,
  });
  const ANNOTATION = await run(
    "wf --app chat annotation create --question Why? --answer Because. -o name",
  );
  const JOB = await run(
    "wf --app chat annotation reply enable --embedding-provider-name langgenius/stub/stub --embedding-model-name stub-embed --score-threshold 0.9 -o name",
  );
  writeFileSync(
    join(template, "files", "changes.csv"),
    `annotation_id,question,answer\n${ANNOTATION},Where?,There.\n`,
  );
  variables = {
    BATCH,
    CHUNK,
    CHILD,
    RUN,
    TASK,
    TOKEN,
    USER_ID,
    FILE,
    CONVERSATION,
    CONVO,
    MESSAGE,
    VARIABLE,
    ANNOTATION,
    JOB,
  };
  for (const [name, value] of Object.entries(variables)) expect(value, name).toMatch(/^[\w-]+$/);
  await sandbox.stop();
}

/** Splits a command line like a POSIX shell, with quotes, backslashes and variables. */
function wordsOf(line: string, values: Readonly<Record<string, string>>): string[] {
  const words: string[] = [];
  let open: string | undefined;
  const valued = (text: string) =>
    text.replace(/\$(\w+)/g, (_, name: string) => values[name] ?? "");
  for (const [piece, single, double, escaped, blank] of line.matchAll(
    /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|(\s+)|[^\s'"\\]+/g,
  )) {
    if (blank !== undefined) {
      if (open !== undefined) words.push(open);
      open = undefined;
    } else if (single !== undefined) open = `${open ?? ""}${single}`;
    else if (double !== undefined) {
      open = `${open ?? ""}${valued(double).replace(/\\(["\\$`])/g, "$1")}`;
    } else open = `${open ?? ""}${escaped ?? valued(piece)}`;
  }
  return open === undefined ? words : [...words, open];
}

/** How an example is run; parts that need a missing shell are removed. */
function runnable(line: string): { readonly line: string; readonly by: "us" | "sh" } {
  const inner = /<\((.*?)\)/.exec(line)?.[1] ?? line.replace(/ \| (source|Out-String.*)$/, "");
  const bare = inner.replace(/'[^']*'|"[^"]*"/g, "");
  return {
    line: inner,
    by: /^[A-Z]+=|[|<>;&(]|sandbox |logs --follow|top|mcp --http/.test(bare) ? "sh" : "us",
  };
}

/** Runs an example in a shell with the built programs; `interrupted` after its first output. */
async function bySh(
  line: string,
  env: Readonly<Record<string, string>>,
  interrupted: boolean,
): Promise<Ran> {
  const child = spawn("sh", ["-c", interrupted ? `exec ${line}` : line], {
    env: { ...process.env, ...env },
  });
  const [out, err]: [string[], string[]] = [[], []];
  for (const [stream, pieces] of [
    [child.stdout, out],
    [child.stderr, err],
  ] as const)
    stream.on("data", (chunk: Buffer) => {
      pieces.push(chunk.toString());
      if (interrupted) child.kill("SIGINT");
    });
  child.stdin.end();
  const exit = await new Promise<number>((resolve) =>
    child.on("close", (code) => resolve(code ?? -1)),
  );
  return { exit, out: out.join(""), err: err.join("") };
}

/** The distinct examples of both programs: of each command the first `count`. */
export const examplesOf = async (count = Infinity): Promise<readonly string[]> => {
  const commands = [...(await commandsOf("kb")), ...(await commandsOf("wf"))];
  return [...new Set(commands.flatMap(({ examples }) => examples.slice(0, count)))];
};

/** The patterns of examples that need preparation or do not exit with 0. */
export const exceptions: readonly RegExp[] = [...otherEnds, ...firstDone].map(
  ([pattern]) => pattern,
);

/** Runs an example in a copy of the sandbox and checks its exit code. */
export async function checkExample(example: string): Promise<void> {
  const place = await mkdtemp(join(places, "example-"));
  cpSync(template, place, { recursive: true });
  process.chdir(join(place, "files"));
  const sandbox = await startSandbox({ clock, directory: join(place, "data"), models: true });
  onTestFinished(() => sandbox.stop());
  const [, app] = otherApps.find(([pattern]) => pattern.test(example)) ?? [];
  const convo = app === "convo" && { CONVERSATION: variables["CONVO"] ?? "" };
  const values = { ...variables, ...convo };
  const env = { ...environment(sandbox.origin), ...(app && { KB_APP_KEY: `app-${app}` }) };
  // The programs that examples start, such as a password manager, fail.
  const spawn = () => ({ exit: Promise.resolve(1), output: Promise.resolve(""), kill: () => {} });
  const run = (line: string) =>
    cli(wordsOf(line, values), { env, folder: join(place, "home"), spawn });

  const first = firstDone
    .filter(([pattern]) => pattern.test(example))
    .flatMap(([, lines]) => lines);
  for (const line of first) expect((await run(line)).exit, line).toBe(0);

  const [, code] = otherEnds.find(([pattern]) => pattern.test(example)) ?? [undefined, 0];
  const { line, by } = runnable(example);
  const HOME = join(place, "home");
  mkdirSync(join(HOME, ".config", "fish"), { recursive: true });
  const PATH = [join(root, "bin", "shims"), process.env["PATH"]].join(delimiter);
  const ran =
    by === "us"
      ? await run(line)
      : await bySh(
          line,
          {
            ...values,
            ...env,
            PATH,
            HOME,
            KB_NO_KEYRING: "1",
            KB_CONFIG_DIR: join(HOME, "config"),
            PROFILE: join(HOME, "profile.ps1"),
          },
          code === 130,
        );
  expect(ran, `${ran.err}${ran.out}`).toMatchObject({ exit: code });
}
