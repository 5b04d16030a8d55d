import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { privateDirectory } from "../../src/host/trusted-path.ts";
import { untrustedPart } from "../../src/host/trusted-path.ts";
import { temporaryDirectory } from "../lib/support.ts";

let home = "";
beforeEach(async () => {
  home = join(realpathSync(await temporaryDirectory()), "home");
  mkdirSync(home, { mode: 0o755 });
});

/** All but what is below `open` counts as safe, wherever the tests run. */
const isSafe = (directory: string) =>
  [directory, realpathSync(directory)].every((path) => !path.startsWith(join(home, "open")));

function ask(path: string) {
  try {
    return privateDirectory(join(home, path), isSafe);
  } catch (error) {
    return (error as Error).message;
  }
}

test("directories are created for the user alone", () => {
  expect(ask("cache/kb/code")).toBe(join(home, "cache/kb/code"));
  for (const path of ["cache", "cache/kb", "cache/kb/code"])
    expect(statSync(join(home, path)).mode & 0o777, path).toBe(0o700);
  expect(ask("cache/kb/code")).toBe(join(home, "cache/kb/code"));
});

test("links are resolved", () => {
  mkdirSync(join(home, "disk"));
  symlinkSync("disk", join(home, "cache"));
  expect(ask("cache/code")).toBe(join(home, "disk/code"));
});

test.each(["open", "link"])("nothing is created where others can write: %s", (name) => {
  mkdirSync(join(home, "open"));
  symlinkSync("open", join(home, "link"));
  expect(ask(`${name}/cache/code`)).toBe("nothing is created where others can write");
  expect(readdirSync(join(home, "open"))).toEqual([]);
});

test("a link that others could have made is not followed", () => {
  mkdirSync(join(home, "open"));
  mkdirSync(join(home, "docs"));
  symlinkSync("../docs", join(home, "open/cache"));
  expect(ask("open/cache/code")).toBe("nothing is created where others can write");
  expect(readdirSync(join(home, "docs"))).toEqual([]);
});

test("an existing directory is not used where others can replace it", () => {
  mkdirSync(join(home, "open/code"), { recursive: true, mode: 0o700 });
  expect(ask("open/code")).toBeUndefined();
});

test.each([0o755, 0o750, 0o705, 0o777])("a directory of mode %o is not used", (mode) => {
  mkdirSync(join(home, "code"));
  chmodSync(join(home, "code"), mode);
  expect(ask("code")).toBeUndefined();
});

test("a file in its place is left alone", () => {
  writeFileSync(join(home, "code"), "mine", { mode: 0o600 });
  expect(ask("code")).toBeUndefined();
  expect(readFileSync(join(home, "code"), "utf8")).toBe("mine");
});

test("the search ends where nothing can be created", () => {
  expect(() => privateDirectory("/proc/nowhere/.cache/kb/code")).toThrow();
});

test("a sticky directory keeps files from others, but does not do for code", () => {
  chmodSync(home, 0o1777);
  mkdirSync(join(home, "code"), { mode: 0o700 });
  const uid = process.getuid?.() ?? 0;
  expect(untrustedPart(join(home, "code"), uid)).toBeUndefined();
  expect(untrustedPart(join(home, "code"), uid, { sticky: false })).toMatchObject({
    reason: "can be written by others (mode 1777)",
  });
});
