import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

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
