/** `wf test calibrate`: judges of the sandbox against the marks of people. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { chatJudge, workflowJudge } from "../../lib/judge-apps.ts";
import { playedBias } from "../../lib/judge-seeds.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const applications = [
  workflowJudge("score", { score: 0.7 }),
  workflowJudge("prose", { text: "It is good." }),
  chatJudge("chat-pass", '{"verdict": "pass"}'),
];
const sandbox = await testSandbox({ applications });
const names = ["echo", "grader", "score", "prose", "chat-pass"];
const env = {
  KB_SANDBOX_APP_KEYS: JSON.stringify(
    Object.fromEntries(names.map((name) => [name, `app-${name}`])),
  ),
};
const folder = await temporaryDirectory();
const file = (name: string) => join(folder, name);
const wf = (...args: readonly string[]) => sandbox.cli(["wf", "test", ...args], { folder, env });
const calibrate = (labels: string, judge: string, ...args: readonly string[]) =>
  wf("calibrate", file(labels), "--judge", judge, ...args);

await write(folder, {
  "labels.csv": `id,question,answer,expected,label
a,How long?,30 days of leave,30 days of leave,pass
b,How long?,30 days,30 days of leave,YES
c,How long?,Twenty weeks,30 days of leave,fail
d,How long?,days of sorrow,30 days of leave,0
e,How long?,A month,30 days of leave,1
`,
  "labels.jsonl": [
    { answer: "30 days of leave", expected: ["12 weeks", "30 days of leave"], mark: 0.5 },
    { answer: "30 days", expected: "30 days of leave", label: true, criteria: "Short." },
    { answer: "none", expected: "30 days of leave", mark: 0.4 },
  ]
    .map((row) => JSON.stringify(row))
    .join("\n"),
  "suite.yaml": `app: echo
tests:
  - { name: a, inputs: { query: b }, judge: grader }
  - { name: c, inputs: { query: b }, judge: { app: grader, criteria: Names it. } }
`,
});

/** Texts that were sent to an application, of requests after some. */
const sentTo = (name: string, before: number) =>
  sandbox.seen
    .slice(before)
    .filter(
      ({ method, headers }) =>
        method === "POST" && headers["authorization"] === `Bearer app-${name}`,
    )
    .map(
      ({ body }) => JSON.parse(new TextDecoder().decode(body)) as Readonly<Record<string, unknown>>,
    );

test("labels that cannot be read are refused: all wrong rows at once", async () => {
  const directory = await calibrate(".", "grader");
  expect(directory.exit).toBe(2);
  expect(directory.err).toContain("is a directory");
  await write(folder, { "wrong.csv": "answer,label\na,maybe\nb,pass\n,fail\n" });
  const wrong = await calibrate("wrong.csv", "grader");
  expect(wrong.exit).toBe(2);
  expect(wrong.err).toContain("row 1 (line 2): the row has no valid label or mark");
  expect(wrong.err).toContain("row 3 (line 4): the row has no answer");
});

/** What a report of a run says about the calibration of its judge. */
const notes = async () =>
  (await wf("run", file("suite.yaml"))).out
    .split("\n")
    .filter((line) => line.startsWith("# judge "));

test("a report names the last calibration of its judges, for the same criteria", async () => {
  expect(await notes()).toEqual(["# judge grader has not been calibrated on this machine"]);
  const before = sandbox.seen.length;
  const ran = await calibrate("labels.csv", "grader", "--save", file("calibration.json"));
  expect(ran.exit, ran.err).toBe(0);
  // The judge passes a, b, d, and fails c and e. By hand: chance 13/25, so kappa is 2/12.
  expect(ran.out.split("\n")).toEqual(
    expect.arrayContaining([
      "# Judge grader agrees with people about 3 of 5 answers",
      "agreement\t3/5 (60 %)\t23–88 %",
      expect.stringMatching(/^kappa\t0\.17\t-0\.\d\d to 1\.00$/),
      "bad answers that passed\t1/2 (50 %)\t9–91 %",
      "good answers that failed\t1/3 (33 %)\t6–79 %",
      "good\t2\t1",
      "bad\t1\t1",
      'd\tbad\tscore 0.5: "It has 2 of 4 expected words."',
      'e\tgood\tscore 0: "It has 0 of 4 expected words."',
    ]),
  );
  expect(sentTo("grader", before)).toHaveLength(5);
  expect(JSON.parse(await readFile(file("calibration.json"), "utf8"))).toMatchObject({
    wf_calibration: 1,
    agreement: { good: 3, bad: 2, false_passes: 1, false_fails: 1 },
    kappa: [expect.closeTo(1 / 6, 12), expect.any(Number), 1],
  });
  const known = expect.stringMatching(
    /^# judge grader was calibrated on \d{4}-\d\d-\d\d with 5 answers and at_least 0.5: kappa 0.17 \(-0.\d\d to 1.00\), 1 of 2 bad answers passed, 1 of 3 good answers failed; it is not shown that it agrees with people more often than chance$/,
  );
  const unknown = "# judge grader has not been calibrated on this machine for all of its criteria";
  expect(await notes()).toEqual([known, unknown]);
  // Rows with criteria of their own stand for all criteria.
  expect((await calibrate("labels.jsonl", "grader", "--at-least", "0.6")).exit).toBe(0);
  expect(await notes()).toEqual([
    known,
    expect.stringContaining("with 3 answers and at_least 0.6: kappa 0.40"),
  ]);
  expect((await calibrate("labels.csv", "grader", "--criteria", "Names it.")).exit).toBe(0);
  expect(await notes()).toEqual([known]);
});

const unsure = "it is not shown that it agrees with people more often than chance";

test("a calibration says whether the judge is better than chance, and runs with it warn", async () => {
  const ran = await calibrate("labels.csv", "grader");
  expect(ran.out).toContain(`\n# ${unsure}\n`);
  const { err } = await wf("run", file("suite.yaml"));
  expect(err.match(/^warning: judge grader was calibrated /gm)).toHaveLength(1);
  expect(err).toContain(unsure);
  const all = await calibrate("labels.csv", "chat-pass", "-o", "json");
  expect(JSON.parse(all.out)).toMatchObject({ chance: "inconclusive" });
  const constant = await calibrate("labels.csv", "chat-pass");
  expect(constant.out).toContain(`\n# ${unsure}: it says the same about all answers\n`);
});

test.each([
  [[], 0, ""],
  [["--at-least-kappa", "-1"], 0, ""],
  [["--at-least-kappa", "0.1"], 14, "judge grader: kappa 0.17 (-0."],
])("%j: exit code %d", async (flags, exit, message) => {
  const ran = await calibrate("labels.csv", "grader", ...flags);
  expect([ran.exit, ran.err.includes(message)]).toEqual([exit, true]);
});

test("a damaged calibration is none", async () => {
  await calibrate("labels.csv", "grader");
  const [state = ""] = (await readdir(folder, { recursive: true })).filter((name) =>
    name.endsWith("calibrations"),
  );
  for (const name of await readdir(file(state)))
    await writeFile(join(file(state), name), '{"note": 3}');
  expect(await notes()).toEqual(["# judge grader has not been calibrated on this machine"]);
});

test("an answer is judged as often as --repeat says, and in three ways with --pairs by a chat", async () => {
  const before = sandbox.seen.length;
  const ran = await calibrate("labels.csv", "chat-pass", "--pairs", "--repeat", "2", "-o", "json");
  expect(ran.exit, ran.err).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({
    biases: [
      { change: "reversed", pairs: 5, more: 0, fewer: 0, p: 1 },
      { change: "padded", pairs: 5, more: 0, fewer: 0, p: 1 },
    ],
    kappa: [0],
  });
  const sent = sentTo("chat-pass", before).map(({ query }) => String(query));
  expect(sent).toHaveLength(5 * 2 * 3);
  const parts = sent
    .filter((text) => text.includes("Twenty weeks"))
    .map((text) =>
      [...text.matchAll(/^--- begin (.*) \w{16} ---\n(.*)$/gm)].map((each) => each.slice(1)),
    );
  const [question, expected, answer] = [
    ["question", "How long?"],
    ["expected answer", "30 days of leave"],
    ["answer", "Twenty weeks"],
  ];
  const padded = ["answer", "Twenty weeks Twenty weeks"];
  const usual = [question, expected, answer];
  const reversed = [answer, expected, question];
  const long = [question, expected, padded];
  expect(parts).toEqual([usual, usual, reversed, reversed, long, long]);
});

test("a report corrects the pass rate for the errors of a calibrated judge", async () => {
  const rows = Array.from({ length: 30 }, (_, at) => [
    `g${at},How long?,30 days of leave,30 days of leave,pass`,
    `b${at},How long?,Twenty weeks,30 days of leave,fail`,
  ]).flat();
  await write(folder, {
    "many.csv": ["id,question,answer,expected,label", ...rows, ""].join("\n"),
  });
  expect((await calibrate("many.csv", "grader")).exit).toBe(0);
  const ran = await wf("run", file("suite.yaml"));
  expect(ran.out).toMatch(
    /# with the errors of judge grader, \d+ % of the runs that it decides are good \(95 %: \d+–\d+ %\)\n/,
  );
});

test("the order is not tested with a workflow, and one score suggests nothing", async () => {
  const ran = await calibrate("labels.csv", "score", "--pairs", "-o", "md");
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.out).toContain("order: not tested");
  expect(ran.out).toContain("| padded answer | 5 | 0 | 0 | 1.0 |");
  expect(ran.out).not.toContain("fits best");
});

// Its figures: test/long/judge-bias.test.ts.
test("a judge that prefers long answers is told", async () => {
  expect(await playedBias({ pairs: 40, padded: 15, reversed: 0 }, 1)).toEqual({ padded: "more" });
});

test("answers that cannot be judged are named: 10", async () => {
  const ran = await calibrate("labels.csv", "prose");
  expect(ran.exit).toBe(10);
  expect(ran.err).toContain("5 answers could not be judged");
  expect(ran.out).toContain("kappa\tnot defined");
  expect(ran.out).toContain("c\t\tjudge prose must answer with");
});

test.each([
  ["answer,label\n,pass\n", "row 1 (line 2): the row has no answer"],
  ["answer,label\na,pass\nb,maybe\n", "row 2 (line 3): the row has no valid label or mark"],
  ["answer,label\na,constructor\n", "no valid label"],
  ["answer,mark\na,1.5\n", "no valid label or mark"],
  ["answer,mark\na,\n", "no valid label or mark"],
  ["answer,label\n", "has no rows"],
])("the rows %j are refused before anything is asked", async (text, problem) => {
  await write(folder, { "wrong.csv": text });
  const before = sandbox.seen.length;
  const ran = await calibrate("wrong.csv", "grader");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(problem);
  expect(sandbox.seen).toHaveLength(before);
});

test("criteria of a row need a place, and its line is named", async () => {
  await write(folder, { "criteria.csv": "answer,label,criteria\na,pass,Short.\n" });
  const ran = await calibrate("criteria.csv", "echo");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("criteria.csv line 2: judge echo has no input answer");
});

test("a dry run judges and writes nothing", async () => {
  const before = sandbox.seen.length;
  const dry = await calibrate("labels.csv", "grader", "--dry-run", "--save", file("dry.json"));
  expect(dry.exit, dry.err).toBe(0);
  expect(sentTo("grader", before)).toEqual([]);
  await expect(readFile(file("dry.json"))).rejects.toThrow("ENOENT");
});
