import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { parseLine } from "../../src/cli/parse/parser.ts";
import { topicNames } from "../../src/cli/help/groups.ts";
import { exitCodes } from "../../src/errors.ts";
import { checkPage, consoleLines, pages, stepsOf, textOf, translations } from "../lib/pages.ts";
import { root } from "../lib/paths.ts";
import { rareTest } from "../lib/sampled.ts";

// The other pages: test/long/pages.test.ts.
rareTest("the commands of README.md print what it shows", () => checkPage("README.md"));

test("more than fifty commands of the pages are run", () => {
  expect(pages.flatMap(stepsOf).length).toBeGreaterThan(50);
});

test("the README has at most 150 lines", () => {
  expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(151);
});

test.each(translations)("%s has the commands, outputs, code and links of README.md", (page) => {
  const parts = (name: string) => {
    const text = textOf(name);
    const blocks = [...text.matchAll(/```\w+\n[^]*?```/g)].map(
      ([block]) => block.replace(/ +# .*$/gm, ""), // comments are translated
    );
    const rest = text.replace(/```\w+\n[^]*?```/g, "");
    const code = [...rest.matchAll(/`[^`]+`/g)].map(([words]) => words).sort();
    const links = [...rest.matchAll(/\]\(([^)]+)\)/g)].map(([, to = ""]) => to);
    return { blocks, code, links: links.filter((to) => !to.startsWith("README")).sort() };
  };
  expect(parts(page)).toEqual(parts("README.md"));
});

test("each README links to the others at its top", () => {
  const names = ["README.md", ...translations];
  const links = names.map((name) =>
    textOf(name)
      .slice(0, 200)
      .match(/README[\w.-]*\.md/g),
  );
  expect(links).toEqual(names.map((name) => names.filter((other) => other !== name)));
});

test("the README links to every page of docs", () => {
  const links = textOf("README.md");
  for (const page of readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md")))
    expect(links).toContain(`(docs/${page})`);
});

test("every test file that the documentation names exists", () => {
  const named = [...pages, "docs/reliability.md"].flatMap((page) =>
    [...textOf(page).matchAll(/`(test\/[\w./-]+\.ts)`/g)].map(([, path = ""]) => path),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

/** Turns a heading into its anchor: "Names and IDs" → "names-and-ids". */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");

test("the sections that pages link to exist", () => {
  const links = [...pages, "CONTRIBUTING.md"].flatMap((page) =>
    [...textOf(page).matchAll(/\]\(([\w./-]*)#([\w-]+)\)/g)].map(([, path, anchor = ""]) => ({
      target: path ? join(page, "..", path) : page,
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(5);
  for (const { target, anchor } of links) {
    const headings = [...textOf(target).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) =>
      anchorOf(text),
    );
    expect(headings).toContain(anchor);
  }
});

test("the table of exit codes is the programs' own", () => {
  const rows = Object.entries(exitCodes).map(
    ([name, [code, meaning]]) => `| ${code} | ${name} | ${meaning} |`,
  );
  for (const row of rows) expect(textOf("docs/ci.md")).toContain(row);
});

test("the tree of exit codes has each of them once, with its name", () => {
  const [, tree = ""] = /## Exit codes\n\n```text\n([^]*?)```/.exec(textOf("docs/ci.md")) ?? [];
  const lines = [...tree.matchAll(/\.\. (\d+) +([a-z-]+)$/gm)].map(([, code, name]) => [
    name,
    code,
  ]);
  const codes = Object.entries(exitCodes).map(([name, [code]]) => [name, String(code)]);
  const signals = ["hangup", "interrupted", "terminated"];
  expect(lines.sort()).toEqual(codes.filter(([name = ""]) => !signals.includes(name)).sort());
  expect(tree).toContain(" 129, 130, 143\n");
});

test("in the timelines of the pages, no round begins before the one before it has ended", () => {
  const rounds = [...textOf("docs/running-workflows.md").matchAll(/#\d .* (\d+) ms +(\d+) ms /g)];
  expect(rounds).toHaveLength(4);
  for (const [index, [, start]] of rounds.entries()) {
    const [, before = 0, took = 0] = rounds[index - 1] ?? [];
    expect(Number(start)).toBeGreaterThanOrEqual(Number(before) + Number(took));
  }
});

test("every command of the page for users of the console parses", async () => {
  expect(consoleLines.length).toBeGreaterThan(50);
  const commands = { kb: await commandsOf("kb"), wf: await commandsOf("wf") };
  for (const line of consoleLines) {
    const [program = "", ...words] = (line.match(/'[^']*'|\S+/g) ?? []).map((word) =>
      word.replaceAll("'", ""),
    );
    const own = commands[program === "wf" ? "wf" : "kb"];
    expect(["run", "help"], line).toContain(parseLine([program, ...words], own).kind);
  }
});

test("every kb and wf command that the pages name exists", async () => {
  const commands = [...(await commandsOf("kb")), ...(await commandsOf("wf"))];
  const known = [
    ...commands.map(({ words }) => words.join(" ")),
    ...commands.map(({ words: [program, ...words] }) => `${program} help ${words.join(" ")}`),
    ...topicNames.flatMap((topic) => [`kb help ${topic}`, `wf help ${topic}`]),
  ];
  const named = pages.flatMap((page) =>
    [
      ...textOf(page).matchAll(
        /(?:^(?:\$ )?|`)((?:kb|wf)(?: (?:-p|--app) \w+)*(?: [a-z][a-z-]*)+)/gm,
      ),
    ].map(([, line = ""]) => line.replace(/ (-p|--app) \w+/g, "")),
  );
  expect(named.length).toBeGreaterThan(100);
  for (const line of named.filter((name) => name !== "kb help")) {
    const exists = known.some((command) => line === command || line.startsWith(`${command} `));
    expect(exists, line).toBe(true);
  }
});
