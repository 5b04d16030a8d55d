import { JSDOM } from "jsdom";
import { expect, test } from "vitest";
import { drawCast } from "../../scripts/cast/drawing.ts";
import { readSession } from "../../scripts/cast/session.ts";
import { castText } from "../lib/cast.ts";
import { textOf } from "../lib/pages.ts";
import { root } from "../lib/paths.ts";

// Whether the programs still print what it shows: test/long/cast.test.ts.
const cast = textOf("docs/images/cast.svg");

test("the cast is small, well-formed, and runs and loads nothing", () => {
  expect(cast.length).toBeLessThan(200_000);
  const { document } = new JSDOM(cast, { contentType: "image/svg+xml" }).window;
  const elements = [...document.querySelectorAll("*")];
  expect([...new Set(elements.map(({ tagName }) => tagName))].sort()).toEqual(
    ["g", "rect", "style", "svg", "text", "tspan"], // no script, image, link, use or foreignObject
  );
  const attributes = elements.flatMap((element) => [...element.attributes].map(({ name }) => name));
  expect(attributes.filter((name) => /^on|href/.test(name))).toEqual([]);
  expect(cast).not.toMatch(/url\(|@import/);
});

test("the cast shows every command of the session", () => {
  const { steps } = readSession(root);
  const commands = steps.map(({ type }) => type).filter((type) => /^(kb|wf) /.test(type));
  const shown = castText(cast).filter((line) => /^\$ (kb|wf) /.test(line));
  expect(shown).toEqual(commands.map((command) => `$ ${command}`));
});

const size = { columns: 20, rows: 2 };
const span = (text: string, column = 0, width = text.length) => ({
  column,
  width,
  text,
  style: "",
});
const frame = (at: number, top: number, ...lines: ReturnType<typeof span>[][]) => ({
  at,
  top,
  lines,
});

test("a drawing has the last look of each line, with columns and signs of markup", () => {
  const first = frame(0, 0, [span("typing")]);
  const last = frame(200, 1, [span("日本", 0, 4), span("a < b", 6)], [], [span('"c" & d', 2)]);
  expect(castText(drawCast([first, last], size, "x"))).toEqual(["日本  a < b", "", '  "c" & d']);
});

test.each([
  [
    "a line is there while it looks like this",
    "t0",
    "0%{visibility:hidden}0%{visibility:visible}50%{visibility:hidden}",
  ],
  ["the next look stays to the end", "t1", "0%{visibility:hidden}50%{visibility:visible}"],
  ["the screen scrolls", "s2", "0%{transform:translateY(0px)}50%{transform:translateY(-19px)}"],
])("%s", (_, name, steps) => {
  // 500 ms, and 500 more at the end
  const svg = drawCast([frame(100, 0, [span("a")]), frame(600, 1, [span("b")])], size, "x");
  expect(svg).toContain(`@keyframes ${name}{${steps}}`);
  expect(svg).toContain("animation:1.0s ");
});

test("time in which nothing changes is shortened to 1.5 seconds", () => {
  const svg = drawCast([frame(0, 0, [span("a")]), frame(60_000, 0, [span("b")])], size, "x");
  expect(svg).toContain("animation:2.0s ");
});
