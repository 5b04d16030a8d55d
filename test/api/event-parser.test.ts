/** Events that differ only in a piece of text are parsed by that piece, with the same result. */
import { ExactNumber } from "../../src/lib/exact-number.ts";
import { expect, test } from "vitest";
import { eventParser, readEvents } from "../../src/api/sse.ts";

/** An event after another one, parsed by one parser. */
function second(first: string, then: string): unknown {
  const parse = eventParser();
  parse(first);
  return parse(then);
}

const chunk = (text: string) =>
  `{"event": "text_chunk", "task_id": "1", "data": {"text": "${text}", "from_variable_selector": ["9", "text"]}}`;
const chunkOf = (text: string) => ({
  event: "text_chunk",
  task_id: "1",
  data: { text, from_variable_selector: ["9", "text"] },
});

test.each([
  ["another text", "b", "b"],
  ["an empty text", "", ""],
  ["escapes", String.raw`\"\\\né\ud83d\ude00`, '"\\\né😀'],
  ["a text like a field", String.raw`\"text\": \"x`, '"text": "x'],
  ["a text with numbers like 1e999", "1e999", "1e999"],
])("%s", (_, json, text) => {
  expect(second(chunk("a"), chunk(json))).toEqual(chunkOf(text));
});

test.each([
  ["a quote ends the text", chunk('a", "more": "b'), { ...chunkOf("a").data, more: "b" }],
  ["the text is there again", chunk('a", "text": "b'), chunkOf("b").data],
])("other fields beside the text: %s", (_, json, data) => {
  expect(second(chunk("a"), json)).toEqual({ ...chunkOf("a"), data });
});

test("the answer of a message", () => {
  const message = (answer: string) => `{"event":"message","answer":"${answer}","id":"1"}`;
  expect(second(message("a"), message("b"))).toEqual({ event: "message", answer: "b", id: "1" });
});

test.each([
  ["a key that is there twice", '{"answer":"TEXT","answer":"z"}', { answer: "z" }],
  [
    "a key elsewhere",
    '{"a":{"text":"TEXT"},"data":{"text":"z"}}',
    { a: { text: "b" }, data: { text: "z" } },
  ],
  [
    "a key in an escaped text",
    String.raw`{"data":{"x":"\"text\":","text":"TEXT"}}`,
    { data: { x: '"text":', text: "b" } },
  ],
  [
    "a key that ends so",
    String.raw`{"\"text":"TEXT","data":{"text":"z"}}`,
    { '"text': "b", data: { text: "z" } },
  ],
])("%s", (_, json, expected) => {
  expect(second(json.replace("TEXT", "a"), json.replace("TEXT", "b"))).toEqual(expected);
});

test.each([
  ["an open quote", chunk('a"')],
  ["a line end in the text", chunk("a\nb")],
  ["half an escape", chunk("\\")],
  ["an incomplete event", chunk("a").slice(0, -1)],
])("invalid after a valid one: %s", (_, json) => {
  expect(() => second(chunk("a"), json)).toThrow(SyntaxError);
});

test("a number beyond the range of a double keeps its digits", () => {
  const event = (text: string) => `{"data":{"text":"${text}","n":1e999}}`;
  expect(second(event("a"), event("b"))).toEqual({
    data: { text: "b", n: new ExactNumber("1e999") },
  });
});

test("a large chunk is parsed in pieces, so that few events are in memory", async () => {
  const event = `data: {"event":"text_chunk","data":{"text":"${"é".repeat(990)}"}}\n\n`;
  const bytes = Buffer.from(event.repeat(100)); // 204 KB
  const received = (async function* () {
    yield bytes;
  })();
  const sizes = [];
  for await (const batch of readEvents(received)) {
    sizes.push(batch.length);
    for (const { fields } of batch) expect(fields.text).toBe("é".repeat(990));
  }
  expect(sizes).toEqual([32, 32, 32, 4]);
});

test("an event ends with a stream whose lines end with CR", async () => {
  const received = (async function* () {
    yield Buffer.from('data: {"event":"ping"}\r\r');
  })();
  const batches = [];
  for await (const batch of readEvents(received)) batches.push(batch);
  expect(batches).toMatchObject([[{ event: "ping" }]]);
});

test("an event may have 64 MiB, and a stream more than that", async () => {
  const [begin, end] = ['data: {"event":"text_chunk","data":{"text":"', '"}}\n\n'];
  const piece = 64 * 1024; // as much is parsed at once
  const small = Buffer.from(begin.padEnd(piece - end.length, "a") + end);
  const received = (async function* () {
    for (let sent = 0; sent <= 1024; sent++) yield small;
    yield Buffer.from(begin.padEnd(piece, "a"));
    for (let sent = 1; sent < 1024; sent++) yield Buffer.alloc(piece, "a");
    yield Buffer.from(end);
  })();
  const lengths = [];
  for await (const batch of readEvents(received))
    for (const { fields } of batch) lengths.push(String(fields.text).length);
  expect(lengths).toHaveLength(1026);
  expect(lengths.at(-1)).toBe(64 * 1024 * 1024 - begin.length);
});
