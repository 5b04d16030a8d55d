import { expect, test } from "vitest";
import { against, http, lines, say } from "../lib/raw-server.ts";
import { cli } from "../lib/support.ts";

const { read, create } = lines;
const page = (row: string) =>
  say(http(200, `{"data":[${row}],"has_more":false,"limit":20,"total":1,"page":1}`));
const env = { KB_BASE_URL: "http://127.0.0.1:1/v1", KB_KEY: "dataset-x" };
const deep = `${'{"a":['.repeat(50_000)}${"]}".repeat(50_000)}`;

test.each(["json", "jsonl", "yaml", "csv", "tsv", "md", "grid", "wide"])(
  "a value nested 100,000 levels deep is an error, not a crash, with -o %s",
  async (format) => {
    const ran = await against([page(`{"id":"1","name":${deep}}`)], ["kb", "list", "-o", format]);
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("nested too deeply to display");
  },
);

test.each(["Array buffer allocation failed", "Invalid string length"])(
  "memory that is not there is no bug: %s",
  async (message) => {
    const read = () => Promise.reject(new RangeError(message));
    const ran = await cli(["kb", "apply", "package.json"], { env, files: { read } });
    expect(ran).toEqual({ exit: 1, out: "", err: "error: out of memory\n" });
  },
);

test("-o name works if another field is nested too deeply", async () => {
  const ran = await against([page(`{"id":"1","name":${deep}}`)], ["kb", "list", "-o", "name"]);
  expect(ran).toMatchObject({ exit: 0, out: "1\n" });
});

test("a create whose response is nested too deeply is reported as successful", async () => {
  const ran = await against([say(http(200, `{"id":"1","name":${deep}}`))], create);
  expect(ran).toMatchObject({ exit: 1, out: "", requests: { length: 1 } });
  expect(ran.err).toContain("the request succeeded");
});

test("an API error whose body is nested too deeply is still an API error", async () => {
  const ran = await against([say(http(400, `{"code":"x","message":${deep}}`))], create);
  expect(ran).toMatchObject({ exit: 5, out: "" });
});

test("duplicate fields, control characters, lone surrogates and large numbers are printed as received", async () => {
  const odd = page(
    '{"id":"first","id":"9007199254740993","name":"a\\u0000b\\ud800c","count":9007199254740993,"created_at":1e300}',
  );
  const json = await against([odd], read);
  expect(json).toMatchObject({
    exit: 0,
    // The last of two fields with the same name wins; numbers and strings are unchanged.
    out: '[\n{"id":"9007199254740993","name":"a\\u0000b\\ud800c","count":9007199254740993,"created_at":1e+300}\n]\n',
  });
  const grid = await against([odd], ["kb", "list", "-o", "grid"]);
  expect(grid.exit).toBe(0);
  expect(grid.out).toContain("a␀b<U+D800>c");
});

test.each(["json", "csv", "grid"])(
  "a name of 10,000 characters is not truncated with -o %s",
  async (format) => {
    const name = "世".repeat(10_000);
    const ran = await against([page(`{"id":"1","name":"${name}"}`)], ["kb", "list", "-o", format]);
    expect(ran.exit).toBe(0);
    expect(ran.out).toContain(name);
  },
);
