/** Two published clients of the API, written by others, against the sandbox with models. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Sandbox, startSandbox } from "../../src/sandbox/http/server.ts";
import { fastClock } from "../lib/fast-clock.ts";
import { addHandbook } from "../lib/handbook.ts";
import { eventsIn, recordedApplications } from "../lib/replay.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** A response of axios; a stream if that was asked for. */
interface AxiosResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, unknown>> & AsyncIterable<Uint8Array>;
}

type Sent = Promise<AxiosResponse>;

/** A client of the package dify-client; each method is a route. */
interface DifyClient {
  createChatMessage(
    inputs: object,
    query: string,
    user: string,
    stream?: boolean,
    conversation?: unknown,
    files?: readonly object[],
  ): Sent;
  createCompletionMessage(inputs: object, user: string, stream?: boolean): Sent;
  runWorkflow(inputs: object, user: string, stream?: boolean): Sent;
  getApplicationParameters(user: string): Sent;
  getConversations(user: string): Sent;
  getConversationMessages(user: string, conversation: unknown): Sent;
  renameConversation(conversation: unknown, name: string, user: string, auto: boolean): Sent;
  deleteConversation(conversation: unknown, user: string): Sent;
  messageFeedback(message: unknown, rating: string, user: string): Sent;
  fileUpload(form: FormData): Sent;
  /** Any other route. */
  sendRequest(
    method: string,
    path: string,
    data: object,
    params: object | null,
    stream: boolean,
  ): Sent;
}

type DifyClientClass = new (key: string, baseUrl: string) => DifyClient;

/** The parts of a model of the package dify-ai-provider that the tests use. */
interface ChatModel {
  doGenerate(options: object): Promise<Generated>;
  doStream(options: object): Promise<{ readonly stream: AsyncIterable<StreamPart> }>;
}

interface Generated {
  readonly content: readonly object[];
  readonly finishReason: string;
  readonly usage: { readonly totalTokens: number };
  readonly providerMetadata: {
    readonly difyWorkflowData: { readonly conversationId: string; readonly messageId: string };
  };
}

interface StreamPart {
  readonly type: string;
  readonly delta?: string;
  readonly error?: unknown;
}

let sandbox: Sandbox;
let base = "";
let difyClient: { readonly [Name in "ChatClient" | "CompletionClient"]: DifyClientClass };
let provider: {
  createDifyProvider(options: object): (model: string, settings: object) => ChatModel;
};

/** Installs the packages in a directory of their own: the project does not depend on them. */
beforeAll(async () => {
  vi.stubEnv("no_proxy", "127.0.0.1");
  const folder = await temporaryDirectory();
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  const packages = ["dify-client@2.3.2", "dify-ai-provider@1.1.1"];
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages];
  const { status, stderr } = spawnSync("npm", args, {
    cwd: folder,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  expect(status, stderr).toBe(0);
  const load = (...path: string[]) =>
    import(pathToFileURL(join(folder, "node_modules", ...path)).href);
  difyClient = await load("dify-client", "index.js");
  provider = await load("dify-ai-provider", "dist", "index.mjs");

  const clock = fastClock(20);
  sandbox = await startSandbox({
    clock,
    directory: null,
    models: true,
    applications: [...recordedApplications.values()],
  });
  base = `${sandbox.origin}/v1`;
  await addHandbook(sandbox.origin, { advance: (ms) => clock.sleep(ms) });
});

afterAll(async () => {
  await sandbox.stop();
  vi.unstubAllEnvs();
});

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** The answer of a stream: its texts, joined. */
const answerIn = (text: string): string =>
  (eventsIn(text) as { readonly event: string; readonly answer?: string }[])
    .filter(({ event }) => event === "message" || event === "agent_message")
    .map(({ answer }) => answer)
    .join("");

const picture = () => {
  const form = new FormData();
  form.set("file", new File([new Uint8Array(74)], "dot.png", { type: "image/png" }));
  form.set("user", "u1");
  return form;
};

describe("dify-client", () => {
  const chat = (app: string) => new difyClient.ChatClient(`app-${app}`, base);
  const completion = (app: string) => new difyClient.CompletionClient(`app-${app}`, base);

  test.each([
    ["a chat", "llm-chat", "[[say:Hello there]]", "Hello there"],
    ["a chatflow", "chat", "Hi", "You said: Hi. This is a fixed answer."],
  ])("%s: messages, history, names and feedback", async (_what, app, query, answer) => {
    const client = chat(app);
    const first = await client.createChatMessage({}, query, "u1");
    expect(first.data).toMatchObject({ event: "message", answer });
    const { conversation_id, message_id } = first.data;

    const second = await client.createChatMessage({}, query, "u1", true, conversation_id);
    expect(answerIn(await textOf(second.data))).toBe(answer);

    const history = await client.getConversationMessages("u1", conversation_id);
    expect(history.data).toMatchObject({
      data: [
        { query, answer },
        { query, answer },
      ],
    });
    const renamed = await client.renameConversation(conversation_id, "Work", "u1", false);
    expect(renamed.data).toMatchObject({ id: conversation_id, name: "Work" });
    const listed = await client.getConversations("u1");
    expect(listed.data).toMatchObject({ data: [{ id: conversation_id, name: "Work" }] });
    const rated = await client.messageFeedback(message_id, "like", "u1");
    expect(rated.data).toEqual({ result: "success" });
    const deleted = await client.deleteConversation(conversation_id, "u1");
    expect(deleted.status).toBe(204);
  });

  test("an agent streams its thoughts and its answer", async () => {
    const reply = await chat("llm-agent").createChatMessage({}, "[[say:Now]]", "u1", true);
    expect(answerIn(await textOf(reply.data))).toBe("Now");
  });

  test("an application's parameters", async () => {
    const { data } = await chat("llm-chat").getApplicationParameters("u1");
    expect(data).toMatchObject({ opening_statement: "Hello, I am a stub." });
  });

  test("a completion, blocking and streaming", async () => {
    const client = completion("llm-completion");
    const inputs = { query: "[[say:A slogan]]" };
    const whole = await client.createCompletionMessage(inputs, "u1");
    expect(whole.data).toMatchObject({ answer: "A slogan" });
    const streamed = await client.createCompletionMessage(inputs, "u1", true);
    expect(answerIn(await textOf(streamed.data))).toBe("A slogan");
  });

  test("a workflow, blocking and streaming", async () => {
    const client = completion("echo");
    const whole = await client.runWorkflow({ query: "hello" }, "u1");
    expect(whole.data).toMatchObject({ data: { status: "succeeded" } });
    const streamed = await client.runWorkflow({ query: "hello" }, "u1", true);
    const events = eventsIn(await textOf(streamed.data));
    expect(events.at(-1)).toMatchObject({
      event: "workflow_finished",
      data: { status: "succeeded" },
    });
  });

  test("an uploaded picture in a message", async () => {
    const client = chat("llm-chat");
    const { status, data } = await client.fileUpload(picture());
    expect(status).toBe(201);
    const file = { type: "image", transfer_method: "local_file", upload_file_id: data["id"] };
    const reply = await client.createChatMessage({}, "[[say:A dot]]", "u1", false, null, [file]);
    expect(reply.data).toMatchObject({ answer: "A dot" });
  });

  test("speech, as a stream of bytes", async () => {
    const body = { text: "Good morning", user: "u1" };
    const path = "/text-to-audio";
    const { headers, data } = await chat("llm-chat").sendRequest("POST", path, body, null, true);
    expect(headers["content-type"]).toBe("audio/mpeg");
    expect(await textOf(data)).toMatch(/^RIFF/);
  });

  test("a failed model is an error with the server's code", async () => {
    const failed = chat("llm-chat").createChatMessage({}, "[[error:rate]]", "u1");
    await expect(failed).rejects.toMatchObject({
      response: { status: 400, data: { code: "completion_request_error" } },
    });
  });
});

describe("dify-ai-provider", () => {
  const model = (app: string, settings: object = {}) =>
    provider.createDifyProvider({ baseURL: base })(app, {
      apiKey: `app-${app}`,
      logger: false,
      ...settings,
    });
  const ask = (...content: readonly object[]) => ({
    prompt: [{ role: "user", content }],
    headers: { "user-id": "u1" },
  });
  const text = (words: string) => ({ type: "text", text: words });

  async function partsOf(of: ChatModel, options: object): Promise<StreamPart[]> {
    const { stream } = await of.doStream(options);
    const parts: StreamPart[] = [];
    for await (const part of stream) parts.push(part);
    return parts;
  }

  const said = (parts: readonly StreamPart[], type: string) =>
    parts.flatMap((part) => (part.type === type ? (part.delta ?? "") : [])).join("");

  test.each([
    ["llm-chat", "[[say:Hello there]]", "Hello there"],
    ["chat", "Hi", "You said: Hi. This is a fixed answer."],
    ["llm-flow-chat", "[[say:Hello there]]", "Hello there"],
  ])("a message to %s, blocking and streaming", async (app, query, answer) => {
    const whole = await model(app).doGenerate(ask(text(query)));
    expect(whole).toMatchObject({
      content: [{ type: "text", text: answer }],
      finishReason: "stop",
    });
    const parts = await partsOf(model(app), ask(text(query)));
    expect(said(parts, "text-delta")).toBe(answer);
    expect(parts.filter(({ type }) => type === "error")).toEqual([]);
  });

  test("a conversation is continued by its ID", async () => {
    const first = await model("llm-chat").doGenerate(ask(text("[[say:One]]")));
    const { conversationId } = first.providerMetadata.difyWorkflowData;
    const options = {
      ...ask(text("[[say:Two]]")),
      headers: { "user-id": "u1", "chat-id": conversationId },
    };
    const second = await model("llm-chat").doGenerate(options);
    expect(second.providerMetadata.difyWorkflowData.conversationId).toBe(conversationId);
  });

  test("tokens are counted, and reasoning is told from the answer", async () => {
    const whole = await model("llm-chat").doGenerate(ask(text("[[words:8]]")));
    expect(whole.usage.totalTokens).toBeGreaterThan(8);
    const parts = await partsOf(model("llm-chat"), ask(text("[[think]][[say:Done.]]")));
    expect(said(parts, "reasoning-delta")).toContain("First I look at the question.");
    expect(said(parts, "text-delta").trim()).toBe("Done.");
  });

  test("the chunks that the answer is based on are its sources", async () => {
    const question = ask(text("How many days of paid leave does everybody have?"));
    const parts = await partsOf(model("llm-chat"), question);
    expect(said(parts, "text-delta")).toBe("Everybody has 31 days of paid leave.");
    expect(parts).toContainEqual(
      expect.objectContaining({ type: "source", sourceType: "document", title: "leave.md" }),
    );
  });

  test("an agent streams its answer", async () => {
    const parts = await partsOf(model("llm-agent"), ask(text("[[say:Now]]")));
    expect(said(parts, "text-delta")).toBe("Now");
    expect(parts.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
  });

  test("a picture is uploaded and sent", async () => {
    const part = {
      type: "file",
      mediaType: "image/png",
      filename: "dot.png",
      data: new Uint8Array(74),
    };
    const whole = await model("llm-chat").doGenerate(ask(text("[[say:A dot]]"), part));
    expect(whole.content).toEqual([{ type: "text", text: "A dot" }]);
  });

  test("a failed model is an error, blocking and streaming", async () => {
    await expect(model("llm-chat").doGenerate(ask(text("[[error:rate]]")))).rejects.toThrow(
      "Rate limit reached",
    );
    const parts = await partsOf(model("llm-chat"), ask(text("[[error:mid-rate]] [[words:8]]")));
    expect(said(parts, "text-delta")).toBe("word1 word2 word3 ");
    expect(parts.at(-1)).toMatchObject({ type: "error" });
  });
});
