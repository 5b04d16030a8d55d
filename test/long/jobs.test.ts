// Jobs that people do with the built programs, named as they would name them: the line that they type, its exit
// code, what it says, and what is true on the server afterwards, read without our programs.
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { readAnswerRules } from "../../src/sandbox/apps/definitions/read-rules.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { actions, contentsOf, write } from "../lib/directory.ts";
import { xlsx } from "../lib/office-files.ts";
import { onPty } from "../lib/pty.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** An application that knows two answers. */
const hr = readAnswerRules(
  {
    rules: [
      { question: "How many days?", answer: "Thirty days." },
      { question: "Where is parking?", answer: "Behind the house." },
    ],
  },
  "hr",
);
const server = await testSandbox({ speed: 400, models: true, applications: [hr] });
const { origin } = server.sandbox;
const home = await temporaryDirectory();
const at = (name: string) => join(home, name);
const read = (name: string) => readFile(at(name), "utf8");
/** Prepares, in this process and with the state of the same user. */
const prepare = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });

const env = {
  ...server.env,
  HOME: home,
  KB_STATE_DIR: at("state"),
  KB_CACHE_DIR: at("cache"),
  KB_CONFIG_DIR: at("config"),
  NO_COLOR: "1",
};

/** Types a line into a shell without a terminal; it must end with this exit code. */
async function types(line: string, exit = 0, more: Readonly<Record<string, string>> = {}) {
  const ran = await shell(line, { ...env, ...more }, { cwd: home }).ended;
  expect(ran.exit, `${line}\n${ran.err}`).toBe(exit);
  return ran;
}

/** Rows without the columns behind the first ones. */
const cells = (out: string, columns: number) =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t").slice(0, columns).join(" "));

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly content: string;
  readonly answer: string | null;
  readonly display_status: string;
  readonly rating: string;
  readonly doc_metadata: readonly { readonly name: string; readonly value: unknown }[] | null;
}
type Answer = Listed & { readonly data: readonly Listed[] };

/** Sends a request of our own, also with the key of an application. */
async function api(route: string, body?: object, key = "dataset-sandbox"): Promise<Answer> {
  const [method, path] = route.split(" ");
  const response = await fetch(`${origin}/v1${path}`, {
    method: method ?? "GET",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.ok, route).toBe(true);
  return (await response.json()) as Answer;
}

const ids = new Map<string, string>();
const path = (kb: string) => `/datasets/${ids.get(kb)}`;
const documents = async (kb: string) => (await api(`GET ${path(kb)}/documents?limit=100`)).data;
const texts = async (kb: string) =>
  Object.fromEntries(
    [...(await contentsOf(origin, ids.get(kb) ?? ""))].map(([name, { text }]) => [name, text]),
  );
/** The values of one property by document. */
const each = async (kb: string, value: (document: Listed) => unknown) =>
  Object.fromEntries((await documents(kb)).map((document) => [document.name, value(document)]));
/** Question and answer of each chunk of the only document. */
const rows = async (kb: string) => {
  const [document] = await documents(kb);
  const { data } = await api(`GET ${path(kb)}/documents/${document?.id}/segments?limit=100`);
  return data.map(({ content, answer }) => (answer ? `${content} ${answer}` : content)).sort();
};

/** Makes a knowledge base with these texts by their names. */
async function base(name: string, of: Readonly<Record<string, string>> = {}): Promise<void> {
  const { id } = await api("POST /datasets", { name, indexing_technique: "economy" });
  ids.set(name, id);
  const more = { indexing_technique: "economy", process_rule: { mode: "automatic" } };
  for (const [document, text] of Object.entries(of))
    await api(`POST ${path(name)}/document/create-by-text`, { name: document, text, ...more });
  if (Object.keys(of).length > 0) await prepare("doc", "wait", name);
}

/** The methods and paths of requests that match. */
const sent = (pattern: RegExp) =>
  server.seen.map(({ method, path }) => `${method} ${path}`).filter((line) => pattern.test(line));

describe("lists", () => {
  const names = "--columns name,documents";

  // The largest is the oldest: it is not on the first page of 20. Two more are the sandbox's own.
  beforeAll(async () => {
    await base("Archive", { a: "one", b: "two", c: "three" });
    await base("Manuals", { a: "one", b: "two" });
    await base("Notes", { a: "one" });
    for (let shelf = 1; shelf <= 22; shelf++) await base(`Shelf ${shelf}`);
  });

  test("the three largest knowledge bases", async () => {
    const ran = await types(`kb list --sort documents --reverse --limit 3 ${names}`);
    expect(ran.out).toBe("Archive\t3\nManuals\t2\nNotes\t1\n");
    expect(ran.err).toBe("3 of 27 shown\n");
  });

  test("the same for a spreadsheet", async () => {
    const csv = `-o csv --output-file largest.csv ${names}`;
    const ran = await types(`kb list --sort documents --reverse --limit 3 ${csv}`);
    expect([ran.out, ran.err]).toEqual(["", "wrote largest.csv\n3 of 27 shown\n"]);
    expect(await read("largest.csv")).toBe(
      "name,documents\r\nArchive,3\r\nManuals,2\r\nNotes,1\r\n",
    );
  });

  test("the knowledge bases that have more than one document", async () => {
    const ran = await types("kb list --where 'documents > 1' -o name --all");
    expect(ran.out.trim().split("\n")).toEqual([ids.get("Manuals"), ids.get("Archive")]);
    expect(ran.err).toContain("2 of 27 rows match");
  });

  test("how many of many documents are long", async () => {
    const long = Array.from({ length: 6 }, (_, number) => [`long ${number}`, "word ".repeat(300)]);
    const short = Array.from({ length: 114 }, (_, number) => [`short ${number}`, "word"]);
    await base("Library", Object.fromEntries([...long, ...short]));
    const few = await types("kb doc list Library --where 'words > 1000' --limit 4");
    expect(cells(few.out, 1)).toEqual(["long 5", "long 4", "long 3", "long 2"]);
    expect(few.err).toBe("4 shown, more may match\n");
    const all = await types("kb doc list Library --where 'words > 1000' --all");
    expect(cells(all.out, 1)).toHaveLength(6);
    expect(all.err).toBe("6 of 120 rows match (filtered locally)\n");
  });

  test("the two most expensive runs", async () => {
    const runs: string[] = [];
    for (let run = 0; run < 24; run++) {
      // The first two are the expensive ones, and not among the newest 20.
      const query = "word ".repeat(run < 2 ? 500 - 100 * run : 1);
      const body = { inputs: { query }, user: "ann", response_mode: "blocking" };
      const answer: unknown = await api("POST /workflows/run", body, "app-write");
      runs.push((answer as { workflow_run_id: string }).workflow_run_id);
    }
    const line = "wf --app write logs --sort tokens --reverse --limit 2";
    const ran = await types(`${line} -o name`);
    expect(ran.out.trim().split("\n")).toEqual(runs.slice(0, 2));
    expect(ran.err).toContain("2 of 24 shown");
    const none = await types("wf --app write logs --where 'tokens > 100000' --all");
    expect([none.out, none.err]).toEqual(["", "0 of 24 rows match (filtered locally)\n"]);
  });
});

describe("a directory", () => {
  test("a file is gone: say so, and delete its document only if I ask", async () => {
    await base("Synced");
    await write(at("docs"), { "kept.md": "Kept", "gone.md": "Gone" });
    await types("kb sync Synced docs");
    await write(at("docs"), { "gone.md": null });
    const ran = await types("kb sync Synced docs");
    expect(ran.err).toContain("1 document has no file any more; --prune deletes it\n");
    expect(await texts("Synced")).toEqual({ "kept.md": "Kept", "gone.md": "Gone" });
    const pruned = await types("kb sync Synced docs --prune --max-delete 100%");
    expect(actions(pruned.out)).toEqual(["delete gone.md"]);
    expect(await texts("Synced")).toEqual({ "kept.md": "Kept" });
  });

  test("texts from an old Chinese system", async () => {
    await base("Chinese");
    // "员工手册" (employee handbook) in GBK
    await write(at("chinese"), { "手册.md": Buffer.from("d4b1b9a4cad6b2e1", "hex") });
    const plain = await types("kb sync Chinese chinese", 10);
    expect(plain.out).toContain("not valid UTF-8 text (line 1)");
    expect(await documents("Chinese")).toEqual([]);
    const lint = await types("kb lint chinese", 14);
    expect(lint.out).toContain("it reads as gbk: --encoding gbk");
    await types("kb sync Chinese chinese --encoding gbk");
    expect(await texts("Chinese")).toEqual({ "手册.md": "员工手册" });
  });

  test("what the nightly syncs did", async () => {
    await base("Nightly");
    await write(at("nightly"), { "a.md": "text" });
    await write(home, {
      "sources.yaml": "sources:\n  handbook: { kb: Nightly, source: nightly }\n",
    });
    await types("kb sync --config sources.yaml");
    for (const name of ["", "handbook", "Nightly"]) {
      const ran = await types(`kb sync history ${name}`);
      expect(ran.out).toMatch(/^\S+Z\thandbook\tNightly\t/);
      expect(ran.out).toContain("1 file: 1 created");
    }
    expect((await types("kb sync --help")).out).toContain("kb sync run, kb sync history");
  });
});

describe("a sheet as knowledge base", () => {
  type Row = readonly [question: string, answer: string];
  const text = (place: string, words: string) =>
    `<c r="${place}" t="inlineStr"><is><t>${words}</t></is></c>`;
  const sheets: Readonly<Record<string, (of: readonly Row[]) => string | Uint8Array>> = {
    csv: (of) => ["question,answer", ...of.map((row) => row.join(","))].join("\n"),
    jsonl: (of) => of.map(([question, answer]) => JSON.stringify({ question, answer })).join("\n"),
    xlsx: (of) =>
      xlsx({
        Sheet1: [["question", "answer"] as const, ...of]
          .map(
            ([a, b], row) =>
              `<row r="${row + 1}">${text(`A${row + 1}`, a)}${text(`B${row + 1}`, b)}</row>`,
          )
          .join(""),
      }),
  };

  test.each(Object.entries(sheets))("made of a file %s, and after one change", async (kind, of) => {
    const [kb, file] = [`FAQ of ${kind}`, `faq.${kind}`];
    await base(kb);
    const before: readonly Row[] = [
      ["Where?", "Main street"],
      ["When?", "At nine"],
      ["Who?", "Ann"],
    ];
    await write(home, { [file]: of(before) });
    const made = await types(`kb sync '${kb}' ${file} --rows`);
    expect(made.err).toContain("3 rows: 3 created");
    expect(await rows(kb)).toEqual(["When? At nine", "Where? Main street", "Who? Ann"]);

    await write(home, {
      [file]: of([
        ["Where?", "Main street"],
        ["When?", "At ten"],
      ]),
    });
    const changed = await types(`kb sync '${kb}' ${file} --rows`);
    expect(cells(changed.out, 3)).toEqual(["update row 2: When? answer"]);
    expect(await rows(kb)).toEqual(["When? At ten", "Where? Main street", "Who? Ann"]);

    const pruned = await types(`kb sync '${kb}' ${file} --rows --prune --max-delete 100%`);
    expect(pruned.err).toContain("1 deleted");
    expect(await rows(kb)).toEqual(["When? At ten", "Where? Main street"]);
  });

  test("with the same question twice", async () => {
    await base("Twice");
    await write(home, { "twice.csv": "question,answer\nWhere?,Here\nWhere?,There\n" });
    const ran = await types("kb sync Twice twice.csv --rows", 2);
    expect(ran.err).toContain("row 2 (line 3): the same question as row 1 (line 2)");
    expect(ran.err).toContain("nothing was sent");
    expect(await documents("Twice")).toEqual([]);
  });
});

test("find a sentence in whichever knowledge base has it", async () => {
  await base("Zurich", { "a.md": "Sabbatical after seven years" });
  await base("Vienna", { "b.md": "Sabbatical on request", "c.md": "Lunch at noon" });
  const ran = await types("kb search --all sabbatical");
  expect(cells(ran.out, 2).sort()).toEqual(["Vienna b.md", "Zurich a.md"]);
  const only = await types("kb search --all sabbatical --only Vienna --jq '.[].kb'");
  expect(only.out).toBe("Vienna\n");
});

describe("backups", () => {
  const of = { "leave.md": "Thirty days", "parking.md": "Behind the house" };

  test("bring one deleted document back", async () => {
    await base("Policies", of);
    await types("kb backup backups Policies");
    await types("kb doc delete Policies leave.md --yes");
    await types("kb backup backups Policies");
    const kept = (await documents("Policies"))[0]?.id;
    // The newest snapshot has it no longer: the hint names the one that has.
    const ran = await types(
      "kb backup restore backups Policies --only leave.md --into Policies --yes",
      3,
    );
    const hint = /`(kb backup restore .* --snapshot \w+)`/.exec(ran.err)?.[1] ?? "no hint";
    await types(hint);
    expect(await texts("Policies")).toEqual(of);
    expect((await documents("Policies")).map(({ id }) => id)).toContain(kept);
  });

  test("what is different since the last backup but one", async () => {
    await base("Rules", of);
    await types("kb backup rules Rules");
    const first = await types("kb backup diff rules", 3);
    expect(first.err).toContain("fewer than two complete snapshots of Rules");
    await types("kb doc delete Rules leave.md --yes");
    await types("kb backup rules Rules");
    const ran = await types("kb backup diff rules");
    expect(cells(ran.out, 2)).toEqual(["document leave.md"]);
    expect(ran.err).toContain("1 difference from ");
  });

  test("read a document of last week", async () => {
    await base("Old", of);
    await types("kb backup old Old");
    await types("kb doc delete Old leave.md --yes");
    expect((await types("kb backup cat old Old leave.md")).out).toBe("Thirty days");
    await types("kb backup cat old Old leave.md --output-file 'leave of then.md'");
    expect(await read("leave of then.md")).toBe("Thirty days");
    expect(await texts("Old")).toEqual({ "parking.md": "Behind the house" });
  });

  test("what can be undone, where nothing can", async () => {
    const { out, err } = await types("kb undo --list", 0, { KB_STATE_DIR: at("new state") });
    expect(out).toBe("");
    expect(err).toContain("only commands that were run with --backup are recorded");
  });

  test("a deletion by mistake", async () => {
    await base("Mistake", of);
    await types("kb doc delete Mistake leave.md --yes --backup-dir mistakes");
    expect(await texts("Mistake")).toEqual({ "parking.md": "Behind the house" });
    await types("kb undo --yes");
    expect(await texts("Mistake")).toEqual(of);
  });

  test("a copy that would ask is refused before it downloads anything", async () => {
    const { id } = await api("POST /datasets", { name: "Big", indexing_technique: "high_quality" });
    ids.set("Big", id);
    await prepare("doc", "add", "Big", "a.md", "--text", "some text");
    await prepare("doc", "wait", "Big");
    server.seen.length = 0;
    const ran = await types("kb copy Big --name Bigger --as-is", 2);
    expect(ran.err).toContain("hint: pass --yes to skip the prompt");
    expect(sent(/download|segments|^(?!GET)/)).toEqual([]);
    const { data } = await api("GET /datasets?keyword=Bigger");
    expect(data).toEqual([]);
  });
});

describe("many documents at once", () => {
  const of = { a: "short", b: "a much longer text", c: "another longer text" };
  const where = "--where 'words > 10'";

  test("delete the long ones", async () => {
    await base("Delete", of);
    const refused = await types(`kb doc delete Delete ${where}`, 2);
    expect(refused.err).toContain("hint: pass --yes to skip the prompt");
    expect(await texts("Delete")).toEqual(of);
    const ran = await types(`kb doc delete Delete ${where} --yes`);
    expect(ran.err).toContain("2 of 3 documents match: c, b (37 words)");
    expect(await texts("Delete")).toEqual({ a: "short" });
  });

  test("disable and archive the long ones", async () => {
    await base("Status", of);
    for (const [verb, status] of [
      ["disable", "disabled"],
      ["enable", "available"],
      ["archive", "archived"],
    ]) {
      await types(`kb doc ${verb} Status ${where} --yes`);
      const now = await each("Status", ({ display_status: shown }) => shown);
      expect(now).toEqual({ a: "available", b: status, c: status });
    }
  });

  test("give those without a team one", async () => {
    await base("Teams", of);
    await types("kb metadata create Teams team --type string");
    await types("kb metadata set Teams a --set team=it");
    const ran = await types(
      "kb metadata set Teams --where 'team does not exist' --set team=people --yes",
    );
    expect(ran.err).toContain("2 of 3 documents match: c, b");
    const teams = await each("Teams", ({ doc_metadata: values }) => values?.[0]?.value);
    expect(teams).toEqual({ a: "it", b: "people", c: "people" });
  });

  test("values from a sheet with an unknown column", async () => {
    await base("Columns", of);
    await write(home, { "values.csv": "doc,owner\na,Ann\nb,Bob\nc,Cid\n" });
    const ran = await types("kb metadata set Columns --each values.csv", 3);
    expect(ran.err.match(/"owner"/g)).toHaveLength(1);
    expect(ran.err).toContain("(and 2 rows more); no changes were made");
    const hint = /`(kb metadata create .*)`/.exec(ran.err)?.[1] ?? "no hint";
    await types(hint);
    await types("kb metadata set Columns --each values.csv");
    const owners = await each("Columns", ({ doc_metadata: values }) => values?.[0]?.value);
    expect(owners).toEqual({ a: "Ann", b: "Bob", c: "Cid" });
  });
});

describe("repairs", () => {
  test("what is wrong, as a page for others, and all of it repaired", async () => {
    const provider = "langgenius/stub/stub";
    for (const name of ["Broken", "Torn"]) {
      const { id } = await api("POST /datasets", { name, indexing_technique: "high_quality" });
      ids.set(name, id);
      server.sandbox.models.withoutCredentials.add(provider);
      await prepare("doc", "add", name, `${name}.md`, "--text", "some text");
      await server.cli(["kb", "doc", "wait", name], { folder: home });
      server.sandbox.models.withoutCredentials.delete(provider);
    }
    const check = await types("kb check Broken Torn -o html --output-file check.html");
    expect(check.err).toContain("2 knowledge bases: 2 problems");
    const page = await read("check.html");
    expect(page).toMatch(/^<!doctype html>/i);
    for (const name of ["Broken", "Torn"]) {
      expect(page).toContain(`kb heal ${name}`);
      expect(await each(name, (document) => document.display_status)).toEqual({
        [`${name}.md`]: "error",
      });
    }
    const healed = await types("kb heal --all");
    expect(healed.err).toContain("2 repairs");
    for (const name of ["Broken", "Torn"]) {
      expect(await each(name, (document) => document.display_status)).toEqual({
        [`${name}.md`]: "available",
      });
      expect(await texts(name)).toEqual({ [`${name}.md`]: "some text" });
    }
  });
});

describe("in my editor", () => {
  /** Runs a command on a terminal with an editor that is this shell script; its file is $1. */
  async function editing(args: readonly string[], script: string) {
    const editor = at("editor");
    await writeFile(editor, `#!/bin/sh\n${script}\n`);
    await chmod(editor, 0o700);
    const run = onPty("kb", args, { ...env, EDITOR: editor }, 200);
    expect(await run.exit, run.written()).toBe(0);
  }

  test("correct a document", async () => {
    await base("Edited", { "leave.md": "Thirty days", "parking.md": "Behind the house" });
    await editing(["doc", "edit", "Edited", "leave.md"], `sed -i s/Thirty/Forty/ "$1"`);
    await prepare("doc", "wait", "Edited");
    const now = { "leave.md": "Forty days", "parking.md": "Behind the house" };
    expect(await texts("Edited")).toEqual(now);
    server.seen.length = 0;
    await editing(["doc", "edit", "Edited", "leave.md"], ":");
    expect(sent(/^(?!GET|.*download-zip)/)).toEqual([]);
  });

  test("correct a chunk", async () => {
    await base("Chunks", { "leave.md": "Thirty days" });
    const chunk = (await types("kb chunk list Chunks leave.md -o name")).out.trim();
    await editing(["chunk", "edit", "Chunks", "leave.md", chunk], `sed -i s/Thirty/Forty/ "$1"`);
    expect(await rows("Chunks")).toEqual(["Forty days"]);
  });
});

describe("--output-file", () => {
  test("an evaluation, a check of files, statistics, logs and a test report as files", async () => {
    await base("Asked", { "leave.md": "Thirty days of leave" });
    await write(at("asked"), { "a.md": "text\n" });
    await write(home, {
      "questions.jsonl": '{"question":"leave","documents":["leave.md"]}\n',
      "suite.yaml": "tests: [{name: repeats, inputs: {query: hello}}]\n",
    });
    for (const [line, words] of [
      ["kb eval Asked questions.jsonl", "recall@1"],
      ["kb lint asked", ""],
      ["wf run query=hello", "hello"],
      ["wf logs", "succeeded"],
      ["wf stats", "runs"],
      ["wf test run suite.yaml", "repeats"],
    ] as const) {
      const ran = await types(`${line} --output-file printed.txt`);
      expect(ran.out, line).toBe("");
      expect(ran.err, line).toContain("wrote printed.txt");
      expect(await read("printed.txt"), line).toContain(words);
      await write(home, { "printed.txt": null });
    }
  });
});

describe("runs and chats", () => {
  test("the answer of a workflow in a variable of a script", async () => {
    const ran = await types('out=$(wf run query=hello --only-output query) && echo "<$out>"');
    expect([ran.out, ran.err]).toEqual(["<hello>\n", ""]);
    const help = (await types("wf run --help")).out;
    expect(help).toContain("Examples:\n  wf run query=hello --only-output query\n");
    const failed = await types("out=$(wf --app broken run query=x --only-output query)", 9);
    expect(failed.err).toContain("failed at node Fetch: [Errno 111] Connection refused");
  });

  test("which node failed in a run that I did not record", async () => {
    await types("wf --app broken run query=x -q", 9, { KB_REMEMBER_RUNS: "30d" });
    const ran = await types("wf --app broken show last --nodes --columns node,status,error");
    expect(ran.out).toBe("Start\tsucceeded\t\nFetch\tfailed\t[Errno 111] Connection refused\n");
    await types("wf --app broken run query=x -q", 9);
    const none = await types("wf --app broken show last --nodes", 3);
    expect(none.err).toContain("KB_REMEMBER_RUNS=30d");
  });

  test("the last conversation, rated, and tests made of it", async () => {
    await types("wf --app chat chat send 'How many days?' --user jobs -q");
    const ran = await types("wf --app chat conversation messages last --user jobs");
    expect(cells(ran.out, 1)).toEqual(["How many days?"]);
    const user = "--user jobs";
    await types(`wf --app chat message feedback last --rating like ${user}`);
    const { data } = await api("GET /app/feedbacks?limit=100", undefined, "app-chat");
    expect(data.map(({ rating }) => rating)).toEqual(["like"]);

    const line = `wf --app chat test init --from conversations ${user} --out asked.yaml`;
    expect((await types(line)).err).toContain("1 test from conversations");
    expect(await read("asked.yaml")).toContain("query: How many days?");
    const passed = await types("wf test run asked.yaml");
    expect(passed.out).toContain("# 1 of 1 test passed");
  });
});

test("an application that answers nonsense does not pass the nightly tests", async () => {
  const tests = [
    { name: "days", query: "How many days?", expect: ["text ~ thirty"] },
    { name: "parking", query: "Where is parking?", expect: ["text ~ house"] },
  ];
  await write(home, { "hr.yaml": JSON.stringify({ tests }) });
  const app = { KB_APP_KEY: "app-hr" };
  await types("wf test run hr.yaml --save before.json", 0, app);
  const line = "wf test run hr.yaml --baseline before.json";
  expect((await types(line, 0, app)).out).toContain("# 2 of 2 tests passed");
  server.sandbox.setFaults([parseFault("POST */chat-messages answer=Nonsense. times=999")]);
  const ran = await types(line, 14, app).finally(() => server.sandbox.setFaults([]));
  expect(ran.out).toMatch(/^# .*0 of 2 tests passed$/m);
  expect(ran.out).toContain("Nonsense.");
});

test("sign in with a key from a script", async () => {
  const own = { KB_PROFILE: "", KB_BASE_URL: "", KB_KEY: "" };
  const line = `kb login jobs --base-url ${origin}/v1 --key-file - --insecure-storage`;
  const ran = await types(`echo dataset-sandbox | ${line}`, 0, own);
  expect(ran.err).toContain("jobs: server 1.14.2, this key opens ");
  expect(ran.out + ran.err).not.toContain("dataset-sandbox");
  const list = await types("kb -p jobs list --limit 1 -o name", 0, own);
  expect(list.out.trim()).toMatch(/^[\da-f-]{36}$/);
  const stdin = await types("kb login jobs --key-stdin", 2, own);
  expect(stdin.err).toContain("hint: did you mean --key-file -?");
});

test("what the programs can do", async () => {
  const kb = (await types("kb --help")).out;
  const wf = (await types("wf --help")).out;
  const rowsOf = (help: string) => help.match(/^ {2}\w+(?= {2})/gm)?.map((row) => row.trim());
  for (const row of ["list", "doc", "search", "sync", "backup", "heal"])
    expect(rowsOf(kb)).toContain(row);
  for (const row of ["run", "logs", "test", "chat"]) expect(rowsOf(wf)).toContain(row);
  for (const row of ["pipeline", "source"]) expect(rowsOf(kb)).not.toContain(row);
  expect(rowsOf(wf)).not.toContain("audio");
  expect(kb).toMatch(/^More {2}pipeline, source$/m);
  expect(wf).toMatch(/^More {2}audio$/m);
});
