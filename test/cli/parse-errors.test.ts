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
    "`wf show last` takes the newest run; `wf logs` lists all",
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
  // a flag in the place of a value
  [
    ["wf", "run", "--record", "-q"],
    "--record needs a value (<file>), and -q is a flag",
    "write --record FILE -q; if -q is the value: --record=-q",
  ],
  [
    ["kb", "-p", "-q", "list"],
    "--profile needs a value (<name>), and -q is a flag",
    "write --profile NAME -q; if -q is the value: --profile=-q",
  ],
  [
    ["kb", "create", "A", "--description", "--utc"],
    "--description needs a value (<text>), and --utc is a flag",
    "write --description TEXT --utc; if --utc is the value: --description=--utc",
  ],
  // habits of other programs
  [["kb", "list", "-n", "3"], "unknown flag: -n", "did you mean --limit?"],
  [["kb", "list", "-f", "json"], "unknown flag: -f", "did you mean --output?"],
  [["kb", "list", "-n3"], "unknown flag: -n", "did you mean --limit?"],
  [["kb", "delete", "H", "-f"], "unknown flag: -f", "did you mean --yes?"],
  [
    ["kb", "apply", "-f", "a.yaml"],
    "unknown flag: -f",
    "it is an argument: usage: kb apply <file>",
  ],
  [["wf", "run", "--topic", "x"], "unknown flag: --topic", "run `wf run --help` to list the flags"],
  [["kb", "list", "--format", "json"], "unknown flag: --format", "did you mean --output?"],
  [["kb", "delete", "H", "--force"], "unknown flag: --force", "did you mean --yes?"],
  [["kb", "list", "--frmt=x"], "unknown flag: --frmt", "run `kb list --help` to list the flags"],
  [
    ["kb", "list", "--api-key=x"],
    "unknown flag: --api-key",
    "store keys with `kb login`, or set KB_KEY",
  ],
  [
    ["kb", "list", "--token", "x"],
    "unknown flag: --token",
    "store keys with `kb login`, or set KB_KEY",
  ],
  [["kb", "search", "H", "x", "-n", "3"], "unknown flag: -n", "did you mean --top-k?"],
  [["kb", "search", "H", "x", "--limit", "3"], "unknown flag: --limit", "did you mean --top-k?"],
  [
    ["kb", "search", "H", "x", "--method", "semantic_search"],
    "unknown flag: --method",
    "did you mean --search-method?",
  ],
  [
    ["kb", "doc", "list", "H", "--filter", "x"],
    "unknown flag: --filter",
    "did you mean --keyword?",
  ],
  [
    ["kb", "doc", "list", "Company", "中文"],
    "too many arguments: expected 1, got 2",
    "quote text with spaces: `kb doc list 'Company 中文'`",
  ],
  [
    ["kb", "doc", "add", "HB", "note", "hello"],
    "too many arguments: expected 2, got 3",
    "quote text with spaces: `kb doc add HB 'note hello'`",
  ],
  // a single value given twice
  [
    ["wf", "run", "--app", "slow", "--app", "review"],
    "--app was given more than once with different values",
    "--app takes one value; remove the others",
  ],
  [
    ["kb", "list", "-p", "a", "--profile=b"],
    "--profile was given more than once with different values",
    "--profile takes one value; remove the others",
  ],
  [
    ["kb", "create", "A", "--description", "x", "--description", "y"],
    "--description was given more than once with different values",
    "--description takes one value; remove the others",
  ],
  // commander.excessArguments
  [
    ["kb", "doc", "replace", "HB", "a.md", "b.md", "c.md"],
    "too many arguments: expected 3, got 4",
    "usage: kb doc replace <kb> <doc> <file> [flags]",
  ],
  [
    ["kb", "search", "HB", "what's", "new"],
    "too many arguments: expected 2, got 3",
    "quote text with spaces: `kb search HB 'what'\\''s new'`",
  ],
  [
    ["kb", "delete", "C", "D", "-y"],
    "too many arguments: expected 1, got 2",
    "usage: kb delete <kb> [flags]",
  ],
  [
    ["kb", "show", "Team", "Handbook"],
    "too many arguments: expected 1, got 2",
    "quote text with spaces: `kb show 'Team Handbook'`",
  ],
  [["kb", "tag", "list", "HB"], "too many arguments: expected 0", "usage: kb tag list [flags]"],
  // unknown commands
  [["kb", "tga", "list"], 'unknown command "tga" for kb', "did you mean `kb tag list`?"],
  [["kb", "tag", "lst"], 'unknown command "lst" for kb tag', "did you mean `kb tag list`?"],
  [["kb", "zzzzzzzz"], 'unknown command "zzzzzzzz" for kb', "run `kb --help` to list the commands"],
  [
    ["kb", "lst", "--columns", "id"],
    'unknown command "lst" for kb',
    "did you mean `kb list --columns id`?",
  ],
  [
    ["kb", "metadta", "list"],
    'unknown command "metadta" for kb',
    "did you mean `kb metadata list KB`?",
  ],
  [["kb", "meta", "list"], 'unknown command "meta" for kb', "did you mean `kb metadata list KB`?"],
  [["kb", "logs"], 'unknown command "logs" for kb', "did you mean `wf logs`?"],
  [["wf", "doc", "list"], 'unknown command "doc" for wf', "did you mean `kb doc list KB`?"],
  [["kb", "nope"], 'unknown command "nope" for kb', "run `kb --help` to list the commands"],
  [["wf", "toop"], 'unknown command "toop" for wf', "did you mean `wf top`?"],
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

test("columns behind --json get the flag for them", async () => {
  const { err, exit } = await cli(["kb", "doc", "list", "HB", "--json", "name,id"]);
  expect(exit).toBe(2);
  expect(JSON.parse(err)).toMatchObject({
    error: {
      hint: "--json takes no columns; if these are columns: `kb doc list HB --json --columns name,id`",
    },
  });
});

test("the value of an unknown flag is not printed: it may be a key", async () => {
  const { out, err } = await cli(["kb", "list", "--api-key=secret-of-mine"]);
  expect(out + err).not.toContain("secret");
});
