import { beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { parseLine } from "../../src/cli/parse/parser.ts";
import { linesElsewhere } from "../../src/cli/errors/elsewhere.ts";
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

/** Lines as other programs would have them, and the one that is suggested. */
const suggested: readonly (readonly [typed: string, hint: string])[] = [
  ["kb describe Handbook", "kb show Handbook"],
  ["kb watch Handbook", "kb sync Handbook PATH --watch"],
  ["kb watch docs", "kb sync KB docs/ --watch"],
  ["kb restore Handbook", "kb backup restore DIR Handbook"],
  ["kb restore ./backups Handbook", "kb backup restore ./backups Handbook"],
  ["kb restore Handbook ./backups", "kb backup restore ./backups Handbook"],
  ["kb dataset create --name X --top_level", "kb create X"],
  ["kb documents --dataset_id Handbook", "kb doc list Handbook"],
  ["kb retrieve Handbook leave --top_k 3", "kb search Handbook leave --top-k 3"],
  ["kb hitTesting Handbook leave", "kb search Handbook leave"],
  ["kb workspaces current", "kb profile list"],
  ["kb document update-by-file Handbook a.md b.md", "kb doc replace Handbook a.md b.md"],
  ["wf completion-messages --query hi", "wf text create --query hi"],
  ["wf messages --conversation_id 3f2a", "wf conversation messages 3f2a"],
  ["wf tracing 3f2a", "wf timeline 3f2a"],
  ["kb get doc a.md -n Handbook", "kb cat Handbook a.md"],
  ["kb describe doc Handbook/a.md", "kb doc show Handbook a.md"],
  ["kb create-knowledge-base --name X", "kb create X"],
  ["kb diff -f kb.yaml", "kb plan kb.yaml"],
  ["kb inspect Handbook --format x", "kb show Handbook"],
  ["kb annotate doc H a.md team=hr", "kb metadata set H a.md --set team=hr"],
  ["wf annotation get 3f2a", "wf annotation list"],
  ["wf restart echo", "wf --app echo run"],
  ["kb optimise Handbook q.jsonl", "kb tune Handbook q.jsonl"],
  ["kb validate kb.yaml", "kb plan kb.yaml"],
  ["kb backup show ./backups", "kb backup list ./backups"],
  ["kb skills list", "kb skill --help"],
  ["kb profile default work", "kb profile use work"],
  ["wf speech-to-text a.mp3", "wf audio transcribe a.mp3"],
  ["kb add-document Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb metadata set-value H a.md owner=ann", "kb metadata set H a.md --set owner=ann"],
  ["kb doc content Handbook a.md", "kb cat Handbook a.md"],
  ["kb rsync docs Handbook", "kb sync Handbook docs/"],
  ["kb validate docs", "kb lint docs/"],
  ["wf test-run suite.yaml", "wf test run suite.yaml"],
  ["kb download Handbook a.md", "kb doc download Handbook a.md --dir ."],
  ["kb create-by-text Handbook note", "kb doc add Handbook note --text TEXT"],
  ["kb doc edit Handbook a.md --name b.md", "kb doc rename Handbook a.md b.md"],
  ["wf get events", "wf events last"],
  ["wf describe nodes last", "wf timeline last"],
  ["wf logs run last", "wf show last"],
  ["wf chat logs 3f2a", "wf conversation messages 3f2a"],
  ["wf config set base-url http://localhost", "wf login PROFILE --base-url http://localhost"],
  ["wf tokens", "wf cost --prices FILE"],
  ["wf hitl list", "wf form list"],
  ["wf test tests.csv", "wf test run tests.csv"],
  ["kb tags binding Handbook hr", "kb tag bind Handbook hr"],
  ["kb metadata built-in Handbook on", "kb metadata built-in enable Handbook"],
  ["wf run detail 3f2a", "wf show 3f2a"],
  ["kb read Handbook a.md", "kb cat Handbook a.md"],
  ["wf last run", "wf show last"],
  ["wf troubleshoot", "wf doctor"],
  ["kb doc tag Handbook a.md hr", "kb metadata set Handbook a.md --set FIELD=hr"],
  ["kb grep leave Handbook", "kb search Handbook leave"],
  ["kb add a.md to Handbook", "kb doc upload Handbook a.md"],
  ["kb metadata add Handbook region text", "kb metadata create Handbook region --type string"],
  ["kb metadata get Handbook a.md team", "kb doc show Handbook a.md"],
  ["kb config get base_url", "kb config explain"],
  ["kb init Policies", "kb create Policies"],
  ["kb init policies", "kb create policies"],
  ["kb paragraphs Handbook a.md", "kb chunk list Handbook a.md"],
  ["wf threads", "wf conversation list"],
  ["wf approvals", "wf form list"],
  ["wf exec echo -i x=y", "wf --app echo run -i x=y"],
  ["wf describe echo", "wf --app echo app info"],
  ["wf app echo", "wf --app echo app info"],
  ["wf text hello", "wf text create --query hello"],
  ["wf message hello", "wf chat send hello"],
  [
    "wf annotation disable",
    "wf annotation reply disable --embedding-provider-name EMBEDDING-PROVIDER-NAME --embedding-model-name EMBEDDING-MODEL-NAME --score-threshold NUMBER",
  ],
  ["wf watch last --type node_finished", "wf events last --only node_finished"],
  ["kb crawl Handbook https://example.com", "kb sync Handbook web+https://example.com"],
  ["kb crawl https://example.com", "kb sync KB web+https://example.com"],
  ["kb deploy kb.yaml", "kb apply kb.yaml"],
  ["kb optimize Handbook questions.yaml", "kb tune Handbook questions.yaml"],
  ["wf evaluate suite.yaml", "wf test run suite.yaml"],
  ["wf record", "wf run --record FILE"],
  ["kb env", "kb config explain"],
  ["wf workspaces", "wf profile list"],
  ["kb doc create Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb doc create Handbook a.md --text hi", "kb doc add Handbook a.md --text hi"],
  ["kb doc create-by-text Handbook --name x.md --text hi", "kb doc add Handbook x.md --text hi"],
  ["kb meta set Handbook a.md team=hr", "kb metadata set Handbook a.md --set team=hr"],
  ["kb metadata get Handbook a.md", "kb doc show Handbook a.md"],
  ["kb metadata get Handbook", "kb metadata list Handbook"],
  ["kb key list", "kb profile list"],
  ["kb restore backup.zip", "kb backup restore backup.zip KB"],
  ["kb diff Handbook ./docs", "kb status Handbook ./docs"],
  ["kb diff Handbook Copy", "kb verify Handbook Copy"],
  ["wf messages", "wf conversation messages CONVERSATION"],
  ["wf thumbs-up abc", "wf message feedback abc --rating like"],
  ["wf message feedback abc good", "wf message feedback abc --rating like"],
  ["wf tail", "wf events last"],
  ["kb Handbook doc list", "kb doc list Handbook"],
  ["kb push ./docs Handbook --dry-run", "kb sync Handbook ./docs --dry-run"],
  ["kb purge Handbook", "kb delete Handbook"],
  ["wf conversation clear", "wf conversation delete CONVERSATION"],
  ["kb annotate Handbook a.md team=hr", "kb metadata set Handbook a.md --set team=hr"],
  ["kb doc set-metadata Handbook a.md team=hr", "kb metadata set Handbook a.md --set team=hr"],
  ["kb doc replace-file Handbook a.md b.md", "kb doc replace Handbook a.md b.md"],
  ["kb embeddings list", "kb model list"],
  ["kb api-keys list", "kb profile list"],
  ["wf chat-messages send hello", "wf chat send hello"],
  ["wf completion-messages create hello", "wf text create --query hello"],
  ["wf batch inputs.csv", "wf run --each inputs.csv"],
  ["wf annotation create q", "wf annotation create --question q --answer ANSWER"],
  ["wf form fill abc", "wf form submit abc"],
  ["wf audio to-text a.mp3", "wf audio transcribe a.mp3"],
  ["kb metadata create Handbook author text", "kb metadata create Handbook author --type string"],
  ["kb doc cat Handbook a.md", "kb cat Handbook a.md"],
  ["kb tag mv a b", "kb tag rename a b"],
  ["kb tag add red Handbook", "kb tag bind Handbook red"],
  ["kb profile delete work", "kb profile remove work"],
  ["kb profile add work", "kb login work"],
  ["kb config list", "kb config explain"],
  ["kb segments", "kb chunk list KB DOC"],
  ["kb docs Handbook", "kb doc list Handbook"],
  ["kb docs Handbook a.md", "kb doc show Handbook a.md"],
  ["kb documents list Handbook", "kb doc list Handbook"],
  ["kb document delete Handbook a.md", "kb doc delete Handbook a.md"],
  ["kb chunks Handbook a.md", "kb chunk list Handbook a.md"],
  ["kb doc chunks Handbook a.md", "kb chunk list Handbook a.md"],
  ["kb chunk children Handbook a.md 1", "kb chunk child list Handbook a.md 1"],
  ["kb child-chunks Handbook a.md 1", "kb chunk child list Handbook a.md 1"],
  ["kb tags Handbook", "kb tag bound Handbook"],
  ["kb metadata Handbook", "kb metadata list Handbook"],
  ["kb fields Handbook", "kb metadata list Handbook"],
  ["kb knowledge-base list", "kb list"],
  ["kb get", "kb list"],
  ["kb get search", "kb search KB QUERY"],
  ["kb get Files", "kb show Files"],
  ["kb rename doc Files a.md b.md", "kb doc rename Files a.md b.md"],
  ["kb export chunks Files a.md", "kb chunk export Files a.md"],
  ["kb clone Handbook Guide", "kb copy Handbook --name Guide"],
  ["kb hit-testing Handbook leave", "kb search Handbook leave"],
  ["kb doc search Handbook leave", "kb search Handbook leave"],
  ["kb find leave", "kb search KB leave"],
  ["wf inputs", "wf app parameters"],
  ["kb archive Handbook a.md", "kb doc archive Handbook a.md"],
  ["kb file list Handbook", "kb doc list Handbook"],
  ["kb wait Handbook", "kb doc wait Handbook"],
  ["kb test Handbook leave", "kb search Handbook leave"],
  ["kb app list", "wf profile show"],
  ["kb logout", "kb profile remove NAME"],
  ["kb config set base_url x", "kb login PROFILE --base-url URL"],
  ["wf run list", "wf logs"],
  ["wf run show", "wf show last"],
  ["wf run cancel", "wf stop"],
  ["wf stop run abc", "wf stop abc"],
  ["wf task stop abc", "wf stop abc"],
  ["wf describe run last", "wf show last"],
  ["wf get logs", "wf logs"],
  ["wf log last", "wf show last"],
  ["wf workflow list", "wf profile show"],
  ["wf workflow run query=hi", "wf run query=hi"],
  ["wf get app", "wf app info"],
  ["wf parameters", "wf app parameters"],
  ["wf info", "wf app info"],
  ["wf nodes last", "wf timeline last"],
  ["wf failures", "wf logs --status failed"],
  ["wf message list", "wf conversation messages CONVERSATION"],
  ["wf annotations", "wf annotation list"],
  ["kb profile work.1", "kb profile show work.1"],
  ["wf conversation 0190f2b4", "wf conversation messages 0190f2b4"],
  ["wf test suite.yaml", "wf test run suite.yaml"],
  ["wf suite run suite.yaml", "wf test run suite.yaml"],
  ["wf export", "wf logs export"],
  ["wf message like M", "wf message feedback M --rating like"],
  ["wf dislike M", "wf message feedback M --rating dislike"],
  ["wf message feedback M like", "wf message feedback M --rating like"],
  ["wf delete conversation ID", "wf conversation delete ID"],
  ["wf create annotation", "wf annotation create --question QUESTION --answer ANSWER"],
  ["wf chat history ID", "wf conversation messages ID"],
  ["wf chat delete ID", "wf conversation delete ID"],
  ["wf chat list", "wf conversation list"],
  ["wf conversation history ID", "wf conversation messages ID"],
  ["wf conversation new", "wf chat send QUERY"],
  ["wf run watch ID", "wf events ID"],
  ["wf run stop ID", "wf stop ID"],
  ["wf run wait ID", "wf wait ID"],
  ["wf run view ID", "wf show ID"],
  ["wf run start query=hi", "wf run query=hi"],
  ["wf completion-messages hello", "wf text create --query hello"],
  ["wf text-to-audio hello", "wf audio speak --text hello"],
  ["wf audio-to-text a.mp3", "wf audio transcribe a.mp3"],
  ["wf test approve results.json", "wf test accept results.json"],
  ["wf logs view X", "wf show X"],
  ["wf logs tail", "wf logs --follow"],
  ["wf list files", "wf file --help"],
  ["wf workflow-runs", "wf logs"],
  ["wf retry ID query=bye", "wf retry ID --input query=bye"],
  ["wf api POST /workflows/run x=y", "wf api POST /workflows/run --raw-field x=y"],
  ["kb create-by-file Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb create_by_text Handbook a", "kb doc add Handbook a --text TEXT"],
  ["kb upload a.md", "kb doc upload KB a.md"],
  ["kb metadata add Handbook team string", "kb metadata create Handbook team --type string"],
  ["kb metadata unset Handbook a.md team", "kb metadata set Handbook a.md --unset team"],
  ["kb dataset document list Handbook", "kb doc list Handbook"],
  ["kb doc segment list Handbook a.md", "kb chunk list Handbook a.md"],
  ["kb doc-list Handbook", "kb doc list Handbook"],
  ["kb upload-document Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb enable Handbook a.md", "kb doc enable Handbook a.md"],
  ["kb run", "wf run"],
  ["kb label Handbook foo", "kb tag bind Handbook foo"],
  ["kb tag Handbook foo", "kb tag bind Handbook foo"],
  ["kb diff ./docs Handbook", "kb status Handbook ./docs"],
  ["kb diff ./a ./b", "kb verify ./a ./b"],
  ["kb push ./docs Handbook", "kb sync Handbook ./docs"],
  ["kb clone Handbook ./out", "kb export Handbook ./out"],
  ["kb copy Handbook ./out", "kb export Handbook ./out"],
  ["kb pull Handbook ./out", "kb export Handbook ./out"],
  ["kb update Handbook name=Manual", "kb update Handbook --name Manual"],
  ["kb permission Handbook", "kb update Handbook --permission PERMISSION"],
  ["wf human-input list", "wf form list"],
  ["wf human-input submit 1", "wf form submit 1"],
  ["wf lint suite.yaml", "wf test plan suite.yaml"],
  ["kb tag list Handbook", "kb tag bound Handbook"],
  ["kb mirror docs Handbook", "kb sync Handbook docs/"],
  ["wf start echo", "wf --app echo run"],
  ["wf workflow run echo query=hi", "wf --app echo run query=hi"],
  ["wf run logs 5", "wf show 5"],
  ["wf run help", "wf run --help"],
  ["wf run last", "wf retry last"],
  ["kb sync status Handbook docs", "kb status Handbook docs"],
  ["kb sync start Handbook docs", "kb sync Handbook docs"],
  ["wf stats 7d", "wf stats --since 7d"],
  ["kb push Handbook docs", "kb sync Handbook docs/"],
  ["kb share Handbook", "kb update Handbook --permission all_team_members"],
  ["kb metadata update Handbook author writer", "kb metadata rename Handbook author writer"],
  ["kb metadata add Handbook a.md a=b", "kb metadata set Handbook a.md --set a=b"],
  ["kb validate .", "kb lint ."],
  ["kb pull Handbook out.yaml", "kb pull Handbook --output-file out.yaml"],
  ["kb prune Handbook", "kb sync Handbook DIR --prune"],
  ["kb save Handbook", "kb backup DIR Handbook"],
  ["kb backup verify bk", "kb backup drill bk KB"],
  ["kb help upload", "kb doc upload --help"],
  ["kb cp a.md Handbook", "kb doc upload Handbook a.md"],
  ["kb show a.md Handbook", "kb doc show Handbook a.md"],
  ["kb push Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb ls Handbook a.md", "kb doc show Handbook a.md"],
  ["kb remove document a.md Handbook", "kb doc delete Handbook a.md"],
  ["kb doc set Handbook a.md author=Bob", "kb metadata set Handbook a.md --set author=Bob"],
  ["kb backup now Handbook", "kb backup DIR Handbook"],
  ["wf describe app chat", "wf --app chat app info"],
  ["wf annotation create q a", "wf annotation create --question q --answer a"],
  ["wf eval suite.yaml", "wf test run suite.yaml"],
  ["kb rm Handbook a.md", "kb doc delete Handbook a.md"],
  ["kb delete Handbook a.md", "kb doc delete Handbook a.md"],
  ["kb delete Handbook a.md --yes", "kb doc delete Handbook a.md"],
  ["kb show Handbook a.md", "kb doc show Handbook a.md"],
  ["kb edit Handbook a.md", "kb doc update Handbook a.md"],
  ["kb rename Handbook a.md c.md", "kb doc rename Handbook a.md c.md"],
  ["kb move Handbook a.md", "kb doc rename Handbook a.md NAME"],
  ["kb tag attach Handbook foo", "kb tag bind Handbook foo"],
  ["kb tag detach Handbook foo", "kb tag unbind Handbook foo"],
  ["kb tag remove Handbook foo", "kb tag unbind Handbook foo"],
  ["kb chunk disable Handbook a.md 1", "kb chunk update Handbook a.md 1 --no-enabled"],
  ["wf chat-message hello", "wf chat send hello"],
  ["wf chat history", "wf conversation messages CONVERSATION"],
  ["kb upload Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb diff a b", "kb verify a b"],
  ["kb restore ./bk", "kb backup restore ./bk KB"],
  ["kb backup rm 1a2b", "kb backup prune DIR --keep POLICY"],
  ["kb version --short", "kb --version"],
  ["wf ps", "wf top"],
  ["wf ls", "wf logs"],
  ["wf list", "wf logs"],
  ["wf app list", "wf profile show"],
  ["kb use work", "kb profile use work"],
  ["wf cancel last --app slow", "wf stop last --app slow"],
  ["wf rerun last", "wf retry last"],
  ["wf approve last", "wf form submit last --action approve"],
  ["wf form reject last", "wf form submit last --action reject"],
  ["wf describe RUN", "wf show RUN"],
  ["wf chat hello you", "wf chat send 'hello you'"],
  ["kb auth login work", "kb login work"],
  ["kb auth logout work", "kb profile remove work"],
  ["wf auth status", "wf doctor"],
  ["kb config use-context work", "kb profile use work"],
  ["kb dataset list", "kb list"],
  ["kb get dataset Files", "kb show Files"],
  ["kb get docs Files", "kb doc list Files"],
  ["kb describe document Files a.md", "kb doc show Files a.md"],
  ["kb rm tag draft", "kb tag delete draft"],
  ["kb delete profile work", "kb profile remove work"],
  ["kb list datasets", "kb list"],
  ["kb list documents Files", "kb doc list Files"],
  ["kb create doc Files a.md", "kb doc upload Files a.md"],
  ["kb delete dataset Files", "kb delete Files"],
  ["wf runs list", "wf logs"],
  ["wf list runs", "wf logs"],
  ["wf get run last", "wf show last"],
  ["kb dataset delete Files", "kb delete Files"],
  ["kb datasets", "kb list"],
  ["kb add Handbook a.md", "kb doc upload Handbook a.md"],
  ["kb cp Handbook Guide", "kb copy Handbook --name Guide"],
  ["wf logs last", "wf show last"],
  ["kb rename Handbook Guide", "kb update Handbook --name Guide"],
  ["kb mv Handbook", "kb update Handbook --name NAME"],
  ["kb get documents Handbook", "kb doc list Handbook"],
  ["kb get Handbook", "kb show Handbook"],
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
  ["kb api -X GET /datasets", "hint: the method comes first: `kb api GET /datasets`"],
  ["wf api -XPOST /workflows/run", "`wf api POST /workflows/run`"],
  ["kb api /datasets -X POST", "`kb api POST /datasets`"],
  ["kb doc upload H a.md --wait", "hint: it does not wait; then run `kb doc wait KB`"],
  ["kb doc reindex H a.md", "what failed; a document is indexed again by `kb doc replace KB DOC"],
  ["kb doc download H a.md -o a.md", "hint: -o is the format; to a file: > a.md"],
  ["wf run --stream query=x", "hint: that is the default; --detach starts the run and ends"],
  ["kb doc list H --grep x", "hint: did you mean --keyword?"],
  ["wf stats --since 7 days", "hint: quote a time of several words: --since '7 days ago'"],
  ["wf logs --since 2 days ago", "hint: quote a time of several words: --since '2 days ago'"],
  ["wf logs echo", "applications are named by --app: `wf --app echo logs`"],
  ["kb heal H a.md", "hint: it takes a whole knowledge base: `kb heal H`"],
  ["kb chunk add H a.md thirty days", "`kb chunk add H a.md --content 'thirty days'`"],
  ["kb login x --key abc", "hint: use --key-file FILE (- for stdin) or --key-command COMMAND"],
  ["kb backup H", "if that is a knowledge base: `kb backup DIR H`"],
  ["kb doc add H a.md b.md", "hint: files are for `kb doc upload H a.md b.md`"],
  ["kb doc update H a.md b.md", "hint: files are for `kb doc replace H a.md b.md`"],
  ["kb doc create H a.md b.md", "hint: did you mean `kb doc upload H a.md b.md`?"],
  ["wf logs --filter status=failed", "hint: did you mean --status failed?"],
  ["wf api POST /x -d {}", "hint: did you mean --input FILE?"],
  ["kb search H", "hint: `kb search H QUERY`"],
  ["kb chunk update H a.md 1 --enabled false", "`kb chunk update H a.md 1 --no-enabled`"],
  ["kb chunk update H a.md 1 --enabled=false", "hint: use --enabled or --no-enabled"],
  ["kb sync H docs --wait", "hint: that is the default, which --no-wait turns off"],
  ["kb search H --query x", "hint: it is an argument: `kb search H x`"],
  ["wf form submit last approve", "`wf form submit last --action approve`"],
])("%s: %s", async (line, hint) => {
  const { exit, err } = await cli(line.split(" "));
  expect(exit).toBe(2);
  expect(err).toContain(hint);
});

test("a line with too many arguments gets the hint for them", async () => {
  const { err } = await cli(["kb", "copyto", "Handbook", "Guide"]);
  expect(err).toContain(
    "hint: quote names with spaces, or add a new name: `kb copy Handbook --name Guide`",
  );
});

test.each([
  "wf delete Handbook",
  "wf publish",
  "wf schedule",
  "wf app create x",
  "wf delete app x",
  "wf run delete ID",
  "wf app export echo",
  "wf export echo",
  "wf delete run ID",
  "kb members Handbook",
])("%s: the web console does this", async (line) => {
  const { exit, err } = await cli(line.split(" "));
  expect(exit).toBe(2);
  const open = `${line.slice(0, 2)} open`;
  expect(err).toContain(
    `hint: the service API does not offer this; the web console does: \`${open}\``,
  );
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

test.each(suggested)("%s: did you mean %s?", async (typed, hint) => {
  const { exit, err } = await cli(typed.split(" "));
  expect(exit).toBe(2);
  expect(err).toContain(`hint: did you mean \`${hint}\`?`);
});

test.each(Object.entries(linesElsewhere))("every line for words of %s is one", (_, lines) => {
  for (const line of new Set(Object.values(lines))) {
    const words = line.replace(/ --(name|type) [A-Z]+/, "").split(" ");
    const { kind } = parseLine([...words, "-h"], line.startsWith("kb") ? kb : wf);
    expect(line.endsWith("--version") ? "help" : kind, line).toBe("help");
  }
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
    ["wf run query hi", "hint: use --input query=hi"],
    ["wf run --inputs in.json", "hint: a file is --inputs @in.json"],
    ["kb metadata set Handbook a.md team hr", "`kb metadata set Handbook a.md --set team=hr`"],
    ["kb doc upload Handbook https://x.example/a.md", "hint: addresses are not fetched"],
    ["wf run in.json", "hint: all inputs from a file: --inputs @in.json"],
    ["wf run @in.json", "hint: all inputs from a file: --inputs @in.json"],
    ["wf run --inputs query=hi", "hint: a single input is --input query=hi"],
    ["wf run query=x --expect outputs.y=1", "hint: an output is named like this: output y"],
    ["kb doc status Handbook a.md", "`kb doc wait Handbook a.md`"],
    ["wf form submit last --action x", "--app selects another"],
    ["kb metadata set Handbook a=b", "`kb metadata set Handbook DOC --set a=b`"],
    ["kb search leave Handbook", "`kb search Handbook leave`"],
    ["kb sync absent Handbook", "the knowledge base comes first: `kb sync Handbook absent`"],
    ["kb status absent Handbook", "`kb status Handbook absent`"],
    ["kb doc upload src Handbook", "the knowledge base comes first: `kb sync Handbook src`"],
    ["kb doc add README.md Handbook", "`kb doc upload Handbook README.md`"],
    ["kb diff Handbook src", "`kb status Handbook src/`"],
    ["kb watch src Handbook", "`kb sync Handbook src/ --watch`"],
    ["kb doc show hand/a.md", "if hand is one: `kb doc show hand a.md`"],
    ["kb doc list --kb Handbook", "it is an argument: `kb doc list Handbook`"],
    ["kb doc list --dataset-id=Handbook", "it is an argument: `kb doc list Handbook`"],
    ["kb chunk list --doc a.md", "it is an argument: `kb chunk list KB a.md`"],
    ["kb create --name X --private", "it is an argument: `kb create X --permission only_me`"],
    ["kb export Handbook --out ./exp", "it is an argument: `kb export Handbook ./exp`"],
    ["wf timeline --run last --format svg", "it is an argument: usage: wf timeline [run]"],
    ["wf retry --last", "it is an argument: `wf retry last`"],
    ["wf test run -f a.yaml --bail", "it is an argument: `wf test run a.yaml --fail-fast`"],
    ["kb doc rename a.md b.md", "`kb doc rename KB a.md b.md`"],
    ["kb doc show src", "`kb doc list src` lists them"],
    ["kb status src", "`kb status KB src/`; `kb list` lists them"],
    ["kb tag bind hr Handbook", "and then its tags: `kb tag bind Handbook hr`"],
    ["kb eval questions.jsonl", "`kb eval KB questions.jsonl`"],
    ["kb metadata set a.md team=hr", "come after the knowledge base; `kb list`"],
    ["kb delete Handbook,Website", "if these are several: one at a time"],
    ["kb chunk delete Handbook a.md 1", "`kb chunk list Handbook a.md` shows them"],
    ["kb doc copy Handbook a.md Website", "is then added to the other by `kb doc upload KB FILE`"],
    ["kb doc delete Handbook --all", "with all of them: `kb delete Handbook`"],
    ["kb doc add Handbook --file a.md", "`kb doc upload Handbook a.md`"],
    ["kb import Handbook ./exp", "`kb import ./exp --name Handbook`"],
    ["kb import src", "to add its files to a knowledge base: `kb sync KB src`"],
    ["kb tag unbind hr Handbook", "the knowledge base comes first: `kb tag unbind Handbook hr`"],
    ["kb update Handbook --indexing_technique high-quality", "--indexing-technique high_quality?"],
    ["wf run --response-mode streaming", "that is the default, which --blocking turns off"],
    ["wf run --response-mode blocking", "did you mean --blocking?"],
    ["kb doc list Handbook --status failed", "hint: did you mean error?"],
    ["kb doc add Handbook src", "directories are synced: `kb sync Handbook src`"],
    ["kb search How many days do I get", "`kb search KB 'How many days do I get'`"],
    ["kb search Handbook x --methode keyword", "did you mean --search-method keyword_search?"],
    ["kb plan Handbook ./docs", "`kb status Handbook ./docs`"],
    ["kb doc rename Handbook a.md to b.md", "`kb doc rename Handbook a.md b.md`"],
    ["wf run --inputs rows.csv", "a run for each row of a file: --each rows.csv"],
    ["wf run echo -i text: hello", "`wf --app echo run text=hello`"],
    ["wf run again last", "`wf retry last`"],
    ["wf wait last 30", "`wf wait last --timeout 30s`"],
    ["wf stats --last month", "did you mean --since 30d?"],
    ["wf api /v1/messages POST", "the method comes first: `wf api POST /v1/messages`"],
    ["kb wait Handbook --for=indexed", "`kb doc wait Handbook`? It has no --for"],
    ["kb create -f kb.yaml", "`kb apply kb.yaml`"],
    ["kb list -o jsonpath={.name}", "hint: fields are chosen by --columns or --jq"],
    ["wf -a echo run", "did you mean --app echo?"],
    ["wf run --payload {}", "did you mean --inputs?"],
    ["wf message delete 3f2a", "to list the commands (feedback, suggested)"],
    ["kb undo 1", "hint: usage: kb undo [flags]"],
    ["kb plan kb.yaml --out plan", "results are written to stdout: add > FILE"],
    ["kb doc update Handbook a.md --file b.md", "did you mean --text-file?"],
    ["kb apply kb.yaml -auto-approve", "did you mean --yes?"],
    ["kb login work https://x.example", "`kb login work --base-url https://x.example`"],
    ["kb tag delete hr finance", "hint: one at a time: `kb tag delete hr`"],
    ["kb metadata set Handbook a.md --team hr", "did you mean --set team=hr?"],
    ["kb doc upload Handbook a.md --metadata team=hr", "`kb metadata set KB DOC --set team=hr`"],
    ["kb doc upload Handbook a.md --mode qa", "did you mean --doc-form qa_model?"],
    ["kb chunk export Handbook a.md b.csv", "`kb chunk export Handbook b.csv`"],
    ["kb repair", "by `kb doc replace KB DOC FILE`. `kb list` lists them"],
    ["kb sync Handbook git@github.com:a/b.git", "`kb sync KB git+ssh://git@github.com/a/b.git`"],
    ["kb sync Handbook s3://bucket/docs", "`kb sync KB rclone:REMOTE:bucket/docs`"],
    ["kb sync Handbook gdrive:docs", "`kb sync KB rclone:gdrive:docs`"],
    ["wf messages list --app chat", "`wf conversation messages CONVERSATION --app chat`"],
    ["wf run {query:hi}", "hint: use --input query=hi"],
    ["wf run query:hi", "hint: use --input query=hi"],
    ["wf run query=hi minutes", "hint: a duration is one word: --timeout 5m"],
    ["wf login https://x.example app-1", "`wf login --base-url https://x.example`"],
    ["wf stats --from yesterday", "hint: a time is --since yesterday"],
    ["wf cost --last 30", "did you mean --since 30d?"],
    ["wf text create write a poem", "`wf text create --query 'write a poem'`"],
    ["wf retry last hello", "hint: pass one run at a time: `wf retry last`"],
    ["kb search annual leave", "if all this is the query: `kb search KB 'annual leave'`"],
    ["kb eval rows.csv Handbook", "the knowledge base comes first: Handbook rows.csv"],
    ["kb doc upload Handbook a.md -r", "directories are synced: `kb sync Handbook DIR`"],
    [
      "kb create HR Hand --description Rules for us",
      "`kb create 'HR Hand' --description 'Rules for us'`",
    ],
    ["wf mcp confg", "`wf mcp config --client CLIENT`"],
    ["wf top 5", "hint: usage: wf top [flags]"],
    ["wf form submit yes 3f2a9999", "`wf form submit 3f2a9999 --action yes`"],
    ["wf cost 3f2a9999", "`wf cost --keyword 3f2a9999 --prices FILE`"],
    ["wf conversation set-variable a b c", "`wf conversation set-variable a b --value c`"],
    ["kb plan Handbook", "`kb pull Handbook --output-file FILE`"],
    ["wf wait last --timeout 2 minutes", "a duration is one word: --timeout 2m"],
    ["wf message feedback like 9b0d", "`wf message feedback 9b0d --rating like`"],
    ["wf run -d @rows.csv", "did you mean --each rows.csv?"],
    ['wf run {"inputs":{"query":"x"},"user":"a"}', `--inputs '{"query":"x"}'`],
    ["wf login http://localhost:5001 sk-abc123", "`wf login --base-url http://localhost:5001`"],
    ["wf run --profile chat query=hi", "an application is named by --app chat"],
    ["kb export Handbook -f out", "it is an argument: `kb export Handbook out`"],
    ["kb doc download Handbook ./out.md --dir x", "where files are written is --dir"],
    ["wf stats last week", "`wf stats --since 7d`"],
    ["wf cost 3 days", "`wf cost --since 3d --prices FILE`"],
    ["kb lint Handbook", "a knowledge base is checked by `kb check Handbook`"],
    ["wf wait last 30s", "`wf wait last --timeout 30s`"],
    ["kb lint ./src Handbook", "pass one dir at a time: `kb lint ./src`"],
    ["kb backup ./backups", "one: `kb backup ./backups KB`, all: `kb backup ./backups --all`"],
    ["kb verify Handbook src", "files are compared by `kb status KB src`"],
    ["kb search Handbook x --hybrid", "did you mean --search-method hybrid_search?"],
    ["kb search Handbook x --score-threshold 80%", "hint: did you mean 0.8?"],
    ["kb metadata create Handbook x --type text", "hint: did you mean string?"],
    ["kb list hr", "`kb doc list hr`, or `kb list --keyword hr`?"],
    ["kb tune --metric x", "hint: did you mean --measure?"],
    ["kb completion sh", "to list the commands (bash, zsh, fish, powershell)"],
    ["kb profile list --all", "hint: that is the default"],
    ["kb login dataset-abcdefghij123456", "that looks like a key, not the name of a profile"],
    ["kb login app-prod", "hint: pass it with --key-file FILE"],
    ["wf logs --status error", "hint: did you mean failed?"],
    ["wf logs --since 7", "hint: 7d is that many days"],
    ["wf logs --since 2026/05/01", "hint: did you mean 2026-05-01?"],
    ["wf show lst", "hint: did you mean last, the newest run?"],
    ["wf top --app echo,review", "one by one: --app echo --app review"],
    ["wf cost", "hint: add --prices <file>"],
    ["wf run -f doc=x.pdf", "did you mean --input doc=@x.pdf?"],
    ["wf run -f text=x", "did you mean --input text=x?"],
    ["wf run -f rows.csv", "did you mean --each rows.csv?"],
    ["wf run rows.csv", "a run for each row of a file: --each rows.csv"],
    ["wf run suite.yaml", "tests of a file: `wf test run suite.yaml`"],
    ["wf run -i query hi", "hint: use --input query=hi"],
    ["wf run query=hello world", "quote values with spaces: --input 'query=hello world'"],
    ["wf retry last text=bye", "`wf retry last --input text=bye`"],
    ["wf form submit T --approve", "did you mean --action approve?"],
    ["wf chat send 3f2a hello", "`wf chat send hello --conversation-id 3f2a`"],
    ["wf conversation rename abc New title", "`wf conversation rename abc --name 'New title'`"],
    ["wf conversation delete abc def", "`wf conversation delete def`"],
    ["wf message feedback abc thumbs-up", "`wf message feedback abc --rating like`"],
    [
      "wf message feedback 0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e --rating like --withdraw",
      "use either --rating or --withdraw, not both",
    ],
    [
      "kb doc list --status error --kb Handbook",
      "it is an argument: `kb doc list Handbook --status error`",
    ],
    ["kb doc list --kb Handbook --key x", "it is an argument: usage: kb doc list <kb>"],
    ["kb list --filter name=Hand", "did you mean --keyword Hand?"],
    ["kb doc list Handbook --filter error", "did you mean --status error?"],
    ["kb doc list -n Handbook", "it is an argument: `kb doc list Handbook`"],
    ["kb sync ./docs", "`kb sync KB ./docs`; `kb list` lists them"],
    ["kb metadata set Handbook a.md team:hr", "`kb metadata set Handbook a.md --set team=hr`"],
    ["kb metadata set Handbook id:00000000", "hint: names are case-sensitive"],
    ["kb sync ./src Handbook --dry-run", "`kb sync Handbook ./src --dry-run`"],
    ["kb sync ./src Handbook --prune", "`kb sync Handbook ./src --prune`"],
    [
      "kb doc upload README.md Handbook --no-duplicate",
      "`kb doc upload Handbook README.md --no-duplicate`",
    ],
    [
      "kb update Handbook --top-k 7",
      "$(kb show Handbook --jq '.retrieval_model_dict + {top_k: 7}')",
    ],
    ["kb update Handbook --search-method x", "search methods: keyword_search, semantic_search"],
    ["kb search Handbook leave --filter a=b", '"metadata_filtering_conditions"'],
    ["kb doc upload Handbook README.md --chunk-size 300", '"max_tokens":300'],
    ["wf chat -m hello", "`wf chat send hello`"],
    ["kb doc list Handbook --page-size 500", "did you mean --limit?"],
    ["wf logs --last 10", "did you mean --limit 10?"],
    ["wf logs --last 7d", "did you mean --since 7d?"],
    ["wf run --csv inputs.csv", "did you mean --each inputs.csv?"],
    ["wf cost --month", "did you mean --since 30d?"],
    ["kb create Guide --chunk-size 500", "documents are split when they are added"],
    ["wf stats --days 7", "did you mean --since 7d?"],
    ["kb list --format json", "did you mean --output json?"],
    ["kb export Handbook --format zip", "--output is how results are printed: grid,"],
    ["kb doc upload Handbook README.md --overwrite", "the default, which --no-duplicate turns off"],
    ["kb doc upload Handbook src -r", "directories are synced: `kb sync Handbook src`"],
    ["kb search Handbook leave --method x", "did you mean --search-method?"],
    ["kb verify Handbook", "<b> is: Knowledge base or directory of an export"],
    ["wf message feedback abc --rating like", "`wf conversation messages CONVERSATION`"],
    ["wf message feedback 0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", "of --rating, --withdraw"],
    ["kb doc pause Handbook a.md", "the web console does: `kb open`"],
    ["kb doc show a.md Handbook", "the knowledge base comes first: `kb doc show Handbook a.md`"],
    ["kb doc list Handbook --sort -name", "down: --sort name --reverse"],
    ["kb list --sort name:desc", "down: --sort name --reverse"],
    ["wf run echo hello world", "`wf --app echo run 'query=hello world'`"],
    ["wf run -p query=hi", "-p selects a profile; inputs take no flag: wf run query=hi"],
    ["wf logs -app chat", "did you mean --app?"],
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

  test("the first names are read once, whatever the hint", async () => {
    server.seen.length = 0;
    const { err } = await run("kb tag unbind absent Handbook");
    expect(err).toContain("the knowledge base comes first");
    const lists = server.seen.filter(({ path }) => path.startsWith("/v1/datasets?"));
    expect(lists.map(({ path }) => path.includes("keyword="))).toEqual([true, false]);
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
