/** Speech in the sandbox beyond the recordings: messages, headers, servers without models. */
import { expect, test } from "vitest";
import { appClient, openTestSandbox } from "../lib/sandbox-client.ts";
import { recordedApplications } from "../lib/replay.ts";

const applications = [...recordedApplications.values()];

/** Opens a sandbox; returns a function that posts to an application as user u1. */
async function open(models: boolean) {
  const { sandbox } = await openTestSandbox({ models, applications });
  const send = appClient(sandbox);
  return (app: string, path: string, body: object) =>
    send(app, "POST", path, body instanceof FormData ? body : { user: "u1", ...body });
}

function recordingOf(name: string): FormData {
  const form = new FormData();
  form.set("file", new File(["ID3"], name, { type: "audio/mp3" }));
  return form;
}

test("a message is spoken with its answer, whatever the text", async () => {
  const post = await open(true);
  const sent = await post("chat", "/chat-messages", { inputs: {}, query: "Hi" });
  const { message_id } = (await sent.json()) as { readonly message_id: string };
  const body = { message_id, text: "other", voice: "anna" };
  const spoken = await post("chat", "/text-to-audio", body);
  expect(spoken.headers.get("content-type")).toBe("audio/mpeg");
  // "You said: Hi. This is a fixed answer.": eight words of 0.1 s, 8,000 bytes a second.
  expect((await spoken.arrayBuffer()).byteLength).toBe(44 + 6400);
});

test("a failed voice is an error of the worker, without the headers of the application", async () => {
  const post = await open(true);
  const failed = await post("llm-chat", "/text-to-audio", { text: "[[tts-error:rate]]" });
  expect(failed.status).toBe(500);
  expect(await failed.text()).toBe("Internal Server Error");
  expect(failed.headers.get("x-version")).toBeNull();
  expect(failed.headers.get("x-env")).toBeNull();
});

test("a transcript is the name of the file, in any mode", async () => {
  const post = await open(true);
  for (const app of ["llm-chat", "llm-completion"]) {
    const heard = await post(app, "/audio-to-text", recordingOf("good_morning.mp3"));
    expect(await heard.json()).toEqual({ text: "good morning" });
  }
});

test("a server without models has no default model for speech", async () => {
  const post = await open(false);
  const code = "provider_not_initialize";
  const spoken = await post("llm-chat", "/text-to-audio", { text: "Hi" });
  expect(spoken.status).toBe(400);
  expect(await spoken.json()).toMatchObject({ code, message: "Default model not found for tts" });
  const heard = await post("llm-chat", "/audio-to-text", recordingOf("a.mp3"));
  expect(await heard.json()).toMatchObject({
    code,
    message: "Default model not found for speech2text",
  });
});
