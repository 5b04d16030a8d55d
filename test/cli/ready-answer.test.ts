import { expect, test } from "vitest";
import { helpPages } from "../../scripts/reference/help-pages.ts";
import { readyAnswer } from "../../src/main.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { cli } from "../lib/support.ts";

const pages = { kb: await helpPages("kb"), wf: await helpPages("wf") };

const ready = (line: readonly string[]) =>
  readyAnswer(line, {
    platform: "v20.19.0 linux-x64",
    file: (name) => pages[name === "help-wf.txt" ? "wf" : "kb"],
  });

test.each(["kb", "wf"] as const)(
  "every page of %s is the help that the line gives",
  async (program) => {
    const paths = new Set((await commandsOf(program)).flatMap(({ words }) => prefixes(words)));
    for (const path of paths) {
      for (const flag of ["-h", "--help"]) {
        const line = [...path.split(" "), flag];
        expect(ready(line), line.join(" ")).toBe((await cli(line)).out);
      }
    }
  },
);

/** `kb tag list` → `kb`, `kb tag`, `kb tag list` */
const prefixes = (words: readonly string[]): string[] =>
  words.map((_, index) => words.slice(0, index + 1).join(" "));

test.each([
  ["kb --version", "kb 0.3.0 (node v20.19.0 linux-x64)\n"],
  ["wf -V", "wf 0.3.0 (node v20.19.0 linux-x64)\n"],
])("%s is ready", (line, text) => {
  expect(ready(line.split(" "))).toBe(text);
});

test.each([
  "kb",
  "kb help tag",
  "kb tag",
  "kb tagg --help",
  "kb tag list --help extra",
  "kb --quiet --help",
  "kb --version --quiet",
  "kb list",
])("%s is not ready", (line) => {
  expect(ready(line.split(" "))).toBeUndefined();
});

test("a word with a line break names no page", () => {
  expect(ready(["kb", "create\nCreate an empty knowledge base", "--help"])).toBeUndefined();
});

test("without pages, and for a program that has none, nothing is ready", () => {
  const file = () => {
    throw new Error("ENOENT");
  };
  expect(readyAnswer(["kb", "list", "--help"], { platform: "", file })).toBeUndefined();
});
