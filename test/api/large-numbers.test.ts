/** Numbers that a double cannot represent. */
import { expect, test } from "vitest";
import { against, http, say } from "../lib/raw-server.ts";

const page = (rows: string, total = "2") =>
  say(http(200, `{"data":[${rows}],"has_more":false,"limit":20,"page":1,"total":${total}}`));
const huge = (id: string) => `{"id":"${id}","name":"A","word_count":12345678901234567890}`;

test("a notice names the fields whose integers lose digits, once", async () => {
  const ran = await against([page(`${huge("a")},${huge("b")}`)], ["kb", "list", "-o", "json"]);
  expect([ran.exit, ran.err]).toEqual([0, "some numbers are too large to be exact: word_count\n"]);
});

test("it names the first fields of several, and how many more there are", async () => {
  const row = Array.from({ length: 8 }, (_, n) => `"f${n}":${n === 7 ? "1e999" : 2 ** 53}`);
  const { err } = await against([say(http(200, `{${row.join(",")}}`))], ["kb", "api", "GET", "/x"]);
  expect(err).toBe("some numbers are too large to be exact: f0, f1, f2, f3, f4 and 3 more\n");
});

test("kb api prints the notice, too", async () => {
  const body = say(http(200, '{"a":[{"n":-9007199254740993}]}'));
  const ran = await against([body], ["kb", "api", "GET", "/x"]);
  expect([ran.exit, ran.err]).toEqual([0, "some numbers are too large to be exact: n\n"]);
});

test("a number beyond the range of a double becomes the largest double, never Infinity or null", async () => {
  const row = '{"id":"a","name":"A","word_count":1e999,"x":[-1e999]}';
  const { out, err } = await against([page(row)], ["kb", "list", "-o", "json"]);
  expect(JSON.parse(out)).toMatchObject([{ word_count: 1.7976931348623157e308 }]);
  expect(out).toContain('"x":[-1.7976931348623157e+308]');
  expect(err).toContain("too large to be exact");
  const event = 'data: {"event":"workflow_finished","data":{"elapsed_time":1e999}}\n\n';
  const stream = say(
    http(200, event, { "content-type": "text/event-stream" }).replace(
      /content-type: application.*\r\n/,
      "",
    ),
  );
  const events = await against(
    [stream],
    [
      "wf",
      "events",
      "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e",
      "-o",
      "tsv",
      "--columns",
      "data.elapsed_time",
    ],
  );
  expect(events.out).toContain("1.7976931348623157e+308");
});

test("a total that is not a valid count is ignored", async () => {
  for (const total of ["1e999", "1e300", "-1", "1.5"]) {
    const ran = await against([page('{"id":"a","name":"A"}', total)], ["kb", "list", "-L", "5"]);
    expect([ran.exit, ran.err.replace(/^some numbers.*\n/, "")], total).toEqual([0, ""]);
  }
});

test("exact numbers and digits in strings cause no notice", async () => {
  const row =
    '{"id":"a","name":"12345678901234567890 1e999","word_count":9007199254740991,"x":0.3333333333333333}';
  const ran = await against([page(row, "1")], ["kb", "list", "-o", "json"]);
  expect([ran.exit, ran.err]).toEqual([0, ""]);
});
