import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { untrustedPart } from "../../src/host/trusted-path.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** The owner of all files here, other than root even if root runs the tests. */
const owner = process.getuid?.() || 12_345;
const group = process.getgid?.() ?? 0;

let top = "";

/** Creates an entry of the owner with a mode; text makes it a file, `→ target` a link. */
function make(path: string, mode: number, text?: string): void {
  const full = join(top, path);
  if (text?.startsWith("→ ")) return symlinkSync(text.slice(2), full);
  if (text === undefined) mkdirSync(full);
  else writeFileSync(full, text);
  chownSync(full, owner, group);
  chmodSync(full, mode);
}

/** The untrusted part as a path below the top, and why. */
function partOf(path: string, uid = owner): string | undefined {
  const part = untrustedPart(join(top, path), uid);
  return part && `${relative(top, part.path) || "."} ${part.reason}`;
}

beforeEach(async () => {
  top = await realpath(await temporaryDirectory());
  chownSync(top, owner, group);
  make("home", 0o755);
  make("home/profiles.json", 0o644, "{}");
  make("open", 0o777);
  make("open/profiles.json", 0o600, "{}");
});

test("files and directories that only the user can change are trusted", () => {
  expect(partOf("home/profiles.json")).toBeUndefined();
  expect(partOf("home")).toBeUndefined();
  expect(untrustedPart("/")).toBeUndefined();
});

test.each([
  [0o666, "home/profiles.json can be written by others (mode 0666)"],
  [0o620, "home/profiles.json can be written by others (mode 0620)"],
  [0o644, undefined],
])("a file of mode %o: %s", (mode, expected) => {
  chmodSync(join(top, "home/profiles.json"), mode);
  expect(partOf("home/profiles.json")).toBe(expected);
});

test.each([
  [0o777, "home can be written by others (mode 0777)"],
  [0o775, "home can be written by others (mode 0775)"],
  [0o1777, undefined],
])("a parent of mode %o: %s", (mode, expected) => {
  chmodSync(join(top, "home"), mode);
  expect(partOf("home/profiles.json")).toBe(expected);
});

test("others can create files in a sticky directory", () => {
  chmodSync(join(top, "home"), 0o1777);
  expect(partOf("home")).toBe("home can be written by others (mode 1777)");
});

test("files and parents of another user are not trusted", () => {
  expect(partOf("home/profiles.json", owner + 1)).toBe(`. belongs to user ${owner}`);
});

test.each([
  ["a link to a trusted file", "home/link", "→ profiles.json", "home/link", undefined],
  ["a link to a trusted directory", "link", "→ home", "link/profiles.json", undefined],
  ["a link into a directory of others", "link", "→ open", "link/profiles.json", "open"],
  ["a link that others can replace", "open/link", "→ ../home", "open/link/profiles.json", "open"],
  ["a way up after a link", "link", "→ home", "link/../open/profiles.json", "open"],
  ["a link to itself", "home/link", "→ link", "home/link", "home/link"],
  ["a file that does not exist", "home/other", "→ home", "home/missing", "home/missing"],
])("%s", (_, link, target, path, expected) => {
  make(link, 0, target);
  expect(partOf(path)?.split(" ", 1)[0]).toBe(expected);
});
