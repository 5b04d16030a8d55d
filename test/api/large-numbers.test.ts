/** Numbers that a double cannot represent, in responses. */
import { expect, test } from "vitest";
import { against, http, say } from "../lib/raw-server.ts";

const page = (rows: string, total = "1") =>
  say(http(200, `{"data":[${rows}],"has_more":false,"limit":20,"page":1,"total":${total}}`));

test.each([
  ["an integer", "12345678901234567890", "12345678901234567890"],
  ["a negative one", "-9007199254740993", "-9007199254740993"],
  ["the first integer that a double rounds", "9007199254740993", "9007199254740993"],
  ["one that a double holds by chance", "9007199254740994", "9007199254740994"],
  ["one of 30 digits", "123456789012345678901234567890", "123456789012345678901234567890"],
  ["a fraction", "0.12345678901234567890", "0.12345678901234567890"],
  ["a fraction of 17 digits", "0.12345678901234567", "0.12345678901234567"],
  ["a fraction as servers write it", "0.30000000000000004", "0.30000000000000004"],
  ["a number beyond the largest double", "1e400", "1e400"],
  ["one below the least double", "1e-400", "1e-400"],
  ["a whole fraction, which is the same number", "1.0", "1"],
  ["an exponent, which is the same number", "1e3", "1000"],
  ["zero with a sign, which is the same number", "-0", "0"],
  [
    "a long text with a quote",
    String.raw`"\\\"12345678901234567890"`,
    String.raw`"\\\"12345678901234567890"`,
  ],
])("%s arrives in the output: %s", async (_, received, printed) => {
  const body = say(http(200, `{"a":[{"n":${received},"t":"x"},1790123456789012345]}`));
  const line = ["kb", "api", "GET", "/x", "-o", "jsonl"];
  const expected = `{"a":[{"n":${printed},"t":"x"},1790123456789012345]}\n`;
  expect(await against([body], line)).toMatchObject({ exit: 0, err: "", out: expected });
});

test.each([
  ["json", '[\n{"id":"a","name":"A","document_count":1790123456789012345,"word_count":1e400}\n]\n'],
  ["jsonl", '{"id":"a","name":"A","document_count":1790123456789012345,"word_count":1e400}\n'],
  ["yaml", "- id: a\n  name: A\n  document_count: 1790123456789012345\n  word_count: 1e400\n"],
  ["csv", "document_count,word_count\r\n1790123456789012345,1e400\r\n"],
  ["tsv", "document_count\tword_count\n1790123456789012345\t1e400\n"],
  ["md", "| document_count | word_count |\n| --- | --- |\n| 1790123456789012345 | 1e400 |\n"],
])("-o %s prints all digits", async (format, expected) => {
  const columns = /json|yaml/.test(format) ? [] : ["--columns", "document_count,word_count"];
  const row = '{"id":"a","name":"A","document_count":1790123456789012345,"word_count":1e400}';
  const line = ["kb", "list", "-o", format, ...columns];
  expect((await against([page(row)], line)).out).toBe(expected);
});

test.each([
  [".data[0].n", "1790123456789012345\n"],
  [".data | map(.n) | max", "1790123456789012346\n"],
  [".data[0].n == .data[1].n", "false\n"],
  ['"\\(.data[0].n)"', "1790123456789012345\n"],
])("--jq %s keeps the digits", async (filter, expected) => {
  const body = '{"data":[{"n":1790123456789012345},{"n":1790123456789012346}]}';
  const line = ["kb", "api", "GET", "/x", "--jq", filter];
  expect((await against([say(http(200, body))], line)).out).toBe(expected);
});

test("a list is sorted by all digits", async () => {
  const numbers = ["46", "45", "-47"].map((end) => end.replace(/^(-?)/, "$117901234567890123"));
  const rows = numbers.map((n) => `{"id":"${n}","name":"A","word_count":${n}}`);
  const line = ["kb", "list", "-o", "name", "--sort", "word_count"];
  const { out } = await against([page(rows.join(","), "3")], line);
  expect(out.replaceAll("17901234567890123", "")).toBe("-47\n45\n46\n");
});

test("an event keeps the text of the server and its digits", async () => {
  const event =
    'data: {"event":"workflow_finished","data":{"elapsed_time":1e999,"outputs":{"n":1790123456789012345}}}\n\n';
  const stream = say(
    http(200, event, { "content-type": "text/event-stream" }).replace(
      /content-type: application.*\r\n/,
      "",
    ),
  );
  const line = ["wf", "events", "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e", "-o", "tsv", "--columns"];
  const events = await against([stream], [...line, "data.elapsed_time,data.outputs.n"]);
  expect(events.out).toContain("1e999\t1790123456789012345\n");
});

test("a total that is not a valid count is ignored", async () => {
  for (const total of ["1e999", "1e300", "-1", "1.5", "12345678901234567890"]) {
    const ran = await against([page('{"id":"a","name":"A"}', total)], ["kb", "list", "-L", "5"]);
    expect([ran.exit, ran.err], total).toEqual([0, ""]);
  }
});
