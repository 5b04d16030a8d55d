/** The page of `wf test run`, made with the sandbox. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { openedPage, textsOf } from "../../lib/opened-page.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
await write(folder, {
  "suite.yaml": `
name: Echo
tests:
  - { name: good, inputs: { query: a }, tags: [smoke] }
  - { name: days, inputs: { query: 30 days of leave }, answer: 28 days of leave }
  - { name: part, inputs: { query: some words }, answer: word, compare: contains, expect: [output query is "x"] }
`,
  "chat.yaml": `
tests:
  - name: talk
    turns: [{ query: hello }, { query: again, expect: [text contains "nothing"] }]
`,
});

const page = async (app: string, day: string, ...args: readonly string[]) => {
  const line = ["wf", "--app", app, "test", "run", ...args, "-o", "html", "--utc"];
  const { out, err, exit } = await sandbox.cli(line, {
    folder,
    around: (host) => ({ ...host, now: () => new Date(day) }),
  });
  expect([0, 14], err).toContain(exit);
  return openedPage(out);
};
const suite = join(folder, "suite.yaml");

test("has the application, the figures, what failed first and repeats in one row", async () => {
  const window = await page("echo", "2026-11-21", suite, "--repeat", "3");
  const { origin } = new URL(sandbox.env["KB_BASE_URL"] ?? "");
  expect(textsOf(window, "h1")).toEqual(["Test report"]);
  expect(textsOf(window, ".facts div")).toEqual([
    "applicationecho",
    `server${origin}/v1`,
    "suiteEcho",
    `file${suite}`,
    "repeats3",
  ]);
  expect(textsOf(window, ".tiles li").slice(0, 3)).toEqual([
    "passed 1 of 3 tests",
    "failed 2",
    "runs 9",
  ]);
  expect(textsOf(window, ".tiles .label").slice(3)).toEqual([
    "time of all runs",
    "tokens of all runs",
  ]);
  expect(textsOf(window, ".marked > tbody > tr:first-child > th")).toEqual([
    "days",
    "part",
    "good",
  ]);
  expect(textsOf(window, "#row-days > tr:first-child > td").slice(0, 3)).toEqual([
    "failed",
    "0/3",
    "0–56 %",
  ]);
  const marks = [...window.document.querySelectorAll(".marked > tbody")].map((row) =>
    row.getAttribute("data-marks"),
  );
  expect(marks).toEqual(["state:failed", "state:failed", "tag:smoke"]);
  expect(textsOf(window, ".note")).toContainEqual(expect.stringMatching(/^95 % interval: /));
});

test("shows questions, and expected and actual answers word by word", async () => {
  const window = await page("echo", "2026-11-21", suite, "--repeat", "2");
  const blocks = (id: string) => textsOf(window, `#row-${id} .block`).map((text) => text.trim());
  expect(textsOf(window, "#row-days .side")).toEqual([
    "expectedonly here:28 days of leave",
    "answer (2 of 2 runs)only here:30 days of leave",
  ]);
  expect(textsOf(window, "#row-days .block:first-child td")).toEqual(["30 days of leave"]);
  // A part of a text is not compared with the whole one.
  expect(blocks("part")[1]).toBe("answer (2 of 2 runs)some words");
  const checks = textsOf(window, "#row-part .block:last-child tbody tr");
  expect(checks).toEqual([
    "run succeededmet (2/2)it ended as succeeded",
    'output query is "x"not met (0/2)it is "some words"',
    'answer contains "word"met (2/2)it is "some words"',
  ]);
});

test("shows the turns of a conversation", async () => {
  const window = await page("chat", "2026-11-21", join(folder, "chat.yaml"));
  expect(textsOf(window, "#row-talk .block > h3")).toEqual([
    "turn 1: question",
    "turn 1: answer",
    "turn 2: question",
    "turn 2: answer",
    "checks",
  ]);
  expect(textsOf(window, "#row-talk .block pre").map((text) => text.trim())).toEqual(
    expect.arrayContaining(["hello", "again"]),
  );
});

test("names what most repeats had instead first", async () => {
  const saved = join(folder, "repeats.json");
  await page("echo", "2026-11-21", suite, "--repeat", "3", "--save", saved);
  type Saved = { tests: { name: string; results: { checks: { actual: string }[] }[] }[] };
  const data = JSON.parse(await readFile(saved, "utf8")) as Saved;
  const part = data.tests.find(({ name }) => name.endsWith("part"));
  for (const [index, { checks }] of (part?.results ?? []).entries())
    for (const check of checks) check.actual = index === 0 ? "rare" : "usual";
  await writeFile(saved, JSON.stringify(data));
  const { out } = await sandbox.cli(["wf", "test", "merge", saved, "-o", "html"], { folder });
  const window = openedPage(out);
  const row = (name: string) => textsOf(window, `#row-${name}`).join(" ");
  expect(row("part")).toContain("usual, rare");
  expect(row("good")).toContain("run succeeded"); // its only check
});

test("draws the history, and names flaky tests", async () => {
  const history = join(folder, "history");
  await page("echo", "2026-11-01", suite, "--history", history);
  const [name = ""] = await readdir(history);
  const text = await readFile(join(history, name), "utf8");
  // The same results on other days, on two of which the first test failed.
  for (const [day, status] of [
    ["02", "failed"],
    ["03", "passed"],
    ["04", "failed"],
  ] as const) {
    const data = JSON.parse(text.replace("2026-11-01T", `2026-11-${day}T`));
    data.tests[0].results[0].status = status;
    await writeFile(join(history, name.replace("-01T", `-${day}T`)), JSON.stringify(data));
  }
  const window = await page("echo", "2026-11-05", suite, "--history", history);
  const good = textsOf(window, "#row-good > tr:first-child > td").at(-1);
  expect(good).toBe("PFPFP flaky");
  const tones = (name: string) =>
    textsOf(window, `#row-${name} > tr:first-child > td:last-child > .warn`);
  expect([tones("good"), tones("days")]).toEqual([["PFPFP flaky"], []]);
  const flaky = window.document.querySelector("#row-good")?.getAttribute("data-marks");
  expect(flaky).toBe("state:flaky\ntag:smoke");
  expect(window.document.querySelector(".plane svg")?.getAttribute("aria-label")).toBe(
    "Passed runs over time: of these tests from 0 % to 33 %, last 33 %",
  );
  expect(textsOf(window, ".plane .x > span")).toHaveLength(5);
  expect(textsOf(window, ".plane .y > span")[0]).toBe("100 %");
});

/** Characters that control a terminal, a parser or the order of a line, and how reports show them. */
const unsafe = ["\0␀", "\u0007␇", "\u000b␋", "\u000c␌", "\u001b␛", "\u007f␡"];
const named = ["\u0085<U+0085>", "\u2028<U+2028>", "\u202e<U+202E>", "\ufffe<U+FFFE>"];
const controls = [...unsafe, ...named].map((pair) => [pair[0] ?? "", pair.slice(1)] as const);

test("reports show what controls something, and contain none of it", async () => {
  const query = `${controls.map(([control]) => `word${control} ${control}`).join("")}end`;
  const tests = [
    { name: `a ${query}`, inputs: { query }, answer: "no", compare: "exact" },
    { name: "b", inputs: { query }, answer: `other ${query.replaceAll("d", "d b")}` },
  ];
  await write(folder, { "controls.yaml": JSON.stringify({ name: query, app: "echo", tests }) });
  const junit = join(folder, "tests.xml");
  const line = ["wf", "test", "run", join(folder, "controls.yaml"), "--junit", junit];
  const { out: html } = await sandbox.cli([...line, "-o", "html"], { folder });
  const { out: md, exit } = await sandbox.cli([...line, "-o", "md"], { folder });
  expect(exit).toBe(14);
  expect(md).toContain("\n### Failed expectations\n");
  const xml = await readFile(junit, "utf8");
  for (const text of [xml, html, md]) {
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Zl}\p{Bidi_Control}\p{Noncharacter_Code_Point}]/u);
    const shown = text.replaceAll("&lt;", "<").replaceAll("&gt;", ">");
    for (const [, sign] of controls) expect(shown).toContain(sign);
  }
});
