import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { report } from "../../src/operations/operation.ts";
import type { Style } from "../../src/output/print/print.ts";
import { scaleOf } from "../../src/output/html/page-plots.ts";
import type { Report } from "../../src/output/report-model.ts";
import { axeViolations, invalidParts, openedPage, textsOf } from "../lib/opened-page.ts";
import { printed } from "../lib/printed.ts";
import { rareTest } from "../lib/sampled.ts";

/** A report with everything that a page can show. */
const nodes: Report = {
  data: null,
  title: "Timeline of run.jsonl",
  screen: [
    {
      title: "At a glance",
      columns: [],
      rows: [],
      lines: [
        {
          lead: "now: ",
          parts: [
            { text: "2 runs", tone: "good" },
            { text: "p95 2 s", trend: [1, null, 3] },
          ],
        },
      ],
      notes: ["noted"],
    },
  ],
  sections: [
    {
      title: "Nodes",
      columns: [
        { label: "node" },
        { label: "state" },
        { label: "started" },
        { label: "took", right: true },
        { label: "", ticks: ["0 ms", "1.00 s"] },
      ],
      rows: [
        [
          "Start",
          { text: "succeeded", tone: "good" },
          new Date("2026-11-21T00:06:57Z"),
          "2m 05s",
          { chart: "span", from: 0, to: 0.25 },
        ],
        [
          "  LLM",
          { text: "failed", tone: "bad" },
          null,
          "900 ms",
          { chart: "span", from: 0.25, to: 1, tone: "bad" },
        ],
        ["End", "unknown", null, null, null],
      ],
      notes: ["LLM took 99 %"],
      details: (row) =>
        row === 2
          ? []
          : [
              { label: "error", value: "no route\n\tto host", tone: "bad" },
              { label: "inputs", value: { n: [row, null] } },
              { label: "nothing", value: "" },
              { label: "checks", columns: [{ label: "check" }], rows: [["met"], ["not met"]] },
            ],
    },
    {
      title: "Hours",
      columns: [{ label: "hour" }, { label: "share" }, { label: "course" }, { label: "runs" }],
      rows: [
        ["00", { chart: "bar", value: 0.5 }, { chart: "spark", values: [0, 2, null, 8, 4] }, 12345],
        ["01", { chart: "bar", value: 0 }, null, 7],
      ],
    },
    { title: "None", columns: [{ label: "a" }], rows: [] },
  ],
};

const page = {
  command: "wf timeline",
  action: "Build timeline of run.jsonl",
  verdict: () => ({ text: "1 node failed", tone: "bad" as const }),
};
const shown = (value: Report = nodes, style: Partial<Style> = {}) =>
  printed(report, [value], { format: "html", page, ...style });

let html = "";
beforeAll(async () => {
  html = await shown();
});

describe("a page", () => {
  test("has command, title, time and verdict", () => {
    const window = openedPage(html);
    expect(window.document.title).toBe("Timeline of run.jsonl – wf timeline");
    expect(textsOf(window, "header > *")).toEqual([
      "wf timeline",
      "Timeline of run.jsonl",
      "Generated 2026-11-21 12:00 UTC",
    ]);
    expect(textsOf(window, ".verdict.bad")).toEqual(["1 node failed"]);
    expect(textsOf(window, "main, h1")).toHaveLength(2);
  });

  test("is named by what the command does, and says nothing of a verdict that it does not have", async () => {
    const style = { page: { ...page, verdict: () => undefined } };
    const window = openedPage(await shown({ data: null, sections: [] }, style));
    expect(textsOf(window, "h1")).toEqual(["Build timeline of run.jsonl"]);
    expect(textsOf(window, ".verdict")).toEqual([]);
  });

  test("begins with the text of the screen, then has all tables with their notes", () => {
    const window = openedPage(html);
    expect(textsOf(window, "h2")).toEqual(["At a glance", "Nodes", "Hours", "None"]);
    expect(textsOf(window, "nav a")).toEqual(["At a glance", "Nodes", "Hours", "None"]);
    for (const link of window.document.querySelectorAll("nav a, a.skip"))
      expect(window.document.querySelector(link.getAttribute("href") ?? "")).not.toBeNull();
    expect(textsOf(window, ".line")).toEqual(["now: 2 runs p95 2 s"]);
    expect(textsOf(window, ".note")).toEqual(["LLM took 99 %"]);
    expect(textsOf(window, "#section-4 p")).toEqual(["No rows."]);
  });

  test("has tables with names, heads of columns and rows, and tones as words", () => {
    const window = openedPage(html);
    expect(textsOf(window, ".part > .scroll > table > caption")).toEqual([
      "Nodes",
      "Hours",
      "None",
    ]);
    expect(textsOf(window, "#section-2 > .scroll > table > thead th[scope=col]")).toEqual([
      "node",
      "state",
      "started (UTC)",
      "took",
      "Timeline0 ms1.00 s",
    ]);
    expect(textsOf(window, "#section-2 > .scroll > table > tbody > tr > th[scope=row]")).toEqual([
      "Start",
      "  LLM",
      "End",
    ]);
    expect(textsOf(window, "#section-2 td .tone.good, #section-2 td > .tone.bad")).toEqual([
      "succeeded",
      "failed",
    ]);
    expect(textsOf(window, "#section-3 td.number")).toEqual(["12,345", "7"]);
  });

  test("draws charts with their numbers", () => {
    const { document } = openedPage(html);
    const shapes = (selector: string) =>
      [...document.querySelectorAll(selector)].map((rect) =>
        ["x", "width"].map((name) => rect.getAttribute(name)),
      );
    expect(shapes(".span rect")).toEqual([
      ["0", "250"],
      ["250", "750"],
    ]);
    expect(shapes(".bar rect:not(.track)")).toEqual([
      [null, "50"],
      [null, "0"],
    ]);
    const sparks = [...document.querySelectorAll("svg.spark")];
    expect(sparks.map((svg) => svg.getAttribute("aria-label"))).toEqual([
      "2 values from 1 to 3, last 3",
      "4 values from 0 to 8, last 4",
    ]);
  });

  test("folds the details of rows", () => {
    const window = openedPage(html);
    expect(textsOf(window, "summary")).toEqual([
      "error, inputs, nothing, checks of Start",
      "error, inputs, nothing, checks of LLM",
    ]);
    expect(textsOf(window, "#section-2 tbody:first-of-type .block")).toEqual([
      "errorno route\n    to host",
      'inputs{\n  "n": [\n    0,\n    null\n  ]\n}',
      "nothingempty",
      expect.stringContaining("not met"),
    ]);
  });
});

rareTest("a page is valid, and has no violation of accessibility", async () => {
  expect(await invalidParts(html)).toEqual([]);
  // The script adds to what is there; test/long/html-pages.test.ts checks pages without it, too.
  expect(await axeViolations(html, true)).toEqual([]);
});

test("the checkers of pages see faults", async () => {
  const faulty = "<!DOCTYPE html><html><title>x</title><main><h1>x</h1><img></main></html>";
  expect(await invalidParts(faulty)).toContainEqual(expect.stringContaining("wcag/h37"));
  expect(await axeViolations(faulty, false)).toEqual(
    expect.arrayContaining([
      expect.stringContaining("html-has-lang"),
      expect.stringContaining("image-alt"),
    ]),
  );
});

test("its policy allows its own style and script only, and it names no address", () => {
  const { document } = openedPage(html);
  const policy = document.querySelector("meta[http-equiv]")?.getAttribute("content") ?? "";
  const hashOf = (selector: string) => {
    const text = document.querySelector(selector)?.textContent ?? "";
    return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  };
  expect(policy).toBe(
    `default-src 'none'; style-src ${hashOf("style")}; script-src ${hashOf("script")}; base-uri 'none'; form-action 'none'`,
  );
  expect(document.querySelectorAll("style, script")).toHaveLength(2);
  expect(textsOf(openedPage(html), "style")[0]).toContain(".scroll {");
  expect(document.querySelectorAll("[style], [src], link")).toHaveLength(0);
  expect(html).not.toMatch(/https?:|url\(|@import/);
});

describe("with its script", () => {
  const rowNames = (window: ReturnType<typeof openedPage>) =>
    textsOf(window, "#section-2 > .scroll > table > tbody > tr > th");
  const head = (window: ReturnType<typeof openedPage>, label: string) => {
    const found = [...window.document.querySelectorAll("#section-2 thead th")].find((each) =>
      each.textContent.startsWith(label),
    );
    if (!found) throw new Error(`no column ${label}`);
    return { found, click: () => found.querySelector("button")?.click() };
  };

  test.each([
    ["took", ["  LLM", "Start", "End"], ["Start", "  LLM", "End"]],
    ["node", ["  LLM", "End", "Start"], ["Start", "End", "  LLM"]],
    ["started", ["Start", "  LLM", "End"], ["Start", "  LLM", "End"]],
  ])("the head of %s sorts up, down, and as it was; empty cells stay last", (label, up, down) => {
    const window = openedPage(html, true);
    const { found, click } = head(window, label);
    click();
    expect([found.getAttribute("aria-sort"), rowNames(window)]).toEqual(["ascending", up]);
    click();
    expect([found.getAttribute("aria-sort"), rowNames(window)]).toEqual(["descending", down]);
    click();
    expect([found.getAttribute("aria-sort"), rowNames(window)]).toEqual([
      null,
      ["Start", "  LLM", "End"],
    ]);
  });

  test("details stay with their row, and only one column is sorted", () => {
    const window = openedPage(html, true);
    head(window, "node").click();
    head(window, "took").click();
    expect(window.document.querySelectorAll("[aria-sort]")).toHaveLength(1);
    expect(textsOf(window, "#section-2 tbody:first-of-type summary")).toEqual([
      expect.stringContaining("LLM"),
    ]);
  });

  rareTest(
    "a long table shows its first rows at once, and all when they are painted or printed",
    async () => {
      const count = 150;
      const up = Array.from({ length: count }, (_, row) => `r${row}`);
      const html = await shown(detailed(up.toReversed()));
      const window = openedPage(html, true);
      const rows = () => textsOf(window, "tbody > tr > th");
      const click = () => window.document.querySelector("thead button")?.click();
      click();
      click();
      expect(rows().slice(0, 50)).toEqual(up.toReversed().slice(0, 50));
      expect(rows()).not.toEqual(up.toReversed());
      window.dispatchEvent(new window.Event("beforeprint"));
      expect(rows()).toEqual(up.toReversed());
      click();
      click();
      expect(rows().slice(0, 50)).toEqual(up.slice(0, 50));
      while (rows().join() !== up.join())
        await new Promise((resolve) => window.requestAnimationFrame(resolve));
    },
  );

  test("a table in details sorts when these are open", async () => {
    const value = { columns: [{ label: "b" }], rows: [["y"], ["x"]] };
    const report: Report = {
      data: null,
      sections: [
        {
          columns: [{ label: "a" }],
          rows: [["r"]],
          details: () => [{ label: "inner", ...value }],
        },
      ],
    };
    const window = openedPage(await shown(report), true);
    const inner = () => textsOf(window, ".more tbody th");
    window.document.querySelector("button.fold")?.click();
    await new Promise((resolve) => window.setTimeout(resolve));
    window.document.querySelector(".more thead button")?.click();
    expect(inner()).toEqual(["x", "y"]);
  });

  test("the name of a row unfolds its details, another button those of all rows", async () => {
    const window = openedPage(html, true);
    const [first, second] = window.document.querySelectorAll(".more details");
    const [button] = window.document.querySelectorAll("button.fold");
    const all = window.document.querySelector("button.all");
    const toggled = () => new Promise((resolve) => window.setTimeout(resolve));
    expect(button?.getAttribute("aria-expanded")).toBe("false");
    button?.click();
    await toggled();
    expect([first?.open, second?.open]).toEqual([true, false]);
    expect(button?.getAttribute("aria-expanded")).toBe("true");
    expect(window.document.getElementById(button?.getAttribute("aria-controls") ?? "")).toBe(first);
    all?.click();
    await toggled();
    expect([second?.open, all?.textContent]).toEqual([true, "Fold all"]);
    all?.click();
    expect([first?.open, second?.open]).toEqual([false, false]);
  });

  test("everything is unfolded on paper", () => {
    const window = openedPage(html, true);
    window.dispatchEvent(new window.Event("beforeprint"));
    expect(window.document.querySelectorAll(".more details:not([open])")).toHaveLength(0);
    window.dispatchEvent(new window.Event("afterprint"));
    expect(window.document.querySelectorAll(".more details[open]")).toHaveLength(0);
  });
});

const detailed = (values: readonly unknown[]): Report => ({
  data: null,
  sections: [
    {
      columns: [{ label: "a" }],
      rows: values.map((_, row) => [`r${row}`]),
      details: (row) => [{ label: "value", value: values[row] }],
    },
  ],
});

test("long texts are cut, and say so", async () => {
  const window = openedPage(await shown(detailed(["x".repeat(20_000), "y".repeat(20_001)])));
  expect(textsOf(window, "pre").map(({ length }) => length)).toEqual([20_000, 20_000]);
  expect(textsOf(window, ".block p")).toEqual(["Cut: 20,000 of 20,001 characters are shown."]);
});

test("a character is never cut in half", async () => {
  const window = openedPage(await shown(detailed([`${"x".repeat(19_999)}😀`])));
  expect(textsOf(window, "pre")[0]?.at(-1)).toBe("x");
});

rareTest("the details of a page have a limit", async () => {
  const text = "x".repeat(20_000);
  const window = openedPage(await shown(detailed(Array.from({ length: 252 }, () => text))));
  expect(textsOf(window, "pre")).toHaveLength(250);
  expect(textsOf(window, ".block p").at(-1)).toBe("Cut: 0 of 20,000 characters are shown.");
});

test("a value that is nested too deeply does not cost the page", async () => {
  let value: unknown = null;
  for (let depth = 0; depth < 100_000; depth++) value = [value];
  const window = openedPage(await shown(detailed([value])));
  expect(textsOf(window, "pre")).toEqual(["The value is nested too deeply to display."]);
});

test("other formats do not compute what only a page has", async () => {
  const refuse = () => {
    throw new Error("computed");
  };
  const value: Report = {
    data: null,
    sections: [{ columns: [{ label: "a" }], rows: [["b"]], details: refuse }],
    page: refuse,
  };
  for (const format of ["grid", "wide", "tsv", "csv", "md", "json", "jsonl", "yaml"] as const)
    await printed(report, [value], { format });
  await expect(shown(value)).rejects.toThrow("computed");
});

describe("the content of a page", () => {
  const overview: Report = {
    data: null,
    sections: [{ columns: [{ label: "not shown" }], rows: [["x"]] }],
    page: () => ({
      facts: { application: "Helper", server: null },
      tiles: [{ label: "passed", value: "3", tone: "good", note: "of 4 tests" }],
      plots: [
        {
          title: "Runs per day",
          kind: "bars",
          points: ["Mon", "Tue"],
          series: [
            { label: "not failed", values: [6, 3] },
            { label: "failed", values: [2, null] },
          ],
          format: String,
        },
        {
          title: "Time",
          kind: "lines",
          points: [new Date("2026-11-21T00:00:00Z"), "b", "c", "d"],
          series: [{ label: "p95", values: [1, null, 2, 4] }],
          format: (seconds) => `${seconds} s`,
        },
      ],
      sections: [
        {
          title: "Tests",
          columns: [{ label: "test" }],
          rows: [["One: a"], ["One: a"], ["…"], ["Two"], ["three <3>"]],
          details: (row) => [
            {
              label: "answer",
              comparison: { titles: ["expected", "actual"], parts: parts[row] ?? [] },
            },
          ],
          marks: (row) => ({
            state: row < 2 ? ["failed"] : [],
            tag: row % 2 === 0 ? ["even"] : [],
          }),
        },
        { title: "More", columns: [{ label: "hour" }], rows: [["00"], ["01"]], folded: true },
      ],
    }),
  };
  const parts = [
    [
      { text: "28 ", in: "first" },
      { text: "30 ", in: "second" },
      { text: "days", in: "both" },
    ],
  ] as const;
  let text = "";
  beforeAll(async () => {
    text = await shown(overview);
  });
  const opened = (hash = "") => openedPage(text, true, `https://page.example/${hash}`);
  type Page = ReturnType<typeof opened>;
  const visible = ({ document }: Page) =>
    [...document.querySelectorAll("table.marked > tbody")].flatMap((body) =>
      body.hasAttribute("hidden") ? [] : [body.id],
    );
  const press = (window: Page, key: string) =>
    (window.document.activeElement ?? window.document.body).dispatchEvent(
      new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
    );
  const search = (window: Page, words: string) => {
    const input = window.document.querySelector("input[type=search]");
    if (!input) throw new Error("no search");
    Object.assign(input, { value: words });
    input.dispatchEvent(new window.Event("input"));
  };
  const rows = ["row-one-a", "row-one-a-2", "row-", "row-two", "row-three-3"];

  test("is valid, and has no violation of accessibility", async () => {
    expect(await invalidParts(text)).toEqual([]);
    expect(await axeViolations(text, true)).toEqual([]);
  });

  test("begins with facts, figures and charts with their axes", () => {
    const window = openedPage(text);
    expect(textsOf(window, ".facts div")).toEqual(["applicationHelper"]);
    expect(textsOf(window, ".tiles .good")).toEqual(["passed 3 of 4 tests"]);
    expect(textsOf(window, ".bars .y span")).toEqual(["8", "6", "4", "2", "0"]);
    expect(textsOf(window, ".bars .x > span")).toEqual(["Mon", "Tue"]);
    expect(textsOf(window, ".bars title")).toEqual([
      "Mon: 6 not failed, 2 failed",
      "Tue: 3 not failed, 0 failed",
    ]);
    expect(textsOf(window, ".lines .x > span")).toEqual(["2026-11-21 00:00", "b", "c", "d"]);
    const names = [...window.document.querySelectorAll(".plane svg")].map((svg) =>
      svg.getAttribute("aria-label"),
    );
    expect(names).toEqual([
      "Runs per day: not failed from 3 to 6, last 3; failed from 2 to 2, last 2",
      "Time: p95 from 1 s to 4 s, last 4 s",
    ]);
    const bars = [...window.document.querySelectorAll(".bars rect")].map((rect) =>
      ["x", "y", "height"].map((name) => rect.getAttribute(name)),
    );
    expect(bars).toEqual([
      ["50", "25", "75"],
      ["50", "0", "25"],
      ["550", "62.5", "37.5"],
    ]);
    const line = window.document.querySelector(".lines path:not(.tick)")?.getAttribute("d");
    expect(line).toBe("M125 75h0M625 50h0L875 0");
  });

  test("a label of a chart is in the cell of its point", async () => {
    const points = Array.from({ length: 14 }, (_, at) => `day ${at + 1}`);
    const series = [{ label: "runs", values: points.map(() => 1) }];
    const plot = { title: "Runs", kind: "bars", points, series, format: String } as const;
    const value = { data: null, sections: [], page: () => ({ plots: [plot], sections: [] }) };
    const cells = textsOf(openedPage(await shown(value)), ".bars .x > span");
    expect(cells).toHaveLength(14);
    expect(cells.flatMap((text, at) => (text === "" ? [] : [[at, text]]))).toEqual([
      [0, "day 1"],
      [3, "day 4"],
      [7, "day 8"],
      [10, "day 11"],
      [13, "day 14"],
    ]);
  });

  test("two texts stand beside each other, with what only one has", () => {
    const window = openedPage(text);
    expect(textsOf(window, "#row-one-a .side")).toEqual([
      "expectedonly here:28 days",
      "actualonly here:30 days",
    ]);
    expect(textsOf(window, "#row-one-a-2 .compared")).toEqual(["nothing", "nothing"]);
  });

  test("rows have anchors, and the first one to look at is unfolded", () => {
    const window = openedPage(text);
    expect(visible(window)).toEqual(rows);
    expect(textsOf(window, ".more details[open] h3")).toEqual(["expected", "actual"]);
    const links = [...window.document.querySelectorAll(".marked .anchor")];
    expect(links.map((link) => link.getAttribute("href"))).toEqual(rows.map((id) => `#${id}`));
  });

  test("the search and the filters choose rows", () => {
    const window = opened();
    const chips = [...window.document.querySelectorAll(".chips button")];
    expect(chips.map(({ textContent }) => textContent)).toEqual(["failed 2", "tag even 3"]);
    const count = () => textsOf(window, "output");
    expect(count()).toEqual(["7 rows"]);
    search(window, "  ONE a ");
    expect([visible(window), count()]).toEqual([rows.slice(0, 2), ["2 of 7 rows"]]);
    expect(window.document.querySelector(".rest")?.open).toBe(true);
    chips[1]?.click();
    expect(visible(window)).toEqual(["row-one-a"]);
    search(window, "");
    expect(visible(window)).toEqual(["row-one-a", "row-", "row-three-3"]);
    chips[0]?.click();
    expect(visible(window)).toEqual(["row-one-a"]);
  });

  test("the row of a link is unfolded, and stays if others are chosen", () => {
    const window = opened("#row-two");
    expect(window.document.querySelector("#row-two details")?.hasAttribute("open")).toBe(true);
    search(window, "three");
    expect(visible(window)).toEqual(["row-two", "row-three-3"]);
    expect(visible(opened("#%"))).toEqual(rows); // not an address
  });

  test("keys search, move, choose and unfold", () => {
    const window = opened();
    const { document } = window;
    const focused = () =>
      document.activeElement?.closest("tbody")?.id ?? document.activeElement?.tagName;
    press(window, "j");
    press(window, "j");
    expect(focused()).toBe("row-one-a-2");
    press(window, "k");
    expect(focused()).toBe("row-one-a");
    press(window, "f");
    expect(visible(window)).toEqual(rows.slice(0, 2));
    press(window, "f");
    press(window, "e");
    expect(document.querySelectorAll(".more details[open]")).toHaveLength(5);
    press(window, "/");
    expect(focused()).toBe("INPUT");
    search(window, "two");
    press(window, "j"); // a letter of the search
    expect(visible(window)).toEqual(["row-two"]);
    press(window, "Escape");
    expect(visible(window)).toEqual(rows);
    document.querySelector("button")?.focus();
    press(window, "?");
    expect(textsOf(window, ".keys[open] dt")).toEqual([
      "/",
      "j",
      "k",
      "Enter",
      "e",
      "f",
      "Escape",
      "?",
    ]);
    document.querySelector("[type=checkbox]")?.click();
    press(window, "f");
    expect(visible(window)).toEqual(rows);
  });

  test("on paper the rows to look at are unfolded, and the others are not", () => {
    const window = opened();
    window.dispatchEvent(new window.Event("beforeprint"));
    const open = [...window.document.querySelectorAll("tbody:has(.more details[open])")];
    expect(open.map(({ id }) => id)).toEqual(["row-one-a", "row-one-a-2"]);
  });
});

test.each([
  [[0], undefined, [0, 1]],
  [[1], undefined, [0, 1]],
  [[3, 25], undefined, [0, 10, 20, 30]],
  [[0.3], undefined, [0, 0.1, 0.2, 0.3]],
  [[7.2], undefined, [0, 2, 4, 6, 8]],
  [[0.5, 1], 1, [0, 0.25, 0.5, 0.75, 1]],
  [[null], undefined, [0, 1]],
  [[1234], undefined, [0, 500, 1000, 1500]],
])("the axis of %j up to %j", (values, max, expected) => {
  const series = [{ label: "a", values }];
  const points = values.map(String);
  const plot = { kind: "lines" as const, series, points, format: String };
  expect(scaleOf({ ...plot, ...(max !== undefined && { max }) })).toEqual(expected);
});

test("an axis has no label twice, although its format rounds: 1 to 2 ms", () => {
  const format = (seconds: number) => `${Math.round(seconds * 1000)} ms`;
  const series = [{ label: "p95", values: [0.0012, 0.0018] }];
  const scale = scaleOf({ kind: "lines", series, points: ["a", "b"], format });
  expect(scale.map(format)).toEqual(["0 ms", "1 ms", "2 ms"]);
});
