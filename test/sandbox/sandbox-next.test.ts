// The sandbox as the newest server, of which only the source was read (server §3.1), beside 1.16.
import { expect, test } from "vitest";
import { sandboxParams } from "../../src/commands/shared/sandbox/command.ts";
import { nextServer, recordedServers } from "../../src/lib/version.ts";
import { afterFile } from "../lib/cleanup.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

const next = await testSandbox({ server: nextServer });
const before = await testSandbox({ server: recordedServers["1.16"] });

test("--server next is a version after 1.17.1, and no other one", async () => {
  expect(sandboxParams.server.choices).toEqual([...Object.keys(recordedServers), "next"]);
  const [folder, stop] = [await temporaryDirectory(), new AbortController()];
  const line = ["kb", "sandbox", "--ephemeral", "--server", "next", "-o", "name"];
  const url = await new Promise<string>((onOutput) => {
    const ended = cli(line, { folder, signal: stop.signal, onOutput });
    afterFile(() => (stop.abort(), ended));
  });
  const { headers } = await fetch(`${url.trim()}/datasets`, {
    headers: { authorization: "Bearer dataset-sandbox" },
  });
  const [, ...numbers] = /^(\d+)\.(\d+)\./.exec(headers.get("x-version") ?? "") ?? [];
  expect(numbers).toEqual(["1", "18"]);
});

async function answer(on: typeof next, line: string, body?: string, key = "dataset-sandbox") {
  const [method = "", path = ""] = line.split(" ");
  const response = await fetch(`${on.sandbox.origin}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body }),
  });
  return (await response.json()) as Record<string, unknown>;
}

const missingName =
  '[{"type":"missing","loc":["name"],"msg":"Field required","input":{},"url":"https://errors.pydantic.dev/2.12/v/missing"}]';

test.each([
  ["a field that is missing", "POST /datasets", "{}", missingName, "invalid_param"],
  ["broken JSON", "POST /datasets", "{", missingName, "bad_request"],
  [
    "a number that is none",
    "GET /datasets?page=x",
    undefined,
    '[{"type":"int_parsing","loc":["page"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"x","url":"https://errors.pydantic.dev/2.12/v/int_parsing"}]',
    "invalid_param",
  ],
])("%s is 422 with a list, and 400 before", async (_, line, body, message, code) => {
  const status = 422;
  expect(await answer(next, line, body)).toEqual({ code: "unprocessable_entity", message, status });
  expect(await answer(before, line, body)).toMatchObject({ code, status: 400 });
});

test("a route that responds with an error only has the list, too; its items are numbers", async () => {
  const made = '{"name":"A","indexing_technique":"economy"}';
  const body = '{"segments":[{"content":"x"},{"content":7}]}';
  for (const on of [next, before]) {
    const { id: kb } = await answer(on, "POST /datasets", made);
    const text = '{"name":"a.md","text":"x","indexing_technique":"economy"}';
    const created = await answer(on, `POST /datasets/${String(kb)}/document/create-by-text`, text);
    const { id: doc } = created["document"] as Record<string, unknown>;
    const route = `POST /datasets/${String(kb)}/documents/${String(doc)}/segments`;
    const { message = "", error = "" } = await answer(on, route, body);
    const expected = on === next ? '"loc":["segments",1,"content"]' : "segments.1.content\n";
    expect(String(on === next ? message : error)).toContain(expected);
  }
});

async function messageOn(on: typeof next): Promise<string> {
  const body = '{"query":"hi","inputs":{},"user":"u1","response_mode":"blocking"}';
  const { message_id: id } = await answer(on, "POST /chat-messages", body, "app-chat");
  return String(id);
}

test.each([
  ["next", next, 403, "app_suggested_questions_after_answer_disabled"],
  ["1.16", before, 400, "bad_request"],
])("suggested questions that are switched off, with %s", async (_, on, status, code) => {
  const line = `GET /messages/${await messageOn(on)}/suggested?user=u1`;
  expect(await answer(on, line, undefined, "app-chat")).toMatchObject({ status, code });
});

test.each([
  ["next", next, "message_feedback_rating_required"],
  ["1.16", before, "invalid_param"],
])("a rating that does not exist cannot be withdrawn, with %s", async (_, on, code) => {
  const line = `POST /messages/${await messageOn(on)}/feedbacks`;
  const withdraw = () => answer(on, line, '{"rating":null,"user":"u1"}', "app-chat");
  expect(await withdraw()).toMatchObject({ status: 400, code });
  await answer(on, line, '{"rating":"like","user":"u1"}', "app-chat");
  expect(await withdraw()).toEqual({ result: "success" });
});

test("the programs say the same about both", async () => {
  const line = ["kb", "api", "POST", "/datasets", "-F", "name=7"];
  for (const [on, label] of [
    [next, "422 unprocessable_entity"],
    [before, "400 invalid_param"],
  ] as const) {
    const ran = await on.cli(line);
    expect(ran.err).toContain(`name: must be text (${label})`);
    expect(ran.exit).toBe(5);
  }
});
