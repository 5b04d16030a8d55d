import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { root } from "../lib/paths.ts";
import { runScript, type Variables } from "../lib/pipeline.ts";
import { recipe } from "../lib/recipes.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

// The action and the template, with the package installed offline by npm and the variables that the files set.
const packed = await temporaryDirectory();

beforeAll(() => {
  const pack = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", packed];
  execFileSync("npm", pack, { cwd: root });
});

/** A repository with the examples and the package, and a server with an empty knowledge base. */
async function repository() {
  const place = await temporaryDirectory();
  for (const name of ["bin", "tools", "temp"]) mkdirSync(join(place, name));
  cpSync(join(root, "examples"), join(place, "examples"), { recursive: true });
  const [tarball = ""] = readdirSync(packed);
  cpSync(join(packed, tarball), join(place, "tools", "kb-wf.tgz"));
  // npm with a log of its calls.
  const npm = execFileSync("which", ["npm"], { encoding: "utf8" }).trim();
  writeFileSync(
    join(place, "bin", "npm"),
    `#!/bin/sh\necho "$1" >> "${place}/npm.txt"\nexec "${npm}" "$@" --offline --omit=optional --silent\n`,
  );
  chmodSync(join(place, "bin", "npm"), 0o755);
  const server = await testSandbox({ models: true });
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  return { place, server };
}

const inputs = {
  package: "tools/kb-wf.tgz",
  "knowledge-base": "Handbook",
  directory: "examples/handbook",
  suite: "examples/suite.yaml",
  prune: "true",
  repeat: "2",
};

/** Variables of a job: its address, its keys, and the programs of the machine. */
const jobVariables = (place: string, base_url: string): Variables => ({
  PATH: `${join(place, "bin")}:${dirname(process.execPath)}:/usr/bin:/bin`,
  KB_BASE_URL: base_url,
  KB_KEY: "dataset-sandbox",
  KB_APP_KEY: "app-answers",
});

interface ActionStep {
  readonly name?: string;
  readonly run?: string;
  readonly env?: Variables;
}

/** Runs the steps of the action in order, until one fails; returns the exit code of each. */
async function runAction(place: string, env: Variables, given: Variables) {
  const { runs } = parse(recipe("action/action.yml")) as {
    readonly runs: { readonly steps: readonly ActionStep[] };
  };
  const temp = join(place, "temp");
  const resolved = (text: string) =>
    text
      .replaceAll("${{ runner.temp }}", temp)
      .replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name: string) => given[name] ?? "");
  const [summary, path] = [join(place, "summary.md"), join(place, "path.txt")];
  writeFileSync(path, "");
  writeFileSync(summary, "", { flag: "a" });
  let output = "";
  const exits = [];
  for (const { run: script, env: own = {} } of runs.steps) {
    if (script === undefined) continue;
    const variables = Object.entries(own).map(([name, value]) => [name, resolved(value)]);
    const added = readFileSync(path, "utf8").trim().split("\n").join(":");
    const ran = await runScript(resolved(script), place, {
      ...env,
      ...Object.fromEntries(variables),
      PATH: `${added}:${env["PATH"]}`,
      GITHUB_PATH: path,
      GITHUB_STEP_SUMMARY: summary,
    });
    output += ran.output;
    exits.push(ran.exit);
    if (ran.exit !== 0) break;
  }
  return { exits, output, summary: readFileSync(summary, "utf8") };
}

test("the action installs once, syncs, tests, and writes the summary", async () => {
  const { place, server } = await repository();
  const env = jobVariables(place, server.env["KB_BASE_URL"] ?? "");
  const first = await runAction(place, env, inputs);
  expect(first.exits, first.output).toEqual([0, 0, 0]);
  expect(first.summary).toContain("### Changes of Handbook\n\n| action | path |");
  expect(first.summary).toContain("| create | leave.md |");
  expect(first.summary).toMatch(/\| `Handbook: days of leave` \| 2\/2 /);
  expect(readFileSync(join(place, "temp", "kb-wf-tests.xml"), "utf8")).toContain("<testsuite");

  // The directory that the cache restores is there; another application fails the tests.
  const second = await runAction(place, { ...env, KB_APP_KEY: "app-chat" }, inputs);
  expect(second.exits, second.output).toEqual([0, 0, 14]);
  expect(second.summary.slice(first.summary.length)).toMatch(
    /\| `Handbook: days of leave` \| 0\/2 /,
  );
  expect(readFileSync(join(place, "npm.txt"), "utf8")).toBe("install\n");
});

test("a directory that cannot be synced fails the action", async () => {
  const { place, server } = await repository();
  const env = jobVariables(place, server.env["KB_BASE_URL"] ?? "");
  const ran = await runAction(place, env, { ...inputs, "knowledge-base": "$(touch injected)" });
  expect(ran.exits, ran.output).toEqual([0, 3]);
  expect(readdirSync(place)).not.toContain("injected");
});

interface TemplateJob {
  readonly before_script: readonly string[];
  readonly script: readonly string[];
  readonly variables: Variables;
}

test("the template installs once per package, syncs and tests", async () => {
  const { place, server } = await repository();
  const text = recipe("gitlab-template.yml");
  const [header, body] = parseAllDocuments(text).map((document) => document.toJS() as unknown);
  const names = Object.keys((header as { spec: { inputs: object } }).spec.inputs);
  const used = [...text.matchAll(/\$\[\[ inputs\.([\w-]+) \]\]/g)].map(([, name]) => name);
  expect(new Set(used)).toEqual(new Set(names));
  const jobs = body as Readonly<Record<string, TemplateJob>>;
  const base = jobs[".kb-wf"];

  const run = (name: string, more: Variables = {}) => {
    const job = jobs[name];
    const variables = Object.entries({ ...base?.variables, ...job?.variables }).map(
      ([key, value]): [string, string] => [
        key,
        value.replace(
          /\$\[\[ inputs\.([\w-]+) \]\]/g,
          (_, input: keyof typeof inputs) => inputs[input],
        ),
      ],
    );
    const script = [...(base?.before_script ?? []), ...(job?.script ?? [])].join("\n");
    const env = jobVariables(place, server.env["KB_BASE_URL"] ?? "");
    return runScript(script, place, { ...env, ...Object.fromEntries(variables), ...more });
  };
  const synced = await run("kb-sync");
  expect(synced.exit, synced.output).toBe(0);
  expect(synced.output).toContain("14 files: 14 created");
  const passed = await run("wf-test");
  expect(passed.exit, passed.output).toBe(0);
  expect(readFileSync(join(place, "tests.xml"), "utf8")).toContain("<testsuite");
  expect(readFileSync(join(place, "npm.txt"), "utf8")).toBe("install\n");
  // A failed test fails the job, also through tee.
  const failed = await run("wf-test", { KB_APP_KEY: "app-chat" });
  expect(failed.exit, failed.output).toBe(14);
  // A package of the same name with other content is installed.
  writeFileSync(join(place, ".kb-wf", "installed"), "tools/kb-wf.tgz of before\n");
  expect((await run("wf-test")).exit).toBe(0);
  expect(readFileSync(join(place, "npm.txt"), "utf8")).toBe("install\ninstall\n");
});
