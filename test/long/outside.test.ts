/** Projects outside of the repository that use the packed package: types, the double, two test runners, and Python. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { textOf } from "../lib/pages.ts";
import { root } from "../lib/paths.ts";
import { pythonWith } from "../lib/python.ts";
import { temporaryDirectory } from "../lib/support.ts";

const folder = await temporaryDirectory();
const project = join(folder, "project");
const { PATH } = process.env;

function write(name: string, text: string): void {
  mkdirSync(dirname(join(project, name)), { recursive: true });
  writeFileSync(join(project, name), text);
}

/** Runs a program in the project; its output if it succeeds. */
function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: project,
    encoding: "utf8",
    env: { PATH, HOME: folder, ...env },
  });
  expect(status, `${stdout}${stderr}`).toBe(0);
  return stdout;
}

beforeAll(() => {
  const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  execFileSync("npm", pack, { cwd: root });
  const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  write("package.json", '{ "name": "outside", "private": true, "type": "module" }');
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, tarball)]);
  // The tools of a project, without loading them again.
  for (const tool of ["typescript", "@typescript", "vitest", "@types"])
    symlinkSync(join(root, "node_modules", tool), join(project, "node_modules", tool));
});

const tool = (name: string, file: string) => join(root, "node_modules", name, file);

const program = `import { ApiError, CliError, createClient, exitCodes } from "kb-wf";
import type { Client, JsonValue, List, Run } from "kb-wf";
import { startSandbox } from "kb-wf/sandbox";

const sandbox = await startSandbox({ seed: 1 });
const client: Client = createClient({ baseUrl: sandbox.url, key: sandbox.keys.knowledge });
const { id, name } = await client.createDataset({ name: "Handbook", indexing_technique: "economy" });
const title = String(name);
await client.createKnowledgeTag({ name: "draft" });
const text = { name: "leave.md", text: "30 days", indexing_technique: "economy" } as const;
await client.createDocumentFromText({ dataset_id: id, ...text });
const documents = client.listDocuments({ dataset_id: id });
for await (const document of documents) console.log(title, document.name);
const resolved: string = await client.resolve.kb("Handbook");
console.log(resolved === id);
const extra: JsonValue | undefined = (await client.getDatasetDetail({ dataset_id: id }))["provider"];
console.log(extra);
const app = createClient({ baseUrl: sandbox.url, key: sandbox.keys.apps["echo"] ?? "" });
const run: Run = app.run({ query: "hello" });
for await (const { event } of run) if (event === "workflow_finished") console.log(event);
console.log((await run.result).status);
try {
  await client.getDatasetDetail({ dataset_id: "00000000-0000-4000-8000-000000000000" });
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  console.log(error.kind, error.exit === exitCodes["not-found"][0], error instanceof ApiError);
}
await sandbox.close();
`;

const wrong = `import { createClient } from "kb-wf";
const client = createClient({ baseUrl: "http://127.0.0.1:9/v1", key: "dataset-x" });
await client.createKnowledgeTag({ nam: "draft" });
await client.createKnowledgTag({ name: "draft" });
const id: number = await client.resolve.kb("Handbook");
`;

const strict = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    module: "nodenext",
    target: "es2023",
    types: ["node"],
    rootDir: "src",
    outDir: "out",
  },
};

test("a strict project compiles against the types, and runs against the double", () => {
  write("src/program.ts", program);
  write("tsconfig.json", JSON.stringify({ ...strict, files: ["src/program.ts"] }));
  run(process.execPath, [tool("typescript", "bin/tsc"), "-p", "."]);
  expect(run(process.execPath, ["out/program.js"]).split("\n")).toEqual([
    "Handbook leave.md",
    "true",
    "vendor",
    "workflow_finished",
    "succeeded",
    "not-found true true",
    "",
  ]);
});

test("the declarations need no types of Node.js and none of a browser", () => {
  const bare = `import { createClient } from "kb-wf";
export const client = createClient({ baseUrl: "http://127.0.0.1:9/v1", key: "dataset-x" });
`;
  write("src/bare.ts", bare);
  const compilerOptions = { ...strict.compilerOptions, types: [], lib: ["es2023"] };
  write("tsconfig.bare.json", JSON.stringify({ compilerOptions, files: ["src/bare.ts"] }));
  run(process.execPath, [tool("typescript", "bin/tsc"), "-p", "tsconfig.bare.json", "--noEmit"]);
});

test("are the types wrong? They are not, for modules", () => {
  const place = join(folder, "types");
  const checker = "@arethetypeswrong/cli@0.18.5";
  execFileSync("npm", ["install", "--prefix", place, "--no-audit", "--no-fund", checker]);
  const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  const line = [join(folder, tarball), "--profile", "esm-only", "--no-color"];
  const out = run(join(place, "node_modules", ".bin", "attw"), line); // a problem is an exit code
  expect(out).toContain("kb-wf/sandbox");
});

test("what the declarations do not allow does not compile", () => {
  write("src/wrong.ts", wrong);
  write("tsconfig.wrong.json", JSON.stringify({ ...strict, files: ["src/wrong.ts"] }));
  const line = [tool("typescript", "bin/tsc"), "-p", "tsconfig.wrong.json", "--noEmit"];
  const { stdout } = spawnSync(process.execPath, line, { cwd: project, encoding: "utf8" });
  const places = [...stdout.matchAll(/wrong\.ts\((\d+),/g)].map(([, at]) => Number(at));
  expect([...new Set(places)], stdout).toEqual([3, 4, 5]);
});

describe("tests of the project", () => {
  test("with vitest and the fixture of docs/library.md", () => {
    const fixture = /import \{ test as base \}[^]*?\n\}\);\n/.exec(textOf("docs/library.md"))?.[0];
    write("test/fixture.ts", fixture ?? "");
    write(
      "test/handbook.test.ts",
      `import { expect } from "vitest";
import { createClient } from "kb-wf";
import { test } from "./fixture.ts";

test("a tag is made once", async ({ sandbox }) => {
  sandbox.faults(["POST /datasets/tags status=503 times=1"]);
  const client = createClient({ baseUrl: sandbox.url, key: sandbox.keys.knowledge });
  await client.createKnowledgeTag({ name: "draft" });
  expect(await client.getKnowledgeTags({})).toMatchObject([{ name: "draft" }]);
});
`,
    );
    const out = run(process.execPath, [tool("vitest", "vitest.mjs"), "run", "test"]);
    expect(out).toMatch(/Tests .*1 passed/);
  });

  test("with node:test", () => {
    write(
      "handbook.node.mjs",
      `import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient } from "kb-wf";
import { startSandbox } from "kb-wf/sandbox";

let sandbox;
before(async () => (sandbox = await startSandbox({ seed: 1 })));
after(() => sandbox.close());
test("an unknown name is not found", async () => {
  const client = createClient({ baseUrl: sandbox.url, key: sandbox.keys.knowledge });
  await assert.rejects(client.resolve.kb("None"), { kind: "not-found" });
});
`,
    );
    expect(run(process.execPath, ["--test", "handbook.node.mjs"])).toMatch(/pass 1\b/);
  });
});

test("a project in Python tests with pytest against the command", async () => {
  const programs = await pythonWith("pytest==8.4.2");
  write(
    "test_handbook.py",
    `import json
import os
import urllib.request


def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["KB_BASE_URL"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": "Bearer " + os.environ["KB_KEY"],
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_a_knowledge_base_is_listed():
    call("POST", "/datasets", {"name": "Handbook"})
    assert "Handbook" in [each["name"] for each in call("GET", "/datasets")["data"]]
`,
  );
  const kb = join(project, "node_modules", ".bin", "kb");
  const line = ["sandbox", "--ephemeral", "--", join(programs, "pytest"), "-q"];
  expect(run(kb, line)).toContain("1 passed");
});
