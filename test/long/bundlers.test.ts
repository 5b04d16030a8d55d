/** The client inside bundles of other tools, which are installed on first use: a program in one file that works. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { cachedPackage } from "../../scripts/npm-package.mjs";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();

/** JSON, a list, a form with a file, an error, and a run whose events are followed. */
const program = `
import { createClient, CliError } from ${JSON.stringify(join(root, "dist", "library", "index.mjs"))};

async function main([baseUrl, key, appKey]) {
  const client = createClient({ baseUrl, key });
  const { id } = await client.createDataset({ name: crypto.randomUUID(), indexing_technique: "economy" });
  const file = { path: "a.md", name: "a.md", bytes: new TextEncoder().encode("days") };
  await client.createDocumentFromFile({ dataset_id: id, file, process_rule: { mode: "automatic" } });
  const names = [];
  for await (const { name } of client.listDocuments({ dataset_id: id })) names.push(name);
  const failed = await client.getDatasetDetail({ dataset_id: crypto.randomUUID() }).catch((e) => e);
  await client.deleteDataset({ dataset_id: id });
  const { status } = await createClient({ baseUrl, key: appKey }).run({ query: "x" }).result;
  console.log(JSON.stringify([names, failed instanceof CliError && failed.kind, status]));
}
main(process.argv.slice(2));
`;
const entry = join(folder, "entry.mjs");
writeFileSync(entry, program);

const load = async (name: string, version: string, file: string) =>
  (await import(pathToFileURL(join(cachedPackage(name, version), file)).href)) as Record<
    string,
    any
  >;

/** Makes a bundle of the program in a directory. */
type Bundle = (directory: string) => Promise<void>;

const webpack: Bundle = async (path) => {
  const { default: make } = await load("webpack", "5.113.0", "lib/index.js");
  const output = { path, filename: "bundle.cjs" };
  const stats = await promisify(make)({ entry, target: "node20", mode: "production", output });
  expect(stats.toString({ all: false, errors: true })).toBe("");
};

const rollup =
  (output: object): Bundle =>
  async (path) => {
    const { rollup: make } = await load("rollup", "4.68.8", "dist/es/rollup.js");
    const bundle = await make({ input: entry, external: /^node:/ });
    await bundle.write({ ...output, dir: path });
  };

const esbuild =
  (format: string): Bundle =>
  async (path) => {
    const { default: tool } = await load("esbuild", "0.28.2", "lib/main.js");
    const outfile = join(path, format === "cjs" ? "bundle.cjs" : "bundle.mjs");
    await tool.build({
      entryPoints: [entry],
      bundle: true,
      platform: "node",
      format,
      outfile,
      minify: true,
    });
  };

test.each<[tool: string, file: string, bundle: Bundle]>([
  ["webpack", "bundle.cjs", webpack],
  [
    "rollup, in one file",
    "bundle.mjs",
    rollup({ format: "es", inlineDynamicImports: true, entryFileNames: "bundle.mjs" }),
  ],
  [
    "rollup, in one CommonJS file",
    "bundle.cjs",
    rollup({ format: "cjs", inlineDynamicImports: true, entryFileNames: "bundle.cjs" }),
  ],
  ["rollup, in chunks", "bundle.mjs", rollup({ format: "es", entryFileNames: "bundle.mjs" })],
  ["esbuild", "bundle.mjs", esbuild("esm")],
  ["esbuild, CommonJS", "bundle.cjs", esbuild("cjs")],
])("%s: the program works", async (tool, file, bundle) => {
  const directory = join(folder, tool.replace(/\W+/g, "-"));
  mkdirSync(directory);
  await bundle(directory);
  const keys = [server.sandbox.knowledgeKey, server.sandbox.appKeys["echo"] ?? ""];
  const line = [join(directory, file), server.env["KB_BASE_URL"] ?? "", ...keys];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, line);
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual([["a.md"], "not-found", "succeeded"]);
});
