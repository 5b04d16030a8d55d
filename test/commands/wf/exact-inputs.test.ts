/** Inputs and outputs of runs with numbers of any length: the digits stay, or the line is refused. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/mcp.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();
beforeEach(() => {
  server.seen.length = 0;
});

/** The bodies of all runs that were started. */
const sent = (): string =>
  server.seen
    .filter(({ method }) => method === "POST")
    .map(({ body }) => new TextDecoder().decode(body))
    .join("\n");

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

const run = ["wf", "--app", "inputs", "run"];
const others = ["--input", "name=x", "--input", "kind=a"];
const inputs = (count: string) => `{"name":"x","kind":"a","count":${count}}`;

/** Lines that start a run with a number. */
const ways: readonly (readonly [string, (typed: string) => Promise<readonly string[]>])[] = [
  ["--input", async (typed) => [...run, ...others, "--input", `count=${typed}`]],
  ["--inputs", async (typed) => [...run, "--inputs", inputs(typed)]],
  [
    "--inputs @file",
    async (typed) => [...run, "--inputs", `@${await file("inputs.json", inputs(typed))}`],
  ],
  [
    "--each with CSV",
    async (typed) => [...run, "--each", await file("each.csv", `name,kind,count\nx,a,${typed}\n`)],
  ],
  [
    "--each with JSON Lines",
    async (typed) => [...run, "--each", await file("each.jsonl", `${inputs(typed)}\n`)],
  ],
];

describe.each(ways)("%s", (_, line) => {
  test.each([
    ["1790123456789012345", "1790123456789012345"],
    ["-9007199254740993", "-9007199254740993"],
    ["0.1234567890123456789", "0.1234567890123456789"],
    ["1.0", "1"],
    // Infinite to a server, and JSON has no such number.
    ["1e400", undefined],
  ])("%s", async (typed, json) => {
    const ran = await server.cli([...(await line(typed)), "-o", "jsonl"]);
    if (json === undefined) {
      expect([ran.exit, sent()], ran.err).toEqual([2, ""]);
      return;
    }
    expect(ran.exit, ran.err).toBe(0);
    expect(sent()).toContain(`"count":${json}`);
    expect(ran.out).toContain(`"count":${json}`);
  });
});

const counted = [...run, ...others, "--input", "count=1790123456789012345"];

test.each([
  ["json", '"count":1790123456789012345'],
  ["yaml", "count: 1790123456789012345"],
  ["jsonl", '"count":1790123456789012345'],
])("-o %s prints all digits of an output", async (format, expected) => {
  expect((await server.done([...counted, "-o", format])).out).toContain(expected);
});

test("--jq and --expect see all digits of an output", async () => {
  const { out } = await server.done([...counted, "--jq", ".outputs.count"]);
  expect(out).toBe("1790123456789012345\n");
  const expected = async (number: string) =>
    (await server.cli([...counted, "--expect", `output count is ${number}`])).exit;
  expect([await expected("1790123456789012345"), await expected("1790123456789012346")]).toEqual([
    0, 14,
  ]);
});

test("a recording and its replay have all digits", async () => {
  const path = join(folder, "run.jsonl");
  await server.done([...counted, "--record", path]);
  expect(await readFile(path, "utf8")).toContain('"count":1790123456789012345');
  const { out } = await server.done(["wf", "replay", path, "-o", "jsonl"]);
  expect(out).toContain('"count":1790123456789012345');
});

test("tools of wf mcp give all digits, and refuse numbers that their protocol rounds", async () => {
  const KB_SANDBOX_APP_KEYS = JSON.stringify({ echo: "app-echo", inputs: "app-inputs" });
  const { use, fail, close } = await connect(["wf", "mcp"], {
    env: { ...server.env, KB_SANDBOX_APP_KEYS },
    folder,
  });
  const run_id = (await server.done([...counted, "--jq", ".id"])).out.trim();
  const { value, text } = await use("show", { app: "inputs", run: run_id });
  expect(text).toContain("1790123456789012345");
  expect(JSON.stringify(value)).toContain('"count":"1790123456789012345"');
  server.seen.length = 0;
  const { error } = await fail("run_inputs", { name: "x", kind: "a", count: 2 ** 53 });
  expect(error["message"]).toContain("count");
  expect(sent()).toBe("");
  await close();
});
