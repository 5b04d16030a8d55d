/** `kb sandbox --app-file` with rules, and the application `answers`. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Environment, inSandbox } from "../../lib/in-sandbox.ts";
import { cli, type Ran, temporaryDirectory } from "../../lib/support.ts";

const folder = await temporaryDirectory();

/** Runs lines of `wf` in a sandbox with the rules as the application `rules`; returns the results. */
async function wf(
  rules: string,
  lines: readonly (readonly string[])[],
  flags: readonly string[] = ["--seed", "5"],
): Promise<Ran[]> {
  const path = join(folder, "rules.yaml");
  await writeFile(path, rules);
  const results: Ran[] = [];
  const ran = await inSandbox([...flags, "--app-file", path], async (env) => {
    for (const line of lines)
      results.push(await cli(["wf", "--app", "rules", ...line], { env, folder }));
  });
  expect(ran).toEqual({ exit: 0, out: "", err: "" });
  return results;
}

const ask = (question: string, ...more: readonly string[]) => ["chat", "send", question, ...more];

const leave = `
rules:
  - question: /days of leave/i
    answer: You have 30 days.
    cites: [leave.md, { document: osaka.md, text: Twelve days., score: 0.5, knowledge_base: Osaka }]
    tokens: { prompt: 90, completion: 10 }
    delay: 20ms
otherwise: [That is not written.]
`;
const shown = [
  ".answer, .metadata.usage.prompt_tokens, .metadata.usage.total_tokens, .metadata.usage.latency",
  '.metadata.retriever_resources[] | [.position, .dataset_name, .document_name, .content, .score] | join("|")',
];

test.each(["chat", "advanced-chat"])("a %s answers with sources and tokens", async (mode) => {
  const rules = `mode: ${mode}${leave}`;
  const lines = [
    ...shown.map((jq) => ask("How many days of leave?", "--jq", jq)),
    ask("Parking?", "--jq", "[.answer, .metadata.retriever_resources]"),
  ];
  const [answer, sources, other] = await wf(rules, lines, ["--without-models"]);
  expect(answer?.out).toBe("You have 30 days.\n90\n100\n0.02\n");
  expect(sources?.out).toBe(
    "1|Handbook|leave.md|You have 30 days.|0.9\n2|Osaka|osaka.md|Twelve days.|0.5\n",
  );
  expect(other?.out).toBe('["That is not written.",[]]\n');
});

test("a workflow and a completion answer the texts of their inputs", async () => {
  const rules = `mode: workflow\ninputs: [question, expected]${leave}`;
  const line = ["run", "question=How many days of leave?", "expected=30", "--jq"];
  const [run] = await wf(rules, [[...line, "[.outputs, .total_tokens]"]]);
  expect(run).toMatchObject({ exit: 0, out: '[{"text":"You have 30 days."},100]\n' });
  const [completion] = await wf(`mode: completion${leave}`, [
    ["text", "create", "--input", "query=days of leave", "--jq", ".answer"],
  ]);
  expect(completion).toMatchObject({ exit: 0, out: "You have 30 days.\n" });
});

test("a pattern that is a text matches without case and blanks, and the first rule answers", async () => {
  const rules = `
rules:
  - { question: And for parents?, after: /leave/, answer: Three years. }
  - { question: " And  for PARENTS? ", answer: For what? }
  - { question: parents, answer: Only this word. }
`;
  const lines = ["and for  parents?", "parents"].map((text) => ask(text, "--jq", ".answer"));
  const [whole, word] = await wf(rules, lines);
  expect(whole?.out).toBe("For what?\n");
  expect(word?.out).toBe("Only this word.\n");
});

test("answers can be errors of the model, at once or in the middle, and statuses", async () => {
  const rules = `
rules:
  - { question: at once, error: quota }
  - { question: in the middle, answer: One two three four., error: mid-rate }
  - { question: status, status: 403 }
`;
  const [once, middle, status] = await wf(rules, [
    ask("at once"),
    ask("in the middle"),
    ask("status"),
  ]);
  expect(once).toMatchObject({ exit: 7, out: "" });
  expect(once?.err).toContain("The quota of the model provider is used up.");
  expect(middle?.exit).toBe(9);
  expect(middle?.out).toContain("One two three");
  expect(middle?.out).not.toContain("four");
  expect(status?.exit).toBe(4);
  expect(status?.err).toContain("(403 forbidden)");
});

/**
 * Asks the application `rules` in a sandbox; a step such as `DELETE /cache` is a request to its control. Returns the
 * answers and the JSON of control; of an error the exit code.
 */
async function replies(rules: string, steps: readonly string[], jq = ".answer"): Promise<string[]> {
  const path = join(folder, "rules.yaml");
  await writeFile(path, rules);
  const found: string[] = [];
  const ran = await inSandbox(["--seed", "5", "--app-file", path], async (env) => {
    for (const step of steps) {
      const [, method, route = "", body] = /^(POST|DELETE) (\S+) ?(.*)$/.exec(step) ?? [];
      if (method === undefined) {
        const line = ["wf", "--app", "rules", ...ask(step, "--jq", jq)];
        const { exit, out } = await cli(line, { env, folder });
        found.push(exit === 0 ? out.trim() : String(exit));
      } else {
        const url = new URL(`/_sandbox${route}`, env["KB_BASE_URL"]);
        const response = await fetch(url, { method, ...(body && { body }) });
        found.push(JSON.stringify(await response.json()));
      }
    }
  });
  expect(ran).toEqual({ exit: 0, out: "", err: "" });
  return found;
}

const times = (count: number, ...steps: readonly string[]) =>
  Array.from({ length: count }, () => steps).flat();

const [long, longer] = [
  "You have thirty days of leave in each calendar year.",
  "Leave is thirty days, which you may take at any time.",
];
const cachedRule = (cache: boolean, ...answers: readonly object[]) =>
  JSON.stringify({ rules: [{ question: "/leave/", cache, answers }] });
const both = [{ answer: long }, { answer: longer }];

test("a rule with a cache repeats what it drew for a question until the caches are cleared", async () => {
  const rules = cachedRule(true, ...both);
  const round = ["leave?", "leave?", " LEAVE?"];
  const first = await replies(rules, times(10, ...round, "DELETE /cache"));
  const rounds = Array.from({ length: 10 }, (_, at) => first.slice(4 * at, 4 * at + 4));
  for (const [answer, ...rest] of rounds) expect(rest).toEqual([answer, answer, '{"cleared":1}']);
  const drawn = rounds.map(([answer]) => answer);
  expect(new Set(drawn)).toEqual(new Set([long, longer]));
  // What the cache repeats is not counted: the draws are those without a cache.
  expect(await replies(cachedRule(false, ...both), times(10, "leave?"))).toEqual(drawn);
  const tokens = ".metadata.usage.total_tokens > 0";
  expect(await replies(rules, times(2, "leave?"), tokens)).toEqual(["true", "true"]);
});

test("a cache keeps the answer to each question, and no errors", async () => {
  const questions = Array.from({ length: 6 }, (_, at) => `leave ${at}?`);
  const rules = cachedRule(true, ...both, { status: 403 });
  const found = await replies(rules, [...times(8, ...questions), "DELETE /cache"]);
  expect(found.pop()).toBe('{"cleared":6}');
  for (const at of questions.keys()) {
    const asked = found.filter((_, n) => n % questions.length === at);
    const answers = asked.filter((text) => text !== "4"); // after the errors, the same one
    expect(answers).not.toEqual([]);
    expect(asked).toEqual([
      ...times(asked.length - answers.length, "4"),
      ...times(answers.length, answers[0] ?? ""),
    ]);
  }
  expect(new Set(found)).toEqual(new Set(["4", long, longer]));
});

const nonsense = "POST /faults POST * answer=No%20idea. times=3 app=rules";

test("a fault answers a text for a time, and like an ordinary answer", async () => {
  const usage =
    "[.answer, .metadata.usage.total_tokens, .metadata.retriever_resources[].document_name]";
  const found = await replies(leave, [nonsense, ...times(4, "days of leave?")], usage);
  const like = (answer: string) => `["${answer}",100,"leave.md","osaka.md"]`;
  expect(found.slice(1)).toEqual([...times(3, like("No idea.")), like("You have 30 days.")]);
  const failing = "rules: [{ question: all, status: 403 }, { question: of it, error: quota }]";
  const errors = await replies(failing, [nonsense, "all", "of it", "else", "all", "of it", "else"]);
  expect(errors.slice(1)).toEqual([...times(3, "No idea."), "4", "7", "I do not know."]);
});

test("the answers after such a fault are those that there are without it", async () => {
  const rules = cachedRule(false, ...both);
  const without = await replies(rules, times(12, "leave?"));
  const [, ...found] = await replies(rules, [nonsense, ...times(12, "leave?")]);
  expect(found.slice(0, 3)).toEqual(times(3, "No idea."));
  expect(found.slice(3)).toEqual(without.slice(3));
  expect(new Set(without.slice(3)).size).toBe(2);
});

test.each([
  ["chat", ask("Why?\nAnd how?", "--jq", ".answer")],
  ["advanced-chat", ask("...", "--jq", ".answer")],
  ["workflow", ["run", "query=How many?", "--jq", ".outputs.text"]],
  ["completion", ["text", "create", "--input", "query=", "--jq", ".answer"]],
])("a %s answers one text to everything, of a rule or a fault", async (mode, line) => {
  const rules = `mode: ${mode}\nrules: [{ question: /^/, answer: Nonsense. }]`;
  const fault = ["--fault", "POST * answer=No%20idea. times=1"];
  const [first, second] = await wf(rules, [line, line], ["--seed", "5", ...fault]);
  expect([first?.out, second?.out]).toEqual(["No idea.\n", "Nonsense.\n"]);
});

const coins = `
rules:
  - question: /coin/
    answers: [{ answer: heads, weight: 3 }, tails]
`;
const tosses = `
tests:
  - { name: first, query: coin 1, repeat: 40, tags: [alone] }
  - { name: second, query: coin 2, repeat: 20 }
`;

/** How often each test had the answer `heads`. */
async function heads(seed: string, ...flags: readonly string[]): Promise<Record<string, number>> {
  await writeFile(join(folder, "coins.yaml"), coins);
  await writeFile(join(folder, "tosses.yaml"), tosses);
  const line = ["wf", "--app", "coins", "test", "run", join(folder, "tosses.yaml"), "-o", "json"];
  let out = "";
  const app = ["--app-file", join(folder, "coins.yaml")];
  await inSandbox(["--seed", seed, ...app], async (env) => {
    ({ out } = await cli([...line, ...flags], { env, folder }));
  });
  const { tests } = JSON.parse(out) as {
    tests: { test: string; results: { answer: string }[] }[];
  };
  return Object.fromEntries(
    tests.map(({ test: name, results }) => [
      name,
      results.filter(({ answer }) => answer === "heads").length,
    ]),
  );
}

test("answers depend on the seed and the question, not on what else is asked", async () => {
  const { first = 0 } = await heads("8", "--concurrency", "8");
  expect(await heads("8", "--only", "alone", "--concurrency", "1")).toEqual({ first });
  // Three of four are expected, 30; fewer than 20 come up once in two thousand seeds.
  expect(first).toBeGreaterThanOrEqual(20);
  expect(first).toBeLessThan(40);
  expect(await heads("9", "--only", "alone")).not.toEqual({ first });
});

test.each([
  ["rules: []", /line 1: expected a list that is not empty/],
  ["rules:\n  - answer: x", /line 2: the rule has no question/],
  ["rules:\n  - question: x", /line 2: an answer needs the key answer, error or status/],
  [
    "rules:\n  - question: x\n    answr: y",
    /line 3: unknown key "answr" \(did you mean answer\?\)/,
  ],
  ["rules:\n  - question: /(/\n    answer: y", /line 2: Invalid regular expression/],
  ["rules:\n  - { question: x, answer: y, weight: 0 }", /line 2: expected a number above 0/],
  ["rules:\n  - { question: x, answer: y, delay: 3 }", /line 2: expected a duration such as 300ms/],
  ["rules:\n  - { question: x, error: bang }", /expected the error of a model: one of rate, /],
  ["rules:\n  - { question: x, status: 200 }", /line 2: expected a status from 400 to 599/],
  ["rules:\n  - { question: x, answer: y, cites: [{ page: 1 }] }", /line 2: unknown key "page"/],
  ["rules:\n  - { question: x, answer: y, answers: [z] }", /has both answers and the keys of one/],
  ["rules:\n  - { question: x, answer: y, cache: 10m }", /line 2: expected true or false/],
  ["mode: agent-chat\nrules: [{question: x, answer: y}]", /line 1: expected one of chat, advanced/],
])("the rules %j are rejected", async (text, reason) => {
  const path = join(folder, "wrong.yaml");
  await writeFile(path, text);
  const ran = await inSandbox(["--app-file", path], () => Promise.reject(new Error("started")));
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain(`--app-file ${path}: `);
  expect(ran.err).toMatch(reason);
});

test("the tokens, times and sources of `answers` are in the results of a suite", async () => {
  const suite = join(folder, "suite.yaml");
  await writeFile(
    suite,
    `
app: answers
tests:
  - name: leave
    query: How many days of leave?
    expect: [cited leave.md, text matches /30 days/]
  - name: parents
    turns:
      - query: How many days of leave?
      - query: And for parents?
        expect: [cited leave.md, text contains "three years"]
  - { name: parents alone, query: And for parents?, expect: [not cited leave.md] }
`,
  );
  let tested: Ran | undefined;
  const waits: number[] = [];
  const run = async (env: Environment) => {
    tested = await cli(["wf", "test", "run", suite, "-o", "json"], { env, folder });
  };
  await inSandbox(["--seed", "1"], run, { waits });
  expect(tested?.exit, tested?.err).toBe(0);
  const { tests } = JSON.parse(tested?.out ?? "") as {
    tests: { tokens: number; results: { cited: string[] }[] }[];
  };
  expect(tests.map(({ results }) => results[0]?.cited)).toEqual([["leave.md"], ["leave.md"], []]);
  const [one, two, none] = tests.map(({ tokens }) => tokens);
  expect([410, 446]).toContain(one);
  expect([410 + 452, 446 + 452]).toContain(two);
  expect(none).toBe(380);
  expect(waits.filter((ms) => ms > 30)).toHaveLength(4); // of the sandbox, before each answer
});
