/** `wf audio` against the sandbox with models. */
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recordedApplications } from "../../lib/replay.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const applications = [...recordedApplications.values()];
const server = await testSandbox({ models: true, applications });
const folder = await temporaryDirectory();

const audio = (app: string, ...words: readonly string[]) =>
  server.cli(["wf", "audio", ...words], { env: { KB_APP_KEY: `app-${app}` } });

/** Writes a file; returns its path. */
async function recordingOf(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

test("speaks a text, and the answer of a message", async () => {
  const path = join(folder, "hello.mp3");
  const spoken = await audio("llm-chat", "speak", "--text", "Welcome", "--output-file", path);
  expect(spoken, spoken.err).toMatchObject({ exit: 0, out: "" });
  expect(readFileSync(path).byteLength).toBe(44 + 800); // a word of 0.1 s, 8,000 bytes a second
  const line = ["wf", "chat", "send", "[[say:one two three]]", "--blocking", "--jq", ".message_id"];
  const sent = await server.cli(line, { env: { KB_APP_KEY: "app-llm-chat" } });
  const answer = join(folder, "answer.mp3");
  const message = ["--message-id", sent.out.trim(), "--output-file", answer];
  expect(await audio("llm-chat", "speak", ...message)).toMatchObject({ exit: 0 });
  expect(readFileSync(answer).byteLength).toBe(44 + 2400);
});

test("transcribes a file", async () => {
  const path = await recordingOf("good_day.mp3", "ID3");
  const heard = await audio("llm-chat", "transcribe", path, "--jq", ".text");
  expect(heard, heard.err).toMatchObject({ exit: 0, out: "good day\n" });
});

test("speech that is off exits with 5, and writes no file", async () => {
  const path = join(folder, "off.mp3");
  const off = await audio("llm-chat-plain", "speak", "--text", "Hi", "--output-file", path);
  expect([off.exit, existsSync(path)]).toEqual([5, false]);
  expect(off.err).toContain("TTS is not enabled");
});

test("a failed model exits with 5, or with 1 if the server hides the reason", async () => {
  const failing = await recordingOf("failing.mp3", "[[stt-error:rate]]");
  const heard = await audio("llm-chat", "transcribe", failing);
  expect(heard.exit).toBe(5);
  expect(heard.err).toContain("Rate limit reached for stub-chat");
  const path = join(folder, "failed.mp3");
  const words = ["--text", "[[tts-error:rate]]", "--output-file", path];
  const spoken = await audio("llm-chat", "speak", ...words);
  expect([spoken.exit, existsSync(path)]).toEqual([1, false]);
  expect(spoken.err).toContain("Internal Server Error (500)");
});
