import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Script } from "node:vm";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

interface ChunkFiles {
  readonly folder: string;
  readonly read: (name: string) => string;
  readonly readCompiled: (name: string) => Uint8Array | undefined;
}

/** What the executable loads its chunks with, as JavaScript that it contains. */
const { chunkLoader, compiledInFull } = createRequire(import.meta.url)(
  "../../scripts/binary/chunk-loader.cjs",
) as {
  chunkLoader(
    files: ChunkFiles,
    onLoaded: (name: string, script: Script) => void,
  ): (name: string) => unknown;
  compiledInFull(filename: string, source: string): Uint8Array;
};

const dist = join(root, "dist");
const read = (name: string) => readFileSync(join(dist, name), "utf8");

/** Loads the first chunk and the core, with compiled code if there is any; and returns the scripts. */
function loadMain(compiled: ReadonlyMap<string, Uint8Array>) {
  const scripts = new Map<string, Script>();
  const files = { folder: dist, read, readCompiled: (name: string) => compiled.get(name) };
  const load = chunkLoader(files, (name: string, script: Script) => scripts.set(name, script));
  const main = load("main.cjs") as { readonly main: unknown };
  load(readdirSync(dist).find((name) => name.startsWith("core-")) ?? "");
  return { load, main, scripts };
}

test("each chunk is loaded once", () => {
  const { load, main, scripts } = loadMain(new Map());
  expect(main.main).toBeTypeOf("function");
  const before = scripts.size;
  expect(load("main.cjs")).toBe(main);
  expect(scripts.size).toBe(before);
});

test("code that was compiled before is used", () => {
  const compiled = [...loadMain(new Map()).scripts.keys()].map(
    (name) => [name, compiledInFull(join(dist, name), read(name))] as const,
  );
  const { scripts } = loadMain(new Map(compiled));
  expect(scripts.size).toBe(compiled.length);
  for (const [name, script] of scripts) expect(script.cachedDataRejected, name).toBe(false);
});

test("no chunk uses import(), which the executable does not have", () => {
  const text = 'import("${'; // in a text of pdf.js
  const chunks = readdirSync(dist).filter((name) => name.endsWith(".cjs"));
  expect(chunks.length).toBeGreaterThan(100);
  const using = chunks.filter((name) =>
    /(?<![\w$.])import\(/.test(read(name).replaceAll(text, "")),
  );
  expect(using).toEqual([]);
});

test("the scripts of threads need no other file, since the executable starts them from a text", () => {
  const scripts = readdirSync(dist).filter((name) => name.endsWith("-worker.cjs"));
  expect(scripts).toHaveLength(3);
  expect(scripts.filter((name) => /require\(["'`]\.\//.test(read(name)))).toEqual([]);
});
