/** The examples of docs/sandbox.md, run as they stand, and its lists. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readApplications } from "../../src/sandbox/apps/definitions/applications.ts";
import errors from "../../src/sandbox/models/model-errors.json" with { type: "json" };
import { type Sandbox, startSandbox } from "../../src/sandbox/http/server.ts";
import { textOf } from "../lib/pages.ts";
import { fastClock } from "../lib/fast-clock.ts";

const page = textOf("docs/sandbox.md");

/** How to run an example by its language; it is read from stdin. */
const runners: Readonly<Record<string, readonly string[]>> = {
  sh: ["sh", "-e", "-s"],
  js: [process.execPath, "--input-type=module", "-"],
  python: ["python3", "-"],
};

/** The examples that are followed by their output. */
const examples = [
  ...page.matchAll(/^```(sh|js|python)\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)/gm),
].map(([, language = "", code = "", output = ""]) => ({ language, code, output }));

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ clock: fastClock(20), directory: null, models: true, seed: 1 });
});
afterAll(() => sandbox.stop());

test("there is an example in each language", () => {
  expect([...new Set(examples.map(({ language }) => language))]).toEqual(["sh", "js", "python"]);
});

test.each(examples)("the $language example prints $output", async ({ language, code, output }) => {
  const [program = "", ...args] = runners[language] ?? [];
  // Not on every machine.
  const needed = code.includes("curl ") ? "curl" : program;
  if (language !== "js" && spawnSync(needed, ["--version"]).error) return;
  await fetch(`${sandbox.origin}/_sandbox/reset`, { method: "POST" });
  const base_url = `${sandbox.origin}/v1`;
  const env = {
    ...process.env,
    DIFY_BASE_URL: base_url,
    DIFY_API_KEY: sandbox.appKeys["echo"],
    KB_BASE_URL: base_url,
    KB_KEY: sandbox.knowledgeKey,
    NO_COLOR: "1",
  };
  const child = spawn(program, args, { env });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  child.stdin.end(code);
  await once(child, "close");
  expect(text).toBe(output);
});

test("the page names every application and every kind of model error", () => {
  const wanted = [...readApplications().keys(), ...Object.keys(errors)];
  expect(wanted.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the page names every mark", () => {
  const marks = textOf("src/sandbox/models/marks.ts").matchAll(/^ {2}"([\w-]+)", \/\//gm);
  const names = [...marks].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(9);
  expect(names.filter((name) => !page.includes(`\`[[${name}`))).toEqual([]);
});
