/** A thread for work that may never end. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { newThread } from "../../src/lib/thread.ts";
import { temporaryDirectory } from "../lib/support.ts";

const path = join(await temporaryDirectory(), "worker.mjs");
await writeFile(
  path,
  `import { parentPort, threadId } from "node:worker_threads";
parentPort.on("message", (request) => {
  if (request === "hang") for (;;);
  if (request === "throw") throw new TypeError("thrown");
  const kept = [];
  while (request === "grow") kept.push(new Array(1e5).fill(request.length + kept.length));
  parentPort.postMessage([request, threadId]);
});`,
);
const script = pathToFileURL(path);

test("answers in order, from one thread", async () => {
  const thread = newThread(script);
  const answers = await Promise.all(["a", "b", "c"].map((each) => thread.ask(each)));
  expect(answers.map(String).map((each) => each[0])).toEqual(["a", "b", "c"]);
  expect(new Set(answers.map((each) => String(each).slice(2))).size).toBe(1);
  thread.end();
});

test.each([
  ["throws", "throw", {}, { name: "TypeError", message: "thrown" }],
  ["fills the memory", "grow", { memory: 16 }, { code: "ERR_WORKER_OUT_OF_MEMORY" }],
])(
  "a request that %s fails, and the next one has another thread",
  async (_, bad, limits, error) => {
    const thread = newThread(script, limits);
    const failed = thread.ask(bad).catch((reason: unknown) => reason);
    expect(await failed).toMatchObject(error);
    expect(String(await thread.ask("again"))).toContain("again");
    thread.end();
  },
);

test("a request that takes too long fails", async () => {
  await expect(newThread(script, { time: 20 }).ask("hang")).rejects.toThrow("timeout");
});

test("an aborted request throws the reason, also before it begins", async () => {
  const thread = newThread(script);
  const stop = new AbortController();
  const hanging = [thread.ask("hang", stop.signal), thread.ask("second", stop.signal)];
  stop.abort("stopped");
  for (const each of hanging) await expect(each).rejects.toBe("stopped");
  expect(String(await thread.ask("third"))).toContain("third");
  thread.end();
});
