import { parse as parseCsv } from "csv-parse/sync";
import { expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import {
  events,
  fileContent,
  list,
  wideOnly,
  withNamePath,
  noContent,
  page,
  record,
} from "../../src/operations/operation.ts";
import type { Returns } from "../../src/operations/operation.ts";
import { CliError } from "../../src/errors.ts";
import { checkStyle, explainedColumns, render } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";
import { widthOf } from "../../src/output/display-width.ts";
import { arriving, collecting, plain, printed } from "../lib/printed.ts";
import { sampled } from "../lib/sampled.ts";
import { turns } from "../lib/turns.ts";

interface Book {
  readonly id: string;
  readonly name: string;
  readonly pages: number | null;
  readonly created_at: number;
  readonly tags?: readonly string[];
  readonly author?: { readonly name: string };
}

const books = page<Book>("id", "name", "pages", "created=created_at:time", wideOnly, "tags", [
  "author",
  ({ author }) => author?.name,
]);
const book = record<Book>("id", "name", "pages", "created=created_at:time", "tags");
const json: Returns<never> = { kind: "json" };

const rows: readonly Book[] = [
  {
    id: "a1",
    name: "Über 日本",
    pages: 12,
    created_at: 1795219617,
    tags: ["x", "y"],
    author: { name: "Ada" },
  },
  { id: "b2", name: 'tab\t"quote", | pipe\nline \\', pages: null, created_at: 1795133217 },
];
const few = rows.slice(0, 1);

const cases: readonly [
  string,
  Returns<never>,
  readonly unknown[],
  Partial<Style>,
  number | undefined,
  string,
][] = [
  // lists in a pipe
  [
    "a list in a pipe is tsv without a header",
    books,
    rows,
    {},
    undefined,
    'a1\tÜber 日本\t12\t2026-11-21T00:06:57Z\nb2\ttab\\t"quote", | pipe\\nline \\\\\t\t2026-11-20T00:06:57Z\n',
  ],
  [
    "requested tsv has a header",
    books,
    few,
    { format: "tsv" },
    undefined,
    "id\tname\tpages\tcreated\na1\tÜber 日本\t12\t2026-11-21T00:06:57Z\n",
  ],
  [
    "tsv without a header",
    books,
    few,
    { format: "tsv", headers: false },
    undefined,
    "a1\tÜber 日本\t12\t2026-11-21T00:06:57Z\n",
  ],
  [
    "tsv keeps nested values as JSON",
    books,
    few,
    { format: "tsv", columns: ["tags", "author"], headers: false },
    undefined,
    '["x","y"]\tAda\n',
  ],
  [
    "csv follows RFC 4180",
    books,
    rows,
    { format: "csv" },
    undefined,
    'id,name,pages,created\r\na1,Über 日本,12,2026-11-21T00:06:57Z\r\nb2,"tab\t""quote"", | pipe\nline \\",,2026-11-20T00:06:57Z\r\n',
  ],
  [
    "csv without a header",
    books,
    few,
    { format: "csv", columns: ["id"], headers: false },
    undefined,
    "a1\r\n",
  ],
  [
    "md is a GitHub table",
    books,
    rows,
    { format: "md", columns: ["id", "name"] },
    undefined,
    '| id | name |\n| --- | --- |\n| a1 | Über 日本 |\n| b2 | tab\t"quote", \\| pipe<br>line \\\\ |\n',
  ],
  [
    "json is the array of rows",
    books,
    [{ id: 1, deep: { a: null } }, { id: 2 }],
    { format: "json" },
    undefined,
    '[\n{"id":1,"deep":{"a":null}},\n{"id":2}\n]\n',
  ],
  [
    "jsonl is one row per line",
    books,
    [{ id: 1, deep: { a: null } }, { id: 2 }],
    { format: "jsonl" },
    undefined,
    '{"id":1,"deep":{"a":null}}\n{"id":2}\n',
  ],
  [
    "json keeps times unchanged",
    books,
    [{ created_at: 1795219617 }],
    { format: "jsonl" },
    undefined,
    '{"created_at":1795219617}\n',
  ],
  [
    "json of chosen columns",
    books,
    few,
    { format: "jsonl", columns: ["id", "author.name", "nothing.there"] },
    undefined,
    '{"id":"a1","author.name":"Ada","nothing.there":null}\n',
  ],
  [
    "yaml keeps texts that look like something else",
    books,
    [{ a: "yes", b: "1.0", c: "null", d: "2026-11-21", e: 5 }],
    { format: "yaml" },
    undefined,
    '- a: "yes"\n  b: "1.0"\n  c: "null"\n  d: "2026-11-21"\n  e: 5\n',
  ],
  [
    "yaml escapes what the strictest readers refuse or change",
    books,
    ["a\tb", "a\u007fb", "a\u0085b", "a\u2028b", "a\ufeffb", "a\uffffb", "=", "<<"].map((id) => ({
      id,
    })),
    { format: "yaml" },
    undefined,
    String.raw`- id: "a\tb"
- id: "a\u007fb"
- id: "a\u0085b"
- id: "a\u2028b"
- id: "a\ufeffb"
- id: "a\uffffb"
- id: "="
- id: "<<"
`,
  ],
  [
    "md shows texts as they are",
    books,
    [
      "<b>x</b>",
      "![i](x)",
      "*e* _e_ a_b `c`",
      "&amp; ~~s~~",
      "a\\|b",
      "a\\",
      "https://a.b www.c.d $x$",
    ].map((id) => ({ id })),
    { format: "md", columns: ["id"] },
    undefined,
    String.raw`| id |
| --- |
| \<b>x\</b> |
| !\[i](x) |
| \*e\* \_e\_ a_b ${"\\`c\\`"} |
| \&amp; \~\~s\~\~ |
| a\\\|b |
| a\\ |
| https\://a.b www\.c.d \$x\$ |
`,
  ],
  [
    "a filter keeps numbers beyond the largest double",
    { kind: "json" },
    [1],
    { jq: "1e1000, [-1e1000], 1e99" },
    undefined,
    "1E+1000\n[-1E+1000]\n1e+99\n",
  ],
  ["name prints ids", books, rows, { format: "name" }, undefined, "a1\nb2\n"],
  [
    "name prints what the operation names",
    withNamePath("author.name", books),
    few,
    { format: "name" },
    undefined,
    "Ada\n",
  ],
  [
    "a grid in a pipe is not shortened",
    books,
    [{ ...rows[0], name: "n".repeat(60) }],
    { format: "grid", columns: ["id", "name"] },
    undefined,
    `id  name\na1  ${"n".repeat(60)}\n`,
  ],
  // empty lists
  ["an empty list in a pipe is nothing", books, [], {}, undefined, ""],
  ["an empty list as json", books, [], { format: "json" }, undefined, "[]\n"],
  ["an empty list as jsonl", books, [], { format: "jsonl" }, undefined, ""],
  ["an empty list as yaml", books, [], { format: "yaml" }, undefined, "[]\n"],
  ["an empty list as csv", books, [], { format: "csv" }, undefined, "id,name,pages,created\r\n"],
  [
    "an empty list as md",
    books,
    [],
    { format: "md", columns: ["id"] },
    undefined,
    "| id |\n| --- |\n",
  ],
  ["an empty list on a terminal", books, [], { columns: ["id", "name"] }, 80, ""],
  // order
  [
    "sorted by numbers, gaps last",
    books,
    [...rows, { ...rows[0], id: "c3", pages: 3 }],
    { sort: "pages", format: "name" },
    undefined,
    "c3\na1\nb2\n",
  ],
  ["sorted by a label", books, rows, { sort: "created", format: "name" }, undefined, "b2\na1\n"],
  [
    "sorted in natural order",
    books,
    ["ch10", "ch9", "Ch1"].map((id) => ({ id })),
    { sort: "id", format: "name" },
    undefined,
    "Ch1\nch9\nch10\n",
  ],
  ["reversed", books, rows, { reverse: true, format: "name" }, undefined, "b2\na1\n"],
  [
    "sorted and reversed",
    books,
    rows,
    { sort: "id", reverse: true, format: "name" },
    undefined,
    "b2\na1\n",
  ],
  // grids
  [
    "a list on a terminal is a grid",
    books,
    rows,
    {},
    80,
    'id  name                        pages  created (UTC)\n──  ──────────────────────────  ─────  ────────────────\na1  Über 日本                      12  2026-11-21 00:06\nb2  tab␉"quote", | pipe⏎line \\         2026-11-20 00:06\n',
  ],
  [
    "wide has the further columns",
    books,
    few,
    { format: "wide" },
    80,
    'id  name       pages  created (UTC)     tags       author\n──  ─────────  ─────  ────────────────  ─────────  ──────\na1  Über 日本     12  2026-11-21 00:06  ["x","y"]  Ada\n',
  ],
  [
    "wide has those further columns that fit, and names the others",
    list("data", "name", "pages", "...", "first", "second", "third"),
    [{ name: "A", pages: 1, first: "1234567890", second: "1234567890", third: "1234567890" }],
    { format: "wide" },
    45,
    "too narrow for: third (--columns +third adds one, -o yaml has all)\nname  pages  first       second\n────  ─────  ──────────  ──────────\nA         1  1234567890  1234567890\n",
  ],
  [
    "wide shortens errors for the further columns",
    list("data", "name", "error:sparse", "...", "first", "second"),
    [{ name: "A", error: "[Errno 111] Connection refused", first: "1234567890", second: "123" }],
    { format: "wide" },
    38,
    "name  error         first       second\n────  ────────────  ──────────  ──────\nA     [Errno 111]…  1234567890  123\n",
  ],
  [
    "wide is lines where fewer than two further columns fit",
    list("data", "name", "pages", "...", "first", "second"),
    [{ name: "A", pages: 1, first: "1234567890", second: "1234567890" }],
    { format: "wide" },
    30,
    "name    A\npages   1\nfirst   1234567890\nsecond  1234567890\n",
  ],
  ["no rule for screen readers", books, few, { columns: ["id"], accessible: true }, 80, "id\na1\n"],
  ["a grid without headers", books, few, { columns: ["id"], headers: false }, 80, "a1\n"],
  [
    "long texts are shortened on a terminal",
    books,
    [{ id: "a1", name: "日本語の長い名前", pages: 5 }],
    { columns: ["id", "name", "pages"] },
    24,
    "id  name           pages\n──  ─────────────  ─────\na1  日本語の長い…      5\n",
  ],
  [
    "requested columns that do not fit are lines",
    books,
    [{ id: "a1", name: "日本語の長い名前", pages: 5 }, { id: "b2" }],
    { columns: ["id", "name", "pages"] },
    20,
    "id\n  a1\nname\n  日本語の長い名前\npages\n  5\n\nid\n  b2\nname\n\npages\n\n",
  ],
  // records
  [
    "a record on a terminal is a sheet",
    book,
    few,
    {},
    80,
    "id             a1\nname           Über 日本\npages          12\ncreated (UTC)  2026-11-21 00:06\ntags           x, y\n",
  ],
  [
    "texts of a sheet keep their lines",
    record("id", "content"),
    [{ id: 1, content: "one\ntwo\u001b" }],
    {},
    80,
    "id       1\ncontent  one\n         two␛\n",
  ],
  [
    "long objects are written one field per line",
    record("id", "model"),
    [{ id: 1, model: { name: "embedding", dimensions: 1024, on: true } }],
    {},
    40,
    "id     1\nmodel  name: embedding\n       dimensions: 1024\n       on: true\n",
  ],
  [
    "a sheet without headers is the values",
    record("id", "name"),
    [{ id: 1, name: "x" }],
    { headers: false },
    80,
    "1\nx\n",
  ],
  [
    "a record in a pipe is name, tab, value",
    book,
    few,
    {},
    undefined,
    'id\ta1\nname\tÜber 日本\npages\t12\ncreated\t2026-11-21T00:06:57Z\ntags\t["x","y"]\n',
  ],
  [
    "a record as csv",
    book,
    few,
    { format: "csv", columns: ["id", "tags"] },
    undefined,
    'id,tags\r\na1,"[""x"",""y""]"\r\n',
  ],
  [
    "a record as json is the object",
    book,
    [{ id: 1 }],
    { format: "json" },
    undefined,
    '{"id":1}\n',
  ],
  ["a record as yaml is the object", book, [{ id: 1 }], { format: "yaml" }, undefined, "id: 1\n"],
  ["no record as json is nothing", book, [], { format: "json" }, undefined, ""],
  // times
  [
    "times in the local zone",
    books,
    few,
    { columns: ["created"], timeZone: "Europe/Berlin" },
    80,
    "created (+01:00)\n────────────────\n2026-11-21 01:06\n",
  ],
  [
    "a time with another offset includes it",
    books,
    [{ created_at: 1784592000 }],
    { columns: ["created"], timeZone: "Europe/Berlin", headers: false },
    80,
    "2026-07-21 02:00 +02:00\n",
  ],
  [
    "times in UTC",
    books,
    few,
    { columns: ["created"], timeZone: "Asia/Tokyo", times: "utc" },
    80,
    "created (UTC)\n────────────────\n2026-11-21 00:06\n",
  ],
  [
    "an unknown zone is left to the system",
    books,
    few,
    { columns: ["id"], timeZone: "CET-1CEST" },
    80,
    "id\n──\na1\n",
  ],
  [
    "relative times",
    books,
    [30, 200, 7300, 200_000, -7300].map((ago) => ({ created_at: 1795262400 - ago })),
    { columns: ["created"], times: "relative", format: "tsv" },
    undefined,
    "created\n30s ago\n3m ago\n2h ago\n2d ago\nin 2h\n",
  ],
  [
    "no time is an empty cell",
    books,
    [{ created_at: null }],
    { columns: ["created", "id"], format: "csv", headers: false },
    undefined,
    ",\r\n",
  ],
  // columns
  [
    "columns by path and label",
    books,
    few,
    { columns: ["author.name", "created_at", "created"], format: "tsv" },
    undefined,
    "author.name\tcreated_at\tcreated\nAda\t1795219617\t2026-11-21T00:06:57Z\n",
  ],
  [
    "a cell whose object is missing is empty",
    list<{ readonly segment: { readonly id: string } }>(
      "records",
      ["chunk", ({ segment }) => segment.id],
      "score",
    ),
    [{ score: 1 }],
    { format: "csv", headers: false },
    undefined,
    ",1\r\n",
  ],
  // terminals
  [
    "json on a terminal has control characters escaped",
    book,
    [{ id: "\u001b\u202e" }],
    { format: "jsonl" },
    80,
    '{"id":"\\u001b\\u202e"}\n',
  ],
  [
    "json in a pipe is unchanged",
    book,
    [{ id: "\u202e" }],
    { format: "jsonl" },
    undefined,
    '{"id":"\u202e"}\n',
  ],
  [
    "csv on a terminal shows control characters",
    book,
    [{ id: "\u001b[2J\nx" }],
    { format: "csv", columns: ["id"], headers: false },
    80,
    '"␛[2J\nx"\r\n',
  ],
  [
    "csv in a pipe shows control characters, too",
    book,
    [{ id: "\u001b[2J" }],
    { format: "csv", columns: ["id"], headers: false },
    undefined,
    "␛[2J\r\n",
  ],
  // any JSON
  ["any JSON is printed unchanged", json, [{ a: [1] }], {}, undefined, '{"a":[1]}\n'],
  ["any text is printed unchanged", json, ["<html>"], {}, undefined, "<html>\n"],
  [
    "a list inside is rows of a table",
    json,
    [[{ a: 1, b: "x" }, { a: 2 }]],
    { format: "csv" },
    undefined,
    "a,b\r\n1,x\r\n2,\r\n",
  ],
  [
    "any JSON on a line",
    json,
    [[{ a: 1 }], 2, "x"],
    { format: "jsonl" },
    undefined,
    '[{"a":1}]\n2\n"x"\n',
  ],
  // filters
  ["a filter reads the whole list", books, rows, { jq: "length" }, undefined, "2\n"],
  [
    "strings of a filter are raw",
    books,
    rows,
    { jq: ".[].name" },
    undefined,
    'Über 日本\ntab\t"quote", | pipe\nline \\\n',
  ],
  [
    "other results are JSON",
    books,
    few,
    { jq: ".[] | {id}, .tags, null, true" },
    undefined,
    '{"id":"a1"}\n["x","y"]\nnull\ntrue\n',
  ],
  [
    "over several lines on a terminal",
    books,
    few,
    { jq: ".[0] | {id}, .name" },
    80,
    '{\n  "id": "a1"\n}\nÜber 日本\n',
  ],
  [
    "strings are safe on a terminal",
    book,
    [{ id: "\u001b[2J\nx" }],
    { jq: ".id" },
    80,
    "␛[2J\nx\n",
  ],
  ["a filter of a record reads the record", book, few, { jq: ".id # its id" }, undefined, "a1\n"],
  ["a filter may have no result", books, few, { jq: "empty" }, undefined, ""],
  ["a filter may start with a dash", book, [{ id: 5 }], { jq: "-.id" }, undefined, "-5\n"],
  ["a filter overrides the format", books, few, { jq: ".[].id", format: "csv" }, undefined, "a1\n"],
];

test.each(cases)("%s", async (_, returns, values, style, terminal, expected) => {
  const reader = terminal === undefined ? {} : { terminal };
  expect(await printed(returns, values, style, reader)).toBe(expected);
});

test("csv round-trips", async () => {
  const text = await printed(books, rows, { format: "csv", columns: ["id", "name"] });
  expect(parseCsv(text, { columns: true })).toEqual(rows.map(({ id, name }) => ({ id, name })));
});

test("yaml round-trips", async () => {
  const awkward = [
    ...rows,
    { id: "\u001b", name: "- a: b\n\n  c\t", pages: -0.5, on: "off", at: "12:30:00" },
  ];
  expect(parseYaml(await printed(books, awkward, { format: "yaml" }))).toEqual(awkward);
});

test("no line of a grid is wider than the terminal, from 20 to 200 columns", async () => {
  const awkward = [
    {
      id: "8db0bec1-0055-4fbd-9e11-480b795194bc",
      name: "日本語の文書".repeat(20),
      pages: 123456789,
      created_at: 1795219617,
      tags: ["👩‍👩‍👧".repeat(30)],
    },
    {
      id: "x",
      name: "\u001b\n\t".repeat(40),
      pages: 1,
      created_at: 0,
      author: { name: "e\u0301".repeat(150) },
    },
  ];
  const widths = Array.from({ length: 181 }, (_, at) => 20 + at);
  for (const terminal of sampled(9, widths)) {
    for (const format of ["grid", "wide"] as const) {
      const text = await printed(books, awkward, { format }, { terminal });
      const lines = text.split("\n");
      if (format === "grid") expect(lines).toHaveLength(5);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(terminal);
    }
  }
});

test("times are whole while ids and names are shortened", async () => {
  const row = {
    id: "8db0bec1-0055-4fbd-9e11-480b795194bc",
    name: "A long name of a book that needs more than half of the line",
    pages: 7,
    created_at: 1795219617,
  };
  const text = await printed(books, [row], {}, { terminal: 80 });
  expect(text.split("\n")[2]).toBe(
    "8db0bec1  A long name of a book that needs more than h…      7  2026-11-21 00:06",
  );
});

test("color is in the header only", async () => {
  const text = await printed(books, few, { columns: ["id"], color: true }, { terminal: 80 });
  expect(text).toBe("\u001b[1mid\u001b[22m\n\u001b[2m──\u001b[22m\na1\n");
});

/** Yields values on demand. */
function tap() {
  const steps: ((value: { value?: unknown; done?: boolean; error?: Error }) => void)[] = [];
  const asked: (() => void)[] = [];
  return {
    async *values(): AsyncGenerator<unknown> {
      for (;;) {
        const step = await new Promise<{ value?: unknown; done?: boolean; error?: Error }>(
          (resolve) => {
            steps.push(resolve);
            asked.shift()?.();
          },
        );
        if (step.error) throw step.error;
        if (step.done) return;
        yield step.value;
      }
    },
    async give(step: { value?: unknown; done?: boolean; error?: Error }) {
      if (steps.length === 0) await new Promise<void>((resolve) => asked.push(resolve));
      steps.shift()?.(step);
      // After two event-loop turns everything that does not wait has happened.
      await turns(2);
    },
  };
}

test.each(["grid", "tsv", "csv", "jsonl", "name"] as const)(
  "%s is written as rows arrive",
  async (format) => {
    const { out, writes } = collecting({ terminal: 40 });
    const source = tap();
    const style = { ...plain, format, columns: ["id"], headers: false };
    const done = render(books, source.values(), style, out);
    await source.give({ value: { id: "one" } });
    expect(writes.join("")).toContain("one");
    await source.give({ value: { id: "the second" } });
    expect(writes.join("")).toContain("the second");
    await source.give({ done: true });
    expect(await done).toBe(2);
  },
);

test.each(["json", "md", "yaml"] as const)(
  "%s waits for the end and prints nothing on failure",
  async (format) => {
    const { out, writes } = collecting();
    const failing = render(books, arriving(rows, new Error("cut")), { ...plain, format }, out);
    await expect(failing).rejects.toThrow("cut");
    expect(writes).toEqual([]);
  },
);

test.each(["grid", "tsv", "csv", "jsonl", "name"] as const)(
  "%s prints the rows before a failure",
  async (format) => {
    const { out, writes } = collecting();
    const failing = render(books, arriving(few, new Error("cut")), { ...plain, format }, out);
    await expect(failing).rejects.toThrow("cut");
    expect(writes.join("")).toContain("a1");
  },
);

test.each(["grid", "csv", "json"] as const)(
  "%s prints no header if it fails before the first row",
  async (format) => {
    const { out, writes } = collecting();
    await expect(
      render(books, arriving([], new Error("refused")), { ...plain, format }, out),
    ).rejects.toThrow("refused");
    expect(writes).toEqual([]);
  },
);

test.each(["grid", "tsv", "jsonl", "name"] as const)(
  "%s stops reading when the reader closes",
  async (format) => {
    const { out } = collecting({ leavesAfter: 2 });
    let read = 0;
    let closed = false;
    async function* endless(): AsyncGenerator<unknown> {
      try {
        for (;;) yield { id: `row ${++read}` };
      } finally {
        closed = true;
      }
    }
    await render(books, endless(), { ...plain, format, columns: ["id"] }, out);
    expect(closed).toBe(true);
    expect(read).toBeLessThanOrEqual(101);
  },
);

test("later rows use the remaining width", async () => {
  const { out, writes } = collecting({ terminal: 30 });
  const source = tap();
  const done = render(
    list("", "check", "found"),
    source.values(),
    { ...plain, headers: false },
    out,
  );
  await source.give({ value: { check: "a", found: "b" } });
  await source.give({ value: { check: "connection", found: "a long text that does not fit" } });
  await source.give({ done: true });
  await done;
  expect(writes).toEqual(["a  b\n", "connection  a long text that …\n"]);
});

test("bytes of a file are written unchanged", async () => {
  const { out, writes } = collecting();
  const chunks = [new Uint8Array([72, 105]), new Uint8Array([33])];
  expect(await render(fileContent, arriving(chunks), plain, out)).toBe(2);
  expect(writes.join("")).toBe("Hi!");
});

test("bytes are rejected on a terminal before they are requested", async () => {
  let asked = false;
  async function* chunks(): AsyncGenerator<unknown> {
    asked = true;
    yield new Uint8Array();
  }
  const refused = render(fileContent, chunks(), plain, collecting({ terminal: 80 }).out);
  await expect(refused).rejects.toMatchObject({ kind: "usage" });
  expect(asked).toBe(false);
});

test("a command without a result prints nothing, but runs", async () => {
  let done = false;
  async function* work(): AsyncGenerator<unknown> {
    done = true;
    yield { result: "success" };
  }
  const { out, writes } = collecting();
  await render(noContent, work(), { ...plain, format: "json" }, out);
  expect([done, writes]).toEqual([true, []]);
});

test.each<[string, Partial<Style>, string]>([
  ["an unknown column", { columns: ["id", "nmae"] }, 'column "nmae" not found'],
  ["an empty column", { columns: ["id", ""] }, 'column "" not found'],
  ["a path with a gap", { columns: ["author..name"] }, 'column "author..name" not found'],
  ["an unknown sort field", { sort: "size" }, 'column "size" not found'],
  ["a filter that ends early", { jq: ".a |" }, "--jq: syntax error, unexpected end of file"],
  ["an unknown function", { jq: "nope(1)" }, "--jq: nope/1 is not defined"],
  ["brackets that would close ours", { jq: "1] | [2" }, "--jq: syntax error"],
  ["an empty filter", { jq: "" }, "--jq: Top-level program not given"],
])("%s is a usage error before anything is sent", async (_, style, message) => {
  const failure = await checkStyle(books, { ...plain, ...style }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CliError);
  expect(failure).toMatchObject({ kind: "usage", info: { sideEffect: "none" } });
  expect(failure).toHaveProperty("message", expect.stringContaining(message));
});

test.each<[string, Returns<never>, Partial<Style>]>([
  ["labels", books, { columns: ["created", "author"], sort: "created" }],
  ["fields that a label stands for", books, { columns: ["created_at"], sort: "created_at" }],
  ["columns of the wide table", books, { columns: ["tags"] }],
  ["any dotted path", books, { columns: ["settings.top_k", "tags.0"] }],
  ["anything of events", events, { columns: ["event", "task_id"] }],
  ["anything of JSON", json, { columns: ["whatever"] }],
  ["filters that are not run", books, { jq: 'error("now")' }],
])("%s pass the check", async (_, returns, style) => {
  await expect(checkStyle(returns, { ...plain, ...style })).resolves.toEqual([]);
});

test.each([
  [".[0].id.x", '--jq: Cannot index string with string ("x")'],
  ['.[] | if .id == "b2" then error("stop") else .id end', "--jq: stop"],
])("the filter %s fails after a result: nothing is printed", async (jq, message) => {
  const { out, writes } = collecting();
  const failing = render(books, arriving(rows), { ...plain, jq }, out);
  await expect(failing).rejects.toMatchObject({ kind: "failure", message });
  expect(writes).toEqual([]);
});

test("column names include those of the wide table", () => {
  expect(explainedColumns(books)).toEqual(["id", "name", "pages", "created", "tags", "author"]);
});

const declared = page<{ id: string }>(
  "name status words=word_count:count took=seconds:seconds size:bytes created=created_at:time id:id",
);
const many = [1, 2, 3].map((index) => ({
  name: `policies/human-resources/europe/germany/parental-leave-${index}.md`,
  status: "available",
  word_count: 480_574,
  seconds: 2.3,
  size: 12_345,
  created_at: 1795219617 + index,
  id: `8db0bec${index}-0055-4fbd-9e11-480b795194bc`,
}));

test.each([
  [
    110,
    `name                                       status       words    took      size  created (UTC)        id
─────────────────────────────────────────  ─────────  ───────  ──────  ────────  ───────────────────  ────────
policies/human-resou…/parental-leave-1.md  available  480,574  2.30 s  12.1 KiB  2026-11-21 00:06:58  8db0bec1
policies/human-resou…/parental-leave-2.md  available  480,574  2.30 s  12.1 KiB  2026-11-21 00:06:59  8db0bec2
policies/human-resou…/parental-leave-3.md  available  480,574  2.30 s  12.1 KiB  2026-11-21 00:07:00  8db0bec3
`,
  ],
  [
    80,
    `name                              status       words    took      size  id
────────────────────────────────  ─────────  ───────  ──────  ────────  ────────
policies/hu…/parental-leave-1.md  available  480,574  2.30 s  12.1 KiB  8db0bec1
policies/hu…/parental-leave-2.md  available  480,574  2.30 s  12.1 KiB  8db0bec2
policies/hu…/parental-leave-3.md  available  480,574  2.30 s  12.1 KiB  8db0bec3
`,
  ],
  [
    40,
    `name                 status     id
───────────────────  ─────────  ────────
pol…/parenta…e-1.md  available  8db0bec1
pol…/parenta…e-2.md  available  8db0bec2
pol…/parenta…e-3.md  available  8db0bec3
`,
  ],
])("a terminal of %d columns drops the least important ones", async (terminal, expected) => {
  expect(await printed(declared, many, {}, { terminal })).toBe(expected);
});

test("in a pipe, the columns have the same order and values are as they are", async () => {
  expect(await printed(declared, many.slice(0, 1), { format: "tsv" })).toBe(
    `name\tstatus\twords\ttook\tsize\tcreated\tid
policies/human-resources/europe/germany/parental-leave-1.md\tavailable\t480574\t2.3\t12345\t2026-11-21T00:06:58Z\t8db0bec1-0055-4fbd-9e11-480b795194bc
`,
  );
});

test.each([
  [60, "8db0bec1-0055-4fbd-9e11-480b795194bc  available"],
  [40, "8db0bec1  available"],
])("on %d columns, a requested ID is %s", async (terminal, line) => {
  const columns = ["id", "status"];
  const text = await printed(declared, many.slice(0, 1), { columns }, { terminal });
  expect(text.split("\n")[2]).toBe(line);
});
