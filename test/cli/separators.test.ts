import { expect, test } from "vitest";
import { readRowFile } from "../../src/lib/formats/rows-file.ts";

const read = (text: string) => readRowFile("rows.csv", new TextEncoder().encode(text));

test.each<readonly [string, readonly Readonly<Record<string, string>>[]]>([
  ["a,b\n1,2\n", [{ a: "1", b: "2" }]],
  ["a;b\n1;2\n", [{ a: "1", b: "2" }]],
  ["a\tb\n1\t2\n", [{ a: "1", b: "2" }]],
  ["\uFEFFa;b\r\n1;2\r\n", [{ a: "1", b: "2" }]],
  ["a;b\r1;2\r", [{ a: "1", b: "2" }]],
  ["\n\na;b\n1;2\n", [{ a: "1", b: "2" }]],
  ["a;b\n1,5;2,5\n", [{ a: "1,5", b: "2,5" }]],
  ["a,b\n1;5,2\n", [{ a: "1;5", b: "2" }]],
  ['a;"b,c"\n1;2\n', [{ a: "1", "b,c": "2" }]],
  ['"a;b",c\n1,2\n', [{ "a;b": "1", c: "2" }]],
  ['a;"b ""x"", y"\n1;2\n', [{ a: "1", 'b "x", y': "2" }]],
  ['a;b\n"1;1";"x\n""y"""\n', [{ a: "1;1", b: 'x\n"y"' }]],
  ["a\n1;2\n", [{ a: "1;2" }]],
  ["a;b\n", []],
  ["a;b,c,d\n1;1,2,3\n", [{ "a;b": "1;1", c: "2", d: "3" }]],
  ["a,b;c;d\n1,5;2;3\n", [{ "a,b": "1,5", c: "2", d: "3" }]],
  ["a\tb;c,d\te\tf\n1\t2\t3\t4\n", [{ a: "1", "b;c,d": "2", e: "3", f: "4" }]],
  ['"a;b;c;d",e;f,g\n1,2,3\n', [{ "a;b;c;d": "1", "e;f": "2", g: "3" }]],
])("the rows of %j", async (text, expected) => {
  expect((await read(text)).rows.map(({ values }) => values)).toEqual(expected);
});

test.each([
  "a,b;c\n1,2\n",
  "a;b\tc\n1;2\n",
  "a\tb,c\n",
  "a;b;c,d,e\n",
  "a,b;c\td\n",
  '"a;b";c,d\n',
])("the header of %j has several separators", async (text) => {
  await expect(read(text)).rejects.toThrow(
    "rows.csv line 1, column 1: the header has several separators",
  );
});

test("a file with only some of its rows keeps its separator", async () => {
  const { rows, withOnly } = await read("a;b\n1;2\n3;4\n");
  expect(withOnly(rows.slice(1))).toBe("a;b\n3;4\n");
});
