/** The servers of the Model Context Protocol with programs of others: the conformance suite and the inspector. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { listening, withToken } from "../lib/mcp-http.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const run = promisify(execFile);

/** Both programs need Node.js 22, from the npm package `node`. */
interface Programs {
  readonly node: string;
  readonly conformance: string;
  readonly inspector: string;
}

/** Installs the programs in directories of their own: the project does not depend on them. */
async function install(): Promise<Programs> {
  const place = await temporaryDirectory();
  const add = async (name: string, flags: readonly string[], packages: readonly string[]) => {
    const folder = join(place, name);
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), '{"private":true}\n');
    await run("npm", ["install", "--no-audit", "--no-fund", ...flags, ...packages], {
      cwd: folder,
    });
    return join(folder, "node_modules");
  };
  const [node, tools] = await Promise.all([
    add("node", [], ["node@22"]),
    add(
      "tools",
      ["--ignore-scripts"],
      ["@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/inspector@2.12.0"],
    ),
  ]);
  return {
    node: join(node, "node", "bin", "node"),
    conformance: join(tools, ".bin", "conformance"),
    inspector: join(tools, ".bin", "mcp-inspector"),
  };
}

const installed = await install().catch((error: unknown) => String(error).split("\n")[0]);
const programs = typeof installed === "string" ? undefined : installed;
if (!programs) console.warn(`not tested, because the programs cannot be installed: ${installed}`);

let sandbox: TestSandbox;

beforeAll(async () => {
  sandbox = await testSandbox({ models: true });
  await sandbox.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  const add = ["kb", "doc", "add", "Handbook", "leave.md", "--text", "30 days of leave"];
  await sandbox.done(add);
  await sandbox.done(["kb", "doc", "wait", "Handbook"]);
});

describe.skipIf(!programs)("conformance suite", () => {
  /** Scenarios of other servers need tools, prompts and resources of their own. */
  const scenarios = [
    "server-initialize",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
  ];

  test.each([
    ["kb", [...scenarios, "resources-list", "prompts-list", "completion-complete"]],
    ["wf", scenarios],
  ])("%s passes %j", async (program, wanted) => {
    const env = { ...sandbox.env, KB_APP_KEY: "app-echo" };
    const url = await withToken(await listening([program, "mcp"], env));
    for (const scenario of wanted) {
      const args = ["server", "--url", url, "--scenario", scenario];
      const cwd = await temporaryDirectory(); // it writes its results there
      const { stdout } = await run(programs?.node ?? "", [programs?.conformance ?? "", ...args], {
        cwd,
      });
      expect(stdout, scenario).toMatch(/Passed: (\d+)\/\1, 0 failed/);
    }
  });
});

describe.skipIf(!programs)("inspector", () => {
  /** Runs the inspector's command line; its output is the JSON of a result. */
  async function inspect(target: readonly string[], args: readonly string[]) {
    const { node = "", inspector = "" } = programs ?? {};
    const home = await temporaryDirectory();
    const env = { PATH: `${dirname(node)}:${process.env["PATH"]}`, HOME: home };
    // It starts servers with the variables that it is told.
    const variables = Object.entries({ ...sandbox.env, KB_APP_KEY: "app-echo" });
    const given = variables.flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const all = [inspector, "--cli", ...given, ...target, ...args];
    const { stdout } = await run(node, all, { env });
    return JSON.parse(stdout) as Record<string, any>;
  }

  const stdio = (program: string) => [process.execPath, join(root, "bin", `${program}.js`), "mcp"];

  test("kb on stdio: tools, a call, an error, a resource, a prompt", async () => {
    const kb = stdio("kb");
    const { tools } = await inspect(kb, ["--method", "tools/list"]);
    expect(tools.map(({ name }: { name: string }) => name)).toContain("search");
    const search = ["--method", "tools/call", "--tool-name", "search"];
    const found = await inspect(kb, [...search, "--tool-arg", "kb=Handbook", "query=leave"]);
    expect(found["structuredContent"].results).toMatchObject([{ uri: "kb://Handbook/leave.md" }]);
    const { resourceTemplates } = await inspect(kb, ["--method", "resources/templates/list"]);
    expect(resourceTemplates).toHaveLength(2);
    const read = ["--method", "resources/read", "--uri", "kb://Handbook/leave.md"];
    expect(JSON.stringify(await inspect(kb, read))).toContain("30 days of leave");
    const prompt = ["--method", "prompts/get", "--prompt-name", "answer"];
    const values = ["--prompt-args", "kb=Handbook", "question=how long"];
    expect(JSON.stringify(await inspect(kb, [...prompt, ...values]))).toContain("how long");
  });

  test("wf on stdio: a run", async () => {
    const call = ["--method", "tools/call", "--tool-name", "run_echo", "--tool-arg", "query=hello"];
    const { structuredContent } = await inspect(stdio("wf"), call);
    expect(structuredContent).toMatchObject({ status: "succeeded", outputs: { query: "hello" } });
  });

  test("kb over HTTP, with the token", async () => {
    const { url, token } = await listening(["kb", "mcp"], sandbox.env);
    const header = ["--header", `Authorization: Bearer ${token}`];
    const { tools } = await inspect(
      [url, "--transport", "http"],
      [...header, "--method", "tools/list"],
    );
    expect(tools.length).toBeGreaterThan(10);
  });
});
