/** Chats, completions and agents of the sandbox: what no recording shows. */
import { expect, test } from "vitest";
import { eventsIn } from "../lib/replay.ts";
import { appClient, openTestSandbox } from "../lib/sandbox-client.ts";

type Fields = Record<string, unknown>;

/** A sandbox with models, and a client that lets the clock run until the response is complete. */
async function open() {
  const { sandbox, clock, ...knowledge } = await openTestSandbox({ models: true });
  const send = appClient(sandbox);
  async function whole(request: Promise<Response>) {
    let text: string | undefined;
    const response = request.then(async (each) => {
      text = await each.text();
      return each.status;
    });
    while (text === undefined) await clock.advance(20);
    return { status: await response, text };
  }
  const post = (app: string, path: string, body: object) =>
    whole(send(app, "POST", path, { inputs: {}, user: "u1", ...body }));
  const json = async (app: string, path: string, body: object) => {
    const { text } = await post(app, path, body);
    return JSON.parse(text) as Fields;
  };
  const list = async (app: string, path: string) => {
    const response = await send(app, "GET", path);
    return ((await response.json()) as { data: Fields[] }).data;
  };
  return { clock, send, post, json, list, knowledge };
}

const chat = "/chat-messages";

test("a conversation keeps the inputs of its first message", async () => {
  const { json, list } = await open();
  const first = await json("assistant", chat, { query: "a", inputs: { topic: "T", more: 1 } });
  const { conversation_id } = first;
  await json("assistant", chat, { query: "b", inputs: { topic: "U" }, conversation_id });
  const messages = await list("assistant", `/messages?user=u1&conversation_id=${conversation_id}`);
  expect(messages.map(({ query, inputs }) => [query, inputs])).toEqual([
    ["a", { topic: "T" }],
    ["b", { topic: "T" }],
  ]);
});

test("an application without file upload drops the files of a message", async () => {
  const { post, json, list } = await open();
  const files = [{ type: "image", transfer_method: "local_file", upload_file_id: "unknown" }];
  const body = { query: "[[say:x]]", files, response_mode: "streaming" };
  expect(eventsIn((await post("agent", chat, body)).text).at(-1)).toMatchObject({
    event: "message_end",
    files: null,
  });
  const refused = await json("assistant", chat, body);
  expect(refused).toEqual({ code: "invalid_param", message: "Invalid upload file", status: 400 });
  expect(await list("assistant", "/conversations?user=u1")).toEqual([]);
});

test("only the end user of a message stops it", async () => {
  const { clock, send, list } = await open();
  const body = { inputs: {}, user: "u1", query: "[[words:5]][[slow:1000]]" };
  const response = await send("assistant", "POST", chat, { ...body, response_mode: "streaming" });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  await clock.asleep(1000);
  await clock.advance(1000);
  const first = (await reader?.read())?.value ?? "";
  const [{ task_id, conversation_id }] = eventsIn(first) as [Fields];
  await send("assistant", "POST", `${chat}/${task_id}/stop`, { user: "u2" });
  await clock.advance(1000);
  expect((await reader?.read())?.value).toContain('"answer":"word2 "');
  await send("assistant", "POST", `${chat}/${task_id}/stop`, { user: "u1" });
  const last = (await reader?.read())?.value ?? "";
  expect(eventsIn(last)).toMatchObject([
    { event: "message_end", metadata: { usage: { total_tokens: 0, time_to_generate: null } } },
  ]);
  const history = `/messages?user=u1&conversation_id=${conversation_id}`;
  expect(await list("assistant", history)).toMatchObject([
    { status: "normal", answer: "word1 word2", error: null },
  ]);
});

test("an agent that is stopped has used nothing, whatever its earlier rounds used", async () => {
  const { clock, send } = await open();
  const body = { inputs: {}, user: "u1", query: "[[tool]][[slow:1000]]" };
  const response = await send("agent", "POST", chat, { ...body, response_mode: "streaming" });
  let text = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) text += decoder.decode(piece);
  })();
  while (!text.includes('"position":2')) await clock.advance(1000);
  const [{ task_id }] = eventsIn(text) as [Fields];
  await send("agent", "POST", `${chat}/${task_id}/stop`, { user: "u1" });
  await reading;
  expect(eventsIn(text).at(-1)).toMatchObject({
    event: "message_end",
    metadata: { usage: { total_tokens: 0, time_to_first_token: null } },
  });
});

test("an answer whose reader leaves is not stored", async () => {
  const { clock, send, list } = await open();
  const body = { inputs: {}, user: "u1", query: "[[words:5]][[slow:1000]]" };
  const response = await send("assistant", "POST", chat, { ...body, response_mode: "streaming" });
  await clock.asleep(1000);
  await response.body?.cancel();
  await clock.advance(10_000);
  const [conversation] = await list("assistant", "/conversations?user=u1");
  expect(conversation?.["name"]).toBe("[[words:5]][[slow:10…");
  const history = `/messages?user=u1&conversation_id=${conversation?.["id"]}`;
  expect(await list("assistant", history)).toMatchObject([{ status: "normal", answer: "" }]);
});

test("a name that was given stays if the model fails to find another", async () => {
  const { json, list } = await open();
  await json("assistant", chat, { query: "[[inner-error:rate]] hello" });
  const [conversation] = await list("assistant", "/conversations?user=u1");
  expect(conversation?.["name"]).toBe("[[inner-error:rate]] hello");
  const path = `/conversations/${conversation?.["id"]}/name`;
  await json("assistant", path, { name: "Mine" });
  expect(await json("assistant", path, { auto_generate: true })).toMatchObject({ name: "Mine" });
});

test("knowledge is indexed before it is searched; economy is found by its words", async () => {
  const { json, knowledge, clock } = await open();
  const base = await knowledge.base();
  await knowledge.call("POST", `/datasets/${base}/document/create-by-text`, {
    name: "kitchen.md",
    text: "The kettle is green.",
    indexing_technique: "economy",
  });
  await clock.advance(1000);
  const answer = await json("assistant", chat, { query: "Which colour has the kettle?" });
  expect(answer).toMatchObject({
    answer: "The kettle is green.",
    metadata: { retriever_resources: [{ document_name: "kitchen.md", score: 0 }] },
  });
});

test("usage of an agent adds up its rounds", async () => {
  const { post } = await open();
  const body = { query: "year? [[tool]]", response_mode: "streaming" };
  const events = eventsIn((await post("agent", chat, body)).text) as Fields[];
  // "Use the tools.year? [[tool]]" has 28 characters, 7 tokens, in each of two rounds; the replies
  // "I will look that up. " and "The tool said: 2026" have 6 and 5.
  expect(events.at(-1)).toMatchObject({
    metadata: {
      usage: {
        prompt_tokens: 14,
        completion_tokens: 11,
        total_tokens: 25,
        total_price: "0.0000235",
      },
    },
  });
});

test("without models, applications that ask one refuse", async () => {
  const { sandbox } = await openTestSandbox();
  const send = appClient(sandbox);
  const error = {
    code: "provider_not_initialize",
    message: "Model stub-chat credentials is not initialized.",
    status: 400,
  };
  const body = { inputs: { query: "x" }, query: "x", user: "u1", response_mode: "streaming" };
  for (const [app, path] of [
    ["assistant", chat],
    ["agent", chat],
    ["completion", "/completion-messages"],
  ] as const) {
    expect(await (await send(app, "POST", path, body)).json(), app).toEqual(error);
  }
});
