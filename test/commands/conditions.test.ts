import { describe, expect, test } from "vitest";
import { parseCondition } from "../../src/commands/conditions/index.ts";
import type { ConditionField, FieldKind, Scope } from "../../src/commands/conditions/index.ts";
import { CliError } from "../../src/errors.ts";
import { rareTest } from "../lib/sampled.ts";
import { seeded } from "../lib/seeded.ts";
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
    ["runs>1 and p95>20x", 16, "invalid duration"],
    ["runs>1 and p96>20s", 12, "unknown field p96"],
    ["not (runs>1 or failed>2)", 23, "a share is at most 1"],
    ["(runs>1", 8, "a closing parenthesis is missing"],
    ["runs at leest 5", 9, "leest is not one of least, most"],
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

/** A field that has the value of the subject. */
const field = (kind: FieldKind): ConditionField<unknown> => ({
  kind,
  read: (value) => ({ value: value ?? undefined, missing: "differs", actual: "" }),
});

const scope: Scope<unknown> = {
  fields: {
    n: field("number"),
    s: field("seconds"),
    share: field("share"),
    t: field("text"),
  },
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
  ["t~read and write", "read and write", true],
  ["t~a and t~b", "ab", true],
  ["t~a and not t~b", "ab", false],
  ["t='a and t~b'", "a and t~b", true],
  ["t=(a) or t=b", "(a)", true],
  ["(t=a or t=b) and not (t=b)", "b", false],
  ["t contains 'a' and t does not match /^a/", "ba", true],
  ["n>1 and n<3 or n=5", 2, true],
  ["n>1 and (n<3 or n=5)", 5, true],
  ["not not n at least 2", 2, true],
  ["s at most 1m30s AND s MORE THAN 1s", 90, true],
  ["share less than 2%", 0.02, false],
  ["not n>1", undefined, true],
  ["n exists or t is not 'x'", undefined, true],
])("%s of %j: %j", (text, actual, expected) => {
  expect(parseCondition("--if", text, scope).evaluate(actual).passed).toBe(expected);
});

test("any nesting is evaluated, or rejected with its position", () => {
  const nested = (depth: number) => `${"(".repeat(depth)}n>1${")".repeat(depth)}`;
  expect(
    parseCondition("--if", `${"not ".repeat(50_000)}${nested(100)}`, scope).evaluate(2),
  ).toEqual(expect.objectContaining({ passed: true }));
  expect(() => parseCondition("--if", nested(101), scope)).toThrow(
    "position 101: more than 100 parentheses",
  );
});

rareTest("random text is parsed, or rejected with a position inside it", () => {
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
      const condition = parseCondition("--if", text, scope);
      read++;
      const [{ field: name } = { field: "" }] = condition.named;
      expect(Object.keys(scope.fields)).toContain(name);
      expect(text.trimStart().startsWith(name)).toBe(true);
      expect(typeof condition.evaluate(1).passed).toBe("boolean");
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
