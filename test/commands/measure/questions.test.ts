/** `kb questions`: questions that an application writes about passages, and those that people asked. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawPassages, problemOf } from "../../../src/commands/measure/questions/passages.ts";
import { readAnswerRules } from "../../../src/sandbox/apps/definitions/read-rules.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { root } from "../../lib/paths.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200, models: true });
const folder = await temporaryDirectory();
await server.done(["kb", "create", "Staff", "--indexing-technique", "high_quality"]);
await server.done(["kb", "sync", "Staff", join(root, "examples/handbook")], { folder });

interface Made {
  readonly id: string;
  readonly question: string;
  readonly passages: readonly { readonly document: string; readonly text: string }[];
  readonly part: string;
}

const readQuestions = async (path: string) =>
  (await readFile(path, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Made);

const asked = () =>
  server.seen.filter(({ method, path }) => method === "POST" && path.endsWith("/workflows/run"))
    .length;

rareTest(
  "every document has its turn, and the questions can be measured and tuned with",
  async () => {
    const file = join(folder, "made.jsonl");
    const line = ["kb", "questions", "Staff", file, "--app", "questioner", "--count", "28"];
    const planned = await server.done([...line, "--dry-run"], { folder });
    expect(planned.err).toContain("would ask questioner for 28 questions, 42 at most");
    await expect(readFile(file)).rejects.toThrow("ENOENT");
    expect(asked()).toBe(0);
    const { out: said } = await server.done([...line, "--yes", "-o", "json"], { folder });
    const made = await readQuestions(file);
    expect(made).toHaveLength(28);
    // Of 14 documents, two are in languages without spaces: the application takes whole sentences of them.
    const documents = new Map(made.map(({ passages: [first], part }) => [first?.document, part]));
    const { skipped } = JSON.parse(said) as { skipped: { problem: string; document: string }[] };
    expect(new Set(skipped.map(({ problem, document }) => `${document} ${problem}`))).toEqual(
      new Set(["osaka-leave.md copies its passage", "shenzhen-expenses.md copies its passage"]),
    );
    expect([...documents.keys()]).toHaveLength(12);
    expect(new Set(documents.values())).toEqual(new Set(["tune", "proof"]));
    for (const { passages, part } of made) expect(documents.get(passages[0]?.document)).toBe(part);
    const first = made[0]?.passages[0];
    const page = await readFile(join(root, "examples/handbook", first?.document ?? ""), "utf8");
    const plain = (text: string) => text.replaceAll(/\s+/g, " ");
    expect(plain(page)).toContain(plain(first?.text ?? "none"));
    const { out } = await server.done(["kb", "eval", "Staff", file, "--jq", ".questions"], {
      folder,
    });
    expect(out).toBe("28\n");
    expect(
      (await server.done(["kb", "tune", "Staff", file, "--dry-run", "-o", "json"], { folder })).out,
    ).toContain(`"questions":{"tune":${made.filter(({ part }) => part === "tune").length},`);
    const again = join(folder, "again.jsonl");
    await server.done([...line.with(3, again), "--yes"], { folder });
    expect(await readQuestions(again)).toEqual(made);
    const other = join(folder, "other.jsonl");
    await server.done([...line.with(3, other), "--seed", "2", "--yes"], { folder });
    expect(await readQuestions(other)).not.toEqual(made);
  },
);

test("a passage is drawn with a chance in proportion to its length", async () => {
  const [short, long] = ["a".repeat(60), "b".repeat(180)];
  const drawn = [];
  const documents = [{ name: "d", chunks: () => Promise.resolve([short, long]) }];
  for await (const { text } of drawPassages(documents, () => 0.5)) drawn.push(text);
  expect(drawn).toEqual([long, short]); // character 120 of 240 is in the long one
});

test("a question has at least three words", () => {
  expect(problemOf("Is parking", "", [])).toBe("fewer than three words");
  expect(problemOf("Is parking free?", "", [])).toBeNull();
});

test("an application whose form takes nothing of a passage is refused", async () => {
  const rules = { mode: "workflow", inputs: ["topic"], otherwise: ["What is it about?"] };
  const other = await testSandbox({ applications: [readAnswerRules(rules, "topical")] });
  await other.done(["kb", "create", "Staff", "--indexing-technique", "economy"]);
  await other.done(["kb", "sync", "Staff", join(root, "examples/handbook")], { folder });
  const file = join(folder, "none.jsonl");
  const line = ["kb", "questions", "Staff", file, "--app", "topical", "--yes"];
  const env = { KB_SANDBOX_APP_KEYS: JSON.stringify(other.sandbox.appKeys) };
  expect(await other.cli(line, { folder, env })).toMatchObject({
    exit: 2,
    err: expect.stringContaining('application "topical" has no input for it'),
  });
});

test("the file has no question of a run that failed", async () => {
  const rules = { mode: "workflow", inputs: ["prompt"], otherwise: [{ error: "unavailable" }] };
  const other = await testSandbox({ applications: [readAnswerRules(rules, "failing")] });
  await other.done(["kb", "create", "Staff", "--indexing-technique", "economy"]);
  await other.done(["kb", "sync", "Staff", join(root, "examples/handbook")], { folder });
  const line = ["kb", "questions", "Staff", join(folder, "failing.jsonl"), "--app", "failing"];
  const env = { KB_SANDBOX_APP_KEYS: JSON.stringify(other.sandbox.appKeys) };
  const ran = await other.cli([...line, "--count", "2", "--yes", "-o", "json"], { folder, env });
  expect([ran.exit, JSON.parse(ran.out)]).toMatchObject([10, { questions: [] }]);
  expect(ran.err).toContain("without an answer");
});

test("failed passages are asked about again, answered ones are not", async () => {
  const file = join(folder, "failed.jsonl");
  const line = [
    "kb",
    "questions",
    "Staff",
    file,
    "--app",
    "questioner",
    "--count",
    "4",
    "--seed",
    "9",
    "--yes",
  ];
  server.sandbox.setFaults([parseFault("POST */workflows/run status=400 skip=1 times=1")]);
  const before = asked();
  const { exit, err, out } = await server.cli([...line, "--concurrency", "1", "-o", "json"], {
    folder,
  });
  server.sandbox.setFaults([]);
  expect([exit, err]).toEqual([10, expect.stringContaining("1 passage without an answer")]);
  const { questions, skipped } = JSON.parse(out) as Record<string, object[]>;
  const sent = Number(questions?.length) + Number(skipped?.length);
  expect(asked() - before).toBe(sent);
  const exists = await server.cli(line, { folder });
  expect(exists).toMatchObject({ exit: 2, err: expect.stringContaining(`${file} exists`) });
  const other = line.with(3, join(folder, "repeated.jsonl"));
  await server.done(other, { folder });
  // With the answer that failed, another one is not needed.
  expect(asked() - before).toBe(sent + 1);
});

test("questions are kept, changed and dropped at a terminal, and the file is written at once", async () => {
  const file = join(folder, "reviewed.jsonl");
  const rows = ["one", "two", "three", "four"].map((question) => ({
    question,
    documents: "leave.md",
  }));
  const text = (all: readonly object[]) => all.map((each) => `${JSON.stringify(each)}\n`).join("");
  await writeFile(file, text(rows));
  const { exit, err } = await server.cli(["kb", "questions", "Staff", file, "--review"], {
    folder,
    tty: true,
    answers: ["k", "what?", "change", "What is two?", "d", "quit"],
  });
  expect([exit, err]).toEqual([0, expect.stringContaining("3 questions in")]);
  const left = [rows[0], { ...rows[1], question: "What is two?" }, rows[3]] as object[];
  expect(await readFile(file, "utf8")).toBe(text(left));
});

test("annotations and disliked answers are proposed with what a search finds", async () => {
  const question = "How long may parental leave last?";
  const answer = "Announce parental leave seven weeks before it begins.";
  await server.done([
    "wf",
    "--app",
    "ask",
    "annotation",
    "create",
    "--question",
    question,
    "--answer",
    answer,
  ]);
  const annotated = join(folder, "annotated.jsonl");
  const line = ["kb", "questions", "Staff", annotated, "--app", "ask", "--from", "annotations"];
  const { err } = await server.done(line, { folder });
  expect(err).toContain("the passages are proposals");
  const [first] = await readQuestions(annotated);
  expect(first).toMatchObject({ question, passages: [{ document: "leave.md" }] });
  const asks = ["wf", "--app", "ask", "chat", "send", "Where do guests of the office park?"];
  const { out } = await server.done([...asks, "--blocking", "--jq", ".message_id"]);
  await server.done([
    "wf",
    "--app",
    "ask",
    "message",
    "feedback",
    out.trim(),
    "--rating",
    "dislike",
  ]);
  const disliked = join(folder, "disliked.jsonl");
  await server.done(line.with(3, disliked).with(-1, "dislikes"), { folder });
  expect((await readQuestions(disliked)).map((each) => each.question)).toEqual([asks.at(-1)]);
});
