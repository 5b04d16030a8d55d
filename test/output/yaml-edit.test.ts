import { expect, test } from "vitest";
import { parse } from "yaml";
import { editYaml } from "../../src/lib/formats/yaml-edit.ts";

const edit = (source: string, text: string, path: readonly (string | number)[] = ["tests", 0]) =>
  editYaml(source, [{ path, key: "answer", text, after: ["name", "query"] }]);

test.each<readonly [what: string, before: string, text: string, after: string]>([
  [
    "a value, with the comments around it",
    "# suite\ntests:\n  - name: a   # first\n    answer: old  # draft\n\n    # next\n    query:   x\n",
    "new",
    "# suite\ntests:\n  - name: a   # first\n    answer: new  # draft\n\n    # next\n    query:   x\n",
  ],
  [
    "a value before a comment on its line stays on one line",
    "tests:\n  - answer: old # draft\n",
    "one\ntwo",
    'tests:\n  - answer: "one\\ntwo" # draft\n',
  ],
  [
    "lines",
    "tests:\n    - name: 'a'\n      answer: old\n      tags: [x]\n",
    "one\n\n  two",
    "tests:\n    - name: 'a'\n      answer: |-\n        one\n\n          two\n      tags: [x]\n",
  ],
  [
    "lines by one",
    "tests:\n  - answer: |\n      one\n      two\n    name: a\n",
    "one",
    "tests:\n  - answer: one\n    name: a\n",
  ],
  [
    "folded and quoted lines",
    'tests:\n  - answer: "one\n      two"\n    name: a\n',
    "a: b",
    'tests:\n  - answer: "a: b"\n    name: a\n',
  ],
  [
    "a flow mapping",
    "tests: [{name: a, answer: old}]\n",
    "a\nb",
    'tests: [{name: a, answer: "a\\nb"}]\n',
  ],
  [
    "a new key in a flow mapping",
    "tests: [{name: a} ]\n",
    "b",
    'tests: [{name: a, answer: "b"} ]\n',
  ],
  ["JSON", '{"tests": [{"name": "a"}]}', "b", '{"tests": [{"name": "a", "answer": "b"}]}'],
  [
    "a new key after the question",
    "tests:\n  - name: a\n    query: q # why\n    tags: [x]\n  - name: b\n",
    "new",
    "tests:\n  - name: a\n    query: q # why\n    answer: new\n    tags: [x]\n  - name: b\n",
  ],
  [
    "a new key at the end without a line end",
    "tests:\n- name: a",
    "new",
    "tests:\n- name: a\n  answer: new",
  ],
  [
    "a new key where no single value precedes",
    "tests:\n  - inputs: {x: 1}\n    expect: [run failed]\n",
    "new",
    "tests:\n  - answer: new\n    inputs: {x: 1}\n    expect: [run failed]\n",
  ],
  [
    "one more of a list",
    "tests:\n  - answer:\n      - one # first\n      - |\n        two\n    name: a\n",
    "three",
    "tests:\n  - answer:\n      - one # first\n      - |\n        two\n      - three\n    name: a\n",
  ],
  [
    "one more of a flow list",
    "tests:\n  - answer: [a, b]\n",
    "c",
    'tests:\n  - answer: [a, b, "c"]\n',
  ],
  [
    "line ends of Windows",
    "tests:\r\n  - name: a\r\n    answer: b\r\n",
    "c\nd",
    "tests:\r\n  - name: a\r\n    answer: |-\r\n      c\r\n      d\r\n",
  ],
])("%s", async (_, before, text, after) => {
  expect(await edit(before, text)).toBe(after);
});

test.each([
  ["an alias elsewhere", "x: &x old\ntests:\n  - answer: *x\n", ["tests", 0], true],
  [
    "a value that others repeat",
    "tests:\n  - answer: &x old\n  - answer: *x\n",
    ["tests", 0],
    false,
  ],
  ["a mapping that others repeat", "a: &a {name: x}\ntests: [*a, *a]\n", ["a"], false],
  ["a mapping instead of a text", "tests: [{answer: {a: 1}}]\n", ["tests", 0], false],
] as const)("%s: changed is %s", async (_, source, path, isChanged) => {
  expect((await edit(source, "new", path)) !== undefined).toBe(isChanged);
});

test("hostile texts are read as they were written", async () => {
  const parts = [
    "\n",
    " ",
    "\t",
    "a",
    ": ",
    "#",
    "- ",
    "'",
    '"',
    "\\",
    "\r",
    "\u001b",
    "\u009b",
    "|",
    "&a",
    "{",
    "\u202e",
    "é",
    "---",
  ];
  const sources = [
    "tests:\n  - name: a\n    answer: old\n    tags: [x]\n",
    "tests:\n  - answer: |\n      old\n    name: a\n",
    "tests: [{name: a, answer: old}]\n",
    "tests:\n  - name: a\n    answer: [x]\n",
    "tests:\n- name: a\n- name: b",
  ];
  for (let seed = 1; seed <= 60; seed++) {
    const text = Array.from(
      { length: (seed * 7) % 9 },
      (_, index) => parts[(seed * (index + 3) + index * index) % parts.length] ?? "",
    ).join("");
    for (const source of sources) {
      const after = await edit(source, text);
      expect(after, JSON.stringify([text, source])).toBeDefined();
      const { tests } = parse(after ?? "") as { tests: readonly { answer: string | string[] }[] };
      expect([tests[0]?.answer].flat().at(-1)).toBe(text);
    }
  }
});
