/** Annotation replies in the sandbox: their jobs and settings. */
import { expect, test } from "vitest";
import { appClient, openTestSandbox } from "../lib/sandbox-client.ts";

const embedding = {
  embedding_provider_name: "langgenius/stub/stub",
  embedding_model_name: "stub-embed",
  score_threshold: 0.8,
};

/** Opens a sandbox with one annotation of the application `chat`. */
async function open(models = true) {
  const { sandbox, clock } = await openTestSandbox({ models });
  const send = appClient(sandbox);
  const json = async (method: string, path: string, body?: object) =>
    (await send("chat", method, path, body)).json() as Promise<Record<string, unknown>>;
  await json("POST", "/apps/annotations", { question: "Who cleans?", answer: "The robot." });
  /** Starts a job; returns the path of its status. */
  const start = async (action: string, body: object = embedding) => {
    const { job_id, job_status } = await json("POST", `/apps/annotation-reply/${action}`, body);
    expect(job_status).toBe("waiting");
    return `/apps/annotation-reply/${action}/status/${String(job_id)}`;
  };
  const reply = async () => (await json("GET", "/parameters"))["annotation_reply"];
  return { clock, json, start, reply };
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
