import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { commandOf } from "../../src/cli/parse/command.ts";
import { sharedFlagsOf } from "../../src/cli/parse/shared-flags.ts";
import { helpFor } from "../../src/cli/help/help.ts";
import { styleFor } from "../../src/cli/parse/options.ts";
import { task } from "../../src/commands/task/command-spec.ts";
import type { Host } from "../../src/host/host.ts";
import { repeatedReport, report } from "../../src/operations/operation.ts";
import { checkStyle } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";
import { widthOf } from "../../src/output/display-width.ts";
import type { Cell, Report } from "../../src/output/report-model.ts";
import { plain, printed } from "../lib/printed.ts";
import type { Reader } from "../lib/printed.ts";
import { rareTest } from "../lib/sampled.ts";

const nodes: Report = {
  data: [
    { node: "Start", ms: 12 },
    { node: "LLM", ms: 900 },
  ],
  sections: [
    {
      title: "Nodes",
      columns: [
        { label: "node" },
        { label: "state" },
        { label: "started" },
        { label: "ms", right: true },
        { label: "" },
      ],
      rows: [
        [
          "Start",
          { text: "succeeded", tone: "good" },
          new Date("2026-11-21T00:06:57Z"),
          12,
          { chart: "span", from: 0, to: 0.25 },
        ],
        [
          "LLM\t|",
          { text: "failed", tone: "bad" },
          null,
          900,
          { chart: "span", from: 0.25, to: 1, tone: "bad" },
        ],
      ],
      notes: ["LLM took 99 %"],
    },
    {
      title: "Hours",
      columns: [{ label: "hour" }, { label: "share" }, { label: "course" }],
      rows: [
        ["00", { chart: "bar", value: 0.5 }, { chart: "spark", values: [0, 1, null, 4, 8] }],
        ["01", { chart: "bar", value: 0.01 }, null],
      ],
    },
  ],
};

const shown = (style: Partial<Style> = {}, reader: Reader = { terminal: 60 }, value = nodes) =>
  printed(report, [value], style, reader);

test.each<[string, Partial<Style>, Reader, string]>([
  [
    "on a terminal: tables with charts, the waterfall fills the width",
    {},
    { terminal: 60 },
    `Nodes
node   state      started (UTC)      ms
─────  ─────────  ────────────────  ───  ───────────────────
Start  succeeded  2026-11-21 00:06   12  ████▊
LLM␉|  failed                       900      ███████████████
LLM took 99 %

Hours
hour  share                 course
────  ────────────────────  ──────
00    ██████████            ▁▂ ▅█
01    ▎
`,
  ],
  [
    "ASCII only",
    { unicode: false },
    { terminal: 60 },
    `Nodes
node   state      started (UTC)      ms
-----  ---------  ----------------  ---  -------------------
Start  succeeded  2026-11-21 00:06   12  |---|
LLM␉|  failed                       900      |-------------|
LLM took 99 %

Hours
hour  share                 course
----  --------------------  ------
00    ##########            _. =#
01    #
`,
  ],
  [
    "for ears: no bars and trends, which repeat numbers",
    { unicode: false, accessible: true },
    { terminal: 60 },
    `Nodes
node   state      started (UTC)      ms
Start  succeeded  2026-11-21 00:06   12  |---|
LLM␉|  failed                       900      |-------------|
LLM took 99 %

Hours
hour
00
01
`,
  ],
  [
    "in a pipe: tsv with heads, titles and notes as comments, no charts",
    {},
    {},
    `# Nodes
node\tstate\tstarted\tms
Start\tsucceeded\t2026-11-21T00:06:57Z\t12
LLM\\t|\tfailed\t\t900
# LLM took 99 %

# Hours
hour
00
01
`,
  ],
  [
    "only rows without headers",
    { headers: false },
    {},
    "Start\tsucceeded\t2026-11-21T00:06:57Z\t12\nLLM\\t|\tfailed\t\t900\n\n00\n01\n",
  ],
  [
    "csv has rows only",
    { format: "csv" },
    {},
    "node,state,started,ms\r\nStart,succeeded,2026-11-21T00:06:57Z,12\r\nLLM\t|,failed,,900\r\n\r\nhour\r\n00\r\n01\r\n",
  ],
  [
    "md for a pull request",
    { format: "md" },
    {},
    `### Nodes

| node | state | started | ms |
| --- | --- | --- | ---: |
| Start | succeeded | 2026-11-21T00:06:57Z | 12 |
| LLM\t\\| | failed |  | 900 |

LLM took 99 %

### Hours

| hour |
| --- |
| 00 |
| 01 |
`,
  ],
  ["json is its data", { format: "json" }, {}, `${JSON.stringify(nodes.data)}\n`],
  [
    "jsonl: one line per item of the data",
    { format: "jsonl" },
    {},
    '{"node":"Start","ms":12}\n{"node":"LLM","ms":900}\n',
  ],
  ["yaml", { format: "yaml" }, {}, "- node: Start\n  ms: 12\n- node: LLM\n  ms: 900\n"],
  ["a filter reads its data", { jq: ".[1].node" }, {}, "LLM\n"],
])("%s", async (_, style, reader, expected) => {
  expect(await shown(style, reader)).toBe(expected);
});

test("a requested grid in a pipe has charts", async () => {
  const text = await shown({ format: "grid" }, {});
  expect(text).toContain(`900${" ".repeat(12)}${"█".repeat(30)}\n`);
});

test("data other than a list is one line of jsonl", async () => {
  const one = { data: { a: [1, 2] }, sections: [] };
  expect(await shown({ format: "jsonl" }, {}, one)).toBe('{"a":[1,2]}\n');
  expect(await shown({ format: "json" }, {}, one)).toBe('{"a":[1,2]}\n');
});

test("tones and titles are colored, and color adds only color", async () => {
  const colored = await shown({ color: true });
  expect(colored).toContain("\u001b[1mNodes\u001b[22m\n");
  expect(colored).toContain("\u001b[32msucceeded\u001b[39m");
  expect(colored).toContain("\u001b[31m    ███████████████\u001b[39m");
  expect(stripVTControlCharacters(colored)).toBe(await shown());
});

test("text from a server is made safe for the terminal, and stays on its line in a comment", async () => {
  const bad: Report = {
    data: {},
    sections: [
      {
        title: "a\u001b[2Jb\nc",
        columns: [{ label: "x\u0007" }],
        rows: [[{ text: "y\u001b[2J", tone: "bad" }]],
        notes: ["n\u202e\n1"],
      },
    ],
  };
  for (const format of ["grid", "tsv", "csv", "md"] as const) {
    const text = await shown({ format }, { terminal: 80 }, bad);
    expect(text.replace(/\r?\n/g, "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  }
  expect(await shown({}, {}, bad)).toBe("# a␛[2Jb c\nx␇\ny␛[2J\n# n<U+202E> 1\n");
});

test("footnotes are one line on a terminal, and whole elsewhere", async () => {
  const footnotes = ["medians of all runs, each of which counts once", "a second one"];
  const section = { columns: [{ label: "n" }], rows: [[1]], notes: ["noted"] };
  const shown = (notes: readonly string[], style: Partial<Style>, options = {}) =>
    printed(report, [{ data: null, sections: [{ ...section, footnotes: notes }] }], style, options);
  const at = { terminal: 40 };
  expect(await shown(footnotes, {}, at)).toMatch(
    /noted\nmedians of all runs, each of… \(-o wide\)\n$/,
  );
  expect(await shown(["short"], {}, at)).toMatch(/noted\nshort\n$/);
  expect(await shown(["short", "more"], {}, at)).toMatch(/noted\nshort… \(-o wide\)\n$/);
  expect(await shown(footnotes, { format: "wide" }, at)).toMatch(/once\na second one\n$/);
  expect(await shown(footnotes, {})).toMatch(/# noted\n# medians of.* once\n# a second one\n$/);
});

test("a table without rows has its head, and without columns its notes", async () => {
  const empty: Report = {
    data: [],
    sections: [
      { title: "None", columns: [{ label: "a" }, { label: "b" }], rows: [] },
      { columns: [], rows: [], notes: ["no runs"] },
    ],
  };
  expect(await shown({}, {}, empty)).toBe("# None\na\tb\n\n# no runs\n");
  expect(await shown({}, { terminal: 60 }, empty)).toBe("None\na  b\n─  ─\n\nno runs\n");
});

const bars = (value: number): Cell => ({ chart: "bar", value });

test.each<[string, Cell, unicode: string, ascii: string]>([
  ["nothing", bars(0), "", ""],
  ["the least of anything shows", bars(1e-9), "▏", "#"],
  ["a half and an eighth of a column", bars(0.50625), "██████████▏", "##########"],
  ["all", bars(1), "█".repeat(20), "#".repeat(20)],
  ["more than all is all", bars(7), "█".repeat(20), "#".repeat(20)],
  ["what is no number is nothing", bars(NaN), "", ""],
  ["a flat line of zeros", { chart: "spark", values: [0, 0] }, "▁▁", "__"],
  ["zero differs from little", { chart: "spark", values: [0, 1, 100] }, "▁▂█", "_.#"],
  ["gaps stay gaps", { chart: "spark", values: [null, 2, null, 2] }, " █ █", " # #"],
])("charts: %s", async (_, cell, unicode, ascii) => {
  const value: Report = { data: null, sections: [{ columns: [{ label: "x" }], rows: [[cell]] }] };
  const line = async (style: Partial<Style>) =>
    (await shown({ headers: false, ...style }, { terminal: 40 }, value)).slice(0, -1);
  expect(await line({})).toBe(unicode);
  expect(await line({ unicode: false })).toBe(ascii);
});

test("a sparkline with more values than columns keeps its peaks", async () => {
  const values = Array.from({ length: 300 }, (_, index) => (index === 150 ? 100 : 1));
  const value: Report = {
    data: null,
    sections: [{ columns: [{ label: "x" }], rows: [[{ chart: "spark", values }]] }],
  };
  expect(await shown({ headers: false }, { terminal: 40 }, value)).toBe(
    `${"▂".repeat(20)}█${"▂".repeat(19)}\n`,
  );
});

rareTest("no line is wider than the terminal, whatever its width", async () => {
  const value: Report = {
    data: null,
    sections: [
      {
        columns: [{ label: "title" }, { label: "ms", right: true }, { label: "" }, { label: "b" }],
        rows: Array.from({ length: 50 }, (_, index) => [
          `${"  ".repeat(index % 3)}日本 ${"x".repeat(index)}`,
          index * 1000,
          { chart: "span", from: index / 50, to: (index + 1) / 50 },
          bars(index / 50),
        ]),
      },
    ],
  };
  for (let terminal = 40; terminal <= 300; terminal += 13) {
    for (const unicode of [true, false]) {
      const lines = (await shown({ unicode }, { terminal }, value)).split("\n");
      const widths = lines.map((line) => widthOf(line));
      expect(Math.max(...widths)).toBeLessThanOrEqual(terminal);
      // The last span ends at the right edge; the bar is next to it.
      if (terminal >= 120) expect(Math.max(...widths)).toBe(terminal);
    }
  }
});

test.each([20, 40, 80, 120])(
  "a frame fits a screen of %d columns and keeps its foot",
  async (terminal) => {
    const value: Report = {
      data: null,
      isFrame: true,
      sections: [
        {
          columns: [],
          rows: [],
          lines: [{ parts: [{ text: "実行中 🎉" }, { text: "p95 11.4 s" }] }],
        },
        {
          title: "二〇二六年の休暇と育児休暇の規程",
          columns: [{ label: "status" }, { label: "node" }, { label: "error" }],
          rows: Array.from({ length: 40 }, () => [
            "failed",
            "文書を読む",
            "接続できません ".repeat(9),
          ]),
        },
        { columns: [], rows: [], lines: [{ parts: [{ text: "q quit" }] }] },
      ],
    };
    const text = stripVTControlCharacters(await shown({}, { terminal }, value));
    const lines = text.split("\r\n");
    expect(lines).toHaveLength(24);
    expect(lines.at(-1)).toBe("q quit");
    expect(Math.max(...lines.map((line) => widthOf(line)))).toBeLessThanOrEqual(terminal);
  },
);

test("columns that fill the width do not shorten heads and texts", async () => {
  const value: Report = {
    data: null,
    sections: [
      {
        columns: [{ label: "a long head" }, { label: "title" }, { label: "" }],
        rows: [[1, "a title of thirty columns, just", { chart: "span", from: 0, to: 1 }]],
      },
    ],
  };
  expect(await shown({}, { terminal: 60 }, value)).toBe(
    `a long head  title
───────────  ───────────────────────────────  ──────────────
          1  a title of thirty columns, just  ██████████████
`,
  );
});

const drawn = {
  ...task({
    command: "wf timeline",
    summary: "Draw",
    params: {},
    returns: report,
    sends: [],
    effect: "reads",
    examples: [],
  }),
  load: () => Promise.reject(new Error("never run")),
};
const host = (env: Readonly<Record<string, string>> = {}) =>
  ({ env, stdout: { isTTY: true }, now: () => new Date(0) }) as unknown as Host;
const formatOf = (output: string, returns: Parameters<typeof styleFor>[2], setting?: string) =>
  styleFor(setting === undefined ? { output } : {}, host(), returns, { output: setting }).format;

test("html is available for reports that are printed once", () => {
  expect(formatOf("html", report)).toBe("html");
  expect(() => formatOf("html", repeatedReport)).toThrow(
    '--output "html" is not one of grid, wide, tsv, csv, md, json, jsonl, yaml',
  );
  expect(() => formatOf("name", report)).toThrow(
    '--output "name" is not one of grid, wide, tsv, csv, md, json, jsonl, yaml, html',
  );
  const command = commandOf(drawn);
  expect(helpFor("wf", ["timeline"], [command], { width: 80 })).toContain(
    "Formats  grid, wide, tsv, csv, md, json, jsonl, yaml, html\n",
  );
  const flags = sharedFlagsOf(command).map((flag) => flag.usage);
  expect(flags).not.toContain("--columns <paths>");
  expect(flags).toContain("--jq <filter>");
});

test("a default format that a report does not have is ignored", () => {
  expect(formatOf("", report, "name")).toBeUndefined();
  expect(formatOf("", report, "md")).toBe("md");
  expect(() => formatOf("", report, "mad")).toThrow('--output "mad" is not one of grid,');
});

test.each<[Partial<Style>, string]>([
  [{ columns: ["node"] }, "--columns requires a list"],
  [{ sort: "node" }, "--sort requires a list"],
  [{ reverse: true }, "--reverse requires a list"],
  [{ jq: ".[" }, "--jq: "],
])("%j is rejected before anything is sent", async (style, message) => {
  await expect(checkStyle(report, { ...plain, ...style })).rejects.toThrow(message);
});

test.each<[Readonly<Record<string, string>>, boolean]>([
  [{}, true],
  [{ LANG: "de_DE.UTF-8" }, true],
  [{ LANG: "en_US.utf8", LC_ALL: "" }, true],
  [{ LANG: "de_DE.UTF-8", LC_ALL: "C" }, false],
  [{ LC_ALL: "ja_JP.eucJP" }, false],
  [{ LANG: "de_DE.UTF-8", LC_CTYPE: "de_DE.ISO-8859-1" }, false],
  [{ TERM: "dumb" }, false],
  [{ TERM: "linux", LANG: "C.UTF-8" }, false],
  [{ KB_ACCESSIBLE: "1" }, false],
])("%j: more than ASCII? %s", (env, expected) => {
  expect(styleFor({}, host(env), report, { output: undefined }).unicode).toBe(expected);
});

test("a narrow terminal drops bars, then minor columns, and keeps the picture", async () => {
  const value: Report = {
    data: null,
    sections: [
      {
        columns: [
          { label: "node" },
          { label: "state", minor: true },
          { label: "took", right: true },
          { label: "" },
          { label: "share" },
        ],
        rows: [
          ["Start", "succeeded", "1.00 s", { chart: "span", from: 0, to: 0.5 }, bars(0.5)],
          ["End", "succeeded", "1.00 s", { chart: "span", from: 0.5, to: 1 }, bars(0.5)],
        ],
      },
    ],
  };
  expect(await shown({}, { terminal: 30 }, value)).toBe(
    "node     took\n─────  ──────  ───────────────\nStart  1.00 s  ███████▌\nEnd    1.00 s         ████████\n",
  );
});
