import { spawn } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { exitCodes } from "../../src/errors.ts";
import { temporaryFolder } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

interface Step {
  readonly command: string;
  readonly output: string;
}

/** Commands of the `console` blocks, each with the output shown below it. */
const steps: Step[] = [...readme.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...lines] = part.split("\n");
      return { command, output: lines.join("\n").trim() };
    }),
);

/** What differs from run to run: ids, form tokens, times, durations, ports. */
const settled = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<id>")
    .replace(/\b[0-9a-f]{22}\b/g, "<token>")
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "<time>")
    .replace(/127\.0\.0\.1:\d+/g, "<host>")
    .replace(/\b\d+(\.\d+)?m?s\b/g, "<duration>")
    .trim();

test("the README's commands print what it shows", async () => {
  const folder = await temporaryFolder();
  cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
  const script = steps.map(({ command }, index) => `echo "--- ${index}"\n${command}`).join("\n");
  const child = spawn(
    process.execPath,
    [join(root, "bin", "kb.js"), "sandbox", "--ephemeral", "--", "sh", "-c", `(${script}\n) 2>&1`],
    {
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder },
    },
  );
  const pieces: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => pieces.push(chunk));
  await new Promise((resolve) => child.on("close", resolve));
  const outputs = Buffer.concat(pieces)
    .toString()
    .split(/^--- \d+\n/m)
    .slice(1);
  const got = steps.map(({ command }, index) => `$ ${command}\n${settled(outputs[index] ?? "")}`);
  const shown = steps.map(({ command, output }) => `$ ${command}\n${settled(output)}`);
  expect(steps.length).toBeGreaterThan(20);
  expect(got).toEqual(shown);
}, 60_000);

test("its table of exit codes is the programs' own", () => {
  const rows = Object.entries(exitCodes).map(
    ([name, [code, meaning]]) => `| ${code} | ${name} | ${meaning} |`,
  );
  for (const row of rows) expect(readme).toContain(row);
});

test("every kb and wf command it names exists", async () => {
  const known = [...(await commandsOf("kb")), ...(await commandsOf("wf"))].map(({ words }) =>
    words.join(" "),
  );
  const named = [
    ...readme.matchAll(/^(?:\$ )?((?:kb|wf)(?: (?:-p|--app) \w+)*(?: [a-z-]+)+)/gm),
  ].map(([, line = ""]) => line.replace(/ (-p|--app) \w+/g, ""));
  expect(named.length).toBeGreaterThan(20);
  for (const line of named) {
    expect(
      known.some(
        (command) =>
          line === command || line.startsWith(`${command} `) || line.startsWith("kb help"),
      ),
      line,
    ).toBe(true);
  }
});
