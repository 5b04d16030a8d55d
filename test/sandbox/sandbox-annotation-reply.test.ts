/** Annotation replies in the sandbox: their jobs and settings. */
import { expect, test } from "vitest";
import { eventsIn, recordedApplications } from "../lib/replay.ts";
import { appClient, openTestSandbox } from "../lib/sandbox-client.ts";

const embedding = {
  embedding_provider_name: "langgenius/stub/stub",
  embedding_model_name: "stub-embed",
  score_threshold: 0.8,
};

const applications = [...recordedApplications.values()];

/** Opens a sandbox with one annotation of an application. */
async function open(models = true, app = "chat") {
  const { sandbox, clock } = await openTestSandbox({ models, applications });
  const send = appClient(sandbox);
  const json = async (method: string, path: string, body?: object) =>
    (await send(app, method, path, body)).json() as Promise<Record<string, unknown>>;
  const note = { question: "Who cleans the kitchen?", answer: "The robot." };
  const { id: annotation } = await json("POST", "/apps/annotations", note);
  /** Starts a job; returns the path of its status. */
  const start = async (action: string, body: object = embedding) => {
    const { job_id, job_status } = await json("POST", `/apps/annotation-reply/${action}`, body);
    expect(job_status).toBe("waiting");
    return `/apps/annotation-reply/${action}/status/${String(job_id)}`;
  };
  const reply = async () => (await json("GET", "/parameters"))["annotation_reply"];
  /** Switches the replies on. */
  const enable = async (score_threshold: number) => {
    await start("enable", { ...embedding, score_threshold });
    await clock.advance(300);
  };
  /** Sends a message; returns the text of its response. */
  const ask = async (query: string, response_mode: "blocking" | "streaming") => {
    const body = { inputs: {}, query, user: "u1", response_mode };
    return clock.until(send(app, "POST", "/chat-messages", body).then((sent) => sent.text()));
  };
  const hits = async () => {
    const { data } = await json("GET", "/apps/annotations");
    return (data as { readonly hit_count: number }[]).map(({ hit_count }) => hit_count);
  };
  return { clock, send, json, start, reply, enable, ask, hits, annotation };
}

test("replies are on when the job is completed, and off at once", async () => {
  const { clock, json, start, reply } = await open();
  const enabling = await start("enable");
  expect(await json("GET", enabling)).toMatchObject({ job_status: "waiting", error_msg: "" });
  expect(await reply()).toEqual({ enabled: false });
  await clock.advance(300);
  expect(await json("GET", enabling)).toMatchObject({ job_status: "completed", error_msg: "" });
  expect(await reply()).toMatchObject({
    enabled: true,
    score_threshold: 0.8,
    embedding_model: {
      embedding_provider_name: "langgenius/stub/stub",
      embedding_model_name: "stub-embed",
    },
  });
  const disabling = await start("disable");
  expect(await json("GET", disabling)).toMatchObject({ job_status: "completed" });
  expect(await reply()).toEqual({ enabled: false });
});

test("another model and threshold keep the ID of the settings", async () => {
  const { clock, start, reply } = await open();
  await start("enable");
  await clock.advance(300);
  const before = await reply();
  await start("enable", { ...embedding, embedding_model_name: "stub-embed-64" });
  await clock.advance(300);
  expect(await reply()).toEqual({
    ...(before as object),
    embedding_model: {
      embedding_provider_name: "langgenius/stub/stub",
      embedding_model_name: "stub-embed-64",
    },
  });
});

test("a job that disables what is off waits forever", async () => {
  const { clock, json, start } = await open();
  const disabling = await start("disable");
  await clock.advance(60_000);
  expect(await json("GET", disabling)).toMatchObject({ job_status: "waiting", error_msg: "" });
});

// The texts are recorded.
test.each([
  [
    "an unknown model",
    { embedding_model_name: "none" },
    "This model's maximum context length is 32768 tokens",
  ],
  ["an unknown provider", { embedding_provider_name: "x/y/z" }, "Provider x/y/z does not exist."],
  [
    "a provider without credentials",
    { embedding_provider_name: "acme/second/second" },
    "Model stub-embed credentials is not initialized.",
  ],
])("a job with %s ends with an error and changes nothing", async (_what, change, error_msg) => {
  const { clock, json, start, reply } = await open();
  const enabling = await start("enable", { ...embedding, ...change });
  await clock.advance(300);
  expect(await json("GET", enabling)).toMatchObject({ job_status: "error", error_msg });
  expect(await reply()).toEqual({ enabled: false });
});

test("a server without models has no model for the questions", async () => {
  const { clock, json, start } = await open(false);
  const enabling = await start("enable");
  await clock.advance(300);
  expect(await json("GET", enabling)).toMatchObject({
    job_status: "error",
    error_msg: "Default model not found for text-embedding",
  });
});

test("a chat quotes the annotation of a near question, and counts it", async () => {
  const { enable, ask, hits, annotation } = await open(true, "llm-chat");
  await enable(0.8);
  const text = await ask("Who cleans the kitchens?", "blocking");
  expect(JSON.parse(text)).toMatchObject({
    answer: "The robot.",
    metadata: {
      annotation_reply: { id: annotation, account: { name: "admin" } },
      usage: { total_tokens: 0, total_price: "0.0" },
    },
  });
  expect(await hits()).toEqual([1]);
});

test("a chat streams an annotation by character, without an empty piece at the end", async () => {
  const { enable, ask } = await open(true, "llm-chat");
  await enable(1);
  const events = eventsIn(await ask("Who cleans the kitchen?", "streaming")) as Event[];
  expect(events.map(({ event, answer }) => answer ?? event)).toEqual([
    ..."The robot.",
    "message_end",
  ]);
});

test.each([
  ["another question", 0.8, "[[say:By the model.]] Where is the canteen?"],
  ["a threshold above 1", 2, "Who cleans the kitchen? [[say:By the model.]]"],
  ["a failed embedding", 0.1, "Who cleans the kitchen? [[embed-error:rate]] [[say:By the model.]]"],
])("the model answers with %s", async (_what, threshold, query) => {
  const { enable, ask, hits } = await open(true, "llm-chat");
  await enable(threshold);
  const text = await ask(query, "blocking");
  expect(JSON.parse(text)).toMatchObject({
    answer: "By the model.",
    metadata: { annotation_reply: null },
  });
  expect(await hits()).toEqual([0]);
});

test("a chatflow quotes an annotation whole, and its stream never ends", async () => {
  const { clock, send, json, enable } = await open();
  await enable(0.9);
  const body = { inputs: {}, query: "Who cleans the kitchen?", user: "u1" };
  const stream = await send("chat", "POST", "/chat-messages", {
    ...body,
    response_mode: "streaming",
  });
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  while (!text.includes("message_end"))
    text += new TextDecoder().decode((await reader.read()).value);
  expect(text.split("\n", 1)).toEqual(["event: ping"]);
  expect(eventsIn(text)).toMatchObject([
    { event: "message", answer: "The robot." },
    { event: "message_end", metadata: { usage: { total_tokens: 0 } } },
  ]);
  let more = false;
  const next = reader.read().then(() => (more = true));
  await clock.advance(60_000);
  expect(more).toBe(false);
  await reader.cancel();
  await next;
  const { data } = await json("GET", `/conversations?user=u1`);
  const [{ id }] = data as [{ readonly id: string }];
  expect(await json("GET", `/messages?conversation_id=${id}&user=u1`)).toMatchObject({
    data: [{ query: body.query, answer: "The robot.", status: "normal" }],
  });
});

test("a chatflow that is asked to block quotes an annotation, too", async () => {
  const { enable, ask, hits } = await open();
  await enable(0.9);
  const text = await ask("Who cleans the kitchen?", "blocking");
  expect(JSON.parse(text)).toMatchObject({ event: "message", answer: "The robot." });
  expect(await hits()).toEqual([1]);
});

/** The fields of events that the tests read. */
interface Event {
  readonly event: string;
  readonly answer?: string;
}
