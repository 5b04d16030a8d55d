import {
  chmodSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { compile } from "../../src/loader/chunk-loader.ts";
import { compiledStore } from "../../src/loader/compiled-store.ts";
import { temporaryDirectory } from "../lib/support.ts";

const name = "core-ab3x9z01.cjs";
const path = `/package/dist/${name}`;
/** Long enough to be stored. */
const source = `exports.where = () => new Error("here").stack; // ${"x".repeat(10_000)}`;
const sources = new Map([[path, source]]);

let folder = "";
beforeEach(async () => {
  folder = join(await temporaryDirectory(), "kb", "compiled", "1.0.0-v20.19.0-x64");
});

test("stored code is accepted by V8, and its errors name the file", () => {
  compiledStore(folder).write(sources);
  const cachedData = compiledStore(folder).read(name, source);
  const script = compile(path, source, { cachedData });
  expect(script.cachedDataRejected).toBe(false);
  const exports: { where?: () => string } = {};
  (script.runInThisContext() as (exports: object) => void)(exports);
  expect(exports.where?.()).toContain(`${path}:1:`);
});

test("without a write there is no code", () => {
  expect(compiledStore(folder).read(name, source)).toBeUndefined();
});

test("short chunks and names without a hash are not stored", () => {
  compiledStore(folder).write(
    new Map([
      ["/package/dist/list-ab3x9z01.cjs", "exports.a = 1;"],
      ["/package/dist/main.cjs", source],
    ]),
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("only the user can read and write the files", () => {
  compiledStore(folder).write(sources);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
});

test.each([0o777, 0o770, 0o702])("nothing is read or written in a directory of mode %o", (mode) => {
  compiledStore(folder).write(sources);
  chmodSync(folder, mode);
  expect(compiledStore(folder).read(name, source)).toBeUndefined();
  rmSync(join(folder, name));
  compiledStore(folder).write(sources);
  expect(readdirSync(folder)).toEqual([]);
});

test("a link to a directory is not followed", () => {
  const other = `${folder}-other`;
  compiledStore(other).write(sources);
  symlinkSync(other, folder);
  expect(compiledStore(folder).read(name, source)).toBeUndefined();
});

test("a file in place of the directory is left alone", () => {
  mkdirSync(join(folder, ".."), { recursive: true });
  writeFileSync(folder, "mine");
  const store = compiledStore(folder);
  expect(store.read(name, source)).toBeUndefined();
  expect(() => store.write(sources)).not.toThrow();
  expect(statSync(folder).size).toBe(4);
});

test("nothing is stored where no directory can be created", () => {
  const store = compiledStore("/proc/nowhere/.cache/kb/compiled/1.0.0");
  expect(() => store.write(sources)).not.toThrow();
  expect(store.read(name, source)).toBeUndefined();
});

test("a new version removes those that got nothing new for a month", () => {
  const versions = join(folder, "..");
  for (const [version, days] of [
    ["0.8.0", 40],
    ["0.9.0", 20],
  ] as const) {
    compiledStore(join(versions, version)).write(sources);
    const at = Date.now() / 1000 - days * 24 * 60 * 60;
    utimesSync(join(versions, version), at, at);
  }
  compiledStore(folder).write(sources);
  expect(readdirSync(versions)).toEqual(["0.9.0", "1.0.0-v20.19.0-x64"]);
});
