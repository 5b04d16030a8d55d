import stringWidth from "string-width";
import { expect, test } from "vitest";
import { list, onTerminal, page, record } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print/print.ts";
import { collecting, plain, printed } from "../lib/printed.ts";
import { turns } from "../lib/turns.ts";

const checks = onTerminal(
  { form: "checks", result: "result", name: "check", text: "found", next: "next" },
  list("", "check result found next"),
);
const results = [
  { check: "program", result: "ok", found: "kb 1.0.0", next: null },
  { check: "clock", result: "warning", found: "90 s ahead", next: "set the clock" },
  {
    check: "knowledge key",
    result: "problem",
    found: "Access token is invalid (401 unauthorized)",
    next: "check the key in the platform's settings",
  },
];

test("checks have a sign, and the next step below; long lines wrap at blanks", async () => {
  expect(await printed(checks, results, {}, { terminal: 40 })).toBe(`✓ program: kb 1.0.0
! clock: 90 s ahead
  → set the clock
✗ knowledge key: Access token is invalid
  (401 unauthorized)
  → check the key in the platform's
    settings
`);
});

test("checks in ASCII have the words themselves, and colors only the sign", async () => {
  expect(await printed(checks, results.slice(0, 2), { unicode: false }, { terminal: 40 })).toBe(
    "ok program: kb 1.0.0\nwarning clock: 90 s ahead\n  -> set the clock\n",
  );
  expect(await printed(checks, results.slice(0, 1), { color: true }, { terminal: 40 })).toBe(
    "\u001b[32m✓\u001b[39m program: kb 1.0.0\n",
  );
});

test("checks are rows in a pipe and with -o grid", async () => {
  expect(await printed(checks, results.slice(1, 2))).toBe(
    "clock\twarning\t90 s ahead\tset the clock\n",
  );
  expect(await printed(checks, results.slice(1, 2), { format: "grid" }, { terminal: 60 })).toBe(
    "check  result   found       next\n─────  ───────  ──────────  ─────────────\nclock  warning  90 s ahead  set the clock\n",
  );
});

const hits = (query: string) =>
  onTerminal({ form: "hits", query }, list("", "document=segment.document.name score"));
const hit = (content: string, more: object = {}) => ({
  score: 0.834,
  segment: {
    content,
    answer: null,
    position: 3,
    document: { name: "leave.md", segment_count: 7 },
  },
  ...more,
});
const long = [
  "---\nteam: people\n---",
  "The office opens at nine.",
  "Lunch is free.",
  "Sick leave: call before ten.",
  "Parental leave is 14 weeks.",
  "Guests park behind the house.",
].join("\n\n");

test("a search result shows the lines around the best match, its words in bold", async () => {
  const style = { color: true };
  expect(await printed(hits("parental leave"), [hit(long)], style, { terminal: 60 })).toBe(
    `1  0.83  \u001b[1mleave.md\u001b[22m  chunk 3/7
   Sick \u001b[1mleave\u001b[22m: call before ten.
   \u001b[1mParental\u001b[22m \u001b[1mleave\u001b[22m is 14 weeks.
   Guests park behind the house.
`,
  );
});

test.each<[title: string, query: string, row: object, lines: readonly string[]]>([
  [
    "no score",
    "lunch",
    hit("Lunch is free.", { score: 0 }),
    ["1  leave.md  chunk 3/7", "   Lunch is free."],
  ],
  [
    "no match",
    "holidays",
    hit(long),
    [
      "1  0.83  leave.md  chunk 3/7",
      "   The office opens at nine.",
      "   Lunch is free.",
      "   Sick leave: call before ten.",
    ],
  ],
  [
    "an answer",
    "weeks",
    hit("How long?", {
      segment: { content: "How long?", answer: "14 weeks.", position: 1, document: null },
    }),
    ["1  0.83  chunk 1", "   How long?", "   14 weeks."],
  ],
  ["control characters", "x", hit("a\u001b[2Jb"), ["1  0.83  leave.md  chunk 3/7", "   a␛[2Jb"]],
])("a search result with %s", async (_, query, row, lines) => {
  const text = await printed(hits(query), [row], {}, { terminal: 60 });
  expect(text).toBe(`${lines.join("\n")}\n`);
});

test("-o wide shows whole chunks, and words of scripts without blanks are found", async () => {
  const style = { format: "wide", color: true } as const;
  const text = await printed(hits("育児休暇"), [hit(`${long}\n規程の育児休暇は十四週間`)], style, {
    terminal: 60,
  });
  expect(text).toContain("   The office opens at nine.\n   Lunch is free.\n");
  expect(text).toContain("規程の\u001b[1m育児\u001b[22m\u001b[1m休暇\u001b[22mは十四週間");
});

test("metadata of the type time is a time on a terminal only", async () => {
  const sheet = record("doc_metadata");
  const doc_metadata = [
    { name: "upload_date", type: "time", value: "1795262400.0" },
    { name: "reviewed", type: "time", value: 1795219200 },
    { name: "checked", type: "time", value: null },
    { name: "year", type: "number", value: 2026 },
  ];
  expect(await printed(sheet, [{ doc_metadata }], {}, { terminal: 80 })).toBe(
    `doc_metadata  upload_date: 2026-11-21 12:00 UTC
              reviewed: 2026-11-21 00:00 UTC
              checked:
              year: 2026
`,
  );
  expect(await printed(sheet, [{ doc_metadata }])).toContain('"value":"1795262400.0"');
});

test("a sheet shows nested values as indented pairs, and wraps at blanks", async () => {
  const sheet = record("name words=word_count:count metadata settings tags url id:id");
  const row = {
    name: "A name of some words that is wider than the line",
    word_count: 480_574,
    metadata: [
      { id: "1", name: "team", value: "people" },
      { id: "2", name: "年", value: 2026 },
    ],
    settings: { method: "keyword", model: { name: "m", sizes: [1, 2] }, rules: [{ a: 1, b: 2 }] },
    tags: ["a", "b"],
    url: `https://example.com/${"x".repeat(60)}`,
    id: "8db0bec1-0055-4fbd-9e11-480b795194bc",
  };
  expect(await printed(sheet, [row], {}, { terminal: 48 }))
    .toBe(`name      A name of some words that is wider
          than the line
words     480,574
metadata  team: people
          年: 2026
settings  method: keyword
          model:
            name: m
            sizes: 1, 2
          rules:
            - a: 1
              b: 2
tags      a, b
url       https://example.com/${"x".repeat(60)}
id        8db0bec1-0055-4fbd-9e11-480b795194bc
`);
});

const files = page<{ id: string }>("name size:count id:id");
const uuid = (start: string) => `${start}-0055-4fbd-9e11-480b795194bc`;
/** Rows that are followed by a pause, then the later ones. */
async function* inTwo(
  first: readonly unknown[],
  later: readonly unknown[],
): AsyncGenerator<unknown> {
  yield* first;
  await turns(2);
  yield* later;
}

test("later rows are never wider than the terminal, and never look alike", async () => {
  const { out, writes } = collecting({ terminal: 60 });
  const path = (part: string) => `policies/human-resources/${part}/parental-leave-and-part-time.md`;
  const first = [{ name: "a.md", size: 1, id: uuid("11111111") }];
  const later = [
    { name: path("europe/germany"), size: 1_234_567, id: uuid("22222222") },
    { name: path("europe/austria"), size: 12, id: uuid("33333333") },
    { name: path("america/canada"), size: 3, id: uuid("2222222f") },
    // The same start as the first row.
    { name: "b.md", size: 3, id: "11111111-0055-4fbd-9e11-480b79519999" },
    { name: "日本語の文書 ".repeat(12), size: 3, id: uuid("44444444") },
  ];
  await render(files, inTwo(first, later), plain, out);
  const lines = writes.join("").trimEnd().split("\n");
  expect(lines).toHaveLength(8);
  for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(60);
  const names = lines.slice(3).map((line) => line.split(/ {2,}/)[0]);
  expect(new Set(names).size).toBe(names.length);
  expect(lines[3]).toMatch(/1,234,567 {2}22222222$/);
  expect(lines[6]).toMatch(/^b\.md.* 11111111-0055-4fbd-9e11-480b795199$/);
});

test("later IDs are whole if the first ones are, and may follow rows without any", async () => {
  const lines = async (columns: readonly string[], ...ids: readonly unknown[]) => {
    const [first, ...later] = ids.map((id) => ({ name: "a", size: 1, id }));
    const { out, writes } = collecting({ terminal: 60 });
    await render(files, inTwo([first], later), { ...plain, columns, headers: false }, out);
    return writes.join("").trimEnd().split("\n");
  };
  expect(await lines(["name", "id"], uuid("11111111"), uuid("22222222"))).toEqual([
    `a  ${uuid("11111111")}`,
    `a  ${uuid("22222222")}`,
  ]);
  expect(await lines(["name", "id"], null, uuid("22222222"))).toEqual(["a", "a  22222222"]);
});

test("an ID that no command accepts in part is whole, or dropped first", async () => {
  const messages = page("query answer id:whole-id");
  const row = { query: "q".repeat(30), answer: "a".repeat(30), id: uuid("11111111") };
  const at = async (terminal: number) =>
    (await printed(messages, [row], { headers: false }, { terminal })).trimEnd();
  expect(await at(110)).toBe(`${row.query}  ${row.answer}  ${row.id}`);
  expect(await at(70)).toBe(`${row.query}  ${row.answer}`);
});

test("times of the same minute have seconds", async () => {
  const runs = page("created=created_at:time id:id");
  const at = (seconds: number) => ({ created_at: 1795219617 + seconds, id: "x" });
  const times = async (...rows: unknown[]) =>
    (await printed(runs, rows, { headers: false }, { terminal: 60 }))
      .replaceAll("  x", "")
      .trimEnd()
      .split("\n");
  expect(await times(at(0), at(3600))).toEqual(["2026-11-21 00:06", "2026-11-21 01:06"]);
  expect(await times(at(0), at(2))).toEqual(["2026-11-21 00:06:57", "2026-11-21 00:06:59"]);
});

test("counts are aligned right, also those that a server sends as text", async () => {
  const tags = list("", "name bindings=binding_count:count");
  const rows = [
    { name: "draft", binding_count: "2" },
    { name: "published", binding_count: "10" },
  ];
  expect(await printed(tags, rows, {}, { terminal: 80 })).toBe(
    `name       bindings
─────────  ────────
draft             2
published        10
`,
  );
});
