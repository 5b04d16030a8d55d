import { readFileSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect } from "vitest";
import { root } from "./paths.ts";
import { findRclone } from "./rclone.ts";
import { runInSandbox } from "./recipes.ts";

/** Pages without commands to type: generated, or reports. */
const reports = ["reference.md", "server.md", "performance.md", "reliability.md"];
const skill = "src/commands/assistants/skill";
/** The README in other languages. Its commands are those of README.md. */
export const translations = ["README.zh-CN.md", "README.ja.md"];
export const pages = [
  "README.md",
  ...translations,
  "examples/README.md",
  `${skill}/SKILL.md`,
  ...readdirSync(join(root, skill, "references")).map((name) => `${skill}/references/${name}`),
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md") && !reports.includes(name))
    .map((name) => `docs/${name}`),
];

export const textOf = (page: string) => readFileSync(join(root, page), "utf8");

/** The commands of the page for users of the web console. */
export const consoleLines: readonly string[] = [
  ...textOf("docs/from-the-web-console.md").matchAll(/`((?:kb|wf) [^`]+)`/g),
].map(([, line = ""]) => line);

interface Step {
  readonly command: string;
  readonly output: string;
}

/** Commands of the `console` blocks of a page, each with the output shown below it. */
export const stepsOf = (page: string): Step[] =>
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

/** Runs the commands of a page in a sandbox and compares their output with the page. */
export async function checkPage(page: string): Promise<void> {
  const steps = stepsOf(page);
  const commands = steps.map(({ command }, index) => `echo "--- ${index}"\n${command}`);
  const before = page === "README.md" ? [] : setup;
  const needsRclone = steps.some(({ command }) => command.includes("rclone:"));
  const places = [...(needsRclone ? [dirname(await findRclone())] : []), process.env["PATH"]];
  const script = `(${[...before, ...commands].join("\n")}\n) 2>&1`;
  const { out } = await runInSandbox(script, "-c", { env: { PATH: places.join(delimiter) } });
  const outputs = out.split(/^--- \d+\n/m).slice(1);
  const got = steps.map(({ command }, index) => `$ ${command}\n${settled(outputs[index] ?? "")}`);
  const shown = steps.map(({ command, output }) => `$ ${command}\n${settled(output)}`);
  expect(got).toEqual(shown);
}

/** Pages with commands to run. */
export const runnablePages = pages.filter(
  (page) => stepsOf(page).length > 0 && !translations.includes(page),
);
