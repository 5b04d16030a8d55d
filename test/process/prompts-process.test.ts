import { expect, test } from "vitest";
import { onPty } from "../lib/pty.ts";
import { eventsText, json, pinging, runServer } from "../lib/run-server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const folder = await temporaryDirectory();
const sandbox = await testSandbox({ speed: 1 });
const models = await testSandbox({ speed: 1, models: true });

const onTerminal = (
  app: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) =>
  onPty("wf", args, {
    HOME: folder,
    NO_COLOR: "1",
    TZ: "UTC",
    KB_BASE_URL: sandbox.env["KB_BASE_URL"] ?? "",
    KB_APP_KEY: `app-${app}`,
    ...env,
  });

/** Replaces times, IDs and tokens. */
const steady = (lines: readonly string[]) =>
  lines.map((line) =>
    line
      .replace(/ +\d+(\.\d)? (ms|s) /, " T ")
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
      .replaceAll(/run [0-9a-f]{8}\b/g, "run ID")
      .replace(/(\d{4}-\d\d-\d\d )?\d\d:\d\d UTC\)/, "HH:MM UTC)") // the date is there in the hour before midnight
      .replace(/form submit [\w-]+/, "form submit TOKEN"),
  );

test("missing inputs are asked for, and a pause is answered in the view of the run", async () => {
  const run = onTerminal("review", ["run"]);
  await run.shows(/^query \(text\):$/m);
  run.type("hello\r");
  await run.shows(/^Review \(1-3\):$/m);
  run.type("7\r");
  await run.shows(/is not one of them.*\nReview \(1-3\):$/m);
  run.type("approve\r");
  await run.shows(/^comment \(text\) \[looks fine\]:$/m);
  run.type("\r");
  expect(await run.exit).toBe(0);
  expect(steady(await run.lines())).toEqual([
    "1 required input:",
    "query (text): hello",
    "the same without prompts: `wf run --input query=hello`",
    "✓ succeeded T  Start",
    "‖ paused T  Review",
    "  Please review: hello",
    "  expires in 60 minutes (HH:MM UTC)",
    expect.stringMatching(/^‖ paused T {2}run ID .*2 steps$/),
    "  1  Approve",
    "  2  Reject",
    "  3  later",
    "Review (1-3): 7",
    '"7" is not one of them: type a number from 1 to 3, or a name',
    "Review (1-3): approve",
    "comment (text) [looks fine]: ",
    "submitted form with action approve",
    expect.stringMatching(/^• submitted +Review {2}Approve$/),
    "✓ succeeded T  Review",
    "✓ succeeded T  End",
    "",
    "looks fine",
    "",
    expect.stringMatching(/^✓ succeeded T {2}run ID .*4 steps$/),
  ]);
});

test("later: the line that answers the form follows, and Ctrl-C in a prompt leaves it open", async () => {
  const run = onTerminal("review", ["run", "--input", "query=hello"]);
  await run.shows(/^Review \(1-3\):$/m);
  run.type("3\r");
  expect(await run.exit).toBe(8);
  expect(steady(await run.lines()).slice(-3)).toEqual([
    "Review (1-3): 3",
    "paused: run ID is waiting for human input",
    "hint: answer it with `wf form submit TOKEN --action approve --input 'comment=looks fine'` (or --action reject)",
  ]);
  const other = onTerminal("review", ["run", "--input", "query=hello"]);
  await other.shows(/^Review \(1-3\):$/m);
  other.type("\u0003");
  expect(await other.exit).toBe(130);
  expect(steady(await other.lines()).slice(-2)).toEqual([
    "error: interrupted",
    expect.stringMatching(/^hint: the run stays paused; answer it with `wf form submit TOKEN /),
  ]);
});

test("KB_ACCESSIBLE: the same prompts below plain lines", async () => {
  const run = onTerminal("review", ["run", "--input", "query=hello"], { KB_ACCESSIBLE: "1" });
  await run.shows(/^Review \(1-3\):$/m);
  run.type("2\r");
  await run.shows(/^comment/m);
  run.type("no\r");
  expect(await run.exit).toBe(0);
  expect((await run.lines()).join("\n")).toMatch(/workflow_finished\s+succeeded/);
});

test.each([{}, { KB_ACCESSIBLE: "1" }])(
  "a conversation of two turns, ended by Ctrl-D (%j)",
  async (env) => {
    const chat = onTerminal("chat", ["chat"], env as Record<string, string>);
    await chat.shows(/^>$/m);
    chat.type("hello\r");
    await chat.shows(/You said: hello\. This is a fixed answer\.\n>$/m);
    // A pasted text is one message.
    chat.type("two\rlines");
    await chat.shows(/^lines$/m);
    chat.type("\r");
    await chat.shows(/fixed answer\.\n>$/m);
    await chat.shows(/You said: two/);
    chat.type("\u0004");
    expect(await chat.exit).toBe(0);
    const lines = steady(await chat.lines());
    expect(lines.slice(0, 3)).toEqual([
      "Ctrl-C stops an answer; Ctrl-D or /exit ends the conversation",
      "> hello",
      "You said: hello. This is a fixed answer.",
    ]);
    expect(lines.at(-1)).toBe("continue with `wf chat --conversation-id ID`");
    expect(lines.join("\n")).not.toMatch(/node_|✓|Sending/);
  },
);

test.each(["assistant", "ask"])(
  "Ctrl-C stops an answer of %s, not the conversation",
  async (app) => {
    const chat = onTerminal(app, ["chat"], { KB_BASE_URL: models.env["KB_BASE_URL"] ?? "" });
    await chat.shows(/^>$/m);
    chat.type("[[slow:2000]] [[say:one two three four five six seven eight nine ten]]\r");
    await chat.shows(/^one/m);
    chat.type("\u0003");
    await chat.shows(/^the answer was stopped\n>$/m);
    chat.type("[[say:Good day.]]\r");
    await chat.shows(/^Good day\.[^]*\n>$/m);
    chat.type("\u0003");
    expect(await chat.exit).toBe(130);
    const text = (await chat.lines()).join("\n");
    expect(text).not.toContain("ten\n");
    expect(text).toMatch(/hint: continue with\s+`wf chat --conversation-id/);
  },
);

test("a second Ctrl-C leaves, and says that the answer is lost and how to continue", async () => {
  const first = { event: "message", message_id: "m", conversation_id: "c", task_id: "t" };
  const server = await runServer({
    "POST /v1/chat-messages/t/stop": json({ message: "busy" }, 400),
    "POST /v1/chat-messages": pinging(eventsText({ ...first, answer: "Hel" })),
  });
  const chat = onTerminal("chat", ["chat"], { KB_BASE_URL: server.baseUrl });
  await chat.shows(/^>$/m);
  chat.type("hello\r");
  await chat.shows(/^Hel$/m);
  chat.type("\u0003");
  await chat.shows(/leaves\s+the\s+conversation$/m);
  chat.type("\u0003");
  expect(await chat.exit).toBe(130);
  const text = (await chat.lines()).join("\n").replaceAll(/\n {4}(?=\S)/g, " ");
  expect(text).toContain("the server stores the message without its answer");
  expect(text).toContain("continue the conversation with `wf chat --conversation-id c`");
});

test("a list without forms says where they were searched, and once that there are none", async () => {
  const list = onTerminal("echo", ["form", "list"]);
  expect(await list.exit).toBe(0);
  expect(await list.lines()).toEqual([
    "only runs of the last 7 days were read; --since reads older ones",
    "no open forms",
  ]);
});

test("the list of forms at 80 columns", async () => {
  const own = await testSandbox({ speed: 1 });
  const env = { KB_BASE_URL: own.env["KB_BASE_URL"] ?? "" };
  const run = onTerminal("review", ["run", "--input", "query=hello", "--no-input"], env);
  expect(await run.exit).toBe(8);
  const list = onTerminal("review", ["form", "list"], env);
  expect(await list.exit).toBe(0);
  const lines = await list.lines();
  expect(lines[0]).toMatch(/^node +expires \(UTC\) +by/);
  expect(lines.find((line) => line.startsWith("Review"))).toMatch(
    /^Review +\d{4}-\d\d-\d\d \d\d:\d\d +kb-wf/,
  );
});
