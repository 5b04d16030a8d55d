import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { proposedEncoding } from "../../../src/commands/kb/lint/propose-encoding.ts";
import { textProblem } from "../../../src/commands/kb/sources/index.ts";
import { toUtf8 } from "../../../src/lib/formats/encoding.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const server = await testSandbox({ speed: 1000 });
const home = await temporaryDirectory();
await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);

/** "员工手册" (employee handbook) in GBK, and "社員" in Shift_JIS, by the tables of both standards. */
const gbk = hex("d4b1 b9a4 cad6 b2e1");
const sjis = hex("8ed0 88f5");

test.each([
  ["gbk", gbk, "员工手册"],
  ["GB2312", gbk, "员工手册"],
  ["gb18030", hex("8130 8130"), "\u0080"],
  ["shift_jis", sjis, "社員"],
  ["euc-jp", hex("c6fc cbdc"), "日本"],
  ["big5", hex("a4a4 a4e5"), "中文"],
  ["euc-kr", hex("c7d1 b1b9"), "한국"],
  ["windows-1252", hex("80 e9"), "€é"],
  ["windows-1251", hex("cff0"), "Пр"],
  ["utf-16le", hex("4100 e565"), "A日"],
  ["utf-16be", hex("0041 65e5"), "A日"],
  ["a mark of UTF-8 over gbk", hex("efbbbf c3a9"), "\ufeffé", "gbk"],
  ["a mark of UTF-16LE over gbk", hex("fffe e565"), "日", "gbk"],
  ["a mark of UTF-16BE alone", hex("feff 65e5"), "日", "utf-8"],
])("a text in %s is decoded", async (label, bytes, text, encoding = label) => {
  expect(Buffer.from(await toUtf8(bytes, encoding)).toString()).toBe(text);
});

test.each([
  ["gbk", hex("d4")],
  ["gbk", hex("ff41")],
  ["euc-kr", hex("c9a1")],
  ["shift_jis", hex("fd")],
  ["utf-16le", hex("00d8 4100")],
])("bytes that are not %s are refused", async (label, bytes) => {
  await expect(toUtf8(bytes, label)).rejects.toThrow(`not valid ${label} text`);
});

/** Texts in the encodings of their languages, by the tables of these. */
const russian = hex("cff0e8e2e5f2 20 eceef0e520 f1e2e5f2e0");
test.each([
  ["Chinese", gbk, "gbk"],
  ["Japanese", hex("82b1 82ea 82cd 93fa 967b"), "shift_jis"],
  ["Japanese of Unix", hex("a4b3 a4ec a4cf c6fc cbdc"), "euc-jp"],
  ["traditional Chinese", hex("ad fb a4 75 a4 e2 a5 55 a4 40"), "big5"],
  ["Korean", hex(`${"c7d1 b1b9 beee ".repeat(5)}`), "euc-kr"],
  ["German", Buffer.from("Grüße aus München", "latin1"), "windows-1252"],
  ["wide", Buffer.from("日本 語\n", "utf16le"), "utf-16le"],
  ["wide in the other order", Buffer.from("日本 語\n", "utf16le").swap16(), "utf-16be"],
  ["Russian", russian, undefined],
  ["Czech", hex("7a 9e 6c 75 9d 6f"), undefined],
  ["Hungarian", hex("fc f5"), undefined],
  ["Chinese or Korean", hex(`${"b0a1".repeat(18)} d0a1 d0a1`), undefined],
  ["two Chinese characters", gbk.subarray(0, 4), undefined],
  ["a program", hex("7f454c4601010100 fe00 81 90"), undefined],
  ["bytes with controls", hex("d4b1 b9a4 cad6 b2e1 01"), undefined],
])("for %s text, the proposal is the encoding or none", async (_, bytes, name) => {
  expect(await proposedEncoding(bytes)).toBe(name);
});

/** A directory of these files. */
async function tree(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const directory = await temporaryDirectory();
  await mkdir(directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    await writeFile(join(directory, name), content);
  return directory;
}

const run = (...args: readonly string[]) => server.cli(["kb", ...args], { folder: home });
const cat = async (name: string) => (await server.done(["kb", "cat", "Handbook", name])).out;
const writes = () =>
  server.seen.filter(({ method, path }) => method !== "GET" && !path.endsWith("zip"));

test("a sync sends texts as UTF-8, and nothing the second time", async () => {
  const files = { "zh.md": gbk, "u16.md": hex("fffe e565"), "a.csv": gbk, "b.html": gbk };
  const directory = await tree(files);
  const line = ["sync", "Handbook", directory, "--encoding", "GB2312"];
  expect(await run(...line)).toMatchObject({ exit: 0 });
  expect(await cat("zh.md")).toBe("员工手册");
  expect(await cat("u16.md")).toBe("日");
  expect(await cat("a.csv")).toBe("员工手册");
  await server.done(["kb", "doc", "download", "Handbook", "b.html", "--dir", home]);
  expect(await readFile(join(home, "b.html"))).toEqual(gbk);
  const before = writes().length;
  expect((await run(...line, "--columns", "action")).out).toBe("");
  expect(
    (await run("status", "Handbook", directory, "--encoding", "gbk", "--exit-code")).exit,
  ).toBe(0);
  expect(writes()).toHaveLength(before);
});

test("another encoding changes only what it reads otherwise", async () => {
  const directory = await tree({ "ascii.md": "abc", "both.md": hex("e9 41") });
  await run("sync", "Handbook", directory, "--prefix", "x", "--encoding", "windows-1252");
  const line = ["sync", "Handbook", directory, "--prefix", "x", "--columns", "action,path"];
  const ran = await run(...line, "--encoding", "koi8-r");
  expect(ran.out).toBe("update\tx/both.md\n");
  expect(await cat("x/both.md")).toBe("ИA");
});

test.each([
  ["no flag", []],
  ["another encoding in the flag", ["--encoding", "gbk"]],
])("a byte order mark of UTF-16 is named when its text is sent, with %s", async (title, flags) => {
  const little = { "a.md": hex("fffe 4100"), "plain.md": "abc" };
  const directory = await tree({ ...little, "b.md": hex("feff 0042"), "c.md": hex("efbbbf 43") });
  const prefix = title.replaceAll(" ", "-");
  const columns = ["--prefix", prefix, "--columns", "action,path,note"];
  const line = ["sync", "Handbook", directory, ...columns, ...flags];
  const [a, b, rest] = ["UTF-16LE, sent as UTF-8", "UTF-16BE, sent as UTF-8", ""];
  const created = { "a.md": a, "b.md": b, "c.md": rest, "plain.md": rest };
  const rows = Object.entries(created).map(([name, note]) => `create\t${prefix}/${name}\t${note}`);
  expect((await run(...line)).out).toBe(`${rows.join("\n")}\n`);
  expect(await cat(`${prefix}/b.md`)).toBe("B");
  expect((await run(...line)).out).toBe("");
  await writeFile(join(directory, "a.md"), hex("fffe 4300"));
  expect((await run(...line)).out).toBe(`update\t${prefix}/a.md\t${a}\n`);
  await rename(join(directory, "a.md"), join(directory, "d.md"));
  const note = `renamed from ${prefix}/a.md; ${a}`;
  expect((await run(...line, "--prune", "-y")).out).toBe(`update\t${prefix}/d.md\t${note}\n`);
});

rareTest("a text that is longer than any text can be is called so", () => {
  expect(textProblem(Buffer.alloc(2 ** 29, "a"))).toMatchObject({
    finding: "size",
    problem: "longer than 512 MB, the most that a text can be",
  });
});

test("a file that is not in the encoding fails, and the others are sent", async () => {
  const directory = await tree({ "bad.md": hex("d4"), "good.md": gbk });
  const line = ["sync", "Handbook", directory, "--prefix", "y", "--encoding", "gbk"];
  const ran = await run(...line, "--columns", "action,path,note");
  expect(ran.exit).toBe(10);
  expect(ran.out).toBe("create\ty/good.md\t\nfailed\tbad.md\tnot valid gbk text\n");
});

test("without a flag, no encoding is guessed", async () => {
  const directory = await tree({ "zh.md": gbk });
  const ran = await run("sync", "Handbook", directory, "--prefix", "z", "--columns", "action,note");
  expect(ran.exit).toBe(10);
  expect(ran.out).toContain(
    "failed\tnot valid UTF-8 text (line 1): name its encoding with --encoding",
  );
});

test.each([
  ["gkb", "did you mean gbk?"],
  ["windows-1253x", "for example: gbk "],
  ["replacement", "for example: gbk "],
])("the unknown encoding %s is refused before any request", async (name, hint) => {
  const directory = await tree({ "a.md": "a" });
  const before = writes().length;
  for (const line of [
    ["sync", "Handbook", directory],
    ["lint", directory],
  ]) {
    const ran = await run(...line, "--encoding", name);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`error: unknown encoding "${name}"\nhint: ${hint}`);
  }
  expect(writes()).toHaveLength(before);
});

test("a source that says its encoding itself takes none", async () => {
  const ran = await run("sync", "Handbook", "web+https://example.com", "--encoding", "gbk");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("--encoding is for files");
});

test("--show prints the text as it is sent", async () => {
  const directory = await tree({ "a.md": gbk });
  const line = ["sync", "Handbook", directory, "--dry-run", "--show", "a.md"];
  expect((await run(...line, "--encoding", "gbk")).out.trim()).toBe("员工手册");
});

test("a source of a file has an encoding", async () => {
  const directory = await tree({ "a.md": sjis });
  const config = (encoding: string) =>
    writeFile(
      join(directory, "sources.yaml"),
      `sources:\n  ja: { kb: Handbook, source: ., prefix: ja, include: ["*.md"], encoding: ${encoding} }\n`,
    );
  await config("sjiss");
  const line = ["sync", "--config", join(directory, "sources.yaml")];
  expect((await run(...line)).err).toContain('unknown encoding "sjiss"');
  await config("sjis");
  expect(await run(...line)).toMatchObject({ exit: 0 });
  expect(await cat("ja/a.md")).toBe("社員");
});

test("doc add reads the file of a text in its encoding, also for rows", async () => {
  const directory = await tree({ "a.txt": gbk });
  const path = join(directory, "a.txt");
  const add = ["doc", "add", "Handbook", "added.md"];
  expect((await run(...add, "--text-file", path)).exit).toBe(2);
  expect((await run(...add, "--text-file", path, "--encoding", "utf-16le")).exit).toBe(0);
  const wrong = await run(...add, "--text-file", path, "--encoding", "shift_jis");
  expect(wrong.err).toContain(`${JSON.stringify(path)}: not valid shift_jis text`);
  await server.done(["kb", ...add, "--text-file", path, "--encoding", "gbk"]);
  expect(await cat("added.md")).toBe("员工手册");
  const text = await run(...add, "--text", "a", "--encoding", "gbk");
  expect(text.err).toContain("--encoding is about files: it cannot be used with --text");
  const rows = join(directory, "rows.csv");
  await writeFile(rows, `name,text-file,encoding\nrow.md,${path},gbk\n`);
  await server.done(["kb", "doc", "add", "Handbook", "--each", rows]);
  expect(await cat("row.md")).toBe("员工手册");
});

test("the rows of a sheet are read in its encoding", async () => {
  await server.done(["kb", "create", "Sheet", "--indexing-technique", "economy"]);
  const directory = await tree({ "a.csv": Buffer.concat([Buffer.from("content\n"), gbk]) });
  const line = ["sync", "Sheet", join(directory, "a.csv"), "--rows"];
  expect((await run(...line, "--encoding", "gbk")).exit).toBe(0);
  const shown = await run("chunk", "list", "Sheet", "a.csv", "--columns", "content");
  expect(shown.out).toContain("员工手册");
  expect((await run(...line, "--encoding", "shift_jis")).err).toContain(
    "a.csv: not valid shift_jis text",
  );
});

test("an upload of a text that is not UTF-8 says that its encoding is guessed", async () => {
  const path = join(await tree({ "a.txt": gbk }), "a.txt");
  const ran = await run("doc", "upload", "Handbook", path);
  expect(ran.err).toContain(
    `${path}: not valid UTF-8 text (line 1): the server guesses its encoding; to name it: \`kb doc add KB ${path} --text-file ${path} --encoding NAME\`\n`,
  );
});

test("lint proposes an encoding only where it is clear, and takes it", async () => {
  const directory = await tree({ "zh.md": gbk, "ru.md": russian, "u16.md": hex("fffe e565") });
  const columns = ["--columns", "file,finding,fix"];
  const ran = await run("lint", directory, ...columns);
  expect(ran.exit).toBe(14);
  expect(ran.out).toBe(
    "ru.md\tencoding\tits encoding is unknown: name it with --encoding, or save it as UTF-8\n" +
      "zh.md\tencoding\tit reads as gbk: --encoding gbk\n",
  );
  await rm(join(directory, "ru.md"));
  expect((await run("lint", directory, "--encoding", "gbk", ...columns)).out).toBe("");
});
