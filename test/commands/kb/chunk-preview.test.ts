import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../../lib/paths.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const places = await temporaryDirectory();
let created = 0;

/** Creates a directory with these files. */
function folder(files: Readonly<Record<string, string | Uint8Array>>): string {
  const place = join(places, String(++created));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(place, name)), { recursive: true });
    writeFileSync(join(place, name), content);
  }
  return place;
}

const segmentation = (separator: string, max_tokens: number, chunk_overlap = 0) => ({
  separator,
  max_tokens,
  chunk_overlap,
});
const custom = (...limits: Parameters<typeof segmentation>) =>
  JSON.stringify({
    mode: "custom",
    rules: { pre_processing_rules: [], segmentation: segmentation(...limits) },
  });

interface Chunk {
  readonly file: string;
  readonly position: number;
  readonly length: number;
  readonly overlap: number;
  readonly content: string;
  readonly children?: readonly string[];
}

async function previewed(words: readonly string[], world: World = {}) {
  const ran = await cli(["kb", "chunk", "preview", ...words, "-o", "json"], world);
  return { ...ran, chunks: ran.out === "" ? [] : (JSON.parse(ran.out) as Chunk[]) };
}

/** What the summary counts in a text, after the lengths. */
async function counted(text: string, rule: string, version = "1.16.1"): Promise<string> {
  const words = ["-", "--process-rule", rule, "--server-version", version];
  const { err } = await previewed(words, { stdin: text });
  return err.trimEnd().split("; ").slice(1).join("; ");
}

test.each(["1.14.2", "1.16.1"])("shows the chunks that a server of %s made", async (version) => {
  const lines = readFileSync(join(root, "test", "splitting", `${version}.jsonl`), "utf8");
  const byRule = new Map<string, { text: string; chunks: readonly unknown[] }[]>();
  for (const line of lines.trimEnd().split("\n")) {
    const { rule, text, chunks } = JSON.parse(line) as {
      rule: { rules: { segmentation: { separator?: string } } };
      text: string;
      chunks: readonly unknown[];
    };
    // Servers read the carriage returns of files as line ends, and take no rule without a separator.
    if (text.includes("\r") || rule.rules.segmentation.separator === "") continue;
    const key = JSON.stringify(rule);
    byRule.set(key, [...(byRule.get(key) ?? []), { text, chunks }]);
  }
  for (const [rule, cases] of sampled(6, [...byRule])) {
    const texts = cases.map(({ text }, at) => [`${String(at).padStart(3, "0")}.md`, text] as const);
    const place = folder(Object.fromEntries(texts));
    const words = [place, "--process-rule", rule, "--server-version", version];
    const { exit, chunks } = await previewed(words);
    expect(exit).toBe(0);
    const shown = chunks.map(({ content, children }) => ({
      content,
      ...(children && { children }),
    }));
    expect(shown, rule).toEqual(cases.flatMap((each) => each.chunks));
  }
});

describe("what the summary counts", () => {
  // Of pieces of nine characters, five fit into 50; with an overlap of 20, two are repeated.
  const long = "abcdefghi ".repeat(8).trimEnd();

  test.each<[string, string, string, string, string]>([
    ["words without spaces", long, custom("\n", 50), "1.14.2", "6 glued words"],
    ["none where a space stays", long, custom("\n", 50), "1.16.1", "0 glued words"],
    ["those of overlaps once", long, custom("\n", 50, 20), "1.14.2", "7 glued words"],
    [
      "lost line breaks",
      "alpha\nbeta\n有給\n休暇\n",
      '{"mode":"automatic"}',
      "1.16.1",
      "1 glued word",
    ],
    ["letters", "naïve ¿ ¾", '{"mode":"automatic"}', "1.14.2", "3 deleted characters"],
    ["no letters", "naïve ¿ ¾", '{"mode":"automatic"}', "1.16.1", "0 deleted characters"],
    ["controls", "a\u000b <|b|>\u0007", '{"mode":"automatic"}', "1.16.1", "4 deleted characters"],
  ])("%s", async (_, text, rule, version, expected) => {
    expect(await counted(text, rule, version)).toContain(expected);
  });

  // Each word of ten characters and its space make a chunk of 55 with four others.
  const words = (count: number, end: string) =>
    `${Array.from({ length: count }, () => "characters").join(" ")}${end}`;
  test.each<[string, string, number]>([
    ["inside a line", words(8, "\n"), 1],
    ["behind a sentence", `${words(4, ".")} ${words(4, ".")}`, 0],
    ["at the end of a line", `${words(4, "\n\n")}${words(4, ".")}`, 0],
    ["behind a quoted sentence", `${words(4, '."')} ${words(4, ".")}`, 0],
    ["inside a number", `${"x".repeat(49)}.5m`, 1],
  ])("sentences: an end %s", async (_, text, count) => {
    const expected = `cut: ${count} sentence${count === 1 ? "" : "s"},`;
    expect(await counted(text, custom("###", 50))).toContain(expected);
  });

  test.each<[string, string, string]>([
    ["a table", "Rows:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd", "2 tables and code blocks"],
    ["a list of words with bars", "a | b\nc | d\n", "0 tables and code blocks"],
    ["a code block", "Code:\n~~~sh\nls\n~~~\nEnd", "2 tables and code blocks"],
    [
      "a code block with marks inside",
      "````sh\nls\n```\npwd\n````\nEnd",
      "3 tables and code blocks",
    ],
  ])("blocks: lines of %s", async (_, text, expected) => {
    expect(await counted(text, custom("\n", 50))).toContain(expected);
  });

  test("chunks, their lengths and child chunks", async () => {
    const rule = JSON.stringify({
      mode: "hierarchical",
      rules: {
        pre_processing_rules: [],
        segmentation: segmentation("\n\n", 100),
        parent_mode: "paragraph",
        subchunk_segmentation: segmentation("\n", 50),
      },
    });
    const { chunks, err } = await previewed(["-", "--process-rule", rule], {
      stdin: "é😀\r\nb\r\n\r\nlonger\r\n\r\nc",
    });
    expect(chunks.map(({ content, length, children }) => [content, length, children])).toEqual([
      ["é😀\nb", 4, ["é😀", "b"]],
      ["longer", 6, ["longer"]],
      ["c", 1, ["c"]],
    ]);
    expect(err).toMatch(/^3 chunks with 4 child chunks, median length 4, longest 6;/);
  });
});

test("compares the figures of two rules for each file", async () => {
  const text = "one two three four five six seven eight nine ten eleven twelve";
  const place = folder({
    "docs/a.md": text,
    "docs/b.md": "b",
    "rule.yaml": `# short\n${custom("\\n", 50)}`,
    "longer.json": custom("\n", 100),
  });
  const words = [join(place, "docs"), "--rule", join(place, "rule.yaml")];
  const { out, err } = await cli([
    "kb",
    "chunk",
    "preview",
    ...words,
    "--compare",
    join(place, "longer.json"),
    "-o",
    "jsonl",
  ]);
  const rows = out.trimEnd().split("\n");
  const row = (file: string, figure: string, rule: number, compared: number) =>
    JSON.stringify({ file: join(place, "docs", file), figure, rule, compared });
  expect(rows).toEqual(
    expect.arrayContaining([
      row("a.md", "chunks", 2, 1),
      row("a.md", "longest", 48, 62),
      row("a.md", "cut_sentences", 1, 0),
      row("b.md", "chunks", 1, 1),
    ]),
  );
  expect(err).toMatch(/^rule: 3 chunks, .*\ncompared: 2 chunks, /);
});

test("takes the last rule of a knowledge base and the version of its server", async () => {
  const server = await testSandbox({ server: "1.14.2" });
  const text = "Ask for naïve questions at any time of the day, and of the night as well.";
  const rule = ["--process-rule", custom("\n", 50, 10)];
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  await server.done(["kb", "doc", "add", "Handbook", "a.md", "--text", "old"]);
  await server.done(["kb", "doc", "add", "Handbook", "b.md", "--text", text, ...rule]);
  await server.done(["kb", "doc", "wait", "Handbook"]);
  const contents = [".[].content"];
  const stored = await server.done([
    "kb",
    "chunk",
    "list",
    "Handbook",
    "b.md",
    "--jq",
    ...contents,
  ]);
  const words = ["kb", "chunk", "preview", "-", "--like", "Handbook", "--jq", ...contents];
  const preview = await server.done(words, { stdin: text });
  expect(preview.out).toBe(stored.out);
  expect(preview.out).toContain("Askfornavequestions");
  expect(preview.err).not.toContain("not seen");
});

test("names files that it cannot split, and splits the others", async () => {
  const place = folder({ "a.md": "Words.", "b.pdf": "%PDF-1.7", ".kbignore": "c.md", "c.md": "c" });
  const first = await previewed([`${place}/`]);
  expect(first.chunks.map(({ file, content }) => [file, content])).toEqual([
    [`${place}/a.md`, "Words."],
  ]);
  expect(first.err).toContain(`skipped ${place}/b.pdf: only txt, md, markdown, mdx are indexed as`);
  expect(first.exit).toBe(0);

  writeFileSync(join(place, "d.txt"), Uint8Array.of(0xe9));
  const second = await previewed([place, "--exclude", "*.pdf"]);
  expect(second.chunks).toEqual(first.chunks);
  expect(second.err).toContain(`skipped ${place}/d.txt: not valid UTF-8 text (line 1)\n`);
  expect(second.err).not.toContain("b.pdf");
  expect(second.exit).toBe(14);
});

test.each<[string, string | undefined]>([
  ["1.12.0", "1.14.2"],
  ["1.16.0", "1.14.2"],
  ["1.16.1", undefined],
  ["1.17.0", "1.16.1"],
])("says as which version %s is read", async (version, seen) => {
  const { err } = await previewed(["-", "--server-version", version], { stdin: "a" });
  const notice = `version ${version} was not tested; texts are split as by ${seen}`;
  expect(err.split("\n").filter((line) => line.includes("not tested"))).toEqual(
    seen ? [notice] : [],
  );
});

test("marks on a terminal what chunks and child chunks repeat, without color as well", async () => {
  const rule = JSON.stringify({
    mode: "hierarchical",
    rules: {
      pre_processing_rules: [],
      segmentation: segmentation("###", 100),
      parent_mode: "paragraph",
      subchunk_segmentation: segmentation("###", 50, 15),
    },
  });
  const text = "one two three four five six seven eight nine ten eleven twelve";
  const ran = (env: Record<string, string>) =>
    cli(["kb", "chunk", "preview", "-", "--process-rule", rule], { stdin: text, tty: true, env });
  expect((await ran({ NO_COLOR: "1", LANG: "C.UTF-8" })).out).toBe(`- 1: 62 characters
  ${text}
    - 1.1: 48 characters
      one two three four five six seven eight nine ten
    - 1.2: 28 characters, 14 of them repeated
    ↑ eight nine ten
       eleven twelve

`);
  expect((await ran({ LANG: "C.UTF-8" })).out).toContain(
    "    ↑ \u001b[2meight nine ten\u001b[22m\n",
  );
});

test.each<[string, readonly string[], string]>([
  ["two rules", ["--rule", "@rule", "--process-rule", '{"mode":"automatic"}'], "different rules"],
  [
    "a rule without rules",
    ["--process-rule", '{"mode":"custom"}'],
    "--process-rule rules is missing",
  ],
  ["a rule of another mode", ["--process-rule", '{"mode":"parent"}'], "is not one of automatic"],
  ["chunks that are too long", ["--process-rule", custom("\n", 5000)], "not between 50 and 4000"],
  ["a file that is not YAML", ["--rule", "@broken"], "broken line 2: "],
  [
    "a version in words",
    ["--server-version", "new"],
    '--server-version \\"new\\" is not a version',
  ],
])("rejects %s", async (_, words, message) => {
  const place = folder({ rule: custom("\n", 50), broken: "mode: custom\nrules: [" });
  const line = words.map((word) => word.replace(/^@/, `${place}/`));
  const { exit, err } = await previewed(["-", ...line], { stdin: "a" });
  expect(err).toContain(message);
  expect(exit).toBe(2);
});

test("lint warns of what the chunks will cut or lack", async () => {
  const long = "Write to us at any time, we are here for you on all days.";
  const table = `| a | b |\n|---|---|\n${"| one | two |\n".repeat(6)}`;
  const place = folder({
    "docs/a.md": long,
    "docs/b.md": "naïve",
    "docs/c.md": "\u000bWords",
    "docs/d.md": table,
  });
  const found = async (...words: readonly string[]) => {
    const line = ["kb", "lint", join(place, "docs"), "-o", "json", ...words];
    const rows = JSON.parse((await cli(line)).out) as Record<string, string>[];
    return rows.map(({ file, finding, problem }) => `${file} ${finding} ${problem}`);
  };
  const control = "c.md deleted-characters the server will delete 1 character";
  expect(await found()).toEqual([control]);
  // Of 57 characters the first 47 are a chunk; 104 of a table are three.
  expect(await found("--process-rule", custom("###", 50))).toEqual([
    "a.md cut-sentences 1 chunk will end inside a sentence",
    control,
    "d.md cut-sentences 2 chunks will end inside a sentence",
    "d.md cut-blocks 2 chunks will end inside a table or code block",
  ]);
  const rule = ["--process-rule", custom("。", 50)];
  expect(await found(...rule, "--server-version", "1.14.2")).toEqual([
    '--process-rule separator separator "。" is found in no text',
    "a.md glued-words 12 words will be glued to the one before, so that searches for them fail",
    "b.md deleted-characters the server will delete 1 character",
    control,
    "d.md cut-sentences 1 chunk will end inside a sentence",
    "d.md cut-blocks 1 chunk will end inside a table or code block",
  ]);
});
