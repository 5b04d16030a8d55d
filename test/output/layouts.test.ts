import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { sampled } from "../lib/sampled.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox({ models: true });
const folder = await temporaryDirectory();
const files = await temporaryDirectory();

const documents = [
  "policies/human-resources/europe/germany/parental-leave-1.md",
  "policies/human-resources/europe/germany/parental-leave-2.md",
  "policies/human-resources/europe/germany/parental-leave-3.md",
  "policies/human-resources/europe/austria/parental-leave-1.md",
  "会议记录/第一季度/产品团队/每周产品评审会议的详细纪要和行动项目列表-第一周.md",
  "会议记录/第一季度/产品团队/每周产品评审会议的详细纪要和行动项目列表-第二周.md",
  "日本語の文書 とても長い名前のナレッジベース 東京本社 総務部 規程集 第一版",
  "日本語の文書 とても長い名前のナレッジベース 東京本社 総務部 規程集 第二版",
  "👩‍👩‍👧 family 🇯🇵 ❤️ handbook for all the new colleagues 🎉🎉🎉 2025.md",
  "👩‍👩‍👧 family 🇯🇵 ❤️ handbook for all the new colleagues 🎉🎉🎉 2026.md",
];
const text = [
  "---",
  "team: people",
  "owner: 総務部",
  "---",
  "Parental leave: 14 weeks with full pay, for every colleague in every office of the company worldwide.",
  "育児休暇は十四週間で、全額支給されます。社内規程の第三章をご覧ください。詳しくは総務部まで。",
  "产假十四周，全薪。请参阅内部规定第三章。有任何问题请联系人力资源部门的同事。",
  "https://intranet.example.com/policies/human-resources/europe/germany/parental-leave-1.md?version=2026",
].join("\n");

/** Values of the variables in the lines. */
const values: Record<string, string> = {};

const run = async (line: string, more: Readonly<Record<string, string>> = {}): Promise<string> => {
  const ran = await server.cli(wordsOf(line), { folder, stdin: "dataset-sandbox", env: more });
  expect([0, 8, 9], `${line}: ${ran.err}`).toContain(ran.exit);
  return ran.out.trim();
};

/** Words between blanks; a variable is one word. */
const wordsOf = (line: string): string[] =>
  line.split(" ").map((word) => word.replace(/^\$(\w+)$/, (_, name: string) => values[name] ?? ""));

beforeAll(async () => {
  await server.cli(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  for (const name of [
    "会议记录会议记录会议记录会议记录会议记录会议记录",
    "日本語のナレッジベース 📚 とても長い名前です",
  ]) {
    await server.cli(["kb", "create", name, "--indexing-technique", "economy"]);
  }
  for (const name of documents) {
    const line = ["kb", "doc", "add", "Handbook", name, "--text", text, "--jq", ".batch"];
    values["BATCH"] = (await server.cli(line)).out.trim();
  }
  await run("kb doc wait Handbook");
  values["DOC"] = documents[0] ?? "";
  values["RUN"] = await run("wf run --input query=二〇二六年の休暇 --jq .id");
  for (const name of ["team", "担当者👩‍👩‍👧", "所有者"]) {
    await run(`kb metadata create Handbook ${name} --type string`);
    await run(`kb metadata set Handbook $DOC --set ${name}=総務部の担当者📚`);
  }
  for (const name of ["draft", "公開済み", "📚"]) await run(`kb tag create ${name}`);
  await run("kb tag bind Handbook draft 公開済み 📚");
  values["CHUNK"] = await run("kb chunk list Handbook $DOC -o name");
  await run("kb chunk child add Handbook $DOC $CHUNK --content 十四週間の育児休暇と全額支給の規程");
  await server.cli(["wf", "--app", "broken", "run", "--input", "query=一"]);
  const events = await run("wf --app review run --input query=休暇 -o jsonl");
  values["TOKEN"] = /"form_token": ?"(\w+)"/.exec(events)?.[1] ?? "";
  const file = await server.cli(["wf", "file", "upload", join(files, "a.md"), "--json"]);
  expect(file.exit).toBe(2);
  await writeFile(join(files, "a.md"), text);
  const uploaded = JSON.parse(
    (await server.cli(["wf", "file", "upload", join(files, "a.md"), "--json"])).out,
  ) as { created_by: string };
  values["USER"] = uploaded.created_by;
  const said = await server.cli([
    "wf",
    "--app",
    "chat",
    "chat",
    "send",
    "休暇は何日ですか 👩‍👩‍👧",
    "--blocking",
    "--json",
  ]);
  values["CONVERSATION"] = (JSON.parse(said.out) as { conversation_id: string }).conversation_id;
  for (const question of ["休暇は何日ですか", "Where is the office? ".repeat(8).trim()]) {
    const line = ["wf", "--app", "chat", "annotation", "create", "--question", question];
    await server.cli([...line, "--answer", "三十日です。".repeat(20)]);
  }
  values["JOB"] = await run(
    "wf --app chat annotation reply enable --embedding-provider-name stub --embedding-model-name none --score-threshold 0.9 -o name",
    { KB_KEY: "dataset-unknown" }, // so that the model is not checked before the job fails
  );
  values["MESSAGE"] = await run(
    "wf --app assistant chat send 休暇は何日ですか --blocking --jq .message_id",
  );
  values["SPEECH"] = join(files, `${"休暇は何日ですか".repeat(8)}.mp3`);
  await writeFile(values["SPEECH"], "ID3");
  values["RECORDING"] = join(files, "run.jsonl");
  await run("wf --app loop run --input query=休暇 --record $RECORDING");
  values["SUITE"] = join(files, "suite.yaml");
  values["RESULTS"] = join(files, "results.json");
  await writeFile(
    values["SUITE"],
    `name: 休暇\ntests:\n  - { name: ${"休暇は何日ですか ".repeat(8)}, inputs: { query: 休暇 } }\n`,
  );
  values["HISTORY"] = join(files, "history");
  await run("wf --app echo test run $SUITE --save $RESULTS --history $HISTORY");
  values["TEXT"] = join(files, "a.md");
  values["FILES"] = join(files, "docs");
  for (const name of [...documents.slice(0, 6), documents[9] ?? ""]) {
    await mkdir(join(files, "docs", name, ".."), { recursive: true });
    await writeFile(join(files, "docs", name), name.includes("1") ? "---\nbroken: [\n" : text);
  }
  values["PLAN"] = join(files, "plan.yml");
  await writeFile(
    values["PLAN"],
    "knowledge_base: Handbook\ndescription: 新しい同僚が尋ねること 📚\n",
  );
  values["QUESTIONS"] = join(files, "questions.jsonl");
  await writeFile(
    values["QUESTIONS"],
    documents
      .map(
        (name) =>
          `${JSON.stringify({ question: `育児休暇 ${name.slice(-60)}`, documents: [name] })}\n`,
      )
      .join(""),
  );
  values["EXPORT"] = join(files, "export");
  await run("kb login work --base-url https://knowledge.example.com/v1 --key-file - --no-check");
  await run("kb login 総務部 --base-url https://knowledge.example.com/v1 --key-file - --no-check");
});

/** Lines that print a list, a sheet, a report or events. */
const lines = [
  "kb list",
  "kb list -o wide",
  "kb list --columns id,name,permission,created,updated",
  "kb show Handbook",
  "kb doc list Handbook",
  "kb doc list Handbook -o wide",
  "kb doc show Handbook $DOC",
  "kb doc show Handbook $DOC -o wide",
  "kb doc status Handbook $BATCH",
  "kb doc wait Handbook",
  "kb doc link Handbook $DOC",
  "kb chunk list Handbook $DOC",
  "kb chunk list Handbook $DOC -o wide",
  "kb chunk show Handbook $DOC $CHUNK",
  "kb chunk child list Handbook $DOC $CHUNK",
  "kb metadata list Handbook",
  "kb metadata built-in list Handbook",
  "kb pipeline plugins Website",
  "kb tag list",
  "kb tag bound Handbook",
  "kb search Handbook 育児休暇",
  "kb search Handbook leave -o wide",
  "kb search Handbook parental -o grid",
  "kb model list text-embedding",
  "kb lint $FILES",
  "kb chunk preview $TEXT",
  "kb plan $PLAN",
  "kb sync Handbook $FILES --dry-run",
  "kb eval Handbook $QUESTIONS --failures",
  "kb doctor",
  "kb doctor --capabilities",
  "kb doctor -o grid",
  "kb config explain",
  "kb profile list",
  "kb profile show work",
  "wf logs",
  "wf --app broken logs",
  "wf logs -o wide",
  "wf show $RUN",
  "wf wait $RUN",
  "wf events $RUN",
  "wf run --input query=二〇二六年の休暇と育児休暇の規程について教えてください",
  "wf --app loop run --input query=休暇",
  "wf stats",
  "wf --app broken stats --by user --by hour",
  "wf replay $RECORDING --speed max",
  "wf timeline $RECORDING",
  "wf diff $RECORDING $RECORDING",
  "wf test merge $RESULTS",
  "wf test score $RESULTS",
  "wf test flaky $HISTORY",
  "wf test plan $SUITE",
  "wf --app review form list",
  "wf --app review form show $TOKEN",
  "wf user show $USER",
  "wf app info",
  "wf app meta",
  "wf app parameters",
  "wf app site",
  "wf --app chat conversation list",
  "wf --app chat conversation messages $CONVERSATION",
  "wf --app chat annotation list",
  "wf --app chat annotation reply status enable $JOB",
  "wf --app chat feedback list",
  "wf --app assistant message suggested $MESSAGE",
  "wf --app assistant audio transcribe $SPEECH",
  "wf --app chat chat send 休暇は何日ですか",
  "wf --app convo conversation variables $CONVERSATION",
];

/** Readings that are covered by another command, or that the sandbox cannot print. */
const elsewhere = new Map([
  ["wf conversation variables", "the chat application has none"],
  ["kb doc download", "prints the files that it wrote"],
  ["kb export", "prints the files that it wrote"],
  ["kb backup", "writes a directory"],
  ["kb backup list", "needs a directory: backup.test.ts"],
  ["kb backup diff", "needs a directory: backup.test.ts"],
  ["kb chunk export", "writes a file"],
  ["kb sync history", "needs earlier syncs: sources-file.test.ts"],
  ["kb source check", "runs a program: sources.test.ts"],
  ["kb verify", "prints differences like kb plan"],
  ["kb sandbox", "runs until it is interrupted"],
  ["wf cost", "needs a file of prices: cost.test.ts"],
  ["wf top", "redraws a screen until it is interrupted"],
  ["wf logs export", "writes a file"],
  ["wf test init", "writes a file"],
  ["kb skill install", "prints the files that it wrote"],
  ["wf top", "runs until it is interrupted"],
]);

const printing = new Set(["list", "page", "cursor", "record", "report", "events"]);

const shared = new Set(["api", "doctor", "config", "profile", "sandbox", "skill", "completion"]);
/** The first examples of all other commands that print rows, sheets, reports or events. */
const examples = [...(await commandsOf("kb")), ...(await commandsOf("wf"))]
  .filter(({ effect, returns }) => effect === "reads" && printing.has(returns.kind))
  .filter(({ words: [program, word = ""] }) => program === "kb" || !shared.has(word))
  .filter(({ words }) => {
    const name = words.join(" ");
    const isCovered = lines.some((line) =>
      ` ${line.replace(/ --app \w+/, "")} `.includes(` ${name} `),
    );
    return !isCovered && !elsewhere.has(name);
  })
  .map((command) => command.examples[0] ?? command.words.join(" "));

const shown = [...lines, ...examples].flatMap((line) =>
  [40, 80, 120].map((columns) => ({ columns, line })),
);

// Every second one has all lines.
test.each(sampled(12, shown))("on $columns columns: $line", async ({ columns, line }) => {
  const { exit, out, err } = await server.cli(wordsOf(line), { tty: true, columns, folder });
  expect([0, 1, 3, 5, 6, 8, 9, 10, 14], err).toContain(exit);
  const printed = stripVTControlCharacters(out).split("\n");
  for (const each of printed) {
    // An address stays whole, so that it can be copied.
    if (/^\S*\s*https?:\/\/\S+$/.test(each)) continue;
    // So does a command.
    if (/^\s+→ (kb|wf) /.test(each)) continue;
    // The text of a model grows, so the terminal wraps it.
    if (/^(二〇二六年|You said: )/.test(each)) continue;
    expect(stringWidth(each), each).toBeLessThanOrEqual(columns);
  }
});

describe.each([40, 80, 120])("rows on %d columns can be told apart", (columns) => {
  test.each([
    "kb list",
    "kb doc list Handbook",
    "kb metadata list Handbook",
    "kb tag list",
    "kb lint $FILES -o grid",
    "kb sync Handbook $FILES --dry-run",
    "wf --app chat annotation list",
    "kb profile list",
    "kb config explain",
  ])("%s", async (line) => {
    const { out } = await server.cli(wordsOf(line), { tty: true, columns, folder });
    const rows = out.trimEnd().split("\n");
    expect(rows.length).toBeGreaterThan(2);
    expect(new Set(rows).size).toBe(rows.length);
  });

  test("names of documents", async () => {
    const { out } = await server.cli(["kb", "doc", "list", "Handbook"], {
      tty: true,
      columns,
      folder,
    });
    const names = out
      .trimEnd()
      .split("\n")
      .slice(2)
      .map((line) => line.split(/ {2,}/)[0]);
    expect(names).toHaveLength(documents.length);
    expect(new Set(names).size).toBe(documents.length);
  });

  test("the list of forms has the token that the next command takes", async () => {
    const line = ["wf", "--app", "review", "form", "list"];
    const { out } = await server.cli(line, { tty: true, columns, folder });
    expect(out).toContain(values["TOKEN"]);
  });

  test("the ID that a list shows is the start of the right one", async () => {
    const line = ["kb", "doc", "list", "Handbook"];
    const all = JSON.parse((await server.cli([...line, "--json"])).out) as { id: string }[];
    const { out } = await server.cli(line, { tty: true, columns, folder });
    const shown = out
      .trimEnd()
      .split("\n")
      .slice(2)
      .map((row) => row.split(" ").at(-1) ?? "");
    expect(shown).toHaveLength(all.length);
    for (const [index, id] of shown.entries()) {
      expect(id.length).toBeGreaterThanOrEqual(8);
      expect(all.filter((each) => each.id.startsWith(id))).toEqual([all[index]]);
    }
  });
});
