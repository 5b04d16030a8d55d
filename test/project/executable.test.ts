import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Script } from "node:vm";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

interface ChunkFiles {
  readonly folder: string;
  readonly read: (name: string) => string;
  readonly readCache: (name: string) => Buffer | undefined;
}
type Load = (name: string) => Record<string, unknown>;

const { chunkLoader } = createRequire(import.meta.url)(
  join(root, "scripts", "binary", "start.cjs"),
) as {
  chunkLoader: (files: ChunkFiles, onCompiled: (name: string, script: Script) => void) => Load;
};

const dist = join(root, "dist");
const read = (name: string) => readFileSync(join(dist, name), "utf8");

/** Loads the first chunk, with compiled code if there is any; and returns the scripts. */
function loadMain(caches: ReadonlyMap<string, Buffer>) {
  const scripts = new Map<string, Script>();
  const files = { folder: dist, read, readCache: (name: string) => caches.get(name) };
  const load = chunkLoader(files, (name, script) => scripts.set(name, script));
  return { load, main: load("main.cjs"), scripts };
}

test("the executable loads each chunk once", () => {
  const { load, main, scripts } = loadMain(new Map());
  expect(main["main"]).toBeTypeOf("function");
  expect(scripts.has("core.cjs")).toBe(true);
  const before = scripts.size;
  expect(load("main.cjs")).toBe(main);
  expect(scripts.size).toBe(before);
});

test("code that was compiled when it was built is used", () => {
  const compiled = [...loadMain(new Map()).scripts].map(
    ([name, script]) => [name, script.createCachedData()] as const,
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
