import { expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { cli } from "../lib/support.ts";

/** The words of each command, and of each group of commands. */
async function pagesOf(program: "kb" | "wf"): Promise<string[]> {
  const all = (await commandsOf(program)).map(({ words }) => words);
  const starts = all.flatMap((words) => words.map((_, at) => words.slice(0, at + 1).join(" ")));
  return [...new Set(starts)];
}

const pages = [...(await pagesOf("kb")), ...(await pagesOf("wf"))];

test("each command and group is tried", () => {
  expect(pages.length).toBeGreaterThan(150);
  expect(pages).toContain("kb chunk child list");
});

test.each(pages)("%s -h fits 24 lines, and --help 60", async (page) => {
  const words = page.split(" ");
  const linesOf = async (flag: string) =>
    (await cli([...words, flag], { tty: true, columns: 80 })).out.trimEnd().split("\n").length;
  expect(await linesOf("-h")).toBeLessThanOrEqual(24);
  // That of a program lists all commands.
  if (words.length > 1) expect(await linesOf("--help")).toBeLessThanOrEqual(60);
});
