import { expect, test } from "vitest";
import { against, http, reset, say } from "../../lib/raw-server.ts";

const parameters = say(http(200, '{"user_input_form":[],"file_upload":{}}'));
const leaveOut = "leave out --blocking, so that no gateway waits for all of it";
const page = (status: number) =>
  say(`HTTP/1.1 ${status} X\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html></html>`);
const error = (status: number) =>
  say(http(status, `{"code":"error","message":"failed","status":${status}}`));

const run = ["wf", "run"];
const text = ["wf", "text", "create"];
const chat = ["wf", "chat", "send", "Hello"];

test.each([
  ["504 page", run, page(504), true],
  ["504 page", text, page(504), true],
  ["504 page", chat, page(504), true],
  ["504 of JSON", run, error(504), true],
  ["502 page", run, page(502), true],
  ["503 page", run, page(503), true],
  ["reset connection", run, reset, true],
  ["500 page", run, page(500), false],
  ["500 of JSON", run, error(500), false],
  ["400 of JSON", run, error(400), false],
])("the hint of a %s to %j --blocking", async (_, line, answer, isNamed) => {
  const ran = await against([parameters, answer], [...line, "--blocking"]);
  expect(ran.exit, ran.err).not.toBe(0);
  expect(ran.err.includes(leaveOut), ran.err).toBe(isNamed);
  expect(ran.err.includes("the run may continue: check `wf logs`"), ran.err).toBe(isNamed);
  expect(
    ran.requests.filter((each) => each.startsWith("POST")),
    ran.err,
  ).toHaveLength(1);
});

test.each([[run], [text], [chat]])("the hint of a 504 page to %j, which streams", async (line) => {
  const ran = await against([parameters, page(504)], line);
  expect(ran.exit, ran.err).not.toBe(0);
  expect(ran.err).not.toContain("--blocking");
});
