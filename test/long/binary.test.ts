import { execFile, execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { testSite } from "../lib/site.ts";
import { temporaryDirectory } from "../lib/support.ts";

// The single executable, in a directory of its own and without programs in PATH. It needs a Node.js binary,
// which the build installs on first use.
const folder = await temporaryDirectory();
const home = join(folder, "home");
const programs = join(folder, "programs");
const system = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

beforeAll(() => {
  execFileSync("npm", ["run", "-s", "build:binary"], { cwd: root, stdio: "inherit" });
  cpSync(join(root, "binary", system), programs, { recursive: true, verbatimSymlinks: true });
  mkdirSync(home);
  cpSync(join(root, "examples"), join(home, "examples"), { recursive: true });
});

/** Runs a program; `env` is all that its environment has beside a home and an empty PATH. */
function run(path: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr, error } = spawnSync(path, args, {
    cwd: home,
    encoding: "utf8",
    env: { HOME: home, PATH: "", ...env },
  });
  if (error) throw error;
  return { exit: status, out: stdout, err: stderr };
}

/** Runs lines of a shell against a sandbox; `sh` is the only program beside the executables. */
const inSandbox = (...lines: readonly string[]) =>
  run(join(programs, "kb"), ["sandbox", "--ephemeral", "--", "/bin/sh", "-ec", lines.join("\n")]);

test("the tour passes without Node.js", () => {
  const tour = [join(root, "scripts", "start.mjs"), "--binary", programs];
  const { status, stdout, stderr } = spawnSync(process.execPath, tour, { encoding: "utf8" });
  expect(`${stdout}${stderr}`).not.toMatch(/The tour stopped|\(node:\d+\)/);
  expect(status).toBe(0);
  expect(stdout).toContain("canteen.docx");
});

test("a directory is synced, and a run is followed", () => {
  const { out, exit, err } = inSandbox(
    "kb create Handbook --indexing-technique economy -o name > id",
    "kb sync Handbook examples/handbook -q > changes",
    "kb doc wait Handbook -q > documents",
    "kb search Handbook 有給休暇 --top-k 1 --jq '.[].segment.document.name'",
    "run=$(wf --app slow run --input query=hello --input seconds=1 --detach -o name)",
    "wf --app slow events $run --follow -o jsonl --jq .event",
  );
  expect(exit, out + err).toBe(0);
  // On a busy machine the run has ended before it is followed: then this event is all that the server sends.
  expect(out).toMatch(/^osaka-leave.md\n([^]*\n)?workflow_finished\n$/);
});

/** The same beside servers of this process. */
async function inSandboxBeside(...lines: readonly string[]) {
  const args = ["sandbox", "--ephemeral", "--", "/bin/sh", "-ec", lines.join("\n")];
  const env = { HOME: home, PATH: "" };
  return promisify(execFile)(join(programs, "kb"), args, { cwd: home, env });
}

test("a site is synced: its pages are converted in a thread", async () => {
  const { origin, answers, sitemap } = await testSite();
  answers.set("/sitemap.xml", sitemap("/leave", "/deep"));
  const deep = "<div>".repeat(300);
  answers.set("/deep", (response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<html><main>${deep}</main></html>`);
  });
  answers.set("/leave", (response) => {
    response.setHeader("content-type", "text/html");
    response.end("<html><main><h1>Leave</h1><p>30 <b>days</b></p></main></html>");
  });
  const { stdout } = await inSandboxBeside(
    "kb create Site --indexing-technique economy -o name > site",
    `kb sync Site web+${origin}/sitemap.xml --yes || [ $? = 10 ]`,
    "kb doc wait Site -q > documents",
    "kb chunk list Site leave.md --jq '.[].content'",
  );
  expect(stdout).toContain("failed\tdeep.md\tcannot be converted: its tags are nested");
  expect(stdout).toContain("30 **days**\n");
});

test("reports, pages and filters work", () => {
  const { out, exit, err } = inSandbox(
    "wf run query=x --app loop --record loop.jsonl -q > result",
    "wf timeline loop.jsonl -o html",
    "wf diff loop.jsonl loop.jsonl -o json --jq 'has(\"differences\")'",
  );
  expect(err).toBe("");
  expect(exit).toBe(0);
  expect(out).toMatch(/^<!doctype html>/i);
  expect(out).toContain("</html>\n");
});

test("an endless filter is stopped by --timeout", () => {
  const { exit, err } = run(join(programs, "kb"), [
    ..."sandbox --ephemeral -- kb list --timeout 2s --jq".split(" "),
    "def f: f; f",
  ]);
  expect(err).toContain("2s");
  expect(exit).toBe(12);
});

test("it is an MCP server", () => {
  const client = { name: "test", version: "1" };
  const messages = [
    {
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: client },
    },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list" },
  ];
  const { status, stdout, stderr } = spawnSync(join(programs, "kb"), ["mcp"], {
    encoding: "utf8",
    env: { HOME: home, PATH: "", KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "dataset-x" },
    input: messages
      .map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
      .join(""),
  });
  expect(status, stderr).toBe(0);
  expect(stdout).toContain('"serverInfo":{"name":"kb"');
  expect(stdout).toContain('"name":"search"');
});

test("without a keyring, login says where the key is stored", () => {
  const { exit, out, err } = inSandbox(
    'printf %s "$KB_KEY" | KB_PROFILE= kb login work --base-url "$KB_BASE_URL" --key-file -',
  );
  expect(err).toContain("the keyring is not available (the single executable does not support it)");
  expect(exit, out).toBe(0);
});

test("the name decides which program it is, and is all that decides", () => {
  const moved = join(folder, "elsewhere");
  mkdirSync(moved);
  cpSync(join(programs, "kb"), join(moved, "wf-0.1.0"));
  expect(run(join(moved, "wf-0.1.0"), ["--version"]).out).toMatch(/^wf \d/);
  renameSync(join(moved, "wf-0.1.0"), join(moved, "tool"));
  expect(run(join(moved, "tool"), ["--version"]).out).toMatch(/^kb \d/);
  symlinkSync("tool", join(moved, "wf"));
  expect(run(join(moved, "wf"), ["--version"]).out).toMatch(/^wf \d/);
});

test("it prints the licenses of everything that it contains", () => {
  const { out, exit } = run(join(programs, "kb"), ["--licenses"]);
  expect(exit).toBe(0);
  expect(out).toMatch(/^MIT License/);
  for (const name of ["Node.js 24.", "OpenSSL", "commander 14.", "undici 7.", "Mozilla Foundation"])
    expect(out).toContain(name);
});

test("it runs for a user without a home", () => {
  const line = "sandbox --ephemeral -- kb list --jq .[].name".split(" ");
  const { out, exit } = run(join(programs, "kb"), line, { HOME: "/nonexistent" });
  expect(out).toBe("Files\nWebsite\n");
  expect(exit).toBe(0);
});
