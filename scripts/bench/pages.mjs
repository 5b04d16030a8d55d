// A page of 1,000 tests beside one of a single test: in Chromium where it is installed, otherwise in jsdom, which is slower
// and lays out nothing.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clean, folder, median, result, wf } from "./tools.mjs";

const tests = 1000;
const rounds = 5;

/** Saved results of so many tests, each with a question, an answer and three checks; every tenth failed. */
function savedResults(count) {
  const all = Array.from({ length: count }, (_, index) => {
    const passed = index % 10 > 0;
    const name = `test ${index}`;
    const answer = `You have ${index} days of leave. ${"More words. ".repeat(20)}`;
    const check = (text, met) => ({
      turn: 1,
      kind: "expect",
      check: text,
      passed: met,
      actual: "x",
    });
    const run = {
      suite: "Suite",
      path: "suite.yaml",
      test: name,
      tags: [`tag ${index % 5}`],
      status: passed ? "passed" : "failed",
      checks: [check("run succeeded", true), check("text contains days", true), check("c", passed)],
      answer,
      seconds: ((index * 7) % 100) / 10,
      tokens: (index * 13) % 997,
      turns: [{ query: `How many days, ${index}?`, inputs: {}, answer, expected: ["None."] }],
    };
    return { name: `Suite: ${name}`, path: "suite.yaml", test: name, results: [run] };
  });
  return {
    wf_test: 1,
    suites: [{ name: "Suite", sha256: "0" }],
    only: [],
    repeat: 1,
    server: "https://dify.example/v1",
    shard: null,
    skipped_tests: [],
    tests: all,
  };
}

/** Runs in the page: sorts, until the first rows are laid out, unfolds and searches, in ms. */
const measuring = `addEventListener("load", () => {
  const times = { load: performance.now() };
  const time = (name, act) => {
    const start = performance.now();
    act();
    void document.body?.offsetHeight; // a browser lays out before it paints
    times[name] = performance.now() - start;
  };
  const click = (selector) => () => document.querySelector(selector)?.click();
  time("sort", click("thead button"));
  time("unfold", click("tbody button.fold"));
  time("search", () => {
    const search = document.querySelector("input[type=search]");
    if (search) search.value = "days, 77";
    search?.dispatchEvent(new Event("input"));
  });
  document.title = "TIMES" + JSON.stringify(times);
})`;

/** Writes the page of so many tests with the measuring script, which its policy would forbid. */
function writePage(count) {
  const [results, page] = ["json", "html"].map((ending) => join(folder, `page-${count}.${ending}`));
  writeFileSync(results, JSON.stringify(savedResults(count)));
  const line = [wf, "test", "merge", results, "-o", "html"];
  const { stdout, stderr } = spawnSync(process.execPath, line, {
    encoding: "utf8",
    env: clean,
    maxBuffer: 2 ** 28,
  });
  if (!stdout.includes("</html>")) throw new Error(stderr);
  const html = stdout
    .replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "")
    .replace("<style>", () => `<script>${measuring}</script><style>`);
  writeFileSync(page, html);
  return page;
}

/** Is there a browser? */
const hasChromium = spawnSync("chromium", ["--version"]).status === 0;

/** The times of a page in ms, by name. */
async function timesOf(page) {
  if (hasChromium) {
    const flags = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      `--user-data-dir=${folder}/chromium`,
    ];
    const { stdout } = spawnSync("chromium", [...flags, "--dump-dom", page], {
      encoding: "utf8",
      env: clean,
      maxBuffer: 2 ** 28,
    });
    const [, times] = /<title>TIMES([^<]*)</.exec(stdout) ?? [];
    if (times === undefined) throw new Error("the page has measured nothing");
    return JSON.parse(times.replaceAll("&quot;", '"'));
  }
  const { JSDOM } = await import("jsdom");
  const { window } = new JSDOM(readFileSync(page, "utf8"), {
    runScripts: "dangerously",
    pretendToBeVisual: true,
  });
  while (!window.document.title.startsWith("TIMES"))
    await new Promise((resolve) => window.setTimeout(resolve));
  const { title } = window.document;
  window.close();
  return JSON.parse(title.slice("TIMES".length));
}

export async function pages() {
  const [small, whole] = [1, tests].map(writePage);
  const all = { empty: [], large: [] };
  for (let round = 0; round < rounds; round++) {
    all.empty.push(await timesOf(small));
    all.large.push(await timesOf(whole));
  }
  const seconds = (kind, name) => median(all[kind].map((each) => each[name])) / 1000;
  const goal = (atMost) => (hasChromium ? { atMost } : {});
  const base = seconds("empty", "load");
  result(`page of 1 test in ${hasChromium ? "Chromium" : "jsdom"}, loaded`, base, "s");
  const large = seconds("large", "load");
  result(`page of ${tests} tests, loaded`, large, "s", goal(Number((1.5 * base + 1).toFixed(2))));
  for (const name of ["sort", "unfold", "search"])
    result(`  ${name}`, seconds("large", name), "s", goal(0.2));
}
