/** Shards of suites, and the merge of their results. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory, withoutProgress } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
const suite = (name: string, queries: readonly string[]) =>
  `name: ${name}\ntests:\n${queries
    .map(
      (query) =>
        `  - { name: ${query}, inputs: { query: ${query} }, expect: ['output query is not "bad"'] }\n`,
    )
    .join("")}`;
await write(folder, {
  "a.yaml": suite("A", ["a1", "a2", "bad"]),
  "b.yaml": suite("B", ["b1", "b2", "b3", "b4"]),
});
const at = (name: string) => join(folder, name);
const wf = (...args: readonly string[]) =>
  sandbox.cli(["wf", "--app", "echo", ...args], { folder });
const shard = (share: string, file: string, ...more: readonly string[]) =>
  wf("test", "run", at("a.yaml"), at("b.yaml"), "--shard", share, "--save", at(file), ...more);
const merge = (...args: readonly string[]) =>
  wf("test", "merge", ...args.map((arg) => (/\.(json|xml)$/.test(arg) ? at(arg) : arg)));

interface Results {
  readonly tests: readonly { readonly name: string; readonly status: string }[];
}
const namesIn = (text: string) => (JSON.parse(text) as Results).tests.map(({ name }) => name);
const whole = ["A: a1", "A: a2", "A: bad", "B: b1", "B: b2", "B: b3", "B: b4"];

const exits = [
  (await shard("1/3", "1.json")).exit,
  (await shard("2/3", "2.json")).exit,
  (await shard("3/3", "3.json")).exit,
];

test("each test is in one shard, every third of them", async () => {
  expect(exits).toEqual([0, 0, 14]);
  const shards = await Promise.all(
    ["1.json", "2.json", "3.json"].map(async (name) => namesIn(await readFile(at(name), "utf8"))),
  );
  expect(shards).toEqual([
    ["A: a1", "B: b1", "B: b4"],
    ["A: a2", "B: b2"],
    ["A: bad", "B: b3"],
  ]);
});

test("merged results are those of a whole run, in its order, with its exit code", async () => {
  const all = await wf("test", "run", at("a.yaml"), at("b.yaml"), "--save", at("all.json"));
  const merged = await merge(
    "3.json",
    "1.json",
    "2.json",
    "--save",
    "merged.json",
    "--junit",
    "m.xml",
  );
  expect(merged.exit, merged.err).toBe(14);
  expect(merged.err).toBe(withoutProgress(all.err));
  const statuses = (text: string) => text.replaceAll(/\t\d\.\d s/g, "");
  expect(statuses(merged.out)).toBe(statuses(all.out));
  expect(namesIn(await readFile(at("merged.json"), "utf8"))).toEqual(whole);
  expect(await readFile(at("m.xml"), "utf8")).toContain('<testsuite name="B" tests="4"');
  const lines = (await merge("1.json", "2.json", "3.json", "-o", "jsonl")).out.trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { test: string }).test)).toEqual(
    whole.map((name) => name.slice(3)),
  );
  const compared = await merge("merged.json", "--baseline", "all.json");
  expect(compared.exit, compared.err).toBe(0);
});

test("what is merged is compared with a baseline: passes, times, and tests that are not judged", async () => {
  type Tests = { tests: { name: string; results: { status: string; seconds: number }[] }[] };
  const edited = async (file: string, status: (name: string, now: string) => string, s: number) => {
    const data = JSON.parse(await readFile(at("all.json"), "utf8")) as Tests;
    for (const { name, results } of data.tests)
      for (const run of results)
        Object.assign(run, { status: status(name, run.status), seconds: s });
    await writeFile(at(file), JSON.stringify(data));
  };
  await edited("good.json", () => "passed", 1);
  await edited("slow.json", (name) => (/B: b[12]/.test(name) ? "failed" : "passed"), 3);
  const fallen = await merge("slow.json", "--baseline", "good.json", "-o", "md");
  // 7 of 7 before, 5 of 7 now.
  expect(fallen.out).toContain("the share of passes fell by 29 points (95 %: ");
  expect(fallen.out).toContain(
    "median time: 3.0 s, 1.0 s before (asked at different times, so nothing is claimed)",
  );
  const same = await merge("good.json", "--baseline", "good.json", "-o", "md");
  expect(same.out).toContain("the share of passes did not fall (95 %: ");
  const others: Readonly<Record<string, string>> = { "A: a1": "error", "A: a2": "not run" };
  await edited("lost.json", (name) => others[name] ?? "passed", 1);
  const lost = await merge("lost.json", "--baseline", "good.json", "--junit", "lost.xml");
  expect(lost).toMatchObject({ exit: 10 });
  const cases = (await readFile(at("lost.xml"), "utf8")).split("<testcase ").slice(1);
  const kinds = cases.flatMap((text) => /<(error|skipped|failure)/.exec(text)?.[1] ?? []);
  expect(kinds).toEqual(["error", "skipped"]);
});

test("a shard without tests ends well and can be merged", async () => {
  for (let index = 1; index <= 8; index++)
    await shard(`${index}/8`, `${index}of8.json`, ...(index === 8 ? ["-v"] : []));
  const last = await shard("8/8", "8of8.json");
  expect(last.exit).toBe(0);
  expect(last.err).toContain("shard 8/8 has no tests");
  const merged = await merge(
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((index) => `${index}of8.json`),
    "-o",
    "json",
  );
  expect(namesIn(merged.out)).toEqual(whole);
});

test("auto takes the variables of the CI system", async () => {
  const ran = await sandbox.cli(
    ["wf", "--app", "echo", "test", "run", at("a.yaml"), "--shard", "auto", "-o", "json"],
    { folder, env: { CI_NODE_INDEX: "2", CI_NODE_TOTAL: "3" } },
  );
  expect(namesIn(ran.out)).toEqual(["A: a2"]);
});

test.each([
  [["1.json", "3.json"], "missing results of shard 2/3"],
  [["1.json"], "missing results of shard 2/3, 3/3"],
  [["1.json", "2.json", "3.json", "2.json"], "shard 2/3 appears twice"],
  [["1.json", "1of8.json"], "they differ in the number of shards"],
  [["1.json", "other.json"], "they differ in the content of suite A"],
  [["1.json", "repeated.json"], "they differ in --repeat"],
  [["1.json", "tagged.json"], "they differ in --only"],
  [["1.json", "again.json"], "they differ in --failed-from"],
  [["1.json", "few.json"], "they differ in --first"],
  [["1.json", "elsewhere.json"], "they differ in the server"],
  [["a.json"], "file not found"],
  [["damaged.json"], "is not the result of a run of tests"],
])("%j: %s", async (files, problem) => {
  const text = await readFile(at("2.json"), "utf8");
  const saved = JSON.parse(text) as { suites: { name: string; sha256: string }[]; tests: object[] };
  const change = (name: string, more: object) =>
    writeFile(at(name), JSON.stringify({ ...saved, ...more }));
  const [first, ...rest] = saved.suites;
  await change("other.json", { suites: [{ ...first, sha256: "0" }, ...rest] });
  await change("repeated.json", { repeat: 2 });
  await change("tagged.json", { only: ["smoke"] });
  await change("again.json", { failed_from: "a.json" });
  await change("few.json", { first: 6 });
  await change("elsewhere.json", { server: "http://127.0.0.1:1/v1" });
  await change("damaged.json", { tests: [{ name: "A: a1", results: [{ status: "passed" }] }] });
  const merged = await merge(...files);
  expect(merged.exit).toBe(2);
  expect(merged.err).toContain(problem);
  expect(merged.out).toBe("");
});

test.each([
  { index: 0, count: 1 },
  { index: 1, count: -1 },
  { index: 1, count: 1e12 },
])("the shard %j is refused", async (place) => {
  const saved = JSON.parse(await readFile(at("1.json"), "utf8")) as object;
  await writeFile(at("no.json"), JSON.stringify({ ...saved, shard: place }));
  const merged = await merge("no.json");
  expect([merged.exit, merged.err]).toEqual([
    2,
    expect.stringContaining("no.json is not the result of a run of tests"),
  ]);
});

test("a file may have anything in the fields of runs, or lack them", async () => {
  await shard("1/1", "fields.json");
  const saved = JSON.parse(await readFile(at("fields.json"), "utf8")) as {
    suites: object[];
    tests: { results: Record<string, unknown>[] }[];
  };
  const [run = {}] = saved.tests[0]?.results ?? [];
  const fields = Object.keys(run).filter((name) => !["status", "checks"].includes(name));
  expect(fields).toContain("quarantine");
  for (const value of [undefined, null, "x", 5, [null], { until: "" }]) {
    const odd = Object.fromEntries(fields.map((name) => [name, value]));
    const tests = saved.tests.map((each) => ({
      ...each,
      results: each.results.map(({ status, checks }) => ({ ...odd, status, checks })),
    }));
    const suites = saved.suites.map((each) => ({ ...each, budget: value }));
    await writeFile(at("odd.json"), JSON.stringify({ ...saved, suites, tests }));
    for (const line of [
      ["merge", "odd.json", "-o", "md", "--junit", "odd.xml"],
      ["merge", "odd.json", "-o", "html"],
      ["merge", "fields.json", "--baseline", "odd.json"],
      ["review", "odd.json"],
    ]) {
      const ran = await wf("test", ...line.map((arg) => (/\./.test(arg) ? at(arg) : arg)));
      expect([0, 14], `${line.join(" ")} ${JSON.stringify(value)}: ${ran.err}`).toContain(ran.exit);
      expect(ran.out).not.toMatch(/NaN|\[object/);
    }
  }
});

test("reused answers are not compared", async () => {
  await wf("test", "run", at("a.yaml"), "--save", at("first.json"));
  await wf("test", "run", at("a.yaml"), "--reuse", at("first.json"), "--save", at("reused.json"));
  expect((await merge("reused.json")).exit).toBe(14);
  for (const flag of [
    ["--baseline", "first.json"],
    ["--history", at("history")],
  ]) {
    const merged = await merge("reused.json", ...flag);
    expect([merged.exit, merged.err]).toEqual([
      2,
      expect.stringContaining("reused answers are not new observations"),
    ]);
  }
});

test.each(["0/3", "4/3", "3", "x", "auto"])("--shard %s is invalid", async (share) => {
  const ran = await shard(share, "x.json");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(`invalid --shard "${share}"`);
});

test("a shard that its deadline ended makes the merge end with 12", async () => {
  const text = await readFile(at("2.json"), "utf8");
  const stopped = { code: "deadline", message: "timed out after 30s" };
  await writeFile(at("late.json"), JSON.stringify({ ...JSON.parse(text), stopped }));
  const merged = await merge("1.json", "late.json", "3.json");
  expect(merged.exit).toBe(12);
  expect(merged.err).toContain("shard 2/3: timed out after 30s");
  expect(merged.out).toContain("6 of 7 tests passed");
});
