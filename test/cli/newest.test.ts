import { beforeAll, describe, expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();
const ids: Record<string, string> = {};

const line = (words: string, user = "ann", world = {}) =>
  server.cli([...words.split(" "), "--user", user], { folder, ...world });
const done = async (words: string, user = "ann") => {
  const { exit, out, err } = await line(words, user);
  expect(exit, `${words}: ${err}`).toBe(0);
  return out.trim();
};

beforeAll(async () => {
  const sent = async (words: string, user?: string) =>
    JSON.parse(await done(`wf --app chat chat send ${words} -o json`, user)) as {
      readonly conversation_id: string;
      readonly message_id: string;
    };
  const first = await sent("one");
  const second = await sent("two");
  const third = await sent(`three --conversation-id ${second.conversation_id}`);
  const other = await sent("four", "bob");
  Object.assign(ids, {
    older: first.conversation_id,
    conversation: second.conversation_id,
    before: second.message_id,
    message: third.message_id,
    bob: other.message_id,
  });
});

/** Paths of the writes since the last call. */
const writes = () => {
  const seen = server.seen.splice(0).filter(({ method }) => method !== "GET");
  return seen.map(({ method, path }) => `${method} ${path}`);
};

test("last is the newest conversation of the end user", async () => {
  const messages = await done(
    "wf --app chat conversation messages last --columns query -o tsv --no-headers",
  );
  expect(messages.split("\n")).toEqual(["two", "three"]);
});

test("last is the newest message of the newest conversation", async () => {
  writes();
  await done("wf --app chat message feedback last --rating like");
  expect(writes()).toEqual([`POST /v1/messages/${ids["message"]}/feedbacks`]);
  await done("wf --app chat message feedback last --rating like", "bob");
  expect(writes()).toEqual([`POST /v1/messages/${ids["bob"]}/feedbacks`]);
});

test("the beginning of the ID of a message is looked up in the newest conversation", async () => {
  writes();
  await done(`wf --app chat message feedback ${ids["before"]?.slice(0, 18)} --rating dislike`);
  expect(writes()).toEqual([`POST /v1/messages/${ids["before"]}/feedbacks`]);
  const { exit, err } = await line("wf --app chat message feedback 00000000 --rating like");
  expect([exit, err]).toEqual([
    3,
    `error: message "00000000" not found\nhint: run \`wf conversation messages ${ids["conversation"]} --app chat --user ann\` to see the IDs\n`,
  ]);
});

test("a message continues the last conversation", async () => {
  const reply = await done(
    "wf --app chat chat send four --conversation-id last --jq .conversation_id",
  );
  expect(reply).toBe(ids["conversation"]);
});

test("the prompt and the dry run of a delete name the conversation", async () => {
  const questions: string[] = [];
  const asked = await line("wf --app chat conversation delete last", "ann", {
    tty: true,
    answers: ["n"],
    questions,
  });
  expect(asked.exit).not.toBe(0);
  expect(questions.join()).toContain(`Delete conversation ${ids["conversation"]}?`);
  const { err } = await line("wf --app chat conversation delete last -n");
  expect(err).toContain(`would delete conversation ${ids["conversation"]}`);
});

describe("nothing exists", () => {
  test.each([
    ["wf --app chat conversation messages last", "conversation", "wf conversation list"],
    ["wf --app chat message feedback last --rating like", "conversation", "wf conversation list"],
    [
      "wf --app chat chat send hello --conversation-id last",
      "conversation",
      "wf conversation list",
    ],
  ])("%s", async (words, title, list) => {
    const { exit, err } = await line(words, "nobody");
    expect([exit, err]).toEqual([
      3,
      `error: no ${title} found\nhint: last is the newest one that \`${list} --app chat --user nobody\` shows\n`,
    ]);
  });
});

test("an application without conversations says so", async () => {
  const { exit } = await line("wf --app echo conversation messages last");
  expect(exit).toBe(6);
});

test("--run takes last, as its hint says", async () => {
  await done("wf --app slow run query=x --detach");
  const run = (await server.done("wf --app slow logs -L 1 -o name".split(" "))).out.trim();
  const wrong = await line("wf --app slow stop task --run xyz");
  expect(wrong.err).toContain("last is the newest run");
  writes();
  const { err } = await line("wf --app slow stop task --run last -v");
  expect(err).toContain(`last is ${run}`);
});

test("completion offers last", async () => {
  const { out } = await server.cli(["wf", "__complete", "--", "message", "feedback", ""], {
    folder,
  });
  expect(out.split("\n")[0]).toMatch(/^last\t/);
});
