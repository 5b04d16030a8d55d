import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { manPages } from "../../scripts/reference/man.ts";
import { pdf } from "../lib/pdf-file.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

const folder = await temporaryDirectory();
const home = join(folder, "home");
const pages = await manPages();
const manuals = [...pages.keys()].sort();
let files: readonly string[] = [];
let size = 0;

// The test run has built dist already, so scripts are skipped here.
const npm = (...args: readonly string[]) =>
  execFileSync("npm", [...args, "--ignore-scripts", "--loglevel=error"], {
    cwd: root,
    encoding: "utf8",
    shell: process.platform === "win32",
  });

beforeAll(() => {
  const packed = JSON.parse(npm("pack", "--json", "--pack-destination", folder)) as [
    { size: number; filename: string; files: { path: string }[] },
  ];
  files = packed[0].files.map(({ path }) => path);
  ({ size } = packed[0]);
  execFileSync("tar", ["-xzf", join(folder, packed[0].filename), "-C", folder]);
  mkdirSync(home);
});

/** Runs the packed `kb` in an empty directory. */
const kb = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [join(folder, "package", "bin", "kb.js"), ...args], {
    cwd: home,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: home },
  });

test("the package contains the programs and their documentation, in less than 3.3 MB", () => {
  expect(size).toBeLessThan(3_300_000);
  expect(files.filter((path) => !/^(dist|examples)\//.test(path)).sort()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.ja.md",
    "README.md",
    "README.zh-CN.md",
    "bin/kb.js",
    "bin/package.json",
    "bin/shims/kb",
    "bin/shims/kb.cmd",
    "bin/shims/wf",
    "bin/shims/wf.cmd",
    "bin/wf.js",
    "docs/agents.md",
    "docs/backup.md",
    "docs/ci.md",
    "docs/configuration.md",
    "docs/deployment.md",
    "docs/evaluation.md",
    "docs/following.md",
    "docs/from-the-web-console.md",
    "docs/handing-over.md",
    "docs/images/cast.svg",
    "docs/knowledge-bases.md",
    "docs/library.md",
    "docs/llms.txt",
    "docs/logs.md",
    ...manuals.map((name) => `docs/man/${name}`),
    "docs/mcp.md",
    "docs/output.md",
    "docs/reference.md",
    "docs/reports.md",
    "docs/running-workflows.md",
    "docs/sandbox.md",
    "docs/server.md",
    "docs/sources.md",
    "docs/syncing.md",
    "docs/test-suites.md",
    "docs/troubleshooting.md",
    "docs/verdicts.md",
    "docs/versions.md",
    "package.json",
    "types/index.d.ts",
    "types/operations.d.ts",
    "types/sandbox.d.cts",
  ]);
  const built = files.filter((path) => path.startsWith("dist/"));
  const isCode = (path: string) => /^dist\/([a-z0-9.-]+\.cjs|library\/[\w./-]+\.mjs)$/.test(path);
  expect(built.filter((path) => !isCode(path)).sort()).toEqual([
    "dist/LICENSES.txt",
    "dist/commands-kb.json",
    "dist/commands-wf.json",
    "dist/help-kb.txt",
    "dist/help-wf.txt",
    "dist/node-sqlite3-wasm.wasm",
  ]);
});

test("the client is plain ES modules: other bundlers fail on the helpers of this one", () => {
  const modules = files.filter((path) => path.startsWith("dist/library/"));
  expect(modules).toContain("dist/library/index.mjs");
  expect(modules.filter((path) => path.includes("rolldown"))).toEqual([]);
  for (const path of modules) {
    const code = readFileSync(join(folder, "package", path), "utf8");
    expect(code, path).not.toMatch(/createRequire|\b__[a-z]\w+\s*=|(?<![.\w])require\(/i);
  }
});

test("the keyring is its only dependency, and no file contains a local path or a registry", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies?: unknown;
    optionalDependencies: unknown;
    exports: object;
  };
  expect(manifest.dependencies).toBeUndefined();
  expect(manifest.optionalDependencies).toEqual({ "@napi-rs/keyring": "2.1.2" });
  expect(Object.keys(manifest.exports)).toEqual([".", "./sandbox", "./package.json"]);
  for (const name of readdirSync(join(root, "dist")).filter((file) => file.endsWith(".cjs"))) {
    const text = readFileSync(join(root, "dist", name), "utf8");
    expect(text.includes(root), name).toBe(false);
    expect(/registry\.(npmjs|yarnpkg)/.test(text), name).toBe(false);
  }
  expect(readFileSync(join(root, "package-lock.json"), "utf8")).not.toContain('"resolved"');
});

test("an installation has the manual pages of all commands", () => {
  const unpacked = join(folder, "package");
  const manifest = () => readFileSync(join(unpacked, "package.json"), "utf8");
  const inRepository = manifest();
  const listed = (action: string) =>
    execFileSync(process.execPath, [join(root, "scripts", "manual-list.mjs"), action, unpacked]);
  listed("add"); // as `npm pack` does, which would also build
  const prefix = join(folder, "prefix");
  npm("install", "--global", "--offline", "--prefix", prefix, unpacked);
  const installed = join(prefix, "share", "man");
  for (const [name, text] of pages)
    expect(readFileSync(join(installed, `man${name.at(-1)}`, name), "utf8")).toBe(text);
  listed("remove");
  expect(manifest()).toBe(inRepository);
  expect(inRepository).not.toContain('"man": [');
});

test("the package contains the licenses of all bundled packages", () => {
  const text = kb("--licenses");
  expect(text).toBe(readFileSync(join(folder, "package", "dist", "LICENSES.txt"), "utf8"));
  expect(text).toMatch(/^MIT License\n/);
  for (const name of [
    "commander",
    "undici",
    "ora",
    "cli-table3",
    "yaml",
    "jq-wasm",
    "node-sqlite3-wasm",
    "unpdf",
    "htmlparser2",
  ])
    expect(text).toMatch(new RegExp(`^${name} \\d[^\\n]* \\([\\w-]+\\)\\n\\n[^-]+`, "m"));
});

test("the unpacked package runs: version, database, jq and completion", () => {
  expect(kb("--version")).toMatch(/^kb \d+\.\d+\.\d+ \(node v\d+\S+ \S+\)\n$/);
  const made = kb("sandbox", "--ephemeral", "--", "kb", "create", "Handbook", "--jq", ".name");
  expect(made).toBe("Handbook\n");
  expect(kb("completion", "bash")).toContain("kb __complete --");
});

test("the unpacked package reads a PDF", () => {
  writeFileSync(join(home, "minutes.pdf"), pdf(["The zeppelin was moored."]));
  const lines = [
    "kb create Handbook --indexing-technique high_quality -o name > id.txt",
    "kb doc upload Handbook minutes.pdf > id.txt && kb doc wait Handbook > id.txt",
    "kb search Handbook zeppelin --jq '.[].segment.content'",
  ];
  expect(kb("sandbox", "--ephemeral", "--", "sh", "-c", lines.join(" && "))).toBe(
    "The zeppelin was moored.\n",
  );
});

test("the links of its pages resolve", () => {
  const links = files
    .filter((path) => path.endsWith(".md"))
    .flatMap((page) => {
      const text = readFileSync(join(folder, "package", page), "utf8");
      return [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, to = ""]) =>
        join(page, "..", to).replaceAll("\\", "/"),
      );
    });
  expect(links.length).toBeGreaterThan(10);
  const exists = (to: string) => files.some((path) => path === to || path.startsWith(`${to}/`));
  // The pictures of pages would be a twentieth of the package, and some pages are about the repository.
  const inRepository = (to: string) =>
    /^(docs\/images\/\w[\w-]*\.png|(CONTRIBUTING|docs\/(architecture|performance|reliability))\.md)$/.test(
      to,
    ) && existsSync(join(root, to));
  expect(links.filter((to) => !exists(to) && !inRepository(to))).toEqual([]);
});
