import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import { rareTest } from "../../lib/sampled.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";
import { root } from "../../lib/paths.ts";

const places = await temporaryDirectory();
let created = 0;

/** Creates a directory with these files. */
function folder(files: Readonly<Record<string, string | Uint8Array>>): string {
  const place = join(places, String(++created));
  mkdirSync(place);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(place, name)), { recursive: true });
    writeFileSync(join(place, name), content);
  }
  return place;
}

interface Row {
  readonly severity: string;
  readonly file: string;
  readonly finding: string;
  readonly problem: string;
}

async function linted(place: string, words: readonly string[] = [], world: World = {}) {
  const ran = await cli(["kb", "lint", place, "-o", "json", ...words], world);
  const rows = ran.out === "" ? [] : (JSON.parse(ran.out) as Row[]);
  return { ...ran, rows, found: rows.map(({ file, finding }) => `${file} ${finding}`) };
}

describe("a file", () => {
  const bytes = (...values: number[]) => Uint8Array.from(values);
  test.each<[string, string, string | Uint8Array, string, string]>([
    ["that is empty", "a.md", "", "error empty", "the file has no text"],
    ["of whitespace", "a.md", " \n\t\n", "error empty", "the file has no text"],
    ["of an unsupported type", "a.gif", "GIF89a", "error kind", "does not accept .gif"],
    ["without an extension", "README", "Read.", "error kind", "files without an extension"],
    [
      "of a type that some servers accept",
      "a.pptx",
      "PK\u0003\u0004",
      "warning maybe-kind",
      "only servers with a special setting",
    ],
    [
      "in half of UTF-16",
      "a.txt",
      bytes(0xff, 0xfe, 65),
      "error unreadable",
      "not valid utf-16le text",
    ],
    [
      "in Latin-1",
      "a.csv",
      bytes(65, 10, 0xe9, 10),
      "error encoding",
      "not valid UTF-8 text (line 2)",
    ],
    ["that is a program", "a.txt", bytes(1, 0, 0xfe, 0), "error binary", "the content is binary"],
    [
      "that is a PDF",
      "a.md",
      "%PDF-1.7 and more",
      "error binary",
      "the content is a PDF, not text",
    ],
    ["with a byte order mark", "a.md", "\uFEFFWords.", "warning bom", "byte order mark"],
    ["with a NUL", "a.html", "one\ntwo\0\n", "error nul", "NUL character (line 2)"],
    ["with a wrong extension", "a.docx", "not a ZIP", "warning wrong-kind", "not that of .docx"],
    [
      "with the extension of another type",
      "a.pdf",
      "PK\u0003\u0004",
      "warning wrong-kind",
      "but of a ZIP",
    ],
    [
      "with front matter that is not YAML",
      "a.md",
      "---\na: [\n---\n",
      "error front-matter",
      "(line 2)",
    ],
    [
      "with unterminated front matter",
      "a.md",
      "---\na: b\n",
      "error front-matter",
      "missing closing ---",
    ],
    [
      "with a list as front matter",
      "a.md",
      "---\n- a\n---\nb",
      "error front-matter",
      "name: value",
    ],
    ["with a backslash in its name", "a\\b.md", "Words.", "error name-sign", "a backslash"],
  ])("%s", async (_, name, content, found, problem) => {
    const { exit, rows } = await linted(folder({ [name]: content }));
    expect(rows.map(({ severity, finding }) => `${severity} ${finding}`)).toEqual([found]);
    expect(rows[0]?.problem).toContain(problem);
    expect(exit).toBe(found.startsWith("error") ? 14 : 0);
  });

  test.each<[string, string, string | Uint8Array]>([
    ["with front matter", "a.md", "---\nteam: people\n---\n# Words\n"],
    ["with empty front matter", "a.md", "---\n---\nWords\n"],
    ["with a rule further down", "a.md", "Words\n\n---\n\nMore\n"],
    ["in Japanese", "休暇.md", "有給休暇\r\n"],
    ["in capitals", "A.MD", "Words"],
    ["that is a PDF", "a.pdf", "%PDF-1.7"],
    ["that is an Office file", "a.xlsx", "PK\u0003\u0004 and more"],
  ])("%s has no findings", async (_, name, content) => {
    expect(await linted(folder({ [name]: content }))).toMatchObject({
      exit: 0,
      rows: [],
      err: "1 file: 0 errors, 0 warnings\n",
    });
  });
});

test("names are compared regardless of case, Unicode form and slash character", async () => {
  const { found, rows } = await linted(
    folder({
      "A.md": "1",
      "a.md": "2",
      "caf\u00e9.md": "3",
      "cafe\u0301.md": "4",
      "x/y.md": "5",
      "x∕y.md": "6",
    }),
  );
  expect(found).toEqual(["a.md name-case", "caf\u00e9.md name-clash", "x∕y.md name-clash"]);
  expect(rows.map(({ severity, problem }) => `${severity}: ${problem}`)).toEqual([
    "warning: the document name differs from that of A.md only in case",
    "error: the document name is the same as for cafe\u0301.md",
    "error: the document name is the same as for x/y.md",
  ]);
});

test("a path is limited to 200 characters", async () => {
  const inner = "ü".repeat(100);
  const { found, rows } = await linted(
    folder({ [`${inner}/${"a".repeat(96)}.md`]: "1", [`${inner}/${"a".repeat(97)}.md`]: "2" }),
  );
  expect(found).toEqual([`${inner}/${"a".repeat(97)}.md name-length`]);
  expect(rows[0]?.problem).toContain("has 201 characters");
});

test("duplicate content is a warning, except for empty files", async () => {
  const place = folder({ "a.md": "Same.", "b/c.md": "Same.", "d.md": "", "e.md": "" });
  const { found, exit } = await linted(place);
  expect(found).toEqual(["b/c.md duplicate", "d.md empty", "e.md empty"]);
  expect(exit).toBe(14);
});

test("warnings give exit code 14 only with --strict", async () => {
  const place = folder({ "a.md": "Same.", "b.md": "Same." });
  expect(await linted(place)).toMatchObject({ exit: 0, err: "2 files: 0 errors, 1 warning\n" });
  expect((await linted(place, ["--strict"])).exit).toBe(14);
  expect((await linted(folder({ "a.md": "Fine." }), ["--strict"])).exit).toBe(0);
});

rareTest("the size limit is 15 MiB for uploads, none for text, or --max-size", async () => {
  const long = "A line. \n\n".repeat(1.5 * 2 ** 20);
  const place = folder({ "a.csv": long, "b.csv": `${long}x`, "c.md": `${long}xx` });
  const { found, rows } = await linted(place);
  expect(found).toEqual(["b.csv size"]);
  expect(rows[0]?.problem).toBe("15728641 bytes, more than the limit of 15728640");
  const larger = folder({ "b.csv": `${long}x` });
  expect((await linted(larger, ["--max-size", "16MB"])).found).toEqual([]);
  const small = await linted(place, ["--max-size", "1KiB"]);
  expect(small.found).toEqual(["a.csv size", "b.csv size", "c.md size"]);
  expect(small.rows[0]?.problem).toBe("15.0 MiB, more than the limit of 1.0 KiB");
  expect(await linted(place, ["--max-size", "big"])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--max-size: invalid size \\"big\\"') as string,
  });
});

test("broken and looping symlinks and those to the outside are reported, others followed", async () => {
  const place = folder({ "a/b.md": "1", "pictures/c.gif": "GIF8", "z.md": "2" });
  symlinkSync("../a", join(place, "a", "again"));
  symlinkSync("nowhere", join(place, "dead.md"));
  symlinkSync("self", join(place, "self"));
  symlinkSync(folder({ "c.md": "secret" }), join(place, "elsewhere"));
  symlinkSync(join(folder({ "d.md": "secret" }), "d.md"), join(place, "file.md"));
  symlinkSync("pictures", join(place, "same"));
  expect((await linted(place)).found).toEqual([
    "a/again link-loop",
    "dead.md broken-link",
    "elsewhere outside-link",
    "file.md outside-link",
    "pictures/c.gif kind",
    "same/c.gif kind",
    "same/c.gif duplicate",
    "self link-loop",
  ]);
});

test("a socket is not read", async () => {
  const place = folder({ "a.md": "1" });
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(join(place, "socket.md"), resolve));
  const { rows } = await linted(place);
  expect(rows).toMatchObject([{ file: "socket.md", finding: "no-file", severity: "error" }]);
});

test("an unreadable file and directory are reported, others are read", async () => {
  const place = folder({ "a.md": "1", "b.gif": "2", "c/d.md": "3" });
  const denied = (path: string) =>
    Promise.reject(Object.assign(new Error("no"), { code: "EACCES", path }));
  const files = {
    read: (path: string) => (path.endsWith("a.md") ? denied(path) : diskFiles.read(path)),
    entries: (path: string) => (path.endsWith("c/") ? denied(path) : diskFiles.entries(path)),
  };
  const { rows } = await linted(place, [], { files });
  expect(rows.map(({ file, finding, problem }) => [file, finding, problem])).toEqual([
    ["a.md", "unreadable", "failed to read: permission denied"],
    ["b.gif", "kind", "the server does not accept .gif files"],
    ["c", "unreadable", "failed to read: permission denied"],
  ]);
});

describe("ignore files and patterns", () => {
  const files = {
    ".gitignore": "*.log\n!keep.log\n/build/\n",
    ".hidden/a.gif": "1",
    ".secret.gif": "1",
    "a.log": "1",
    "build/b.gif": "1",
    "keep.log": "1",
    "sub/.kbignore": "*.gif\n!c.gif\n",
    "sub/b.gif": "1",
    "sub/build/e.gif": "1",
    "sub/c.gif": "2",
    "sub/d.md": "3",
  };
  test.each<[readonly string[], readonly string[]]>([
    [[], ["keep.log", "sub/c.gif"]],
    [["--exclude", "sub/"], ["keep.log"]],
    [["--exclude", "*.gif"], ["keep.log"]],
    [["--include", "*.log"], ["keep.log"]],
    [["--include", "sub/**"], ["sub/c.gif"]],
  ])("%j", async (words, kinds) => {
    const { found } = await linted(folder(files), words);
    expect(found.filter((each) => each.endsWith("kind"))).toEqual(
      kinds.map((each) => `${each} kind`),
    );
  });
});

test.each([
  ["nowhere", "not found"],
  ["file", "not a directory"],
])("rejects a path that is not a directory: %s", async (name, info) => {
  const place = folder({ file: "1" });
  const ran = await cli(["kb", "lint", join(place, name)]);
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain(info);
});

test("duplicate keys in front matter are reported", async () => {
  const ran = await linted(folder({ "a.md": "---\na: 1\nb:\n  c: 1\n  c: 2\n---\ntext" }));
  expect(ran.exit).toBe(14);
  expect(ran.rows[0]?.problem).toContain("(line 5): Map keys must be unique");
});

test("an empty directory has no findings", async () => {
  expect(await linted(folder({}))).toMatchObject({
    exit: 0,
    out: "[]\n",
    err: "0 files: 0 errors, 0 warnings\n",
  });
});

test("an interrupt gives exit code 130", async () => {
  const stop = new AbortController();
  const read = (path: string) => {
    stop.abort("SIGINT");
    return diskFiles.read(path);
  };
  const place = folder({ "a.md": "1", "b.md": "2" });
  const ran = await cli(["kb", "lint", place], { signal: stop.signal, files: { read } });
  expect(ran.exit).toBe(130);
});

test("a read that an interrupt ends does not count as a finding", async () => {
  const stop = new AbortController();
  const read = async (path: string) => {
    if (path.endsWith("b.md")) stop.abort("SIGINT");
    stop.signal.throwIfAborted();
    return diskFiles.read(path);
  };
  const place = folder({ "a.md": "1", "b.md": "2" });
  const ran = await cli(["kb", "lint", place], { signal: stop.signal, files: { read } });
  expect(ran).toMatchObject({ exit: 130, out: "" });
});

test("the example handbook has no findings", async () => {
  const handbook = join(root, "examples", "handbook");
  expect(await linted(handbook)).toMatchObject({ exit: 0, rows: [] });
});

test("--limit is rejected, as there are no pages", async () => {
  const ran = await cli(["kb", "lint", folder({ "a.md": "Words." }), "--limit", "1"]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("--limit");
});

test("on a terminal, many files with one finding are one group", async () => {
  const lines = async (count: number) => {
    const files = Array.from({ length: count }, (_, at) => [`${at}.md`, "x".repeat(20 + at)]);
    const line = ["kb", "lint", folder(Object.fromEntries(files)), "--max-size", "10B"];
    const ran = await cli(line, { tty: true, columns: 200, env: { NO_COLOR: "1" } });
    return ran.out.split("\n").filter((each) => each.includes("more than the limit"));
  };
  expect(await lines(10)).toHaveLength(10);
  expect(await lines(11)).toEqual([
    "error  11 × size (20 B, more than the limit of 10 B, …): 0.md, 1.md, 10.md, 2.md, 3.md, … (all: -o tsv)",
  ]);
});

test("file names cannot send escape sequences to the terminal", async () => {
  const place = folder({ "a\u001b[8m.md": "Words." });
  const ran = await cli(["kb", "lint", place], { tty: true, columns: 200 });
  expect(ran.out).not.toContain("\u001b[8m");
  expect(ran.exit).toBe(14);
});
