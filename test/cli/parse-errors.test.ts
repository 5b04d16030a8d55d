import { expect, test } from "vitest";
import { cli } from "../lib/support.ts";

/** A wrong command line, its error and its hint. */
const wrong: readonly (readonly [words: readonly string[], error: string, hint: string])[] = [
  // commander.unknownOption
  [["kb", "list", "--colums", "id"], "unknown flag: --colums", "did you mean --columns?"],
  [["kb", "--colums", "list"], "unknown flag: --colums", "did you mean --columns?"],
  [
    ["kb", "doc", "list", "HB", "-Z"],
    "unknown flag: -Z",
    "run `kb doc list --help` to list the flags",
  ],
  [["kb", "tag", "--zzzzzzz"], "unknown flag: --zzzzzzz", "run `kb tag --help` to list the flags"],
  // commander.missingArgument
  [
    ["kb", "doc", "show", "HB"],
    "which document? <doc> is missing",
    "usage: kb doc show <kb> <doc> [flags]; `kb doc list HB` lists them",
  ],
  [
    ["kb", "show"],
    "which knowledge base? <kb> is missing",
    "usage: kb show <kb> [flags]; `kb list` lists them",
  ],
  [
    ["kb", "doc", "show"],
    "which knowledge base? <kb> is missing",
    "usage: kb doc show <kb> <doc> [flags]; `kb list` lists them",
  ],
  [
    ["wf", "show"],
    "which run? <run> is missing",
    "usage: wf show <run> [flags]; `wf logs` lists them",
  ],
  [["kb", "tag", "create"], "missing argument: <name>", "usage: kb tag create <name> [flags]"],
  [
    ["kb", "pipeline", "run", "HB"],
    "--datasource-type, --datasource-info-list, --start-node-id and --is-published are required",
    "add --datasource-type (one of: local_file, online_document, website_crawl, online_drive)",
  ],
  // commander.optionMissingArgument
  [
    ["kb", "create", "A", "--description"],
    "--description needs a value",
    "--description <text>: Description",
  ],
  [["kb", "list", "-o"], "--output needs a value", "--output <format>: Output format"],
  // commander.excessArguments
  [
    ["kb", "doc", "replace", "HB", "a.md", "b.md", "c.md"],
    "too many arguments: expected 3, got 4",
    "pass one file at a time: `kb doc replace HB a.md b.md`",
  ],
  [
    ["kb", "search", "HB", "what's", "new"],
    "too many arguments: expected 2, got 3",
    "quote text with spaces: `kb search HB 'what'\\''s new'`",
  ],
  [
    ["kb", "show", "Team", "Handbook"],
    "too many arguments: expected 1, got 2",
    "quote names with spaces: `kb show 'Team Handbook'`",
  ],
  [["kb", "list", "HB"], "too many arguments: expected 0, got 1", "use `kb doc list HB`"],
  [["kb", "tag", "list", "HB"], "too many arguments: expected 0", "usage: kb tag list [flags]"],
  [["wf", "chat", "hello"], "too many arguments: expected 0, got 1", "use `wf chat send hello`"],
  [
    ["wf", "chat", "good", "day"],
    "too many arguments: expected 0, got 2",
    "use `wf chat send 'good day'`",
  ],
  // unknown commands
  [["kb", "tga", "list"], 'unknown command "tga" for kb', "did you mean `kb tag`?"],
  [["kb", "tag", "lst"], 'unknown command "lst" for kb tag', "did you mean `kb tag list`?"],
  [["kb", "zzzzzzzz"], 'unknown command "zzzzzzzz" for kb', "run `kb --help` to list the commands"],
  [["kb", "lst", "--columns", "id"], 'unknown command "lst" for kb', "did you mean `kb list`?"],
  [["kb", "metadta", "list"], 'unknown command "metadta" for kb', "did you mean `kb metadata`?"],
  [["kb", "meta", "list"], 'unknown command "meta" for kb', "did you mean `kb metadata`?"],
  [["kb", "logs"], 'unknown command "logs" for kb', "did you mean `wf logs`?"],
  [["wf", "doc", "list"], 'unknown command "doc" for wf', "did you mean `kb doc`?"],
  [["kb", "nope"], 'unknown command "nope" for kb', "run `kb --help` to list the commands"],
  [["wf", "toop"], 'unknown command "toop" for wf', "did you mean `wf top`?"],
  // words of the other program
  [["kb", "tail"], 'unknown command "tail" for kb', "did you mean `wf logs --follow`?"],
  [["kb", "cancel", "r"], 'unknown command "cancel" for kb', "did you mean `wf stop`?"],
  [
    ["kb", "approve"],
    'unknown command "approve" for kb',
    "did you mean `wf form submit TOKEN --action approve`?",
  ],
  [["kb", "resume"], 'unknown command "resume" for kb', "did you mean `wf form submit TOKEN`?"],
  [
    ["kb", "retry"],
    'unknown command "retry" for kb',
    `did you mean \`wf show RUN --jq '.inputs|fromjson|with_entries(select(.key|startswith("sys.")|not))'\`, piped into \`wf run --inputs -\`?`,
  ],
  [["wf", "add"], 'unknown command "add" for wf', "did you mean `kb doc add`?"],
  [["wf", "find"], 'unknown command "find" for wf', "did you mean `kb search`?"],
  [["wf", "docs"], 'unknown command "docs" for wf', "did you mean `kb doc`?"],
  // flags of other programs
  [["kb", "list", "--query", "x"], "unknown flag: --query", "use --jq <filter>: Filter the JSON"],
  [["kb", "list", "--template", "x"], "unknown flag: --template", "use --jq <filter>: "],
  [["kb", "list", "--debug"], "unknown flag: --debug", "use -v, --verbose: Show resolved names"],
  [["kb", "list", "--fields", "id"], "unknown flag: --fields", "use --columns <paths>: "],
  [["kb", "list", "--format", "csv"], "unknown flag: --format", "use -o, --output <format>: "],
  [["kb", "list", "-n", "5"], "unknown flag: -n", "use -L, --limit <rows>: Maximum number"],
  [["kb", "list", "-n5"], "unknown flag: -n5", "use -L, --limit <rows>: Maximum number"],
  [["kb", "delete", "HB", "--force"], "unknown flag: --force", "use -y, --yes: Skip confirmation"],
  [["kb", "show", "HB", "--force"], "unknown flag: --force", "omit it: `kb show` never"],
  [
    ["kb", "list", "--force"],
    "unknown flag: --force",
    "omit it: `kb list` never asks for confirmation",
  ],
  [
    ["wf", "stop", "r", "--force"],
    "unknown flag: --force",
    "omit it: `wf stop` never asks for confirmation",
  ],
  [["wf", "stop", "r", "-y"], "unknown flag: -y", "omit it: `wf stop` never asks for confirmation"],
  [["kb", "list", "--watch"], "unknown flag: --watch", "use `kb doc wait`"],
  [["wf", "stats", "--watch"], "unknown flag: --watch", "use `wf top`"],
  [["wf", "logs", "--watch"], "unknown flag: --watch", "use -F, --follow: Keep printing"],
  [["wf", "events", "r", "-w"], "unknown flag: -w", "use -F, --follow: Reconnect"],
  [["kb", "show", "HB", "--web"], "unknown flag: --web", "use `kb open`"],
  [["kb", "list", "-w"], "unknown flag: -w", "use `kb open`"],
  // invalid choices
  [
    ["kb", "create", "A", "--indexing-technique", "econmy"],
    '--indexing-technique "econmy" is not one of high_quality, economy',
    "did you mean economy?",
  ],
  [
    ["kb", "list", "-o", "jsno"],
    '--output "jsno" is not one of grid, wide, ',
    "did you mean json?",
  ],
  [["kb", "list", "-o", "text"], '--output "text" is not one of grid, wide, ', "did you mean tsv?"],
  [["kb", "list", "-o", "html"], '--output "html" is not one of grid, wide, ', ""],
  [["kb", "list", "-o", "svg"], '--output "svg" is not one of grid, wide, ', ""],
  // words of other kinds
  [["kb", "api", "GET"], "missing argument: <path>", ""],
  [["kb", "api"], "missing argument: <path>", "usage: kb api [method] <path> [flags]"],
  // two formats
  [["kb", "list", "--jq", ".", "-o", "csv"], "use either --jq or -o csv, not both", ""],
  // two values for one parameter
  [
    ["kb", "doc", "add", "HB", "a.md", "--text", "x", "--text-file", "a.md"],
    "use either --text or --text-file, not both",
    "",
  ],
];

test.each(wrong)("%j", async (words, error, hint) => {
  const ran = await cli(words, {
    env: { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "dataset-x" },
  });
  expect(ran).toMatchObject({ exit: 2, out: "" });
  const [first = "", second = ""] = ran.err.split("\n");
  expect(first).toContain(`error: ${error}`);
  if (hint === "") expect(second).toBe("");
  else expect(second).toContain(`hint: ${hint}`);
});

test("the hint for words that were not quoted works as printed", async () => {
  const { err } = await cli(["kb", "search", "HB", "new", "rules"]);
  const line = /^hint: .*?: (.*)$/m.exec(err)?.[1] ?? "";
  expect(line).toBe("`kb search HB 'new rules'`");
});
