/** `wf annotation reply`, and chats that annotations answer, against the sandbox with models. */
import { beforeAll, describe, expect, test } from "vitest";
import { recordedApplications } from "../../lib/replay.ts";
import { testSandbox } from "../../lib/sandbox.ts";

const applications = [...recordedApplications.values()];
const server = await testSandbox({ models: true, applications });

const wf = (app: string, ...words: readonly string[]) =>
  server.cli(["wf", ...words], { env: { KB_APP_KEY: `app-${app}` } });

/** Starts a job and waits for it. */
const reply = (app: string, action: string, embeddingModel = "stub-embed", env = {}) => {
  const model = `--embedding-provider-name stub --embedding-model-name ${embeddingModel}`;
  const options = `${model} --score-threshold 0.9 --wait --jq .job_status`;
  const line = ["wf", "annotation", "reply", action, ...options.split(" ")];
  return server.cli(line, { env: { KB_APP_KEY: `app-${app}`, ...env } });
};

describe.each([
  ["a chat", "llm-chat"],
  ["a chatflow, whose stream never ends", "chat"],
])("%s", (_what, app) => {
  const question = "Who cleans the kitchen?";

  beforeAll(async () => {
    const note = ["--question", question, "--answer", "The robot."];
    expect(await wf(app, "annotation", "create", ...note)).toMatchObject({ exit: 0 });
    expect(await reply(app, "enable")).toMatchObject({ exit: 0, out: "completed\n" });
  });

  test("prints the annotation, streaming and blocking", async () => {
    for (const mode of [[], ["--blocking", "--jq", ".answer"]]) {
      const said = await wf(app, "chat", "send", question, ...mode);
      expect(said.exit, said.err).toBe(0);
      expect(said.out.trim()).toBe("The robot.");
    }
    const listed = await wf(app, "annotation", "list", "--jq", ".[].hit_count");
    expect(listed.out).toBe("2\n");
  });

  test("reports the setting, and switches it off", async () => {
    const enabled = () => wf(app, "app", "parameters", "--jq", ".annotation_reply.enabled");
    expect((await enabled()).out).toBe("true\n");
    expect(await reply(app, "disable")).toMatchObject({ exit: 0, out: "completed\n" });
    expect((await enabled()).out).toBe("false\n");
  });
});

test("an unknown model is rejected with a knowledge key; without one its job exits with 9", async () => {
  const note = ["--question", "Why?", "--answer", "Because."];
  await wf("llm-chat-plain", "annotation", "create", ...note);
  const since = server.seen.length;
  const rejected = await reply("llm-chat-plain", "enable", "none");
  expect(rejected.exit).toBe(3);
  expect(rejected.err).toContain('"code":"model-not-found"');
  expect(server.seen.slice(since).map(({ method }) => method)).toEqual(["GET"]);
  const failed = await reply("llm-chat-plain", "enable", "none", { KB_KEY: "dataset-wrong" });
  expect(failed.err).toContain("the embedding model stub/none was not checked: ");
  expect([failed.exit, failed.out]).toEqual([9, "error\n"]);
  expect(failed.err).toContain("This model's maximum context length is 32768 tokens");
});
