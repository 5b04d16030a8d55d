/** The moving picture of README.md: whether the programs print what it shows. */
import { expect, test } from "vitest";
import { drawCast } from "../../scripts/cast/drawing.ts";
import { playSession, readSession } from "../../scripts/cast/session.ts";
import { castText } from "../lib/cast.ts";
import { textOf } from "../lib/pages.ts";
import { root } from "../lib/paths.ts";

/** The lines without ids, times and durations, sorted: the tests of a suite end in any order. */
const settled = (svg: string): string[] =>
  castText(svg)
    .map((line) =>
      line
        .replace(/\brun [0-9a-f]{8}\b/, "run <id>")
        .replace(/\bin \d+ minutes \((\d{4}-\d\d-\d\d )?\d\d:\d\d UTC\)/, "in <time>")
        .replace(/ +\d+(\.\d+)? m?s\b/, " <duration>"),
    )
    .sort();

test("a fresh session shows what docs/images/cast.svg shows; npm run cast draws it again", async () => {
  const frames = await playSession(root, { key: 0, second: 0 });
  const fresh = settled(drawCast(frames, readSession(root), ""));
  expect(fresh.length).toBeGreaterThan(30);
  expect(fresh).toEqual(settled(textOf("docs/images/cast.svg")));
});
