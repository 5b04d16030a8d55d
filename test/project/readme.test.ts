import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { topicNames } from "../../src/cli/help/topic-names.ts";
import { exitCodes } from "../../src/errors.ts";
import { runInSandbox } from "../lib/recipes.ts";
import { root } from "../lib/paths.ts";

/** Pages without commands to type: generated, or reports. */
const reports = ["reference.md", "server.md", "performance.md", "reliability.md"];
const pages = [
  "README.md",
  "examples/README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md") && !reports.includes(name))
    .map((name) => `docs/${name}`),
];

const textOf = (page: string) => readFileSync(join(root, page), "utf8");

interface Step {
  readonly command: string;
  readonly output: string;
}

/** Commands of the `console` blocks of a page, each with the output shown below it. */
const stepsOf = (page: string): Step[] =>
  [...textOf(page).matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = "", ...lines] = part.split("\n");
        return { command, output: lines.join("\n").trim() };
      }),
  );

/** The pages continue with the knowledge base that the README's first two commands make. */
const setup = stepsOf("README.md")
  .slice(0, 2)
  .map(({ command }) => `${command} > /dev/null`);

/** Hides what differs from run to run: ids, form tokens, times, durations, ports; and line ends of csv. */
const settled = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<id>")
    .replace(/\b[0-9a-f]{22}\b/g, "<token>")
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "<time>")
    .replace(/127\.0\.0\.1:\d+/g, "<host>")
    .replace(/\b\d+(\.\d+)?m?s\b/g, "<duration>")
    .trim();

test.each(pages.filter((page) => stepsOf(page).length > 0))(
  "the commands of %s print what it shows",
  async (page) => {
    const steps = stepsOf(page);
    const commands = steps.map(({ command }, index) => `echo "--- ${index}"\n${command}`);
    const before = page === "README.md" ? [] : setup;
    const { out } = await runInSandbox(`(${[...before, ...commands].join("\n")}\n) 2>&1`, "-c");
    const outputs = out.split(/^--- \d+\n/m).slice(1);
    const got = steps.map(({ command }, index) => `$ ${command}\n${settled(outputs[index] ?? "")}`);
    const shown = steps.map(({ command, output }) => `$ ${command}\n${settled(output)}`);
    expect(got).toEqual(shown);
  },
  120_000,
);

test("more than fifty commands of the pages are run", () => {
  expect(pages.flatMap(stepsOf).length).toBeGreaterThan(50);
});

test("the README has at most 150 lines", () => {
  expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(151);
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

test("every kb and wf command that the pages name exists", async () => {
  const commands = [...(await commandsOf("kb")), ...(await commandsOf("wf"))];
  const known = [
    ...commands.map(({ words }) => words.join(" ")),
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
