import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { report } from "../../src/operations/operation.ts";
import type { Style } from "../../src/output/print/print.ts";
import type { Report } from "../../src/output/report-model.ts";
import { axeViolations, invalidParts, openedPage, textsOf } from "../lib/opened-page.ts";
import { printed } from "../lib/printed.ts";

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

test("a page is valid, and has no violation of accessibility", async () => {
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

test("the details of a page have a limit", async () => {
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
