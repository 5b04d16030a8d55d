import { beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { parseLine } from "../../src/cli/parse/parser.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";

const kb = await commandsOf("kb");
const wf = await commandsOf("wf");

/** Lines with the habits of other programs, and the same in ours. */
const same: readonly (readonly [typed: string, means: string])[] = [
  ["wf events RUN -f", "wf events RUN --follow"],
  ["wf events RUN -F", "wf events RUN --follow"],
  ["wf logs -f", "wf logs --follow"],
  ["wf logs -fq", "wf logs --follow -q"],
  ["wf run -i query=x -i n=1", "wf run --input query=x --input n=1"],
  ["wf form submit t -i comment=x", "wf form submit t --input comment=x"],
  ["wf run query=x n=1", "wf run --input query=x --input n=1"],
  ["wf run query=x --input n=1", "wf run --input query=x --input n=1"],
  ["wf run -i n=1 query=x", "wf run --input query=x --input n=1"],
  ["kb list -o table", "kb list -o grid"],
  ["kb list --output=table", "kb list -o grid"],
  ["kb list --json=name,id", "kb list --json --columns name,id"],
  ["kb list --json name,id", "kb list --json --columns name,id"],
  ["kb list --json name", "kb list --json --columns name"],
  ["kb list --json --all", "kb list --all --json"],
  ["kb list --limit 5 --json name -q", "kb list --limit 5 -q --json --columns name"],
  ["kb show Handbook --json name,id", "kb show Handbook --json --columns name,id"],
  ["kb -p work show Handbook --json id", "kb -p work show Handbook --json --columns id"],
  ["kb show --json Handbook", "kb show Handbook --json"],
  ["kb show --json name", "kb show name --json"],
  ["kb show --json -- name", "kb show name --json"],
  ["kb --json list", "kb list --json"],
  ["kb list --json -o json", "kb list -o json --json"],
  ["wf events RUN --jq . -o jsonl", "wf events RUN -o jsonl --jq ."],
  ["kb --json=name list", "kb list --json=name"],
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

  test("--json with columns prints objects of these columns", async () => {
    const { out } = await cli("kb list --json name,document_count");
    expect(JSON.parse(out)).toEqual([{ name: "Handbook", document_count: 0 }]);
    expect(JSON.parse((await cli("kb list --json name,documents")).out)).toEqual([
      { name: "Handbook", documents: 0 },
    ]);
    expect((await cli("kb show --json Handbook")).out).toBe(
      (await cli("kb show Handbook -o json")).out,
    );
  });

  test.each([
    ["kb list --json nmae", "too many arguments: expected 0, got 1"],
    ["kb list --json name,nmae", "too many arguments: expected 0, got 1"],
    ["kb list --json=id --columns name", "use either --json=paths or --columns, not both"],
    ["kb list --json -o csv", "use either --json or -o csv, not both"],
    ["kb -o csv list --json=id", "use either --json or -o csv, not both"],
    ["kb list --json=nmae", 'column "nmae" not found'],
  ])("%s is not valid", async (line, message) => {
    const { exit, err } = await cli(line);
    expect(exit).toBe(2);
    expect(JSON.parse(err)).toMatchObject({ error: { message } });
  });

  test("an error of a line with --json=columns is JSON", async () => {
    const { err, exit } = await cli("kb show Nowhere --json=name");
    expect(exit).toBe(3);
    expect(JSON.parse(err)).toMatchObject({ error: { code: "not-found" } });
  });

  test("-o table is grid, also as a default", async () => {
    const grid = (await cli("kb list -o grid --columns name")).out;
    expect((await cli("kb list -o table --columns name")).out).toBe(grid);
    const env = { KB_OUTPUT: "table" };
    expect((await server.cli(["kb", "list", "--columns", "name"], { env })).out).toBe(grid);
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
