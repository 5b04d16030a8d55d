import { describe, expect, test } from "vitest";
import { evaluateCondition, parseCondition } from "../../src/commands/condition.ts";
import type { FieldKind } from "../../src/commands/condition.ts";
import { CliError } from "../../src/errors.ts";
import { seeded } from "../lib/log-server.ts";
import { cli } from "../lib/support.ts";

/** Runs a command with a condition; it sends nothing. */
const runWith = (condition: string, option = "--fail-if") =>
  cli(["wf", "stats", "--from", "-", option, condition], { stdin: "" });

describe("an invalid condition", () => {
  test.each([
    ["", 1, "missing name"],
    [">20s", 1, "missing name"],
    ["p96>20s", 1, "unknown field p96"],
    ["  constructor>1", 3, "unknown field constructor"],
    ["p95", 4, "missing operator: >= <= != !~ > < = ~"],
    ["p95 20s", 5, "missing operator: >= <= != !~ > < = ~"],
    ["p95>", 5, "invalid duration"],
    ["p95>>20s", 5, "invalid duration"],
    ["p95 >= 20 s", 8, "invalid duration"],
    ["p95>-1s", 5, "invalid duration"],
    ["p95~20s", 4, "p95 is a number"],
    ["failed>2s", 8, "invalid share"],
    ["failed>2", 8, "a share is at most 1"],
    ["failed > -5%", 10, "invalid share"],
    ["runs<1k", 6, "invalid number"],
    ["runs<0x10", 6, "invalid number"],
    ["runs<1e3", 6, "invalid number"],
    ["runs<1,5", 6, "invalid number"],
  ])("%j: position %d, %s", async (condition, position, problem) => {
    const { exit, out, err } = await runWith(condition);
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain(
      `--fail-if ${JSON.stringify(condition)}, position ${position}: ${problem}`,
    );
  });

  test("text cannot be compared with > or <", async () => {
    const { exit, err } = await runWith("error>a", "--where");
    expect(exit).toBe(2);
    expect(err).toContain('--where "error>a", position 6: error is text');
  });

  test("the hint is an example with the same field, or the valid names", async () => {
    expect((await runWith("failed>x")).err).toContain("hint: example: 'failed>2%'");
    expect((await runWith("speed>1")).err).toMatch(/hint: valid fields: runs, .*p95/);
  });
});

const fields: Readonly<Record<string, FieldKind>> = {
  n: "number",
  s: "seconds",
  share: "share",
  t: "text",
};

test.each<[string, unknown, boolean]>([
  ["n>1", 1, false],
  ["n>=1", 1, true],
  ["n<1", 0.5, true],
  ["n<=1", 1.5, false],
  ["n=-1.5", -1.5, true],
  ["n!=1", 1, false],
  ["n>1", undefined, false],
  ["n!=1", null, true],
  ["s>1m30s", 90.001, true],
  ["s>250ms", 0.25, false],
  ["s>=0.25", 0.25, true],
  ["share>2%", 0.0201, true],
  ["share>0.02", 0.02, false],
  ["t=a b", "a b", true],
  ["t = ' a'", " a", true],
  ["t='a", "'a", true],
  ["t!=A", "a", true],
  ["t~TIME", "a timeout", true],
  ["t!~time", "a timeout", false],
  ["t!~time", undefined, true],
  ["t~>=", "a >= b", true],
])("%s of %j: %j", (text, actual, expected) => {
  expect(evaluateCondition(parseCondition("--if", text, fields), actual)).toBe(expected);
});

test("random text is parsed, or rejected with a position inside it", () => {
  const parts = [
    ["n", "s", "share", "t", " n ", "", "ñ", "__proto__", "𝒳"],
    [">", ">=", "=", "!~", " ~ ", "", "=!", "\n"],
    ["2%", "20s", "1.5", "-1", "'a b'", "", "1m30s", "é", "<", "20s20"],
  ];
  const random = seeded(7);
  const one = (of: readonly string[]) => of[Math.floor(random() * of.length)] ?? "";
  let read = 0;
  for (let round = 0; round < 5000; round++) {
    const pieces = parts.map(one);
    if (random() < 0.2) pieces.splice(Math.floor(random() * 4), 1, one(parts.flat()));
    const text = pieces.join("");
    try {
      const condition = parseCondition("--if", text, fields);
      read++;
      expect(Object.keys(fields)).toContain(condition.field);
      expect(text.trimStart().startsWith(condition.field)).toBe(true);
      expect(typeof evaluateCondition(condition, 1)).toBe("boolean");
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      expect(error.kind).toBe("usage");
      const position = Number(/, position (\d+): /.exec(error.message)?.[1]);
      expect(position).toBeGreaterThanOrEqual(1);
      expect(position).toBeLessThanOrEqual(text.length + 1);
    }
  }
  expect(read).toBeGreaterThan(300);
});
