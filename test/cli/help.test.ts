import { expect, test } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { cli } from "../lib/support.ts";

/** What programs may rely on in `help --json`. */
interface Tree {
  readonly version: number;
  readonly program: string;
  readonly commands: readonly {
    readonly command: string;
    readonly operations: readonly { id: string; method: string; path: string }[];
    readonly parameters: readonly { name: string; flag: string | null; required: boolean }[];
    readonly sharedFlags: readonly string[];
    readonly exitCodes: readonly number[];
    readonly examples: readonly string[];
  }[];
  readonly sharedFlags: readonly { flag: string }[];
  readonly exitCodes: readonly { code: number; name: string }[];
}

async function tree(program: string): Promise<Tree> {
  const ran = await cli([program, "help", "--json"]);
  expect(ran).toMatchObject({ exit: 0, err: "" });
  return JSON.parse(ran.out) as Tree;
}

const trees = { kb: await tree("kb"), wf: await tree("wf") };

const commandOf = (program: "kb" | "wf", words: string) =>
  trees[program].commands.find(({ command }) => command === words);

test("help --json says its version and its program", () => {
  expect(trees.kb).toMatchObject({ version: 1, program: "kb" });
  expect(trees.wf).toMatchObject({ version: 1, program: "wf" });
});

test("a row: positionals have no flag, limits are numbers", () => {
  expect(commandOf("kb", "kb tag rename")).toMatchObject({
    command: "kb tag rename",
    usage: "kb tag rename <tag> <name> [flags]",
    summary: "Rename a tag",
    key: "dataset",
    effect: "writes",
    operations: [{ id: "updateKnowledgeTag", method: "PATCH", path: "/datasets/tags" }],
    parameters: [
      {
        name: "tag_id",
        flag: null,
        positional: true,
        kind: "ref",
        noun: "tag",
        required: true,
        many: false,
        help: "Tag, name or id",
      },
      {
        name: "name",
        flag: null,
        positional: true,
        kind: "text",
        required: true,
        many: false,
        minLength: 1,
        maxLength: 50,
      },
    ],
    exitCodes: [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 129, 130, 143],
    examples: expect.arrayContaining(["kb tag rename draft published"]) as unknown,
  });
});

test("a task: every operation it may send, the one it stands for first", () => {
  expect(commandOf("wf", "wf stop")).toMatchObject({
    effect: "writes",
    key: "app",
    operations: [
      {
        id: "stopWorkflowTaskGeneration",
        method: "POST",
        path: "/workflows/tasks/{task_id}/stop",
      },
      { id: "stopChatMessageGeneration", method: "POST", path: "/chat-messages/{task_id}/stop" },
      { id: "getWorkflowRunDetail", method: "GET", path: "/workflows/run/{workflow_run_id}" },
      { id: "streamWorkflowEvents", method: "GET", path: "/workflow/{workflow_run_id}/events" },
      { id: "getChatAppInfo", method: "GET", path: "/info" },
    ],
    parameters: [
      { name: "task_id", flag: null, positional: true, required: true },
      { name: "run", flag: "--run", positional: false, required: false, kind: "uuid" },
    ],
  });
});

test("flags: choices, bounds, repeats, defaults, twins", () => {
  expect(commandOf("kb", "kb list")?.parameters).toEqual(
    expect.arrayContaining([
      {
        name: "include_all",
        flag: "--include-all",
        positional: false,
        kind: "flag",
        required: false,
        many: false,
        help: "Also those that the owner of the workspace cannot see (default true)",
        negation: "--no-include-all",
      },
      expect.objectContaining({ name: "tag_ids", flag: "--tag", many: true, noun: "tag" }),
    ]),
  );
  expect(commandOf("kb", "kb search")?.parameters).toContainEqual(
    expect.objectContaining({ flag: "--top-k", kind: "integer", min: 1, max: 100 }),
  );
  expect(commandOf("kb", "kb doc add")?.parameters).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ flag: "--text", required: true, fileFlag: "--text-file" }),
      expect.objectContaining({
        flag: "--indexing-technique",
        choices: ["high_quality", "economy"],
      }),
    ]),
  );
});

test("what an end user is filled into is no parameter, but a shared flag", () => {
  const run = commandOf("wf", "wf run");
  expect(run?.parameters.map(({ name }) => name)).not.toContain("user");
  expect(run?.sharedFlags).toContain("--user");
});

test("every operation of the table belongs to a command, and no other is named", () => {
  const named = Object.values(trees).flatMap(({ commands }) =>
    commands.flatMap((command) => command.operations.map(({ id }) => id)),
  );
  expect(new Set(named)).toEqual(new Set(operations.map(({ id }) => id)));
});

test.each(["kb", "wf"] as const)("%s: shared flags and exit codes are all described", (program) => {
  const { commands, sharedFlags, exitCodes } = trees[program];
  const flags = sharedFlags.map(({ flag }) => flag);
  const codes = exitCodes.map(({ code }) => code);
  for (const command of commands) {
    expect(flags).toEqual(expect.arrayContaining([...command.sharedFlags]));
    expect(codes).toEqual(expect.arrayContaining([...command.exitCodes]));
  }
});

/** Do the words stand in the line in that order, other words between them or not? */
const holdsInOrder = (line: string, words: readonly string[]): boolean => {
  const tokens = line.split(/[\s()<]+/);
  let at = -1;
  return words.every((word) => (at = tokens.indexOf(word, at + 1)) >= 0);
};

test.each(["kb", "wf"] as const)(
  "%s: every command has two to four examples of itself",
  (program) => {
    const wrong = trees[program].commands
      .filter(
        ({ command, examples }) =>
          examples.length < 2 ||
          examples.length > 4 ||
          !examples.every((line) => holdsInOrder(line, command.split(" "))),
      )
      .map(({ command }) => command);
    expect(wrong).toEqual([]);
  },
);

test("help, --help and -h print the same page, and so does help of a command", async () => {
  const [help, long, short] = await Promise.all([
    cli(["kb", "help"]),
    cli(["kb", "--help"]),
    cli(["kb", "-h"]),
  ]);
  expect(long).toEqual(help);
  expect(short).toEqual(help);
  expect(await cli(["kb", "help", "tag", "rename"])).toEqual(
    await cli(["kb", "tag", "rename", "--help"]),
  );
});

test("an unknown topic is refused with the nearest one", async () => {
  const ran = await cli(["kb", "help", "exit-code"]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("exit-codes");
});
