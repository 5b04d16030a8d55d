/** The suites in docs/test-suites.md do what the page says, against the sandbox. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnChild } from "../../src/host/child-process.ts";
import { write } from "../lib/directory.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const page = readFileSync(join(root, "docs/test-suites.md"), "utf8");
/** Suites of the page: language and text. */
const blocks = [...page.matchAll(/^```(yaml|csv)\n(.*?)^```$/gms)].map(
  ([, language = "", text = ""]) => ({ language, text }),
);

const folder = await temporaryDirectory();
const sandbox = await testSandbox({ models: true });
const env = { PATH: process.env["PATH"] };
const run = (words: readonly string[]) => sandbox.cli(words, { folder, env, spawn: spawnChild });
const [, script = ""] = /^```js\n(.*?)^```$/ms.exec(page) ?? [];

await write(folder, {
  "even.mjs": script,
  "leave.md": "Thirty days of leave a year.\n",
  "parking.md": "Parking is free for guests.\n",
});
await sandbox.done(["kb", "create", "Handbook", "--indexing-technique", "high_quality"]);
for (const name of ["leave.md", "parking.md"])
  await sandbox.done(["kb", "doc", "upload", "Handbook", join(folder, name)]);
await sandbox.done(["kb", "doc", "wait", "Handbook"]);

interface Expected {
  /** Key of the application where the suite names none. */
  readonly app?: string;
  /** Results by the name of the test; and what its checks say. */
  readonly tests: Readonly<Record<string, readonly string[]>>;
  readonly skipped?: number;
}

/** The suites of the page in its order; all of their tests pass. */
const expected: readonly Expected[] = [
  { tests: { "Echo: repeats a question": ["run succeeded within 20s: "] }, skipped: 1 },
  {
    app: "chat",
    tests: {
      "suite: How many days of leave?": ['text contains "days": '],
      "suite: Where can I park?": ['text contains "park": ', "no retries: "],
    },
  },
  {
    tests: {
      "suite: leave": ['"leave.md" is found in Handbook and used: found, rank 1'],
      "suite: only the search": [
        '"parking.md" is found in Handbook: found, rank 1',
        '"free for guests" is found in Handbook: found',
      ],
    },
  },
  {
    tests: {
      "Compared: similar words": ["similarity 0.857"], // 6/7
      "Compared: any of several texts": ['answer is "30 days" or "thirty days": it is equal'],
      "Compared: the same JSON": ["JSON"],
    },
  },
  { tests: { "Judged: knows the days": ["grader"], "Judged: names the law": ["0.6"] } },
  { tests: { "Grounded: leave": ["1 of 1", "sentence"] } },
  { tests: { "Structured: leave as JSON": ["it fits"] } },
  { tests: { "Programs: an even number of days": ['"30 days"'] } },
  { tests: { "Scored: nearly the same": ["similarity 0.666"] } },
  { tests: { "Echo: flickers": ['output query is "hello": '] } },
];

interface Printed {
  readonly skipped: number;
  readonly tests: readonly {
    readonly name: string;
    readonly status: string;
    readonly results: readonly {
      readonly checks: readonly { readonly check: string; readonly actual: string }[];
    }[];
  }[];
}

test("each suite of the page is tried", () => {
  expect(blocks).toHaveLength(expected.length);
});

test.each(
  blocks.map((block, index) => {
    const each = expected[index];
    return { ...block, ...each, title: Object.keys(each?.tests ?? {}).join(", ") };
  }),
)("$title", async ({ language, text, app = "echo", tests = {}, skipped = 0 }) => {
  const file = `suite.${language}`;
  await write(folder, { [file]: text });
  const ran = await run([
    "wf",
    "--app",
    app,
    "test",
    "run",
    join(folder, file),
    "-o",
    "json",
    "--allow-run",
  ]);
  expect(ran.exit, ran.err + ran.out).toBe(0);
  const printed = JSON.parse(ran.out) as Printed;
  expect(printed.skipped).toBe(skipped);
  expect(printed.tests.map(({ name, status }) => `${status} ${name}`)).toEqual(
    Object.keys(tests).map((name) => `passed ${name}`),
  );
  for (const { name, results } of printed.tests) {
    const said = results.flatMap(({ checks }) =>
      checks.map(({ check, actual }) => `${check}: ${actual}`),
    );
    for (const part of tests[name] ?? []) expect(said.join("\n")).toContain(part);
  }
});

test("the suite with searches is a file of questions", async () => {
  await write(folder, { "suite.yaml": blocks[2]?.text ?? "" });
  const [line = ""] = /^kb eval .*$/m.exec(page) ?? [];
  const words = line.split(" ").map((word) => (word === "suite.yaml" ? join(folder, word) : word));
  const ran = await run([...words, "--jq", ".settings[0].figures.mrr"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.out).toBe("1\n");
});
