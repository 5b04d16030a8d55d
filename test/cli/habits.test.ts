import { beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { parseLine } from "../../src/cli/parse/parser.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { write } from "../lib/directory.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";
import type { TestSandbox } from "../lib/sandbox.ts";

const kb = await commandsOf("kb");
const wf = await commandsOf("wf");

/** Lines with the habits of other programs, and the same in ours. */
const same: readonly (readonly [typed: string, means: string])[] = [
  ["wf events RUN -F", "wf events RUN --follow"],
  ["wf logs -F", "wf logs --follow"],
  ["wf logs -Fq", "wf logs --follow -q"],
  ["wf run -i query=x -i n=1", "wf run --input query=x --input n=1"],
  ["wf form submit t -i comment=x", "wf form submit t --input comment=x"],
  ["wf run query=x n=1", "wf run --input query=x --input n=1"],
  ["wf run query=x --input n=1", "wf run --input query=x --input n=1"],
  ["wf run -i n=1 query=x", "wf run --input query=x --input n=1"],
  ["kb list --json --all", "kb list --all --json"],
  ["kb show --json Handbook", "kb show Handbook --json"],
  ["kb show --json name", "kb show name --json"],
  ["kb show --json -- name", "kb show name --json"],
  ["kb --json list", "kb list --json"],
  ["kb list --json -o json", "kb list -o json --json"],
  ["wf events RUN --jq . -o jsonl", "wf events RUN -o jsonl --jq ."],
  ["kb doc --json list Handbook", "kb doc list Handbook --json"],
  ["kb create A --description=--json", "kb create A --description=--json"],
  ["kb search H -- -n", "kb search -- H -n"],
  ["kb create -- --json", "kb create -- --json"],
  ["kb api /datasets", "kb api GET /datasets"],
  ["kb ls --all", "kb list --all"],
  ["kb -p other ls", "kb list -p other"],
  ["kb doc --json ls Handbook", "kb doc list Handbook --json"],
  ["kb backup ls backups", "kb backup list backups"],
  ["kb metadata built-in ls Handbook", "kb metadata built-in list Handbook"],
  ["kb rm -- ls", "kb delete -- ls"],
  ["kb doc rm Handbook rm", "kb doc delete Handbook rm"],
  ["kb profile rm work", "kb profile remove work"],
  ["wf form ls -q", "wf form list -q"],
];

test.each(same)("%s is %s", (typed, means) => {
  const parsed = (line: string) => {
    const result = parseLine(line.split(" "), line.startsWith("kb") ? kb : wf);
    if (result.kind !== "run") throw new Error("not run");
    const { command, typed: values, globals } = result;
    const { json, columns, output, limit, all, quiet, profile } = globals;
    const { method = "GET", ...rest } = values;
    return {
      words: command.words,
      typed: { ...rest, method },
      globals: { json, columns, output, limit, all, quiet, profile },
    };
  };
  expect(parsed(typed)).toEqual(parsed(means));
});

/** Lines as other programs would have them, and the one that is proposed. */
const proposed: readonly (readonly [typed: string, hint: string])[] = [
  ["kb add Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb archive Handbook a.md", "kb doc archive Handbook a.md"],
  ["kb auth login work", "kb login work"],
  ["kb auth logout work", "kb profile remove work"],
  ["kb child-chunks Handbook a.md 1", "kb chunk child list Handbook a.md 1"],
  ["kb chunks Handbook a.md", "kb chunk list Handbook a.md"],
  ["kb config use-context work", "kb profile use work"],
  ["kb dataset delete Files", "kb delete Files"],
  ["kb dataset document list Handbook", "kb doc list Handbook"],
  ["kb dataset list", "kb list"],
  ["kb datasets", "kb list"],
  ["kb delete dataset Files", "kb delete Files"],
  ["kb delete profile work", "kb profile remove work"],
  ["kb deploy kb.yaml", "kb apply kb.yaml"],
  ["kb describe Handbook", "kb show Handbook"],
  ["kb describe document Files a.md", "kb doc show Files a.md"],
  ["kb diff ./a ./b", "kb verify ./a ./b"],
  ["kb diff Handbook Copy", "kb verify Handbook Copy"],
  ["kb diff a b", "kb verify a b"],
  ["kb doc cat Handbook a.md", "kb cat Handbook a.md"],
  ["kb doc chunks Handbook a.md", "kb chunk list Handbook a.md"],
  ["kb doc create Handbook a.md --text hi", "kb doc add Handbook a.md --text hi"],
  ["kb doc replace-file Handbook a.md b.md", "kb doc replace Handbook a.md b.md"],
  ["kb doc search Handbook leave", "kb search Handbook leave"],
  ["kb doc segment list Handbook a.md", "kb chunk list Handbook a.md"],
  ["kb doc-list Handbook", "kb doc list Handbook"],
  ["kb docs Handbook", "kb doc list Handbook"],
  ["kb docs Handbook a.md", "kb doc show Handbook a.md"],
  ["kb document delete Handbook a.md", "kb doc delete Handbook a.md"],
  ["kb document update-by-file Handbook a.md b.md", "kb doc replace Handbook a.md b.md"],
  ["kb documents list Handbook", "kb doc list Handbook"],
  ["kb embeddings list", "kb model list"],
  ["kb enable Handbook a.md", "kb doc enable Handbook a.md"],
  ["kb export chunks Files a.md", "kb chunk export Files a.md"],
  ["kb fields Handbook", "kb metadata list Handbook"],
  ["kb file list Handbook", "kb doc list Handbook"],
  ["kb get", "kb list"],
  ["kb get Files", "kb show Files"],
  ["kb get Handbook", "kb show Handbook"],
  ["kb get dataset Files", "kb show Files"],
  ["kb get docs Files", "kb doc list Files"],
  ["kb get documents Handbook", "kb doc list Handbook"],
  ["kb get search", "kb search QUERY"],
  ["kb help upload", "kb doc upload --help"],
  ["kb hit-testing Handbook leave", "kb search Handbook leave"],
  ["kb hitTesting Handbook leave", "kb search Handbook leave"],
  ["kb init Policies", "kb create Policies"],
  ["kb init policies", "kb create policies"],
  ["kb knowledge-base list", "kb list"],
  ["kb list datasets", "kb list"],
  ["kb list documents Files", "kb doc list Files"],
  ["kb logout", "kb profile remove NAME"],
  ["kb metadata get Handbook", "kb metadata list Handbook"],
  ["kb optimize Handbook questions.yaml", "kb tune Handbook questions.yaml"],
  ["kb profile add work", "kb login work"],
  ["kb profile delete work", "kb profile remove work"],
  ["kb purge Handbook", "kb delete Handbook"],
  ["kb read Handbook a.md", "kb cat Handbook a.md"],
  ["kb rename doc Files a.md b.md", "kb doc rename Files a.md b.md"],
  ["kb restore ./backups Handbook", "kb backup restore ./backups Handbook"],
  ["kb restore ./bk", "kb backup restore ./bk KB"],
  ["kb restore backup.zip", "kb backup restore backup.zip KB"],
  ["kb rm tag draft", "kb tag delete draft"],
  ["kb run", "wf run"],
  ["kb segments", "kb chunk list KB DOC"],
  ["kb tag attach Handbook foo", "kb tag bind Handbook foo"],
  ["kb tag detach Handbook foo", "kb tag unbind Handbook foo"],
  ["kb tag mv a b", "kb tag rename a b"],
  ["kb tag remove Handbook foo", "kb tag unbind Handbook foo"],
  ["kb tags binding Handbook hr", "kb tag bind Handbook hr"],
  ["kb upload Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb upload-document Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb use work", "kb profile use work"],
  ["kb validate .", "kb lint ."],
  ["kb wait Handbook", "kb doc wait Handbook"],
  ["wf annotations", "wf annotation list"],
  ["wf approvals", "wf form list"],
  ["wf audio-to-text a.mp3", "wf audio transcribe a.mp3"],
  ["wf cancel last --app slow", "wf stop last --app slow"],
  ["wf chat delete ID", "wf conversation delete ID"],
  ["wf chat history", "wf conversation messages CONVERSATION"],
  ["wf chat history ID", "wf conversation messages ID"],
  ["wf chat list", "wf conversation list"],
  ["wf completion-messages --query hi", "wf text create --query hi"],
  ["wf conversation history ID", "wf conversation messages ID"],
  ["wf delete conversation ID", "wf conversation delete ID"],
  ["wf describe RUN", "wf show RUN"],
  ["wf describe run last", "wf show last"],
  ["wf eval suite.yaml", "wf test run suite.yaml"],
  ["wf evaluate suite.yaml", "wf test run suite.yaml"],
  ["wf export", "wf logs export"],
  ["wf get logs", "wf logs"],
  ["wf get run last", "wf show last"],
  ["wf human-input list", "wf form list"],
  ["wf human-input submit 1", "wf form submit 1"],
  ["wf info", "wf app info"],
  ["wf inputs", "wf app parameters"],
  ["wf lint suite.yaml", "wf test plan suite.yaml"],
  ["wf list", "wf logs"],
  ["wf list runs", "wf logs"],
  ["wf ls", "wf logs"],
  ["wf messages", "wf conversation messages CONVERSATION"],
  ["wf nodes last", "wf timeline last"],
  ["wf parameters", "wf app parameters"],
  ["wf ps", "wf top"],
  ["wf rerun last", "wf retry last"],
  ["wf run cancel", "wf stop"],
  ["wf run list", "wf logs"],
  ["wf run start query=hi", "wf run query=hi"],
  ["wf run stop ID", "wf stop ID"],
  ["wf run view ID", "wf show ID"],
  ["wf run wait ID", "wf wait ID"],
  ["wf run watch ID", "wf events ID"],
  ["wf runs list", "wf logs"],
  ["wf stop run abc", "wf stop abc"],
  ["wf suite run suite.yaml", "wf test run suite.yaml"],
  ["wf task stop abc", "wf stop abc"],
  ["wf test approve results.json", "wf test accept results.json"],
  ["wf test-run suite.yaml", "wf test run suite.yaml"],
  ["wf threads", "wf conversation list"],
  ["wf workflow run query=hi", "wf run query=hi"],
  ["wf workspaces", "wf profile list"],
  ["kb clone Handbook Guide", "kb copy --help"],
  ["kb rename Handbook Guide", "kb update --help"],
  ["kb documents --dataset_id Handbook", "kb doc list --help"],
  ["wf get logs", "wf logs"],
  ["wf describe app chat", "wf show --help"],
  ["wf exec echo -i x=y", "wf run --help"],
  ["kb push ./docs Handbook --dry-run", "kb sync ./docs Handbook --dry-run"],
  ["kb doc create Handbook a.md", "kb doc add Handbook a.md --text TEXT"],
  ["kb validate docs", "kb lint docs"],
  ["wf auth status", "wf config explain"],
  ["wf workflow list", "wf logs"],
  ["kb lsit", "kb list"],
  ["kb doc lst Handbook", "kb doc list Handbook"],
];

test("columns behind --json are not taken for a knowledge base or a run", async () => {
  for (const line of ["kb list --json name,id", "wf logs --json name,id"]) {
    const { err } = await cli(line.split(" "));
    const { error } = JSON.parse(err) as { readonly error: { readonly hint: string } };
    expect(error.hint).toBe(
      `--json takes no columns; if these are columns: \`${line.replace("name", "--columns name")}\``,
    );
  }
});

test.each([
  ["kb doc download H a.md -o a.md", "hint: -o is the format; to a file: > a.md"],
  ["kb doc list H --grep x", "hint: did you mean --keyword?"],
  ["kb login x --key abc", "hint: use --key-file FILE (- for stdin) or --key-command COMMAND"],
  ["kb backup H", "if that is a knowledge base: `kb backup DIR H`"],
  ["kb chunk update H a.md 1 --enabled=false", "hint: use --enabled or --no-enabled"],
  ["kb sync H docs --wait", "hint: that is the default, which --no-wait turns off"],
  ["kb search H --query x", "hint: it is an argument: usage: kb search [kb] <query>"],
])("%s: %s", async (line, hint) => {
  const { exit, err } = await cli(line.split(" "));
  expect(exit).toBe(2);
  expect(err).toContain(hint);
});

test.each(["kb model delete x", "kb doc xyzzy a b", "kb tag xyz Handbook foo", "wf user list"])(
  "%s: no guess",
  async (line) => {
    const { err } = await cli(line.split(" "));
    expect(err).toMatch(/hint: run `\w+ \w+ --help` to list the commands/);
  },
);

test("a directory of such a name is backed up to by its path", async () => {
  const { exit, err } = await cli(["kb", "backup", "./ls", "--all", "--dry-run"]);
  expect(exit).toBe(2);
  expect(err).not.toContain("unknown command");
});

test.each(proposed)("%s: did you mean %s?", async (typed, hint) => {
  const { exit, err } = await cli(typed.split(" "));
  expect(exit).toBe(2);
  expect(err).toContain(`hint: did you mean \`${hint}\`?`);
});

describe("against a server", () => {
  let server: TestSandbox;
  beforeAll(async () => {
    server = await testSandbox();
    await server.cli(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  });
  const run = (line: string) => server.cli(line.split(" "));

  test.each(["kb list --json -o csv", "kb -o csv list --json"])("%s is not valid", async (line) => {
    const { exit, err } = await run(line);
    expect(exit).toBe(2);
    expect(JSON.parse(err)).toMatchObject({
      error: { message: "use either --json or -o csv, not both" },
    });
  });

  test("inputs are words of wf run", async () => {
    expect((await run("wf run query=hello --jq .outputs")).out).toBe('{"query":"hello"}\n');
    const { err, exit } = await run("wf run hello");
    expect(exit).toBe(2);
    expect(err).toContain('"hello"');
    expect(err).toContain("name=value");
  });

  test.each([
    ["wf run --inputs in.json", "hint: a file is --inputs @in.json"],
    ["kb doc upload Handbook https://x.example/a.md", "hint: addresses are not fetched"],
    ["wf run in.json", "hint: all inputs from a file: --inputs @in.json"],
    ["wf run @in.json", "hint: all inputs from a file: --inputs @in.json"],
    ["wf run --inputs query=hi", "hint: a single input is --input query=hi"],
    ["wf run query=x --expect outputs.y=1", "hint: an output is named like this: output y"],
    ["kb doc status Handbook a.md", "`kb doc wait Handbook a.md`"],
    ["wf form submit last --action x", "--app selects another"],
    ["wf timeline --run last --format svg", "it is an argument: usage: wf timeline [run]"],
    ["kb doc show src", "`kb doc list src` lists them"],
    ["kb chunk delete Handbook a.md 1", "`kb chunk list Handbook a.md` shows them"],
    ["kb import src", "to add its files to a knowledge base: `kb sync KB src`"],
    ["wf run --inputs rows.csv", "a run for each row of a file: --each rows.csv"],
    ["wf run echo -i text: hello", "`wf --app echo run text=hello`"],
    ["wf api /v1/messages POST", "the method comes first: `wf api POST /v1/messages`"],
    ["kb list -o jsonpath={.name}", "hint: fields are chosen by --columns or --jq"],
    ["wf message delete 3f2a", "to list the commands (feedback, suggested)"],
    ["kb undo 1", "hint: usage: kb undo [flags]"],
    ["kb sync Handbook git@github.com:a/b.git", "`kb sync KB git+ssh://git@github.com/a/b.git`"],
    ["kb sync Handbook s3://bucket/docs", "`kb sync KB rclone:REMOTE:bucket/docs`"],
    ["kb sync Handbook gdrive:docs", "`kb sync KB rclone:gdrive:docs`"],
    ["wf run {query:hi}", "hint: use --input query=hi"],
    ["wf run query:hi", "hint: use --input query=hi"],
    ["wf run query=hi minutes", "hint: a duration is one word: --timeout 5m"],
    ["wf stats --from yesterday", "hint: a time is --since yesterday"],
    ["kb eval rows.csv Handbook", "the knowledge base comes first: Handbook rows.csv"],
    ["wf top 5", "hint: usage: wf top [flags]"],
    ["kb plan Handbook", "`kb pull Handbook --output-file FILE`"],
    ['wf run {"inputs":{"query":"x"},"user":"a"}', `--inputs '{"query":"x"}'`],
    ["wf run --profile chat query=hi", "an application is named by --app chat"],
    ["kb lint Handbook", "a knowledge base is checked by `kb check Handbook`"],
    ["kb backup ./backups", "one: `kb backup ./backups KB`, all: `kb backup ./backups --all`"],
    ["kb verify Handbook src", "files are compared by `kb status KB src`"],
    ["kb search Handbook x --score-threshold 80%", "hint: did you mean 0.8?"],
    ["kb completion sh", "to list the commands (bash, zsh, fish, powershell)"],
    ["kb login dataset-abcdefghij123456", "that looks like a key, not the name of a profile"],
    ["kb login app-prod", "hint: pass it with --key-file FILE"],
    ["kb login work --key-stdin", "hint: did you mean --key-file -?"],
    ["wf logs --since 7", "hint: 7d is that many days"],
    ["wf logs --since 2026/05/01", "hint: did you mean 2026-05-01?"],
    ["wf show lst", "hint: did you mean last, the newest run?"],
    ["wf top --app echo,review", "one by one: --app echo --app review"],
    ["wf cost", "hint: add --prices <file>"],
    ["wf run rows.csv", "a run for each row of a file: --each rows.csv"],
    ["wf run suite.yaml", "tests of a file: `wf test run suite.yaml`"],
    ["wf run -i query hi", "hint: use --input query=hi"],
    ["wf run query=hello world", "quote values with spaces: --input 'query=hello world'"],
    [
      "wf message feedback 0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e --rating like --withdraw",
      "use either --rating or --withdraw, not both",
    ],
    ["kb doc list --kb Handbook --key x", "it is an argument: usage: kb doc list <kb>"],
    ["kb metadata set Handbook id:00000000", "hint: names are case-sensitive"],
    ["kb doc list Handbook --page-size 500", "did you mean --limit?"],
    ["kb search Handbook leave --method x", "did you mean --search-method?"],
    ["kb verify Handbook", "<b> is: Knowledge base or directory of an export"],
    ["wf message feedback abc --rating like", "`wf conversation messages CONVERSATION`"],
    ["wf message feedback lst --rating like", "did you mean last, the newest message?"],
    ["wf message feedback 0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", "of --rating, --withdraw"],
    ["kb doc list Handbook --sort -name", "down: --sort name --reverse"],
    ["kb list --sort name:desc", "down: --sort name --reverse"],
    ["wf run echo hello world", "`wf --app echo run 'query=hello world'`"],
    ["wf run -p query=hi", "-p selects a profile; inputs take no flag: wf run query=hi"],
    ["wf audio speak", "specify at least one of --text, --text-file, --message-id"],
    ["wf test run absent.csv", "paths are relative to the current directory"],
    ["kb sync run", "paths are relative to the current directory"],
    ["kb sync Handbook https://example.com", "`kb sync KB web+https://example.com`"],
  ])("%s: %s", async (line, hint) => {
    server.seen.length = 0;
    const { err } = await run(line);
    expect(err.replaceAll(/\n +/g, " ")).toContain(hint);
    expect(server.seen.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  test("words are taken for a value only where they are the documents that are not found", async () => {
    const { err } = await run("kb metadata set Nope a.md team hr");
    expect(err).toContain('error: knowledge base "Nope" not found');
    expect(err).not.toContain("to set values");
  });

  test("a file as the value of a text is sent as it is, which a notice says", async () => {
    const folder = await temporaryDirectory();
    await write(folder, { "a.md": "Text" });
    const path = `${folder}/a.md`;
    const { out, err } = await server.cli([
      "wf",
      "run",
      `query=@${path}`,
      "--jq",
      ".outputs.query",
    ]);
    expect(out).toBe(`@${path}\n`);
    expect(err.replaceAll(/\n +/g, " ")).toContain(
      `query is a text: @${path} is sent as it is; with the content of the file: --input query="$(cat ${path})"`,
    );
    const mistyped = await server.cli(["wf", "run", "query=@b.md", "--jq", ".outputs.query"]);
    expect(mistyped.err).toBe("query is a text: @b.md is sent as it is\n");
    const absent = await server.cli(["wf", "run", "query=@ann", "--jq", ".outputs.query"]);
    expect([absent.out, absent.err]).toEqual(["@ann\n", ""]);
  });

  test("a condition that no document meets shows the values that there are", async () => {
    await run("kb doc add Handbook a.md --text Text");
    await run("kb doc wait Handbook");
    const { out, err } = await run("kb doc list Handbook --where status=avail");
    expect(out).toBe("");
    expect(err).toBe('0 of 1 rows match (filtered locally)\nfound instead: "available"\n');
    const met = await run("kb doc list Handbook --where status=available");
    expect(met.err).toBe("1 of 1 rows match (filtered locally)\n");
  });

  test("api sends a GET if there is only a path", async () => {
    server.seen.length = 0;
    expect((await run("kb api /datasets -f limit=1 --jq .data[].name")).out).toBe("Handbook\n");
    expect(server.seen.map(({ method, path }) => [method, path])).toEqual([
      ["GET", "/v1/datasets?limit=1"],
    ]);
  });

  test("what the server refuses has a hint: a name that is taken, a feature that is not enabled", async () => {
    await run("kb create Taken --indexing-technique economy");
    const taken = await run("kb update Taken --name Handbook");
    expect(taken.err).toContain("hint: choose another name; `kb show Handbook` shows");
    const audio = await run("wf audio transcribe README.md --app chat");
    expect(audio.err.replaceAll(/\n +/g, " ")).toContain(
      "hint: the web console enables it for an application: `wf open --app chat`",
    );
  });
});
