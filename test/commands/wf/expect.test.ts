import { rmSync, writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseExpectation } from "../../../src/commands/wf/expect/run-scope.ts";
import { serverEvent } from "../../../src/lib/server-event.ts";
import { RunTrace } from "../../../src/runs/trace.ts";
import { CliError } from "../../../src/errors.ts";
import { topicText } from "../../../src/cli/help/topic.ts";
import { rareTest } from "../../lib/sampled.ts";
import { seeded } from "../../lib/seeded.ts";
import { endsOf, playedRun, recordedRun } from "../../lib/played-run.ts";
import type { Cut, Played } from "../../lib/played-run.ts";
import { http, rawServer } from "../../lib/raw-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const folder = await temporaryDirectory();
let files = 0;
const fresh = (ending: string) => join(folder, `${files++}.${ending}`);

const idOf = (run: readonly Played[]) => String(run[0]?.data["workflow_run_id"]);

/** Follows a recorded run with these expectations. */
async function follow(
  run: readonly Played[],
  sentences: readonly string[],
  {
    flags = [],
    env,
    cuts = [],
  }: {
    readonly flags?: readonly string[];
    readonly env?: World["env"];
    readonly cuts?: readonly Cut[];
  } = {},
) {
  const server = await playedRun(run, cuts);
  const expected = sentences.flatMap((sentence) => ["--expect", sentence]);
  return cli(["wf", "events", idOf(run), ...flags, ...expected], {
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x", ...env },
  });
}

/** A stream that ends after these events. */
const stream = (events: readonly Played[]) =>
  http(200, events.map(({ raw }) => `data: ${raw}\n\n`).join(""), {
    "content-type": "text/event-stream",
  });

type Verdict = readonly [sentence: string, verdict: "ok" | "failed", actual: string];

/** The lines about checks on stderr. */
const lines = (err: string) => err.split("\n").filter((line) => /^[✓✗] /.test(line));
const lineOf = ([sentence, verdict, actual]: Verdict) =>
  `${verdict === "ok" ? "✓" : "✗"} ${verdict.padEnd(6)}  ${sentence}: ${actual}`;

const refused = '"[Errno 111] Connection refused"';

const verdicts: Readonly<Record<string, readonly Verdict[]>> = {
  "run, streaming": [
    ["run succeeded", "ok", "it ended as succeeded"],
    ["run succeeded within 1m30s", "ok", "it took 0.046 s"],
    ["run succeeded within 40ms", "failed", "it took 0.046 s"],
    ["run failed", "failed", "it ended as succeeded"],
    ["run took less than 1s", "ok", "it took 0.046 s"],
    ["run took at least 0.05", "failed", "it took 0.046 s"],
    ["run used at most 5000 tokens", "ok", "it used 0 tokens"],
    ["run used 2 steps", "ok", "it used 2 steps"],
    ["run used more than 2 steps", "failed", "it used 2 steps"],
    ['node "Start" succeeded', "ok", "it succeeded"],
    ["node 1754154032319 succeeded", "ok", "it succeeded"],
    ["node type end ran", "ok", "it ran 1 time"],
    ["node type llm ran", "failed", 'no node of this type ran, only "start", "end"'],
    [
      'node "Strat" succeeded',
      "failed",
      'no such node ran (did you mean "Start"?), only "Start", "End"',
    ],
    ["node Start failed", "failed", 'its status is "succeeded"'],
    ["node Start stopped", "failed", 'its status is "succeeded"'],
    ["node Start did not run", "failed", "it ran 1 time"],
    ["node Escalate did not run", "ok", "it did not run"],
    ["node Escalate ran at most 2 times", "ok", "it did not run"],
    ["node Start was not retried", "ok", "it was not retried"],
    ["node Start used 0 tokens", "failed", "the server did not count its tokens"],
    ['"Start" before "End"', "ok", "they ran in this order"],
    ["node End before Start", "failed", '"Start" began first'],
    ["node Start before node Fin", "failed", 'no such node ran, only "Start", "End"'],
    ["output query exists", "ok", 'it is "héllo 世界"'],
    ["output query does not exist", "failed", 'it is "héllo 世界"'],
    ["output qery exists", "failed", 'output not found (did you mean "query"?), only "query"'],
    ["output answer does not exist", "ok", 'output not found, only "query"'],
    ["output query matches /HÉLLO/i", "ok", 'it is "héllo 世界"'],
    ["output query does not match /refund/", "ok", 'it is "héllo 世界"'],
    ['output query contains "refund"', "failed", 'it is "héllo 世界"'],
    ["output query does not contain 'refund'", "ok", 'it is "héllo 世界"'],
    ['output query is "héllo 世界"', "ok", 'it is "héllo 世界"'],
    ['output query is not "héllo 世界"', "failed", 'it is "héllo 世界"'],
    ["output query >= 0.8", "failed", 'it is "héllo 世界", not a number'],
    ['text contains "世界"', "ok", 'it is "héllo 世界"'],
    ["text is valid json or text contains json", "failed", 'it is "héllo 世界"'],
    ["error does not exist", "ok", "the run has none"],
    ["error contains 'refused'", "failed", "the run has none"],
    ["no errors", "ok", "none occurred"],
    ["no retries", "ok", "none occurred"],
    ["no gaps", "ok", "none occurred"],
    ["no pauses", "ok", "none occurred"],
    ["no citations", "failed", "no reply has named its sources"],
    ["elapsed < 1s", "ok", "it took 0.046 s"],
    ["status = failed", "failed", "it ended as succeeded"],
    ["tokens<=100 and steps=2", "ok", "it used 0 tokens, it used 2 steps"],
    ["steps more than 2 or elapsed at least 1m", "failed", "it used 2 steps, it took 0.046 s"],
    ["not (run failed or no errors)", "failed", "none occurred"],
    ["not node Escalate ran", "ok", 'no such node ran, only "Start", "End"'],
    ["not node Escalate failed", "failed", 'no such node ran, only "Start", "End"'],
    ["output query~WÖRLD or output query ~ 世界", "ok", 'it is "héllo 世界"'],
    [
      'output query = "héllo 世界" and (text is "x" or no gaps)',
      "ok",
      'it is "héllo 世界", none occurred',
    ],
    ["error != x", "failed", "the run has none"],
    ["error~refused and run failed", "failed", "it ended as succeeded"],
  ],
  "run that fails, streaming": [
    ["run failed within 1s", "ok", "it took 0.063 s"],
    ["run succeeded", "failed", `it ended as failed: ${refused}`],
    ["node Fetch failed", "ok", "it failed"],
    ["node Fetch failed within 20ms", "failed", "it took 0.028 s"],
    ["node Fetch succeeded", "failed", `its status is "failed": ${refused}`],
    ["output result exists", "failed", "output not found, the run has none"],
    ["text does not exist", "ok", "the run has none"],
    ["error matches /^\\[Errno \\d+\\]/", "ok", `it is ${refused}`],
    ["no errors", "failed", `node "Fetch" failed: ${refused}`],
  ],
  "node that is retried twice, then fails": [
    ["node Unsteady was retried", "ok", "it was retried 2 times"],
    ["node Unsteady was retried 2 times", "ok", "it was retried 2 times"],
    ["node Unsteady was retried at most 1 time", "failed", "it was retried 2 times"],
    ["node Unsteady was not retried", "failed", "it was retried 2 times"],
    ["node Unsteady ran exactly 1 times", "ok", "it ran 1 time"],
    ["no retries", "failed", 'node "Unsteady" was retried 2 times'],
  ],
  "node that fails with a default value: partial-succeeded": [
    ["run partial-succeeded", "ok", "it ended as partial-succeeded"],
    ["run succeeded", "failed", "it ended as partial-succeeded"],
    ["node Fetch failed", "ok", "it failed"],
    [
      "node Fetch succeeded",
      "failed",
      'its status is "exception": "[Errno 111] Connection refused (HttpRequestNodeError)"',
    ],
    [
      "no errors",
      "failed",
      'node "Fetch" failed: "[Errno 111] Connection refused (HttpRequestNodeError)"',
    ],
    ["output result is 'fallback'", "ok", 'it is "fallback"'],
  ],
  "iteration: array_iteration_formatting_workflow": [
    ["node Template ran 3 times", "ok", "it ran 3 times"],
    ["node Template ran at most 3 times", "ok", "it ran 3 times"],
    ["node Template ran at least 3 times", "ok", "it ran 3 times"],
    ["node Template ran more than 3 times", "failed", "it ran 3 times"],
    ["node Template ran less than 3 times", "failed", "it ran 3 times"],
    ["node Template succeeded within 1s", "ok", "3 times, the last time it took 0.287 s"],
    ["node Template took at most 220ms", "failed", "time 2 it took 0.232 s"],
    ["node Iteration succeeded", "ok", "it succeeded"],
    ["node Iteration used at most 10 tokens", "ok", "it used 0 tokens"],
    ["node Code before Template", "ok", "they ran in this order"],
    ["node Iteration before Template", "failed", '"Iteration" had not ended when "Template" began'],
    [
      'output output is ["output: 1","output: 2","output: 3"]',
      "ok",
      'it is ["output: 1","output: 2","output: 3"]',
    ],
    ["output output.1 matches /2$/", "ok", 'it is "output: 2"'],
  ],
  "run of increment_loop_with_break_condition_workflow": [
    ['node "Variable Assigner" ran at least 2 times', "ok", "it ran 4 times"],
    ["node type loop ran", "ok", "it ran 1 time"],
    ["output num >= 5", "ok", "it is 5"],
    ["output num < 5", "failed", "it is 5"],
    ["output num is 5", "ok", "it is 5"],
    ['output num is "5"', "failed", "it is 5"],
    ["output num > 4.5", "ok", "it is 5"],
    ["output num <= -1", "failed", "it is 5"],
  ],
  "slow run that is stopped after 2 s": [
    ["run stopped within 5s", "ok", "it took 2.252 s"],
    ["run failed", "failed", 'it ended as stopped: "Aborted: User requested stop"'],
    ["node Fetch succeeded", "failed", "it had not ended"],
    ["node Fetch took less than 1m", "failed", "it had not ended"],
  ],
  "run with human input, streaming: ends at the pause": [
    ["run paused", "ok", "it is paused"],
    ["node Review ran", "ok", "it ran 1 time"],
    ["node Review succeeded", "failed", "it had not ended"],
    ["node End did not run", "ok", "it did not run"],
    ["no pauses", "failed", "1 pause occurred"],
  ],
};

test.each(Object.entries(verdicts))("%s", async (title, expected) => {
  const ran = await follow(
    recordedRun(title),
    expected.map(([sentence]) => sentence),
  );
  expect(lines(ran.err)).toEqual(expected.map(lineOf));
  expect(ran.exit).toBe(14);
});

test("a node that waited for human input counts once, with its final status", async () => {
  const title = "paused run, snapshot and continue_on_pause, form submitted after 3 s";
  const ran = await follow(
    recordedRun(title),
    [
      "node Review succeeded",
      "node Review ran 1 time",
      "node Review before End",
      "run succeeded",
      'text contains "fine by me"',
      "no pauses",
    ],
    { flags: ["--follow", "--through-pauses"] },
  );
  expect(lines(ran.err)).toEqual([
    "✓ ok      node Review succeeded: it succeeded",
    "✓ ok      node Review ran 1 time: it ran 1 time",
    "✓ ok      node Review before End: they ran in this order",
    "✓ ok      run succeeded: it ended as succeeded",
    '✓ ok      text contains "fine by me": it is "fine by me"',
    "✗ failed  no pauses: 1 pause occurred",
  ]);
});

test("the text of a paused chatflow is complete and has no duplicates", async () => {
  const title = "paused chatflow, snapshot and continue_on_pause, form submitted after 2 s";
  const ran = await follow(
    recordedRun(title),
    ['text is "Before the review. After the review: yes"', "run took less than 10s"],
    { flags: ["--follow", "--through-pauses"] },
  );
  expect(ran.exit, ran.err).toBe(0);
});

describe("an expectation about missing events is not met", () => {
  const absences = ["node Fetch did not run", "no errors", "no gaps", "run succeeded"];
  const run = recordedRun("slow run, streaming, a node takes 6 s");
  const last = run.slice(-1);
  const detail = http(200, JSON.stringify({ id: idOf(run), status: "succeeded", error: null }));
  const unseen =
    "node events are missing: following started late, the connection was lost at the end, or the recording is damaged";
  const unwatched = "events are missing, so retries and pauses may have been missed";

  test("if the run ends while the connection is lost", async () => {
    const { baseUrl } = await rawServer(
      [stream(run.slice(0, 3)), detail, stream(last)].map(
        (answer) => (socket) => void socket.end(answer),
      ),
    );
    const ran = await cli(
      ["wf", "events", idOf(run), "-F", ...absences.flatMap((each) => ["--expect", each])],
      { env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" } },
    );
    expect(lines(ran.err)).toEqual([
      `✗ failed  node Fetch did not run: ${unseen}`,
      `✗ failed  no errors: ${unseen}`,
      "✗ failed  no gaps: 1 gap occurred",
      "✓ ok      run succeeded: it ended as succeeded",
    ]);
  });

  test("if the run ended before following started", async () => {
    const ran = await follow(last, ["node Start succeeded", ...absences]);
    expect(lines(ran.err).slice(0, 3)).toEqual([
      `✗ failed  node Start succeeded: ${unseen}`,
      `✗ failed  node Fetch did not run: ${unseen}`,
      `✗ failed  no errors: ${unseen}`,
    ]);
  });

  test("unless a snapshot after a lost connection has the nodes", async () => {
    const [, , , cut = 0] = endsOf(run);
    const ran = await follow(
      run,
      [
        "node Escalate did not run",
        "node Start was not retried",
        "no retries",
        "no pauses",
        "run succeeded",
      ],
      { flags: ["--follow"], cuts: [{ at: cut, how: "end", lost: 1, failures: [] }] },
    );
    expect(lines(ran.err)).toEqual([
      "✓ ok      node Escalate did not run: it did not run",
      `✗ failed  node Start was not retried: ${unwatched}`,
      `✗ failed  no retries: ${unwatched}`,
      `✗ failed  no pauses: ${unwatched}`,
      "✓ ok      run succeeded: it ended as succeeded",
    ]);
  });

  test("about retries and pauses if following starts with a snapshot", async () => {
    const title = "node that is retried twice, then fails";
    const retried = recordedRun(title);
    const second = retried.findLastIndex(({ event }) => event === "node_retry");
    const at = endsOf(retried)[second - 1] ?? 0;
    const server = await playedRun(retried, [{ at, how: "end", lost: 0, failures: [] }]);
    const env = { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" };
    expect((await cli(["wf", "events", idOf(retried)], { env })).exit).toBe(13);
    const expected = [
      "node Unsteady was retried at most 1 time",
      "node Unsteady was retried at least 1 time",
      "node Start was not retried",
      "no retries",
      "no pauses",
      "node Unsteady ran 1 time",
    ];
    const ran = await cli(
      ["wf", "events", idOf(retried), "-F", ...expected.flatMap((each) => ["--expect", each])],
      { env },
    );
    expect(lines(ran.err)).toEqual([
      `✗ failed  node Unsteady was retried at most 1 time: ${unwatched}`,
      "✓ ok      node Unsteady was retried at least 1 time: it was retried 1 time",
      `✗ failed  node Start was not retried: ${unwatched}`,
      '✗ failed  no retries: node "Unsteady" was retried 1 time',
      `✗ failed  no pauses: ${unwatched}`,
      "✓ ok      node Unsteady ran 1 time: it ran 1 time",
    ]);
  });
});

const failing = recordedRun("run that fails, streaming");
const paused = recordedRun("run with human input, streaming: ends at the pause");
const partial = recordedRun("node that fails with a default value: partial-succeeded");

describe("the exit code", () => {
  test.each([
    ["a failure that is expected", failing, ["run failed"], 0],
    ["a failure that is one of two ends", failing, ["run succeeded or status = failed"], 0],
    ["a failure that is excluded", failing, ["not run succeeded"], 9],
    ["a failure of which nothing is said", failing, ["node Start succeeded"], 9],
    ["a failure beside what is not met", failing, ["node Fetch succeeded"], 14],
    ["a failure that is not expected", failing, ["run succeeded"], 14],
    ["a pause of which nothing is said", paused, ["node Start succeeded"], 8],
    ["a pause where an end is expected", paused, ["run succeeded"], 8],
    ["a pause that is expected", paused, ["run paused", "node Review ran"], 0],
    ["a pause beside what is not met", paused, ["run paused", "node End ran"], 14],
    ["partial success of which nothing is said", partial, ["node End succeeded"], 0],
    ["partial success that is expected", partial, ["run partial-succeeded"], 0],
  ])("of %s", async (_, run, sentences, exit) => {
    const ran = await follow(run, sentences);
    expect(ran.exit, ran.err).toBe(exit);
  });

  test("is that of a lost connection, and the JUnit file has the reason", async () => {
    const junit = fresh("xml");
    const { baseUrl } = await rawServer([
      (socket) => void socket.end(stream(failing.slice(0, 2))),
      (socket) => void socket.end(http(200, JSON.stringify({ status: "running", error: null }))),
    ]);
    const ran = await cli(
      ["wf", "events", idOf(failing), "--expect", "run failed", "--junit", junit],
      { env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" } },
    );
    expect(ran.exit, ran.err).toBe(13);
    expect(ran.err).toContain("the expectations were not checked");
    expect(await readFile(junit, "utf8")).toContain(
      `<failure message="not checked: lost the event stream of run ${idOf(failing)}: `,
    );
  });

  test("is that of an interrupt, and the JUnit file has the reason", async () => {
    const server = await testSandbox();
    const { out } = await server.cli(
      "wf --app slow run --input query=x --input seconds=600 --detach -o name".split(" "),
    );
    const junit = fresh("xml");
    const controller = new AbortController();
    const ran = await server.cli(
      ["wf", "--app", "slow", "events", out.trim(), "--expect", "no errors", "--junit", junit],
      {
        signal: controller.signal,
        onOutput: (text) => {
          if (text.includes("Wait")) controller.abort("SIGINT");
        },
      },
    );
    expect(ran.exit).toBe(130);
    expect(await readFile(junit, "utf8")).toContain(`message="not checked: interrupted`);
  });
});

describe("an invalid sentence is reported with its position before sending anything", () => {
  test.each([
    ["", 1, "missing name", undefined],
    ["rum succeeded", 1, "unknown field rum", "run"],
    [
      "run suceeded",
      5,
      "suceeded is not one of succeeded, partial-succeeded, failed, stopped, paused, took, used",
      "succeeded",
    ],
    ["run succeeded witin 2m", 15, "witin is not within", "within"],
    ["run succeeded within 2 minutes", 24, "unexpected text after the sentence", undefined],
    ["run succeeded within soon", 22, "soon is not a duration such as 30s or 1m30s", undefined],
    ["run took 10s", 10, "10s is not one of at, exactly, less, more", undefined],
    ["run took at mots 10s", 13, "mots is not one of least, most", "most"],
    ["run used 5k tokens", 10, "5k is not a whole number", undefined],
    ["run used 5 tokes", 12, "tokes is not one of tokens, steps", "tokens"],
    ['node "Review succeeded', 6, "missing closing quote", undefined],
    ["node", 5, "a name is missing", undefined],
    ["node X did not runn", 16, "runn is not run", "run"],
    ["node X was", 11, "one of retried, not is missing", undefined],
    ["node X ran twice", 12, "twice is not a whole number", undefined],
    ['"A" befor "B"', 5, "befor is not before", "before"],
    ['"A" before', 11, "a name is missing", undefined],
    ["output x does not contian 'y'", 19, "contian is not one of exist, contain, match", "contain"],
    ["output x is yes", 13, "invalid JSON value", undefined],
    ["output x contains y", 19, "y is not a text in quotes", undefined],
    ["output x >= high", 13, "high is not a number", undefined],
    ["output x matches refund", 18, "refund is not a pattern such as /refund/i", undefined],
    ["output x matches /a/gi", 21, "invalid flag of a pattern; use i, m, s, u or v", undefined],
    ["output x matches /(/", 18, "invalid pattern: Unterminated group", undefined],
    ['output x is not "\\q"', 17, "invalid JSON value", undefined],
    [
      'text contains "\\q"',
      15,
      'invalid escape sequence; in double quotes use \\\\, \\", \\n, \\t or \\uXXXX',
      undefined,
    ],
    ["run failed and", 15, "missing name", undefined],
    ["no gaps or elasped<3s", 12, "unknown field elasped", "elapsed"],
    ["(no gaps", 9, "a closing parenthesis is missing", undefined],
    ["no gaps )", 9, "unexpected text after the sentence", undefined],
    ["output x contians 'y'", 10, "missing operator: >= <= != !~ > < = ~", "contains"],
    ["no erors", 4, "erors is not one of errors, gaps, retries, pauses, citations", "errors"],
  ])("%s", async (sentence, position, problem, meant) => {
    const server = await rawServer([(socket) => void socket.end(http(500, "{}"))]);
    const ran = await cli(["wf", "events", idOf(failing), "--expect", sentence], {
      env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
    });
    const hint =
      meant === undefined
        ? /^hint: (run `wf help conditions` for the syntax|put texts in quotes: is "yes")$/m
        : new RegExp(`^hint: did you mean ${meant}\\?$`, "m");
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(
      `error: --expect ${JSON.stringify(sentence)}, position ${position}: ${problem}\n`,
    );
    expect(ran.err).toMatch(hint);
    expect(server.requests).toEqual([]);
  });
});

/** Writes a file of expectations. */
async function written(text: string): Promise<string> {
  const path = fresh("yml");
  await writeFile(path, text);
  return path;
}

describe("a file", () => {
  test("is equivalent to sentences, and annotations point to its lines", async () => {
    const path = await written(`name: Iterations
checks:
  - run succeeded within 2m
  - "no errors"
  - node "Start" before "Code"
  - node "Code" before "Start"
  - 'run took
    at most 1s'
  - 'output "output.0" matches /OUTPUT: \\d/i'
`);
    const ran = await follow(
      recordedRun("iteration: array_iteration_formatting_workflow"),
      [path],
      {
        env: { GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: folder },
      },
    );
    expect(lines(ran.err)).toEqual([
      "✓ ok      run succeeded within 2m: it took 1.141 s",
      "✓ ok      no errors: none occurred",
      '✓ ok      node "Start" before "Code": they ran in this order',
      '✗ failed  node "Code" before "Start": "Start" began first',
      "✗ failed  run took at most 1s: it took 1.141 s",
      '✓ ok      output "output.0" matches /OUTPUT: \\d/i: it is "output: 1"',
    ]);
    const file = path.slice(folder.length + 1);
    expect(ran.err.split("\n").filter((line) => line.startsWith("::"))).toEqual([
      `::error title=Expectation not met,file=${file},line=6::node "Code" before "Start": "Start" began first`,
      `::error title=Expectation not met,file=${file},line=7::run took at most 1s: it took 1.141 s`,
    ]);
    expect(ran.out).not.toContain("::error");
  });

  test.each([
    ["", "line 1: the file has no expectations"],
    ["name: x\n", "line 1: the file has no expectations"],
    ["- run succeeded\n", "line 1: expected a mapping"],
    [
      "checks:\n  - run failed\nchekcs: [A]\n",
      'line 3: "chekcs" is not one of name, checks\nhint: did you mean checks?',
    ],
    ["checks: run failed\n", "line 1: expected a list"],
    ["checks:\n", "line 1: expected a list"],
    ["checks:\n  -\n", "line 2: expected a text"],
    ["{checks}\n", "line 1: missing value"],
    [
      "checks:\n  - run failed\n  - node X rann\n",
      'line 3: "node X rann", position 8: rann is not one of',
    ],
    ["checks: [{run: failed}]\n", "line 1: expected a text"],
    ["checks: [A]\nchecks: [B]\n", "line 2: Map keys must be unique\n"],
    ["checks: [A\n", "line 2: Flow sequence in block collection must be"],
    ["checks: !secret [run failed]\n", "line 1: Unresolved tag: !secret"],
  ])("%j is rejected with its line", async (text, message) => {
    const path = await written(text);
    const ran = await cli(["wf", "events", idOf(failing), "--expect", path], {
      env: { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_APP_KEY: "app-x" },
    });
    expect(ran.exit, ran.err).toBe(2);
    expect(ran.err).toContain(`error: ${path} ${message}`);
  });

  test("with a key besides checks is refused with the conditions that say the same", async () => {
    const path = await written(`name: Iterations
checks: [no errors]
required: [Start, 1754683442688]
forbidden:
  - It's over
order: [[Start, Code, Template], [Code, Start]]
within:
  run: 1s
  nodes: { Template: 30s }
tokens:
  max: 5000
  nodes: { Iteration: 10 }
outputs:
  output:
    equals: ["output: 1", { a: null }]
    contains: "output: 2"
    matches: output/x
  output.0: { matches: "/OUTPUT: \\\\d/i", exists: true }
  a b: { exists: false }
`);
    const server = await rawServer([(socket) => void socket.end(http(500, "{}"))]);
    const ran = await cli(["wf", "events", idOf(failing), "--expect", path], {
      env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
    });
    expect(ran.exit).toBe(2);
    expect(ran.err.split("\n")).toEqual([
      `error: ${path} line 3: "required" is no longer a key: use checks`,
      `  - 'node "Start" ran'`,
      `  - 'node "1754683442688" ran'`,
      `  ${path} line 4: "forbidden" is no longer a key: use checks`,
      `  - 'node "It''s over" did not run'`,
      `  ${path} line 6: "order" is no longer a key: use checks`,
      `  - 'node "Start" before "Code"'`,
      `  - 'node "Code" before "Template"'`,
      `  - 'node "Code" before "Start"'`,
      `  ${path} line 7: "within" is no longer a key: use checks`,
      "  - 'run took at most 1s'",
      `  - 'node "Template" took at most 30s'`,
      `  ${path} line 10: "tokens" is no longer a key: use checks`,
      "  - 'run used at most 5000 tokens'",
      `  - 'node "Iteration" used at most 10 tokens'`,
      `  ${path} line 13: "outputs" is no longer a key: use checks`,
      `  - 'output "output" is ["output: 1",{"a":null}]'`,
      `  - 'output "output" contains "output: 2"'`,
      `  - 'output "output" matches /output\\/x/'`,
      `  - 'output "output.0" matches /OUTPUT: \\d/i'`,
      `  - 'output "output.0" exists'`,
      `  - 'output "a b" does not exist'`,
      "hint: run `wf help conditions` for the keys of a file",
      "",
    ]);
    expect(server.requests).toEqual([]);
    const pasted = ran.err.split("\n").filter((line) => line.startsWith("  - "));
    const { err } = await follow(recordedRun("iteration: array_iteration_formatting_workflow"), [
      await written(`checks:\n${pasted.join("\n")}\n`),
    ]);
    expect(lines(err).map((line) => line.slice(0, 10).trim())).toEqual([
      "✓ ok",
      "✓ ok",
      "✓ ok",
      "✓ ok",
      "✓ ok",
      "✗ failed",
      "✗ failed",
      "✓ ok",
      "✓ ok",
      "✓ ok",
      "✗ failed",
      "✓ ok",
      "✗ failed",
      "✓ ok",
      "✓ ok",
      "✓ ok",
    ]);
  });

  test.each([
    ["order: [A, B]", "x.yml line 1: expected a list"],
    ["within: { nods: { A: 1s } }", '"nods" is not one of run, nodes'],
    ["outputs: { a: { matches: ( } }", "Unterminated group"],
  ])("%s: the key is refused, its value does not become conditions", async (text, problem) => {
    const path = await written(`${text}\n`);
    const ran = await cli(["wf", "events", idOf(failing), "--expect", path]);
    const key = /^\w+/.exec(text)?.[0] ?? "";
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`error: ${path} line 1: "${key}" is no longer a key: use checks\n  `);
    expect(ran.err).toContain(problem.replace("x.yml", path));
  });

  test.each([
    ["missing.yml", "file not found"],
    ["folder.yaml", "is a directory"],
    ["large.yml", "file larger than 1 MiB"],
  ])("rejects %s", async (name, problem) => {
    await mkdir(join(folder, "folder.yaml"), { recursive: true });
    await writeFile(join(folder, "large.yml"), "#".repeat(1024 * 1024 + 1));
    const ran = await cli(["wf", "events", idOf(failing), "--expect", join(folder, name)], {
      env: { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_APP_KEY: "app-x" },
    });
    expect(ran).toMatchObject({ exit: 2 });
    expect(ran.err).toContain(`--expect ${join(folder, name)}: ${problem}`);
  });
});

/** A run with these outputs. */
function giving(outputs: object, title = "Model"): readonly Played[] {
  const id = "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11";
  const node = { id: "1", node_id: "m", node_type: "llm", title };
  const events = [
    { event: "workflow_started", data: { id, reason: "initial" } },
    { event: "node_started", data: node },
    {
      event: "node_finished",
      data: { ...node, status: "succeeded", execution_metadata: { total_tokens: 70 } },
    },
    {
      event: "workflow_finished",
      data: {
        id,
        status: "succeeded",
        outputs,
        elapsed_time: 1.5,
        total_tokens: 70,
        total_steps: 1,
      },
    },
  ];
  return events.map(({ event, data: inner }) => {
    const data = { event, workflow_run_id: id, data: inner };
    return { event, raw: JSON.stringify(data), data };
  });
}

describe("JUnit XML", () => {
  test("has each check with the actual state", async () => {
    const junit = fresh("xml");
    const file = await written("name: Support <flow>\nchecks: [run took at most 1s]\n");
    const ran = await follow(
      giving({ answer: 'a <b> & "c"\u0000\n' }),
      ['output answer contains "refund"', "node type llm used at most 100 tokens", file],
      { flags: ["--junit", junit] },
    );
    expect(ran.exit).toBe(14);
    expect(await readFile(junit, "utf8")).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="2" errors="0" time="1.500">
  <testsuite name="Support &lt;flow&gt;" tests="4" failures="2" errors="0" time="1.500">
    <testcase classname="Support &lt;flow&gt;" name="run succeeded" time="0.000"/>
    <testcase classname="Support &lt;flow&gt;" name="output answer contains &quot;refund&quot;" time="0.000">
      <failure message="it is &quot;a &lt;b&gt; &amp; \\&quot;c\\&quot;\\u0000\\n&quot;">it is &quot;a &lt;b&gt; &amp; \\&quot;c\\&quot;\\u0000\\n&quot;</failure>
    </testcase>
    <testcase classname="Support &lt;flow&gt;" name="node type llm used at most 100 tokens" time="0.000"/>
    <testcase classname="Support &lt;flow&gt;" name="run took at most 1s" time="1.500">
      <failure message="it took 1.5 s">it took 1.5 s</failure>
    </testcase>
  </testsuite>
</testsuites>
`);
  });

  test("without expectations reports how the run ended", async () => {
    const junit = fresh("xml");
    const ran = await follow(failing, [], { flags: ["--junit", junit] });
    expect(ran.exit).toBe(9);
    expect(await readFile(junit, "utf8")).toContain(
      '<testcase classname="expectations" name="run succeeded" time="0.000">\n      <failure message="it ended as failed: &quot;[Errno 111] Connection refused&quot;">',
    );
  });

  test("is rejected before sending anything if the path cannot be written", async () => {
    await writeFile(join(folder, "plain"), "");
    for (const [path, problem] of [
      [folder, "is a directory"],
      [join(folder, "plain", "r.xml"), "file already exists"],
    ] as const) {
      const ran = await cli(["wf", "events", idOf(failing), "--junit", path], {
        env: { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_APP_KEY: "app-x" },
      });
      expect(ran.exit).toBe(2);
      expect(ran.err).toContain(`--junit ${path}: ${problem}`);
    }
  });
});

test.each([
  ["run succeeded", 1, /^error: --junit: failed to write \S+: not a directory/m],
  [
    "run failed",
    14,
    /^--junit: failed to write \S+: not a directory[^]*^error: run \S+ did not meet/m,
  ],
])("reports a JUnit file that cannot be written, with '%s'", async (sentence, exit, info) => {
  const gone = join(folder, `gone-${exit}`);
  await mkdir(gone);
  const server = await playedRun(giving({}), []);
  const ran = await cli(
    ["wf", "events", idOf(giving({})), "--expect", sentence, "--junit", join(gone, "r.xml")],
    {
      env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
      onOutput: () => {
        rmSync(gone, { recursive: true, force: true });
        writeFileSync(gone, "");
      },
    },
  );
  expect(ran.exit, ran.err).toBe(exit);
  expect(ran.err).toMatch(info);
});

describe("text of the server", () => {
  test("is quoted on one line and cannot start a workflow command of GitHub", async () => {
    const title = "Model\n::error::all is well\u001b[2J\u202e";
    const ran = await follow(
      giving({ answer: "x\r\n::set-output name=a::b %0A" }, title),
      ["output answer is 'y'", "node Nobody ran"],
      { env: { GITHUB_ACTIONS: "true" } },
    );
    expect(ran.err.split("\n").filter((line) => line.includes("::"))).toEqual([
      `✗ failed  output answer is 'y': it is "x\\r\\n::set-output name=a::b %0A"`,
      `✗ failed  node Nobody ran: no such node ran, only "Model\\n::error::all is well\\u001b[2J\\u202e"`,
      `::error title=Expectation not met::output answer is 'y': it is "x\\r\\n::set-output name=a::b %250A"`,
      `::error title=Expectation not met::node Nobody ran: no such node ran, only "Model\\n::error::all is well\\u001b[2J\\u202e"`,
      expect.stringMatching(/^error: run \S+ did not meet 2 of 2 expectations: output answer/),
    ]);
  });

  test("is searched for at most a second, in its first 65536 characters", async () => {
    const ran = await follow(
      giving({ bad: `${"a".repeat(40)}!`, long: `${"b".repeat(65_536)}refund` }),
      [
        "output bad does not match /^(a+)+$/",
        "output long matches /^b+/",
        "output long matches /refund/",
        "output long does not match /refund/",
      ],
    );
    const cut = "no match in the first 65536 of 65542 characters; the rest is not searched";
    expect(lines(ran.err)).toEqual([
      "✗ failed  output bad does not match /^(a+)+$/: /^(a+)+$/ timed out after 1000 ms",
      `✓ ok      output long matches /^b+/: it is "${"b".repeat(199)}…`,
      `✗ failed  output long matches /refund/: ${cut}`,
      `✗ failed  output long does not match /refund/: ${cut}`,
    ]);
  });
});

test("lines have no marks if the terminal may not show them", async () => {
  for (const env of [
    { TERM: "dumb" },
    { TERM: "linux" },
    { LC_ALL: "C" },
    { LC_ALL: "ja_JP.eucJP" },
    { KB_ACCESSIBLE: "1" },
  ]) {
    const { err } = await follow(giving({}), ["no errors"], { env });
    expect(err).toContain("\nok      no errors: none occurred\n");
  }
});

test("the JSON error has every result", async () => {
  const ran = await follow(giving({}), ["no errors", "output x exists"], {
    flags: ["-o", "jsonl"],
  });
  expect(JSON.parse(ran.err.trim().split("\n").at(-1) ?? "")).toMatchObject({
    error: {
      code: "gate",
      exit: 14,
      details: {
        run: "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11",
        expectations: [
          { check: "no errors", passed: true, actual: "none occurred" },
          {
            check: "output x exists",
            passed: false,
            actual: "output not found, the run has none",
          },
        ],
      },
    },
  });
  expect(ran.out.trim().split("\n")).toHaveLength(4);
});

test("--expect takes a single run", async () => {
  const [one, other] = [idOf(failing), idOf(paused)];
  const ran = await cli(["wf", "events", one, other, "--expect", "no errors"], {
    env: { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_APP_KEY: "app-x" },
  });
  expect(ran).toMatchObject({ exit: 2 });
  expect(ran.err).toContain("--expect and --junit take a single run");
});

describe("help conditions", async () => {
  const page = await topicText("conditions", 80);

  test("shows valid sentences, with and without their optional parts", () => {
    const [, table = ""] = /\nSentences:\n(.*?)\n\n/s.exec(page) ?? [];
    const shapes = table.split("\n").map((line) => line.trim());
    expect(shapes).toHaveLength(29);
    const words: readonly (readonly [form: RegExp, values: readonly string[]])[] = [
      [/ ?\[((?:[^[\]]|\[[^[\]]*\])*)\]/, ["", " $1"]],
      [/at least\|.* than/, ["at least", "at most", "exactly", "less than", "more than"]],
      [/[a-z-]+(?:\|[a-z-]+)+/, []],
      [/FIELD/, ["output answer", "error"]],
      [/BOUND/, ["at most", "less than"]],
      [/TIME/, ["1m30s"]],
      [/\bN\b/, ["3"]],
      [/NODE/, ['"Start"', "Start", "type llm"]],
      [/VALUE/, ["5"]],
      [/JSON/, ['{"a": 1}']],
      [/DOCUMENT/, ["leave.md", '"paid leave.md"']],
    ];
    const sentencesOf = (shape: string): string[] => {
      const found = words.find(([form]) => form.test(shape));
      if (!found) return [shape];
      const [form, values] = found;
      const [whole = "", inner = ""] = form.exec(shape) ?? [];
      const each = values.length > 0 ? values : whole.split("|");
      return each.flatMap((value) =>
        sentencesOf(shape.replace(whole, () => value.replace("$1", inner))),
      );
    };
    const sentences = shapes.flatMap(sentencesOf);
    expect(sentences.length).toBeGreaterThan(60);
    for (const sentence of sentences)
      expect(parseExpectation(sentence, "--expect").name).toBe(sentence);
  });

  test("shows a valid file", async () => {
    const text = page
      .slice(page.indexOf("    name:"), page.indexOf("\n\nExpectations decide"))
      .replace(/^ {4}/gm, "");
    const ran = await follow(giving({}), [await written(text)]);
    expect(ran.exit, ran.err).toBe(14);
    expect(lines(ran.err)).toHaveLength(4);
  });
});

rareTest("any text is a check that can be evaluated or a usage error with a position", () => {
  const traces = Object.keys(verdicts).map((title) => {
    const trace = new RunTrace();
    for (const [at, event] of recordedRun(title).entries()) trace.add(serverEvent(event.data), at);
    return trace;
  });
  const vocabulary = [
    ...Object.values(verdicts).flatMap((table) =>
      table.flatMap(([sentence]) => sentence.split(" ")),
    ),
    ..."type \" ' /a[/]b/ /( \\ [] {} -1 1e999 99999999999999999999 __proto__ constructor 0.0.0 \u0000 \u202e 世".split(
      " ",
    ),
  ];
  const random = seeded(11);
  const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const known = Object.values(verdicts).flatMap((table) => table.map(([sentence]) => sentence));
  let [read, rejected] = [0, 0];
  for (let turn = 0; turn < 6000; turn++) {
    const words = any(known).split(" ");
    for (let edits = Math.floor(random() * 4); edits > 0; edits--)
      words.splice(
        Math.floor(random() * (words.length + 1)),
        Math.floor(random() * 2),
        any(vocabulary),
      );
    const sentence = words.join(any([" ", "  ", "\n"]));
    try {
      const { check } = parseExpectation(sentence, "--expect");
      read++;
      const { actual } = check.evaluate(any(traces));
      expect(actual, sentence).toMatch(/^[^\p{Cc}\p{Bidi_Control}]+$/u);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      rejected++;
      expect(error.kind, sentence).toBe("usage");
      const position = Number(/, position (\d+): /.exec(error.message)?.[1]);
      expect(position, error.message).toBeGreaterThanOrEqual(1);
      expect(position, error.message).toBeLessThanOrEqual(sentence.length + 1);
    }
  }
  expect(read).toBeGreaterThan(1500);
  expect(rejected).toBeGreaterThan(1500);
});

test.each([
  [undefined, undefined, "no reply has named its sources"],
  [[], true, "no document was cited"],
  [[{ document: null, content: "a" }], false, 'cited: "a document without a name"'],
])("no citations, of the sources %j: %j", (sources, passed, actual) => {
  const { check } = parseExpectation("no citations", "--expect");
  const trace = Object.assign(new RunTrace(), { sources });
  expect(check.evaluate(trace)).toEqual({ passed, actual });
});
