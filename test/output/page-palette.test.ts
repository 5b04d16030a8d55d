import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pagePalette, paletteCss } from "../../src/lib/page/palette.ts";
import { root } from "../lib/paths.ts";

/** Relative luminance of `#rrggbb` by WCAG 2. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test.each([
  ["#000000", "#ffffff", 21],
  ["#ffffff", "#ffffff", 1],
  ["#777777", "#ffffff", 4.48], // the usual example of a gray that just fails
  ["#ff0000", "#ffffff", 4],
])("the contrast of %s and %s is %d", (one, other, expected) => {
  expect(contrast(one, other)).toBeCloseTo(expected, 2);
});

test.each(Object.entries(pagePalette))("every ink is readable on every paper: %s", (_, colors) => {
  const pairs = Object.entries(colors.ink).flatMap(([ink, color]) =>
    Object.entries(colors.paper).map(
      ([paper, behind]) => [`${ink} on ${paper}`, contrast(color, behind)] as const,
    ),
  );
  expect(pairs).toHaveLength(30);
  expect(pairs.filter(([, ratio]) => ratio < 4.5)).toEqual([]);
});

const css = readFileSync(new URL("src/lib/page/page.css", `file://${root}/`), "utf8");

test("the style takes all colors from the palette: inks for texts, papers behind them", () => {
  const declared = [...css.matchAll(/(?<=[{;\s])([a-z-]+):\s*([^;{}]+);/g)].map(
    ([, property = "", value = ""]) => ({ property, value }),
  );
  expect(declared.length).toBeGreaterThan(100);
  expect(css).not.toMatch(/#[0-9a-f]{3,8}\b|\b(rgb|hsl|oklch|color-mix)\(/i);
  const of = (name: string) =>
    declared.filter(({ property }) => property === name).map(({ value }) => value);
  const outside = (values: readonly string[], allowed: RegExp) =>
    values.filter((value) => !allowed.test(value));
  expect(outside(of("color"), /^var\(--ink-\w+\)$/)).toEqual([]);
  expect(outside(of("background"), /^var\(--paper-\w+\)$/)).toEqual([]);
  // With the colors that the reader of a high-contrast theme has chosen.
  expect(
    outside(of("fill"), /^(var\(--(ink|line)-\w+\)|none|Canvas|CanvasText|Highlight)$/),
  ).toEqual([]);
});

test("the style uses no color that the palette lacks", () => {
  // Those of the style itself stand for colors of the palette.
  const defined = new Set(
    [...`${paletteCss()}${css}`.matchAll(/(--[\w-]+):/g)].map(([, name]) => name),
  );
  const used = [...css.matchAll(/var\((--[\w-]+)\)/g)].map(([, name]) => name);
  expect(used.filter((name) => !defined.has(name))).toEqual([]);
});
