import { beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { parseLine } from "../../src/cli/parse/parser.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";

const kb = await commandsOf("kb");
const wf = await commandsOf("wf");

/** Lines with the habits of other programs, and the same in ours. */
const same: readonly (readonly [typed: string, means: string])[] = [
  ["wf events RUN -F", "wf events RUN --follow"],
  ["wf logs -F", "wf logs --follow"],
  ["wf logs -Fq", "wf logs --follow -q"],
  ["wf run -i query=x -i n=1", "wf run --input query=x --input n=1"],
  ["wf form submit t -i comment=x", "wf form submit t --input comment=x"],
  ["wf run query=x n=1", "wf run --input query=x --input n=1"],
  ["wf run query=x --input n=1", "wf run --input query=x --input n=1"],
  ["wf run -i n=1 query=x", "wf run --input query=x --input n=1"],
  ["kb list --json --all", "kb list --all --json"],
  ["kb show --json Handbook", "kb show Handbook --json"],
  ["kb show --json name", "kb show name --json"],
  ["kb show --json -- name", "kb show name --json"],
  ["kb --json list", "kb list --json"],
  ["kb list --json -o json", "kb list -o json --json"],
  ["wf events RUN --jq . -o jsonl", "wf events RUN -o jsonl --jq ."],
  ["kb doc --json list Handbook", "kb doc list Handbook --json"],
  ["kb create A --description --json", "kb create A --description=--json"],
  ["kb create -- --json", "kb create -- --json"],
  ["kb api /datasets", "kb api GET /datasets"],
];

test.each(same)("%s is %s", (typed, means) => {
  const parsed = (line: string) => {
    const result = parseLine(line.split(" "), line.startsWith("kb") ? kb : wf);
    if (result.kind !== "run") throw new Error("not run");
    const { command, typed: values, globals } = result;
    const { json, columns, output, limit, all, quiet, profile } = globals;
    const { method = "GET", ...rest } = values;
    return {
      words: command.words,
      typed: { ...rest, method },
      globals: { json, columns, output, limit, all, quiet, profile },
    };
  };
  expect(parsed(typed)).toEqual(parsed(means));
});

describe("against a server", () => {
  let server: TestSandbox;
  beforeAll(async () => {
    server = await testSandbox();
    await server.cli(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  });
  const cli = (line: string) => server.cli(line.split(" "));

  test.each(["kb list --json -o csv", "kb -o csv list --json"])("%s is not valid", async (line) => {
    const { exit, err } = await cli(line);
    expect(exit).toBe(2);
    expect(JSON.parse(err)).toMatchObject({
      error: { message: "use either --json or -o csv, not both" },
    });
  });

  test("inputs are words of wf run", async () => {
    expect((await cli("wf run query=hello --jq .outputs")).out).toBe('{"query":"hello"}\n');
    const { err, exit } = await cli("wf run hello");
    expect(exit).toBe(2);
    expect(err).toContain('"hello"');
    expect(err).toContain("name=value");
  });

  test("api sends a GET if there is only a path", async () => {
    server.seen.length = 0;
    expect((await cli("kb api /datasets -f limit=1 --jq .data[].name")).out).toBe("Handbook\n");
    expect(server.seen.map(({ method, path }) => [method, path])).toEqual([
      ["GET", "/v1/datasets?limit=1"],
    ]);
  });
});
