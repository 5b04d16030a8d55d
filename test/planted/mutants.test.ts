/** Which changes of a code are mutants; `npm run prove -- mutants` tells whether tests see them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { isReasonFor, mutantsOf, mutated, watched } from "../../scripts/mutants/find.mjs";
import { root } from "../lib/paths.ts";

test.each<[code: string, ...mutants: string[]]>([
  ["a < b;", "(a <= b);"],
  ["a >= b;", "(a > b);"],
  ["a === b;", "(a !== b);"],
  ["(a || b) && c;", "((a || b) || c);", "((a && b)) && c;"],
  ["a + b;", "(a - b);"],
  ['a + "b";'],
  ["a + `b` + c;"],
  ["a ?? b;"],
  ["!a;", "(a);"],
  ["-a;"],
  ["if (a) b();", "if (!(a)) b();"],
  ["while (a) b();", "while (!(a)) b();"],
  ["a ? b : c;", "!(a) ? b : c;"],
  ["f(1);", "f(2);"],
  ["f(a as 1 | 2);"],
  ["f(a + b as number);", "f((a - b) as number);"],
  ["type A = 1;"],
  ["const a: 1 = b;"],
  ["const a = { 1: b };"],
  ["const a = { [1]: b };", "const a = { [2]: b };"],
  ['const a = "🎉é" === b;', 'const a = ("🎉é" !== b);'],
])("%s", (code, ...mutants) => {
  expect(mutantsOf(code).map((mutant) => mutated(mutant, code))).toEqual(mutants);
});

test("each mutant that is evaluated is noted", () => {
  const code = "(a, b) => { if (a < b && !a) return a + 1; return 2; }";
  const pairs = mutantsOf(code).map((mutant, at) => [at, mutant] as const);
  const reached: number[] = [];
  // oxlint-disable-next-line no-eval -- it is the code above
  const call = (0, eval)(
    `(mutantReached) => { const globalThis = { mutantReached }; return ${watched(pairs, code)}; }`,
  );
  expect(call((each: number) => reached.push(each))(2, 1)).toBe(2);
  const whatOf = (each: number) => pairs[each]?.[1].from;
  expect(reached.map(whatOf)).toEqual(["a < b && !a", "a < b && !a", "a < b", "2"]);
});

test("each reason is given for what stands on one line", () => {
  const reasons = parse(readFileSync(join(root, "test", "mutants.yaml"), "utf8")) as {
    readonly in: string;
    readonly line?: string;
  }[];
  const vague = reasons.filter((reason) => {
    const file = reason.in;
    const all = mutantsOf(readFileSync(join(root, "src", file), "utf8"));
    const meant = all.filter((mutant) => isReasonFor(reason, { file, ...mutant }));
    return new Set(meant.map(({ line }) => line)).size !== 1;
  });
  expect(vague).toEqual([]);
});
