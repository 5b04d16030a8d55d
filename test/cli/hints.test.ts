// Every command that an error, a hint or a notice shows is run, where its line was run.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { spawnChild } from "../../src/host/child-process.ts";
import { mapCommands } from "../../src/lib/command-line.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { rareTest, sampled } from "../lib/sampled.ts";
import { watchCalls } from "../lib/call-sites.ts";
import { hintedCommands } from "../lib/hinted.ts";
import { memoryKeyring } from "../lib/keyring.ts";
import { sourceStrings } from "../lib/prose.ts";
import type { Prose } from "../lib/prose.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import type { World } from "../lib/support.ts";

const calls = await watchCalls("commandLine", "shownLine");
const { testSandbox } = await import("../lib/sandbox.ts");
const server = await testSandbox();
/** Its documents stay unindexed. */
const idle = await testSandbox({ speed: 1, indexingDelay: 600_000 });
const folder = await temporaryDirectory();
/** Without profiles and saved runs. */
const elsewhere = await temporaryDirectory();

/** A command line that prints a command. */
interface Scene {
  /** `$x` stands for an ID of the setup. */
  readonly line: string;
  readonly faults?: readonly string[];
  readonly on?: TestSandbox;
  readonly world?: World;
  /** Why the command cannot succeed as it is printed; it must be one that parses. */
  readonly unless?: string;
}

const noServer = { KB_PROFILE: "", KB_BASE_URL: "", KB_KEY: "" };

const ids: Record<string, string> = {};

function wordsOf(line: string): readonly string[] {
  const [words = []] = hintedCommands(`\`${line}\``);
  return words.map((word) => word.replace(/\$(\w+)/g, (_, name: string) => ids[name] ?? ""));
}

const here = (world: World = {}): World => ({
  folder,
  ...world,
  env: { KB_KEEP_ERRORS: "0", ...world.env },
});

const run = (line: string, on = server, world: World = {}) => on.cli(wordsOf(line), here(world));

/** Runs a line of the setup, which must succeed. Returns what it prints. */
const done = async (line: string, on = server) => (await on.done(wordsOf(line), here())).out.trim();

/** Words that the reader replaces, and commands that prompt for all they need. */
const isTemplate = (words: readonly string[]) =>
  words.some((word) => /^(FILE|NAME=ID|TASK_ID|KB|PROFILE|\S+=TEXT)$/.test(word)) ||
  ["login", "sandbox", "chat"].includes(words[1] ?? "");

const parses = (error: string) =>
  !/^error: (unknown|too many|which|missing argument)|is not a UUID|needs a value/m.test(error);

/** Runs each command in a text. Returns those that are wrong lines, with their errors. */
async function brokenCommands(text: string, { on = server, world, unless }: Scene) {
  const broken: string[] = [];
  for (const words of hintedCommands(text)) {
    // A terminal, so that deletes can prompt; interrupted soon, as some commands follow something.
    const terminal = { tty: true, answers: ["y", "y"], signal: AbortSignal.timeout(400) };
    const argv = isTemplate(words) ? [...words, "--no-input"] : words;
    // A sign-in must not change what the next lines find.
    const apart = words[1] === "login" && { folder: await temporaryDirectory() };
    const { exit, err } = await on.cli(argv, here({ ...world, ...terminal, ...apart }));
    const mayFail = isTemplate(words) || unless !== undefined;
    if ((exit === 2 || exit === 3) && !(mayFail && parses(err)))
      broken.push(`${words.join(" ")}: exit ${exit}: ${err}`);
  }
  return broken;
}

beforeAll(async () => {
  await mkdir(join(folder, "docs"));
  await mkdir(join(folder, "rows"));
  await writeFile(join(folder, "rows", "leave.md"), "content\nForty days.\n");
  await mkdir(join(folder, "off"));
  await writeFile(join(folder, "docs", "a.md"), "A text.");
  await writeFile(join(folder, "docs", "leave.md"), "Another text.");
  await writeFile(join(folder, "off", "off.md"), "Another text.");
  await writeFile(
    join(folder, "type.yaml"),
    "knowledge_base: Hand book\nmetadata:\n  team: number\n",
  );
  await writeFile(
    join(folder, "plan.yaml"),
    "knowledge_base: Hand book\nmetadata:\n  size: number\n",
  );
  await writeFile(join(folder, "checks.yaml"), "name: x\n");
  await writeFile(join(folder, "suite.yaml"), "tests: [{name: a, inputs: {query: x}}]\n");
  await writeFile(join(folder, "promptfoo.yaml"), "prompts: ['{{q}}']\ntests: [vars: {q: a}]\n");
  await writeFile(join(folder, "old.yaml"), "app: echo\ntests: [{name: a, inputs: {query: x}}]\n");
  const old = { name: "old: a", test: "a", results: [{ status: "passed", checks: [] }] };
  await writeFile(
    join(folder, "old.json"),
    JSON.stringify({ wf_test: 1, tests: [{ ...old, path: join(folder, "old.yaml") }] }),
  );
  const program = "app: echo\ntests: [{name: a, inputs: {query: x}, check: {run: none}}]\n";
  await writeFile(join(folder, "program.yaml"), program);
  await writeFile(join(folder, "up.md"), "A file.");
  for (const on of [server, idle]) {
    await done("kb create 'Hand book' --indexing-technique economy", on);
    await done("kb doc add 'Hand book' leave.md --text 'Thirty days.'", on);
  }
  for (const name of ["old.md", "off.md"])
    await done(`kb doc add 'Hand book' ${name} --text 'Some text.'`);
  await done("kb doc wait 'Hand book'");
  await done("kb doc archive 'Hand book' old.md");
  await done("kb doc disable 'Hand book' off.md");
  await done("kb metadata create 'Hand book' team --type string");
  await done("wf --app convo chat send hello");
  ids["masked"] = await done("wf run --input query=***** -o name");
  const file = `doc=@${join(folder, "up.md")}`;
  ids["file"] = await done(
    `wf --app inputs run --input name=a --input kind=a --input ${file} -o name`,
  );
  ids["bare"] = await done("kb create Bare -o name");
  ids["url"] = server.env["KB_BASE_URL"] ?? "";
  ids["none"] = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  ids["dir"] = folder;
  for (const app of ["review", "broken", "echo"])
    ids[app] = await done(`wf --app ${app} run --input query=hello --detach -o name`);
  const long = "--input query=hello --input seconds=600000 --detach -o name";
  for (const id of ["slow", "other"]) ids[id] = await done(`wf --app slow run ${long}`);
  const login = `kb login work --base-url ${server.env["KB_BASE_URL"]} --key-file - --no-check`;
  const world = { stdin: "dataset-sandbox\n", keyring: memoryKeyring() };
  const stored = await server.cli(wordsOf(login), here(world));
  if (stored.exit !== 0) throw new Error(stored.err);
  await done(`kb doc upload 'Hand book' ${folder}/up.md`);
  await writeFile(join(folder, "hidden.md"), "A file.");
  await done(`kb doc upload 'Hand book' ${folder}/hidden.md`);
  await done("kb doc wait 'Hand book'");
  await done("kb doc disable 'Hand book' hidden.md");
  await done(`kb export 'Hand book' ${folder}/exported`);
  await done(`kb doc add 'Hand book' twice.md --text x --backup-dir ${folder}/backup`);
  await done("kb doc add 'Hand book' twice.md --text y");
  await done(`wf --app broken run --input query=x --record ${folder}/broken.jsonl`).catch(() => {});
  ids["recorded"] = await done("wf --app broken logs -o name --limit 1");
  await done("kb create Synced --indexing-technique economy");
  await done(`kb sync Synced ${folder}/off`);
  await done("kb doc wait Synced");
  await done("kb doc disable Synced off.md");
  await writeFile(join(folder, "off", "off.md"), "A changed text.");
  await writeFile(
    join(folder, "cut.jsonl"),
    `{"event":"workflow_started","workflow_run_id":"${ids["slow"]}","data":{"id":"${ids["slow"]}"}}\n`,
  );
  await writeFile(join(folder, "rows.csv"), "query\nx\ny\n");
  await writeFile(join(folder, "faq.csv"), "question,answer\nx,x\n");
  await writeFile(join(folder, "gbk.txt"), Buffer.from("d4b1b9a4", "hex"));
  await writeFile(join(folder, "sheet.csv"), "content\nx\n");
  await done("kb create Rows --indexing-technique economy");
  await done(`kb sync Rows ${folder}/sheet.csv --rows`);
  await done(`kb backup ${folder}/single Rows`);
  ids["chunk"] = await done("kb chunk list 'Hand book' leave.md -o name");
});

const scenes: readonly Scene[] = [
  // Editors
  { line: "kb doc edit 'Hand book' leave.md" },
  { line: "kb chunk edit 'Hand book' leave.md $chunk" },
  { line: "kb doc edit Rows sheet.csv" },
  {
    line: "kb doc edit 'Hand book' leave.md",
    world: { tty: true, spawn: spawnChild, env: { VISUAL: "false" } },
  },
  // The command line
  { line: "kb show" },
  { line: "kb doc show 'Hand book'" },
  { line: "kb search 'Hand book' thirty days" },
  { line: "kb list --bogus" },
  { line: "kb lst" },
  { line: "kb logs" },
  { line: "kb xyzzy" },
  { line: "kb logs" },
  { line: "kb tag xyzzy" },
  { line: "kb logout", unless: "the profile is not named" },
  { line: "kb config get base_url" },
  { line: "kb lint 'Hand book'" },
  { line: "kb search How long is it", unless: "the knowledge base is not known" },
  { line: "kb doc rename 'Hand book' leave.md to free.md" },
  { line: "kb doc add 'Hand book' $dir/docs" },
  { line: "kb api /datasets GET" },
  { line: "kb create New base --description Rules for us" },
  { line: "kb plan Hand" },
  { line: "wf logs run last" },
  { line: "kb login https://x.example dataset-1" },
  { line: "kb doc show hand/leave.md", unless: "there is no such base" },
  { line: "kb doc upload 'Hand book' $dir/up.md --set team=hr", unless: "no document is named" },
  { line: "kb skills list" },
  { line: "kb sync 'Hand book' git@example.com:a/b.git", unless: "there is no such host" },
  { line: "kb sync 'Hand book' s3://bucket/docs", unless: "the remote is not named" },
  { line: "kb sync 'Hand book' drive:docs", unless: "there is no such remote" },
  { line: "kb doc add 'Hand book' --file $dir/up.md" },
  { line: "wf chat send $none hello", unless: "the conversation is not known" },
  { line: "wf show --last" },
  { line: "wf run $dir/suite.yaml" },
  { line: "kb create New a.md", unless: "nothing was created" },
  { line: "kb import $dir/suite.yaml", unless: "the file is no text" },
  { line: "wf publish" },
  { line: "wf run slow query=x" },
  { line: "kb list -X POST" },
  { line: "kb api /datasets -X GET", unless: "the server refuses it" },
  { line: "kb backup 'Hand book' $dir/bk2" },
  { line: "kb search thirty Bare" },
  { line: "kb search thirty", unless: "the knowledge base is not named" },
  { line: "kb search --all thirty days", unless: "the first word is no knowledge base" },
  { line: "kb help upload" },
  { line: "kb reindex 'Hand book'" },
  { line: "kb doc upload 'Hand book' leave.md --wait" },
  { line: "kb doc status Bare leave.md", unless: "the document is in another knowledge base" },
  { line: "kb tag bind Bare nope" },
  { line: "kb tag remove Bare nope", unless: "there is no such tag" },
  { line: "kb help --bogus" },
  { line: "kb help xyzzy" },
  { line: "kb help tgg" },
  { line: "kb update 'Hand book'" },
  { line: "kb doc upload 'Hand book' $dir/docs" },
  // Names and IDs
  { line: "kb show Nope" },
  { line: "kb doc show 'Hand book' nope.md" },
  { line: "kb tag rename absent other" },
  { line: "kb metadata delete 'Hand book' $none --yes" },
  { line: "wf --app slow show 0190f2b4" },
  { line: "wf --app slow show $echo" },
  // Keys and servers
  { line: "kb list", world: { env: { KB_KEY: "dataset-wrong" } } },
  { line: "wf show $echo --nodes" },
  { line: "kb doc upload 'Hand book' $dir/gbk.txt" },
  { line: "kb backup diff $dir/single" },
  { line: "wf logs", world: { env: { KB_PROFILE: "", KB_APP_KEY: "app-wrong" } } },
  {
    line: "kb list",
    world: { folder: elsewhere, env: noServer },
    unless: "no server",
  },
  {
    line: "wf logs",
    world: { folder: elsewhere, env: noServer },
    unless: "no server",
  },
  {
    line: "kb doctor",
    world: { folder: elsewhere, env: noServer },
    unless: "no server",
  },
  {
    line: "kb list",
    world: { folder: elsewhere, env: { KB_PROFILE: "", KB_KEY: "" } },
    unless: "no key",
  },
  { line: "kb list", world: { env: { KB_PROFILE: "", KB_KEY: "dataset-bound-$bare" } } },
  { line: "kb list --base-url https://name:secret@example.com/v1" },
  { line: "kb api GET /datasets --header 'Authorization: x'" },
  { line: "wf --app echo conversation list" },
  { line: "kb -p nope list", world: { folder: elsewhere, env: noServer }, unless: "no profile" },
  { line: "kb profile show", world: { folder: elsewhere, env: noServer }, unless: "no profile" },
  { line: "kb login sandbox", unless: "no sandbox is running" },
  {
    line: "kb login bound --base-url $url --key-file -",
    world: { stdin: "dataset-bound-0190f2b4", keyring: memoryKeyring() },
  },
  { line: "kb -p sandbox list", world: { folder: elsewhere, env: noServer } },
  { line: "kb -p work list", unless: "no keyring" },
  { line: "wf -p work --app other logs", unless: "no application" },
  {
    line: "kb login other --base-url $url --key-file - --no-check",
    world: { stdin: "app-echo\n" },
  },
  {
    line: "kb login other --base-url $url --key-file - --no-check --insecure-storage",
    world: { stdin: "dataset-x\n" },
    unless: "the key is not valid",
  },
  { line: "kb login work --base-url https://example.com/v1", unless: "the name is taken" },
  {
    line: "kb login second --base-url https://example.com --key-file - --no-check --insecure-storage",
    world: { stdin: "dataset-other\n", env: noServer },
  },
  // Documents
  { line: "kb doc update 'Hand book' off.md --text Text" },
  { line: "kb doc update 'Hand book' old.md --text Text" },
  { line: "kb chunk add 'Hand book' leave.md --content Text", on: idle },
  { line: "kb chunk add 'Hand book' off.md --content Text" },
  { line: "kb doc add 'Hand book' x.md --text T --indexing-technique high_quality" },
  { line: "kb sync Bare $dir/rows/leave.md --rows" },
  { line: "kb sync Bare $dir/docs" },
  { line: "kb sync Bare https://example.com" },
  { line: "kb sync 'Hand book' $dir/rows/leave.md --rows" },
  { line: "wf chat -m hello --app chat" },
  { line: "kb create Guide --chunk-size 500" },
  { line: "kb doc upload Bare $dir/docs -r", unless: "the directory is not named" },
  { line: "kb doc show Bare/absent.md", unless: "there is no such document" },
  { line: "kb sync Bare $dir/up.md" },
  { line: "kb sync Synced $dir/off" },
  { line: "kb sync $dir/docs Synced" },
  { line: "kb doc add 'Hand book' next.md --text T", world: { tty: true } },
  { line: "kb chunk export 'Hand book' none.csv --doc none" },
  { line: "kb doc delete 'Hand book' old.md --yes" },
  { line: "kb import $dir/exported --name Imported" },
  { line: "kb check" },
  { line: "kb backup $dir/backup", unless: "the directory is no knowledge base" },
  { line: "kb backup list $dir/backup --kb Nothing" },
  {
    line: "kb backup restore $dir/backup 'Hand book' --only leave.md",
    unless: "it is not backed up",
  },
  { line: "kb undo" },
  { line: "kb undo --record ffffffff" },
  { line: "kb doc add 'Hand book' undo.md --text x --backup-dir $dir/backup" },
  {
    line: "kb update 'Hand book' --description x --backup-dir $dir/backup",
    faults: ["GET /datasets/*/documents status=500 skip=2"],
  },
  { line: "kb doc rename 'Hand book' up.md leave.md" },
  { line: "kb doc rename 'Hand book' hidden.md x.md" },
  { line: "kb doc update 'Hand book' leave.md --name x.md" },
  { line: "kb list --web" },
  { line: "kb doc list 'Hand book' --web" },
  { line: "kb eval 'Hand book'", unless: "the questions have to be made by somebody" },
  { line: "kb list --token x" },
  { line: "kb doc list 'Hand book' -q --json name,id" },
  { line: "wf --app tolerant timeline last" },
  { line: "wf --app tolerant form show", unless: "no run waits" },
  { line: "kb copy 'Hand book' --name Copy" },
  { line: "kb copy 'Hand book' --name Copy" },
  { line: "kb plan $dir/type.yaml" },
  { line: "kb plan $dir/plan.yaml" },
  { line: "kb plan $dir/none.yaml" },
  { line: "kb create Another" },
  { line: "kb create 'Hand book'" },
  { line: "kb import $dir/docs" },
  { line: "kb metadata set 'Hand book' leave.md --set nope=1", on: idle },
  { line: "kb metadata set 'Hand book' up.md size=1" },
  { line: "kb list datasets" },
  { line: "wf --app echo run list" },
  // Runs
  { line: "wf --app review run --input query=hello" },
  { line: "wf --app review run --input query=hello --blocking" },
  { line: "wf --app review wait $review" },
  { line: "wf --app review events $review --no-snapshot" },
  { line: "wf --app broken run --input query=hello" },
  { line: "wf --app broken run --input query=hello --blocking" },
  { line: "wf --app broken wait $broken" },
  { line: "wf --app echo events $none" },
  { line: "wf --app review stop $review" },
  { line: "wf --app review form submit xyz --action approve" },
  { line: "wf --app echo timeline $echo" },
  { line: "wf --app echo events $echo" },
  { line: "wf --app broken show $broken", world: { folder: elsewhere } },
  { line: "wf --app slow stop $slow", world: { folder: elsewhere } },
  { line: "wf show" },
  { line: "wf --app convo retry last --yes" },
  { line: "wf retry $masked --yes", unless: "the value is to be replaced" },
  { line: "wf --app inputs retry $file --yes --user ann" },
  { line: "wf --app loop stop last" },
  { line: "wf top --all-apps", world: { env: { KB_PROFILE: "", KB_APP_KEY: "app-echo" } } },
  { line: "wf --app slow wait $slow --timeout 100ms" },
  { line: "wf --app slow events $slow --follow --timeout 100ms" },
  { line: "wf --app slow events $slow --follow", faults: ["GET /workflow/*/events cut-after=1"] },
  { line: "wf --app broken run --input query=hello --expect 'run succeeded'" },
  { line: "wf --app broken run --input query=hello --only-output nope" },
  { line: "wf --app echo run --input query=hello --expect 'run is'" },
  { line: "wf --app echo run --input query=hello --expect $dir/checks.yaml" },
  { line: "wf --app chat run --input query=hello" },
  { line: "wf --app echo test run $dir/suite.yaml --baseline $dir/rows.csv" },
  { line: "wf --app chat test run $dir/promptfoo.yaml" },
  { line: "wf test score $dir/old.json" },
  { line: "wf test score $dir/old.json --suite $dir/program.yaml" },
  { line: "wf --app echo test run $dir/checks.yaml" },
  { line: "wf test run $dir/program.yaml" },
  { line: "wf --app echo test init --from rows $dir/faq.csv --input query --out $dir/faq.yaml" },
  { line: "wf --app echo test init --from logs $dir/new.yaml" },
  { line: "wf --app echo test review $dir/rows.csv" },
  { line: "wf --app answers test init --from logs", unless: "there is nothing to make tests of" },
  { line: "wf test flaky $dir" },
  { line: "wf replay $dir/cut.jsonl --app slow" },
  { line: "wf replay $dir/rows.csv" },
  { line: "wf diff $broken $broken --exit-code --app broken" },
  // Logs, conversations
  { line: "wf --app echo logs export -" },
  { line: "wf --app echo stats --from $dir/rows.csv" },
  { line: "wf --app echo stats --from $dir/rows.csv --keyword x" },
  { line: "wf --app echo logs --follow --timeout 100ms" },
  { line: "wf --app chat chat send hello" },
  { line: "wf --app chat chat" },
  { line: "wf --app chat chat", world: { tty: true, answers: ["hello", "/exit"] } },
  { line: "wf --app slow run --input query=hello --detach", world: { tty: true } },
  { line: "wf --app echo chat", world: { tty: true, answers: [] } },
  { line: "wf replay $dir/broken.jsonl" },
  { line: "wf --app echo run", world: { tty: true, answers: ["hello"] } },
  { line: "wf --app broken show $recorded" },
];

describe("each command in a hint runs", () => {
  test.each(sampled(14, scenes))("$line", async (scene) => {
    const { line, on = server, faults = [], world } = scene;
    const env = Object.fromEntries(
      Object.entries(world?.env ?? {}).map(([name, value]) => [
        name,
        value && wordsOf(`kb ${value}`)[1],
      ]),
    );
    // Faults count requests: those that wait for what an earlier line has added would count, too.
    if (faults.length > 0) await run("kb doc wait 'Hand book'", on);
    on.sandbox.setFaults(faults.map(parseFault));
    const { out, err } = await run(line, on, { ...world, env });
    on.sandbox.setFaults([]);
    const printed = out + err; // doctor prints what to do next in its rows
    expect(hintedCommands(printed), printed).not.toEqual([]);
    expect(await brokenCommands(printed, { ...scene, world: { ...world, env } })).toEqual([]);
  });
});

test("a hint that is broken on purpose is found", async () => {
  const { err } = await run("wf --app review run --input query=hello");
  const without = (flag: string) =>
    mapCommands(err, (words) =>
      words.filter((_, at) => ![words[at], words[at - 1]].includes(flag)),
    );
  for (const flag of ["--app", "--action"])
    expect(await brokenCommands(without(flag), { line: "" })).toHaveLength(1);
  expect(await brokenCommands("hint: `kb shwo 'Hand book'`", { line: "" })).toHaveLength(1);
});

test("the hint of a JSON error is in the scope of the line, too", async () => {
  const { err } = await run("wf --app broken run --input query=hello -o json");
  const { error } = JSON.parse(err.trimEnd().split("\n").at(-1) ?? "") as {
    readonly error: { readonly hint: string; readonly details: unknown };
  };
  expect(hintedCommands(error.hint)).toEqual([
    ["wf", "show", expect.stringMatching(/^[0-9a-f-]{36}$/), "--app", "broken"],
  ]);
  expect(error.details).toMatchObject({
    node: { title: "Fetch", error: "[Errno 111] Connection refused" },
  });
});

test("a line that cannot be parsed keeps its profile in the hint", async () => {
  const { err } = await run("kb -p sandbox search 'Hand book' thirty days");
  expect(err).toContain("`kb search 'Hand book' 'thirty days' -p sandbox`");
});

/** Calls that no line above reaches, and why. The tests named there assert the commands as text. */
const notReached: readonly (readonly [file: string, command: string, why: string])[] = [
  ["commands/kb/check/check.ts", "command, args", "is in rows: damage.test.ts"],
  ["commands/kb/backup/drill.ts", "kb backup drill", "needs a damaged snapshot: damaged-snapshots"],
  ["commands/kb/backup/undo.ts", "kb undo", "needs a damaged record: damaged-snapshots.test.ts"],
  ["commands/kb/chunk-lists/make-chunks.ts", "kb chunk show", "needs a server that drops a field"],
  ["commands/kb/documents/contents.ts", "kb cat", "needs a lost file: lost-files.test.ts"],
  [
    "commands/kb/backup/restore.ts",
    "kb backup",
    "needs a restore that is not interrupted, and other snapshots: one-document.test.ts",
  ],
  ["api/api-error.ts", "kb doc list", "needs a server with a database of vectors"],
  ["commands/shared/sandbox/sandbox.ts", "", "needs a shell on a terminal: process.test.ts"],
  ["commands/kb/rules/document-values.ts", "kb doc upload", "needs a file: uploads.test.ts"],
  ["cli/parse/values.ts", "wf conversation messages", "needs a conversation: habits.test.ts"],
  ["commands/shared/login/login.ts", "wf profile use", "needs two keys: login.test.ts"],
  ["commands/shared/login/profile.ts", "wf login", "needs two keys: login.test.ts"],
  ["commands/shared/login/login.ts", "base-url", "is another server: login.test.ts"],
  ["commands/kb/documents/rename.ts", "kb chunk list", "needs a binary file: edit.test.ts"],
  ["commands/shared/login/login-key.ts", "wf login", "needs access tokens: access-tokens.test.ts"],
  ["cli/execute/line-client.ts", "api", "needs an invalid response: test/api"],
  ["cli/errors/line-error.ts", "program, []", "for messages that commander does not send today"],
  ["commands/kb/pipelines/run.ts", "kb doc list", "needs a lost stream: pipelines.test.ts"],
  ["commands/kb/pipelines/run.ts", "kb doc wait", "needs a wait that fails: pipelines.test.ts"],
  ["commands/kb/changes/make-documents.ts", "kb doc delete", "needs two documents of one name"],
  ["commands/measure/tune/report.ts", "kb update", "needs settings that are better: tune.test.ts"],
  ["commands/measure/tune/tune.ts", "kb apply", "needs a rule that is better: tune.test.ts"],
  [
    "commands/kb/documents/verify-rename.ts",
    "kb doc update",
    "needs a server that truncates a file",
  ],
  [
    "commands/kb/documents/verify-rename.ts",
    "kb doc replace",
    "needs a server that truncates a file",
  ],
  [
    "commands/kb/documents/verify-rename.ts",
    "kb metadata set",
    "needs a server that loses metadata",
  ],
  ["commands/kb/documents/repair-index.ts", "kb doc list", "needs a failing embedding model"],
  ["commands/kb/documents/repair-index.ts", "kb", "needs a server of 1.16: rewrite.test.ts"],
  ["commands/kb/declarative/apply.ts", "{ rewrite: true }", "the same"],
  [
    "commands/wf/annotations/reply.ts",
    "annotation reply status",
    "takes a minute: app-jobs.test.ts",
  ],
  ["commands/wf/chat/chat.ts", "wf chat stop", "needs Ctrl-C during a reply"],
  [
    "commands/wf/chat/reply-events.ts",
    "conversation messages",
    "needs a lost stream: replies.test.ts",
  ],
  ["commands/wf/runs/stop.ts", "wf wait", "needs a run that a stop does not end"],
  ["commands/wf/runs/stop.ts", "wf chat stop", "needs a running reply of another machine"],
  ["follow/run-state.ts", "[workflow_run_id]", "takes 20 minutes"],
  ["runs/outcome.ts", "through-pauses", "needs a form without a token: unanswerable-forms.test.ts"],
  ["follow/run-state.ts", "wf events", "takes an hour"],
  ["host/lock.ts", "kill", "ends a process that holds a lock: cli/at-once.test.ts"],
  ["follow/open-stream.ts", "see whether", "needs a form that fails: form-answers.test.ts"],
  ["commands/wf/otlp/index.ts", "wf logs export", "needs a collector that fails: otlp.test.ts"],
  ["commands/wf/follow/index.ts", "wf show", "needs lost text: following.test.ts"],
  ["commands/wf/forms/dialog.ts", "wf form submit", "for a form that is left open in a terminal"],
  ["commands/wf/run/batch.ts", "wf logs", "needs an interrupted batch: run-each.test.ts"],
  ["commands/wf/run/retry.ts", "{ input })", "needs a file that the server has deleted"],
  ["commands/wf/run/retry.ts", "wf show", "needs files outside of the form"],
  ["commands/wf/run/run.ts", "wf show", "needs a successful run without outputs"],
  ["commands/wf/run/run.ts", "wf logs", "needs a stream without an event"],
];

rareTest("every place in the source that shows a command was reached", async () => {
  const reached = new Set(await calls.reached());
  const missing = calls.all.filter((site) => !reached.has(site));
  const isKnown = ({ file, code }: (typeof missing)[number]) =>
    notReached.some(([place, command]) => place === file && code.includes(command));
  expect(missing.filter((site) => !isKnown(site))).toEqual([]);
  expect(calls.all.length - missing.length).toBeGreaterThan(75);
});

test("no command is written by hand in the source", () => {
  expect(handWritten(sourceStrings())).toEqual([]);
  expect(handWritten([{ file: "a.ts", line: 1, text: "run `kb list` to see" }])).toHaveLength(1);
});

/** Where commands are no hints: help, examples, scripts and the sandbox. */
const texts =
  /^src\/(operations|sandbox|cli\/help)\/|\/(\w+-)?(command|params)\.ts$|completion\/scripts/;

/** Texts with a command in backticks; commandLine writes its own backticks. */
const handWritten = (strings: readonly Prose[]) =>
  strings.filter(({ file, text }) => !texts.test(file) && /`(kb|wf) \w/.test(text));
