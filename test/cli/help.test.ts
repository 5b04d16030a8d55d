import { expect, test } from "vitest";
import { commandGroups, rareWords, topicNames } from "../../src/cli/help/groups.ts";
import { logFields } from "../../src/commands/wf/logs/command.ts";
import { figureKinds } from "../../src/commands/wf/stats/command.ts";
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

test("help --json has its version and its program", () => {
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
        help: "Tag name or ID",
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

test("a task: every operation it may send, its own first", () => {
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
      { name: "task_id", flag: null, positional: true, required: false },
      { name: "run", flag: "--run", positional: false, required: false, kind: "uuid" },
    ],
  });
});

test("a command without operations of its own describes what it sends", async () => {
  const sent = async (line: string) => /^Sends +(.*)$/m.exec((await cli(line.split(" "))).out)?.[1];
  expect(await sent("kb api --help")).toBe("the request you specify");
  expect(await sent("kb login --help")).toBe("a read with the key");
  expect(await sent("kb doctor --help")).toBe("reads that check the server and the keys");
  expect(await sent("kb profile list --help")).toBe("nothing");
});

test("flags: choices, bounds, lists, defaults, negations", () => {
  expect(commandOf("kb", "kb list")?.parameters).toEqual(
    expect.arrayContaining([
      {
        name: "include_all",
        flag: "--include-all",
        positional: false,
        kind: "flag",
        required: false,
        many: false,
        help: "Include those that the workspace owner cannot see (default true)",
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

test("the end user is a shared flag, not a parameter", () => {
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

/** Does the line contain the words in that order, with other words between them or not? */
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

test("help and --help of a program print the same page; help of a command is its --help", async () => {
  expect(await cli(["kb", "--help"])).toEqual(await cli(["kb", "help"]));
  expect(await cli(["kb", "help", "tag", "rm"])).toEqual(
    await cli(["kb", "tag", "delete", "--help"]),
  );
  expect(await cli(["kb", "help", "tag", "rename"])).toEqual(
    await cli(["kb", "tag", "rename", "--help"]),
  );
});

test.each(["kb", "wf"])(
  "%s alone and with -h fits 24 rows; --help adds summaries",
  async (program) => {
    const [alone, brief, full] = [
      await cli([program], { tty: true }),
      await cli([program, "-h"], { tty: true }),
      await cli([program, "--help"], { tty: true }),
    ];
    expect(alone).toEqual(brief);
    expect(brief.out.trimEnd().split("\n").length).toBeLessThan(24); // and the prompt
    // Each group once: here its words, there a row for each of them.
    for (const [title] of commandGroups[program] ?? []) {
      expect(brief.out).toContain(`\n  ${title}  `);
      expect(full.out).not.toContain(`\n  ${title}  `);
    }
  },
);

test("an unknown topic suggests the nearest one", async () => {
  const ran = await cli(["kb", "help", "exit-code"]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("exit-codes");
});

test("a command shows the form that a flag gives it", async () => {
  const usages =
    "\nUsage: kb sync <kb> <source> [flags]\n       kb sync --config <file> [name...] [flags]\n";
  for (const flag of ["-h", "--help"])
    expect((await cli(["kb", "sync", flag])).out).toContain(usages);
});

test("-h has the summary, usage, two examples and own flags; --help has the rest", async () => {
  const { out } = await cli(["kb", "doc", "wait", "-h"]);
  expect(out).toBe(
    [
      "Wait until documents are indexed\n",
      "Usage: kb doc wait <kb> [doc...] [flags]\n",
      "Examples:",
      "  kb doc wait Handbook",
      "  kb doc wait Handbook welcome.md --timeout 5m\n",
      "Flags:",
      "  --batch <text>  Batch ID from the response of an upload or update\n",
      "Everything about it: kb doc wait --help\n",
    ].join("\n"),
  );
});

test("a page has its parts in order", async () => {
  const { out } = await cli(["kb", "doc", "add", "--help"]);
  const parts = ["\nUsage: kb doc add <kb>", "\nExamples:\n", "\nArguments:\n", "\nFlags:\n"];
  const ends = [
    "\nAlso takes: --body, ",
    "\nCommon flags: kb help flags",
    "\nEffect ",
    "\nExit 10 ",
  ];
  const places = [...parts, ...ends].map((part) => out.indexOf(part));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(out).toContain("  --text-file <path>");
});

test("a flag with a --no- form is one row", async () => {
  const { out } = await cli(["kb", "list", "--help"]);
  expect(out).toContain("--[no-]include-all");
});

/** Every page of help of a program. */
const pagesOf = (program: "kb" | "wf"): string[][] => {
  const paths = trees[program].commands.map(({ command }) => command.split(" ").slice(1));
  const groups = paths.flatMap((words) => words.map((_, index) => words.slice(0, index)));
  const all = [...paths, ...groups, ...topicNames.map((name) => [name])];
  return [...new Set(all.map((words) => words.join(" ")))].map((text) =>
    text === "" ? [] : text.split(" "),
  );
};

test.each(["kb", "wf"] as const)(
  "%s: no line of help is wider than the terminal",
  async (program) => {
    for (const columns of [80, 60]) {
      const wide: string[] = [];
      for (const words of pagesOf(program)) {
        const { out, exit } = await cli([program, "help", ...words], { tty: true, columns });
        expect(exit).toBe(0);
        for (const line of out.split("\n")) if (line.length > columns) wide.push(line);
      }
      if (columns === 80) expect(wide).toEqual([]);
      // Examples with long words and tables of topics do not fold.
      else expect(wide.length).toBeLessThan(40);
    }
  },
);

test("without a terminal, help is 80 columns wide", async () => {
  const piped = await cli(["kb", "doc", "add", "--help"]);
  const wide = await cli(["kb", "doc", "add", "--help"], { tty: true, columns: 200 });
  expect(wide.out).toBe(piped.out);
});

test.each([
  ["kb create", 40],
  ["kb sync", 60],
  ["wf run", 60],
])("%s --help has at most %d lines", async (command, lines) => {
  const { out } = await cli([...command.split(" "), "--help"]);
  expect(out.trimEnd().split("\n").length).toBeLessThanOrEqual(lines);
});

test.each(["kb", "wf"] as const)("%s: every command is in exactly one group", async (program) => {
  const words = trees[program].commands.map(({ command }) => command.split(" ")[1] ?? "");
  const grouped = (commandGroups[program] ?? []).flatMap(([, group]) => group);
  expect(grouped.toSorted()).toEqual([...new Set(words)].toSorted());
  const { out } = await cli([program, "help"]);
  for (const [title] of commandGroups[program] ?? [])
    expect(out.split(`\n${title}:\n`), title).toHaveLength(2);
  for (const word of grouped.filter((each) => !rareWords.includes(each)))
    expect(out).toMatch(new RegExp(`^  ${word} +\\w`, "m"));
});

test.each([
  ["kb", "pipeline, source"],
  ["wf", "audio"],
])("%s: rare commands are one row", async (program, words) => {
  const { out } = await cli([program, "--help"]);
  expect(out).toContain(`\nMore  ${words}\n`);
  expect(out).not.toMatch(new RegExp(`^ *(${words.replaceAll(", ", "|")}) `, "m"));
});

test("the page of a command names the commands below it", async () => {
  const { out } = await cli(["kb", "sync", "--help"]);
  expect(out).toMatch(/\nBelow +kb sync run, kb sync history\n/);
});

test("--compact is a list in JSON, with --json and without", async () => {
  const [compact, both] = [
    await cli(["kb", "help", "--compact"]),
    await cli(["kb", "help", "--json", "--compact"]),
  ];
  expect(JSON.parse(compact.out)).toMatchObject({ program: "kb" });
  expect(compact.out).toBe(both.out);
});

test.each(["kb", "wf"] as const)(
  "%s: the page of a group begins with its purpose",
  async (program) => {
    const words = trees[program].commands.map(({ command }) => command.split(" ").slice(1));
    const commands = new Set(words.map((path) => path.join(" ")));
    const groups = words.flatMap((path) => path.slice(1).map((_, at) => path.slice(0, at + 1)));
    const pages = groups.filter((path) => !commands.has(path.join(" ")));
    expect(pages.length).toBeGreaterThan(10);
    for (const path of pages) {
      const { out } = await cli([program, "help", ...path]);
      expect(out).toMatch(/^[A-Z][a-z]+ .+\n\nUsage: /);
    }
  },
);

test("help lists the topics, and each has a page", async () => {
  const { out } = await cli(["wf", "help"]);
  const listed = /help <topic> +([^]*?)\n +wf help --json/.exec(out)?.[1] ?? "";
  expect(listed.split(/,\s+/)).toEqual([...topicNames]);
  for (const name of topicNames) expect((await cli(["wf", "help", name])).exit).toBe(0);
});

test("help flags describes every shared flag", async () => {
  const { out } = await cli(["kb", "help", "flags"]);
  for (const { flag } of trees.kb.sharedFlags) expect(out).toMatch(new RegExp(`${flag}\\b`));
});

test("help COMMAND --json is the command of the tree", async () => {
  const ran = await cli(["kb", "help", "doc", "add", "--json"]);
  expect(JSON.parse(ran.out)).toEqual(commandOf("kb", "kb doc add"));
});

test("help GROUP --json is the tree of its commands", async () => {
  const { commands } = JSON.parse((await cli(["kb", "help", "tag", "--json"])).out) as Tree;
  expect(commands).toEqual(
    trees.kb.commands.filter(({ command }) => command.startsWith("kb tag ")),
  );
});

test("help TOPIC --json is the text of the topic", async () => {
  const [page, ran] = await Promise.all([
    cli(["kb", "help", "times"]),
    cli(["kb", "help", "times", "--json"]),
  ]);
  expect(JSON.parse(ran.out)).toEqual({
    version: 1,
    program: "kb",
    topic: "times",
    text: page.out,
  });
});

test("help --json --compact has what is needed to choose a command and to read its end", async () => {
  const { out } = await cli(["kb", "help", "--json", "--compact"]);
  const compact = JSON.parse(out) as { commands: Record<string, string>[] };
  expect(compact).toMatchObject({
    version: 1,
    program: "kb",
    details: "kb help <command> --json",
    exits: { 0: "ok", 10: "partial", 14: "gate" },
  });
  expect(compact.commands.map(({ command }) => command)).toEqual(
    trees.kb.commands.map(({ command }) => command),
  );
  for (const expected of [
    { command: "kb doc add", args: "<kb> <name> --text <text>", effect: "writes" },
    { command: "kb tag delete", effect: "destroys" },
    { command: "kb list", summary: "List knowledge bases, newest first" },
  ])
    expect(compact.commands).toContainEqual(expect.objectContaining(expected));
  expect(compact.commands.find(({ command }) => command === "kb list")).not.toHaveProperty("args");
  expect(out.length).toBeLessThan(12_000);
});

test("the JSON of one command is short", async () => {
  const { out } = await cli(["kb", "help", "doc", "add", "--json"]);
  expect(out.length).toBeLessThanOrEqual(4250);
});

test("help rejects an unknown flag", async () => {
  const ran = await cli(["kb", "help", "--jsno"]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("unknown flag: --jsno");
});

test("help conditions lists every name that --where and --fail-if take", async () => {
  const { out } = await cli(["wf", "help", "conditions"]);
  const text = out.replace(/\s+/g, " ");
  expect(text).toContain(Object.keys(logFields).join(", "));
  expect(text).toContain(Object.keys(figureKinds).join(", "));
});
