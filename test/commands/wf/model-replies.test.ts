/** What a user of chats, completions and agents sees, against the sandbox with models. */
import { beforeAll, describe, expect, test } from "vitest";
import { testSandbox, type TestSandbox } from "../../lib/sandbox.ts";

let server: TestSandbox;

beforeAll(async () => {
  server = await testSandbox({ models: true });
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "high_quality"]);
  const text = "Everybody has 31 days of paid leave. Ask two weeks ahead.";
  await server.done(["kb", "doc", "add", "Handbook", "leave.md", "--text", text]);
  await server.done(["kb", "doc", "wait", "Handbook"]);
});

const assistant = ["wf", "--app", "assistant"];
const agent = ["wf", "--app", "agent"];
const completion = ["wf", "--app", "completion"];

describe("a chat about knowledge", () => {
  const ask = [...assistant, "chat", "send", "How many days of paid leave?"];

  test("prints the answer, its source, and how to go on", async () => {
    const { out, err } = await server.done(ask);
    expect(out).toBe("Everybody has 31 days of paid leave.\n");
    const [source, next] = err.split("\n");
    expect(source).toMatch(/^source 1 {2}leave\.md {2}\(Handbook\) {2}0\.\d\d$/);
    expect(next).toMatch(
      /^continue with `wf chat send '…' --conversation-id [0-9a-f-]{36} --app assistant`$/,
    );
  });

  test("is in the history with its source, named by the model, and suggests questions", async () => {
    const { out } = await server.done([...ask, "--user", "ann", "-o", "json"]);
    const { conversation_id, message_id } = JSON.parse(out) as Record<string, string>; // IDs
    const ann = ["--user", "ann"];
    const listed = await server.done([...assistant, "conversation", "list", ...ann]);
    expect(listed.out).toMatch(/^About How many days of paid leave\?\t/);
    const history = [...assistant, "conversation", "messages", conversation_id ?? "", ...ann];
    const { out: message } = await server.done([...history, "--jq", ".[0]"]);
    expect(JSON.parse(message)).toMatchObject({
      id: message_id,
      inputs: { topic: null },
      answer: "Everybody has 31 days of paid leave.",
      status: "normal",
      retriever_resources: [{ position: 1, document_name: "leave.md", hit_count: null }],
    });
    const suggested = [...assistant, "message", "suggested", message_id ?? ""];
    const { out: questions } = await server.done([...suggested, ...ann]);
    expect(questions).toBe("What else?\nHow does it work?\nWhere is it written?\n");
    const other = await server.cli([...suggested, "--user", "bob"]);
    expect([other.exit, other.err]).toEqual([3, expect.stringContaining("Message Not Exists.")]);
  });

  test("continues its conversation, which the model names again", async () => {
    const first = await server.done([...ask, "--user", "cem", "--jq", ".conversation_id"]);
    const id = first.out.trim();
    const cem = ["--user", "cem"];
    const more = ["--conversation-id", id, ...cem, "--blocking", "--jq", ".answer"];
    expect((await server.done([...assistant, "chat", "send", "[[say:More]]", ...more])).out).toBe(
      "More\n",
    );
    const rename = [...assistant, "conversation", "rename", id, ...cem];
    await server.done([...rename, "--name", "Leave"]);
    const named = await server.done([...rename, "--auto-generate", "--jq", ".name"]);
    expect(named.out).toBe("About How many days of paid leave?\n");
    const history = [...assistant, "conversation", "messages", id, ...cem];
    const count = await server.done([...history, "--jq", "length"]);
    expect(count.out).toBe("2\n");
  });
});

describe("an agent", () => {
  const ask = [...agent, "chat", "send", "What year is it? [[tool]]"];

  test("prints its text, and with -v its tools", async () => {
    const { out, err } = await server.done([...ask, "-v"]);
    expect(out).toBe("I will look that up. The tool said: 2026\n");
    expect(err.split("\n").filter((line) => line.startsWith("tool "))).toEqual([
      'tool current_time {"current_time": {}}',
      'tool current_time gave {"current_time": "2026"}',
    ]);
  });

  test("refuses --blocking", async () => {
    const ran = await server.cli([...ask, "--blocking"]);
    expect([ran.exit, ran.err]).toEqual([5, expect.stringContaining("remove --blocking")]);
  });
});

describe("a completion", () => {
  test("takes the text as an input, or as --query if the form has that field", async () => {
    const create = [...completion, "text", "create"];
    const input = await server.done([...create, "--input", "query=[[say:Hi there]]"]);
    expect(input.out).toBe("Hi there\n");
    const query = await server.done([...create, "--query", "[[say:Hi again]]", "--blocking"]);
    expect(query.out).toContain("answer\tHi again\n");
    const neither = await server.cli(create);
    expect([neither.exit, neither.err]).toEqual([5, expect.stringContaining("add --query")]);
  });
});

describe("a failing model", () => {
  // A blocking response tells by its code alone that a model failed; unknown errors have none.
  const kinds: readonly [kind: string, streaming: number, blocking: number, text: string][] = [
    ["rate", 9, 9, "Rate limit reached for stub-chat: 3 requests per minute"],
    ["auth", 9, 9, "Incorrect API key provided"],
    ["daemon", 9, 9, "PluginDaemonInternalServerError: the plugin runtime crashed"],
    ["quota", 7, 7, "The quota of the model provider is used up."],
    ["unknown", 9, 5, "SomethingElse"],
  ];

  test.each(kinds)("%s: exit code %i, or %i with --blocking", async (kind, live, exit, text) => {
    const chat = [...assistant, "chat", "send", `[[error:${kind}]]`];
    const create = [...completion, "text", "create", "--query", `[[error:${kind}]]`];
    for (const line of [chat, create]) {
      const streamed = await server.cli(line);
      expect([streamed.exit, streamed.err]).toEqual([live, expect.stringContaining(text)]);
      const blocked = await server.cli([...line, "--blocking"]);
      expect([blocked.exit, blocked.err]).toEqual([exit, expect.stringContaining(text)]);
      expect([streamed.out, blocked.out]).toEqual(["", ""]);
    }
  });

  test("after some text: the text, the error and exit code 9; the history has the error", async () => {
    const line = [...assistant, "chat", "send", "[[error:mid-rate]] [[words:8]]", "--user", "dan"];
    const ran = await server.cli(line);
    expect([ran.exit, ran.out]).toEqual([9, "word1 word2 word3 \n"]);
    const dan = ["--user", "dan"];
    const id = await server.done([...assistant, "conversation", "list", ...dan, "--jq", ".[0].id"]);
    const history = [...assistant, "conversation", "messages", id.out.trim(), ...dan];
    const { out } = await server.done([...history, "--jq", ".[0] | [.status, .answer, .error]"]);
    expect(JSON.parse(out)).toEqual([
      "error",
      "",
      "Rate limit reached for stub-chat: 3 requests per minute",
    ]);
  });
});
