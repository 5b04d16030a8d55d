import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import { isBelow, pathInside, safePath, uniquePath } from "../../src/host/safe-path.ts";
import type { TakenPaths } from "../../src/host/safe-path.ts";
import { seeded } from "../lib/seeded.ts";
import { temporaryDirectory } from "../lib/support.ts";

const [nine, ten] = ["ä".repeat(99), "ä".repeat(100)];
const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

test.each([
  ["notes/Überblick (2), v1.0 ~ é👩‍💻.md", "notes/Überblick (2), v1.0 ~ é👩‍💻.md"],
  ["../a/./b.md", "%2E%2E/a/%2E/b.md"],
  ["/etc/passwd", "%2Fetc/passwd"],
  ["a//b/", "a%2F%2Fb%2F"],
  ["C:\\x\\aux.txt", "C%3A%5Cx%5Caux.txt"],
  ["what?.md. ", "what%3F.md.%20"],
  [" a./b", "%20a%2E/b"],
  [".git/config", "%2Egit/config"],
  ["x/.GIT./y", "x/%2EGIT%2E/y"],
  [".envrc", "%2Eenvrc"],
  ["\u200c.git", "%E2%80%8C.git"],
  ["git~1/config", "git%7E1/config"],
  ["HEAD", "%48EAD"],
  ["header/Head.md", "header/Head.md"],
  ["con/LPT1.tar.gz", "%63on/%4CPT1.tar.gz"],
  ["aux .md", "%61ux .md"],
  ["com\u00b9", "%63om\u00b9"],
  ["console.md", "console.md"],
  ["50 % off.md", "50 %25 off.md"],
  ["a\u202eb\u0000.md", "a%E2%80%AEb%00.md"],
  ["\ud800\u{1f600}", "%uD800\u{1f600}"],
  ["...", "%2E.%2E"],
  ["", "%"],
  [nine, nine],
  [`${ten}/b`, `${ten}/b`],
  [`${ten}.md`, `${"ä".repeat(91)}%-${digest(`${ten}.md`)}.md`],
  [`${ten}x`, `${"ä".repeat(93)}%-${digest(`${ten}x`)}`],
])("the safe path of %j is %j", (name, path) => {
  expect(safePath(name)).toBe(path);
});

/** The name of a path that was not shortened. */
const decoded = (path: string): string =>
  path === "%"
    ? ""
    : path.replace(/%u([0-9A-F]{4})|(?:%[0-9A-F]{2})+/g, (code, unit?: string) =>
        unit ? String.fromCharCode(Number.parseInt(unit, 16)) : decodeURIComponent(code),
      );

test("a safe path can be decoded, and has no name that a system or git treats in its own way", () => {
  const plain = "/ \\ . ~ 1 % 2E git con HEAD nul a é ¹ $ : * u lpt9 -".split(" ");
  const pieces = [...plain, ..." \u0000\n\u200d\u202e\ufeff\ud83d!\ude00"];
  const random = seeded(20261123);
  for (let turn = 0; turn < 20_000; turn++) {
    const some = Array.from({ length: Math.floor(random() * 7) });
    const name = some.map(() => pieces[Math.floor(random() * pieces.length)]).join("");
    const path = safePath(name);
    expect(decoded(path), name).toBe(name);
    for (const step of path.split("/"))
      expect(step).not.toMatch(
        /^[.\s\p{Cf}]|[.\s]$|^$|[\p{Cc}\p{Cs}\p{Bidi_Control}<>:"|?*\\]|~\d|^(con|nul|lpt9)(\.|$)|^head$/iu,
      );
  }
});

test("unique paths differ in more than case, and none leads through a file", () => {
  const taken: TakenPaths = new Map();
  const paths = ["a.md", "A.md", "a.md", "a.md/b", "a.md/c", "c/d", "c", "a.md"];
  expect(paths.map((path) => uniquePath(path, taken))).toEqual([
    "a.md",
    "A (1).md",
    "a (2).md",
    "a (3).md/b",
    "a (3).md/c",
    "c/d",
    "c (1)",
    "a (4).md",
  ]);
});

test("the paths of equal names do not count from 1 each", () => {
  let lookUps = 0;
  class Counted extends Map<string, number> {
    override has(path: string): boolean {
      lookUps++;
      return super.has(path);
    }
  }
  const taken: TakenPaths = new Counted();
  const paths = Array.from({ length: 1000 }, () => uniquePath("documents/page.md", taken));
  expect(paths.at(-1)).toBe("documents/page (999).md");
  expect(new Set(paths).size).toBe(1000);
  expect(lookUps).toBeLessThan(20_000);
});

test.each([
  ["a/b.md", true],
  ["../a", false],
  ["a//b", false],
  ["/a", false],
  ["a\\b", false],
  ["C:a", false],
])("isBelow(%j) is %j", (path, expected) => {
  expect(isBelow(path)).toBe(expected);
});

test("no link leads out of a directory that is removed meanwhile", async () => {
  const directory = join(await temporaryDirectory(), "export");
  await mkdir(directory);
  const files = {
    ...diskFiles,
    async realPath(path: string) {
      const real = await diskFiles.realPath(path);
      await rm(directory, { recursive: true, force: true });
      return real;
    },
  };
  expect(await pathInside(directory, "a/b.md", files)).toBe(join(directory, "a/b.md"));
});
