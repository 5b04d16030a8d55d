/** What servers read from uploaded text files: stored by the sandbox, and shown before by the preview (server §9.2). */
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const folder = await temporaryDirectory();
const older = await testSandbox({ server: "1.14.2", speed: 400 });
const newest = await testSandbox({ server: "1.16.1", models: true, speed: 400 });

type Row = readonly [what: string, content: string, chunks: readonly string[]];

/** Markdown files with the chunks of the automatic rule: derived by hand from the rule, no server was asked. */
const markdown: readonly Row[] = [
  [
    "sections",
    "# One\n\nFirst text.\n\n## Two\n\nSecond text.\n",
    ["One\nFirst text.", "Two\nSecond text."],
  ],
  [
    "a text above the first heading",
    "Some words first.\n\n# One\nText.\n",
    ["Some words first.", "One\nText."],
  ],
  [
    "a heading without a text",
    "# One\n\n## Two\nText.\n### Three\n",
    ["One", "Two\nText.", "Three"],
  ],
  ["seven signs", "# One\nA.\n####### Seven\nB.\n", ["One\nA.", "Seven\nB."]],
  [
    "a sign without a space behind it, or with one before it",
    "# One\n#tag and text\n # no heading\n",
    ["One\n#tag and text\n # no heading"],
  ],
  [
    "a sign before a tab, or an ideographic space",
    "#\tOne\nA.\n#\u3000Two\nB.\n",
    ["One\nA.", "Two\nB."],
  ],
  ["a heading without words", "# One\nA.\n# \nB and more.\n", ["One\nA.", "B and more."]],
  ["signs in a heading", "# C# and F# #\nBoth run.\n", ["C and F\nBoth run."]],
  [
    "tags",
    "# Tags\n<p>Dear <b>reader</b>,</p>\nuse List<String> <!-- or not --> if a < b and c > d.\n",
    ["Tags\nDear reader,\nuse List if a d."],
  ],
  [
    "tags of two lines, and of a heading",
    "# The <b> tag\n<img\nsrc=x>\n1 < 2\n",
    ["The <b> tag\n<img\nsrc=x>\n1 < 2"],
  ],
  [
    "a table",
    "# Days\n\n| Team | Days |\n|---|---|\n| IT<br>QA | 30 |\n",
    ["Days\n| Team | Days |\n|---|---|\n| ITQA | 30 |"],
  ],
  [
    "front matter with a comment",
    "---\ntitle: Leave\n# comment\ntags: [a]\n---\n# Leave\nText.\n",
    ["---\ntitle: Leave", "comment\ntags: [a]\n---", "Leave\nText."],
  ],
  [
    "links and images",
    "# Links\n[Leave](https://x.example/leave), ![logo](logo.png), <https://y.example>.\n",
    ["Links\n[Leave](https://x.example/leave), ![logo](logo.png), ."],
  ],
  [
    "a section that begins with a link",
    "# \n[Leave](https://x.example/leave) is long.\n",
    ["[Leave](https://x.example/leave) is long."],
  ],
  [
    "entities",
    "# R&amp;D and caf&#233;\nA &lt; B &#38; C\n",
    ["R&amp;D and caf&233;\nA &lt; B &#38; C"],
  ],
  [
    "code",
    "# Code\n```sh\n# comment\necho <b>\n```\n# Next\nText.\n",
    ["Code\n```sh\n# comment\necho \n```", "Next\nText."],
  ],
  ["code without an end", "# One\n```\n# Two\nText.\n", ["One\n```\n# Two\nText."]],
  [
    "code with other fences",
    "# One\n~~~\n# Two\n~~~\n# Three\n  ```\n# Four\n",
    ["One\n~~~", "Two\n~~~", "Three\n```", "Four"],
  ],
  [
    "underlined headings",
    "Title\n=====\n\nText here.\n\nOther\n-----\nMore.\n",
    ["Title\n=====\n\nText here.\n\nOther\n-----\nMore."],
  ],
  [
    "line ends of Windows",
    "# One\r\nText.\r\n\r\n# Two\r\nMore.\r\n",
    ["One\nText.", "Two\nMore."],
  ],
  [
    "a byte order mark",
    "\ufeff# One\nText here.\n# Two\nMore.\n",
    ["\ufeff# One\nText here.", "Two\nMore."],
  ],
  ["NUL", "# A\0B\nx\0y and z\n", ["AB\nxy and z"]],
  ["nothing", "\n", []],
  [
    "a section of two chunks",
    `# Long\n${"word ".repeat(99)}end.\n\nLast paragraph.\n# Next\nText.\n`,
    [
      `Long\n${"word ".repeat(99)}`.trimEnd(),
      `${"word ".repeat(10)}end.`, // after 50 characters of overlap
      "Last paragraph.",
      "Next\nText.",
    ],
  ],
];

const fileOf = (at: number) => `row-${at}.md`;

beforeAll(async () => {
  await mkdir(join(folder, "rows"));
  for (const [at, [, content]] of markdown.entries())
    await writeFile(join(folder, "rows", fileOf(at)), content);
});

describe.each([
  ["1.14.2", older],
  ["1.16.1", newest],
])("an uploaded Markdown file, by a server of %s", (version, server) => {
  const previews = new Map<string, string[]>();

  beforeAll(async () => {
    await server.done(["kb", "create", "Rows", "--indexing-technique", "economy"]);
    const files = markdown.map((_, at) => join(folder, "rows", fileOf(at)));
    await server.done(["kb", "doc", "upload", "Rows", ...files]);
    const waited = await server.cli(["kb", "doc", "wait", "Rows"]);
    expect(waited.err).toContain(`failed to index 1 of ${markdown.length} documents`); // of nothing
    const line = ["kb", "chunk", "preview", join(folder, "rows"), "--upload", "-o", "json"];
    const shown = await cli([...line, "--server-version", version]);
    for (const { file, content } of JSON.parse(shown.out) as { file: string; content: string }[])
      previews.set(basename(file), [...(previews.get(basename(file)) ?? []), content]);
  });

  test.each(markdown.map((row, at) => [...row, at] as const))("%s", async (_, __, chunks, at) => {
    const listed = await server.done(["kb", "chunk", "list", "Rows", fileOf(at), "-o", "json"]);
    const stored = (JSON.parse(listed.out) as { content: string }[]).map(({ content }) => content);
    expect(stored).toEqual(chunks);
    expect(previews.get(fileOf(at)) ?? []).toEqual(chunks);
  });
});

const segmentation = (separator: string, max_tokens: number) => ({ separator, max_tokens });
const rule = (mode: string, rules: object) =>
  JSON.stringify({ mode, rules: { pre_processing_rules: [], ...rules } });
const flat = rule("custom", { segmentation: segmentation("***", 60) });
const nested = (parent_mode: string) =>
  rule("hierarchical", {
    segmentation: segmentation("***", 60),
    parent_mode,
    subchunk_segmentation: segmentation("\n", 50),
  });

/** A chunk with its child chunks. */
type Shown = readonly [content: string, ...children: readonly string[]];

describe("with a rule", () => {
  const server = newest;
  const content = "Above.\n# One\n<i>First</i> text.\n# Two\nMore.\n";

  test.each<
    [what: string, rule: string, form: string, uploaded: readonly Shown[], text: readonly Shown[]]
  >([
    [
      "without child chunks",
      flat,
      "text_model",
      [["Above."], ["One\nFirst text."], ["Two\nMore."]],
      [["Above.\n# One\n<i>First</i> text.\n# Two\nMore."]],
    ],
    [
      "with parents of a paragraph",
      nested("paragraph"),
      "hierarchical_model",
      [
        ["Above.", "Above."],
        ["\n\nOne\nFirst text.", "One", "First text."],
        ["\n\nTwo\nMore.", "Two", "More."],
      ],
      [[content, "Above.", "# One", "<i>First</i> text.", "# Two", "More."]],
    ],
    [
      "with the whole document as the parent",
      nested("full-doc"),
      "hierarchical_model",
      [
        [
          "Above.\n\n\nOne\nFirst text.\n\n\nTwo\nMore.",
          "Above.",
          "One",
          "First text.",
          "Two",
          "More.",
        ],
      ],
      [[content, "Above.", "# One", "<i>First</i> text.", "# Two", "More."]],
    ],
  ])(
    "%s, an upload is split by sections, a text is not",
    async (what, given, form, uploaded, text) => {
      const path = join(folder, "rule.md");
      await writeFile(path, content);
      const flags = ["--process-rule", given];
      const how = [...flags, "--doc-form", form];
      await server.done(["kb", "create", what, "--indexing-technique", "high_quality"]);
      await server.done(["kb", "doc", "upload", what, path, ...how]);
      await server.done(["kb", "doc", "add", what, "text", "--text-file", path, ...how]);
      await server.done(["kb", "doc", "wait", what]);
      const chunksOf = async (...words: string[]) => {
        const { out } = await server.done(["kb", "chunk", ...words, "-o", "json"]);
        return (JSON.parse(out) as { content: string; children?: readonly string[] }[]).map(
          ({ content: shown, children = [] }) => [shown, ...children],
        );
      };
      const withoutChildren = (chunks: readonly Shown[]) => chunks.map(([parent]) => [parent]);
      expect(await chunksOf("list", what, "rule.md")).toEqual(withoutChildren(uploaded));
      expect(await chunksOf("list", what, "text")).toEqual(withoutChildren(text));
      expect(await chunksOf("preview", path, "--upload", ...flags)).toEqual(uploaded);
      expect(await chunksOf("preview", path, ...flags)).toEqual(text);
    },
  );

  test("--upload takes the extension for the kind, and counts what is deleted", async () => {
    const files = ["a.md", "a.MDX", "a.markdown", "a.txt"];
    const paths = files.map((name) => join(folder, name));
    for (const path of paths) await writeFile(path, content);
    const line = ["kb", "chunk", "preview", "--upload", "--process-rule", flat];
    const counts = await Promise.all(paths.map((path) => cli([...line, path, "-o", "json"])));
    expect(counts.map(({ out }) => (JSON.parse(out) as unknown[]).length)).toEqual([3, 3, 3, 1]);
    // <i> and </i>
    expect(counts.map(({ err }) => /(\d+) deleted characters/.exec(err)?.[1])).toEqual([
      "7",
      "7",
      "7",
      "0",
    ]);
    const stdin = await cli([...line, "-", "-o", "json"], { stdin: content });
    expect(JSON.parse(stdin.out)).toHaveLength(1);
  });

  test("a file that is sent as it is keeps its bytes", async () => {
    const path = join(folder, "lines.txt");
    await writeFile(path, "a\r\nb\r\n");
    await server.done(["kb", "create", "Lines", "--indexing-technique", "economy"]);
    await server.done(["kb", "doc", "upload", "Lines", path]);
    await server.done(["kb", "doc", "wait", "Lines"]);
    const chunks = await server.done(["kb", "chunk", "list", "Lines", "lines.txt", "-o", "json"]);
    expect(JSON.parse(chunks.out)).toMatchObject([{ content: "ab" }]);
    expect((await server.done(["kb", "cat", "Lines", "lines.txt"])).out).toBe("a\r\nb\r\n");
    const shown = await cli(["kb", "chunk", "preview", path, "--upload", "-o", "json"]);
    expect(JSON.parse(shown.out)).toMatchObject([{ content: "ab" }]);
  });
});
