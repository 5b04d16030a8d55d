import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { outlines } from "../../scripts/reference/outlines.ts";
import { root } from "../lib/paths.ts";
import { temporaryDirectory } from "../lib/support.ts";

const { chunks, packages } = (await import(
  pathToFileURL(join(root, "scripts", "chunks.mjs")).href
)) as {
  readonly chunks: readonly (readonly [name: string, paths: readonly string[]])[];
  readonly packages: readonly (readonly [name: string, test: RegExp])[];
};

const paths = chunks.flatMap(([name, files]) => files.map((path) => [name, path] as const));

test.each(paths)("the chunk %s finds src/%s", (_, path) => {
  expect(existsSync(join(root, "src", path))).toBe(true);
  expect(path).toMatch(/\/$|\.ts$/);
});

test.each([...new Set([...chunks, ...packages].map(([name]) => name))])(
  "the bundle has the chunk %s",
  (name) => {
    const built = new RegExp(`^${name}-[a-z0-9]{8}\\.cjs$`);
    expect(readdirSync(join(root, "dist")).filter((file) => built.test(file))).toHaveLength(1);
  },
);

/** Prints the files that a command line has loaded, when it ends. */
const loading = `
  const loaded = () => Object.keys(require.cache);
  process.on("exit", () => process.stdout.write(JSON.stringify(loaded())));
  require(${JSON.stringify(join(root, "dist", "main.cjs"))}).main(process.argv[1]);`;

// What an error of usage loads is most of the time until it is printed.
test.each([
  ["kb", "lsit"],
  ["kb", "dataset", "ls"],
  ["kb", "create", "--nmae"],
  ["kb", "create"],
])("%s %s is rejected after at most 12 files and 200 kB", async (...line) => {
  const words = line.filter((word) => word !== undefined);
  const env = { KB_CONFIG_DIR: await temporaryDirectory(), KB_KEEP_ERRORS: "0", TZ: "UTC" };
  const ran = spawnSync(process.execPath, ["-e", loading, ...words], { env, encoding: "utf8" });
  expect(ran.status).toBe(2);
  const files = JSON.parse(ran.stdout) as readonly string[];
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  expect(files.length, files.join(" ")).toBeLessThanOrEqual(12);
  expect(bytes).toBeLessThanOrEqual(200_000);
});

/** Prints those of Node.js's own modules that a command line has loaded. */
const loadingOfNode = loading.replace("Object.keys(require.cache)", "process.moduleLoadList");

test("a request that needs no certificate and no name loads neither TLS nor DNS", async () => {
  const env = {
    KB_CONFIG_DIR: await temporaryDirectory(),
    KB_KEEP_ERRORS: "0",
    KB_BASE_URL: "http://127.0.0.1:9/v1", // nothing listens there
    KB_KEY: "dataset-of-the-test",
    KB_NO_KEYRING: "1",
  };
  const line = ["-e", loadingOfNode, "kb", "list", "--retries", "0"];
  const ran = spawnSync(process.execPath, line, { env, encoding: "utf8" });
  expect(ran.stderr).toContain("127.0.0.1:9");
  const names = JSON.parse(ran.stdout) as readonly string[];
  expect(names).toContain("NativeModule net");
  expect(names).not.toContain("NativeModule tls");
  expect(names).not.toContain("NativeModule dns");
});

test.each(["kb", "wf"] as const)(
  "the outlines of %s are those of its commands",
  async (program) => {
    const written = readFileSync(join(root, "dist", `commands-${program}.json`), "utf8");
    expect(written).toBe(await outlines(program));
  },
);
