/** A collection in the form of BEIR: three commands from its files to a run that other programs rate. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const lines = (rows: readonly object[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join("");

/** A number as a word of letters: searches compare words. */
const word = (prefix: string, number: number): string =>
  prefix + [...String(number)].map((digit) => "abcdefghij"[Number(digit)]).join("");

const corpus = Array.from({ length: 500 }, (_, at) => ({
  _id: `d${at}`,
  title: `Rule ${at}`,
  text: `The ${word("subject", at)} belongs to ${word("group", Math.floor(at / 5))}.`,
}));
const queries = Array.from({ length: 100 }, (_, at) => ({
  _id: `q${at}`,
  // The first 80 name a subject; the others are about words that no document has.
  text: at < 80 ? word("subject", at * 5) : word("unknown", at),
}));

test("500 documents and 100 questions come in, and a run goes out, by three commands", async () => {
  const server = await testSandbox({ speed: 1000 });
  const folder = await temporaryDirectory();
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const documents = await file("corpus.jsonl", lines(corpus));
  const asked = await file("queries.jsonl", lines(queries));
  const judged = await file(
    "test.tsv",
    `query-id\tcorpus-id\tscore\n${queries.map(({ _id }, at) => `${_id}\td${at * 5}\t1\n`).join("")}`,
  );
  const [create, sync, evaluate] = [
    ["kb", "create", "Rules", "--indexing-technique", "economy"],
    ["kb", "sync", "Rules", documents, "-q", "-o", "json"],
    ["kb", "eval", "Rules", "--queries", asked, "--qrels", judged, "--top-k", "3", "-q"],
  ] as const;
  await server.done([...create]);
  const made = JSON.parse((await server.done([...sync], { folder })).out) as {
    action: string;
    path: string;
  }[];
  expect(made).toHaveLength(500);
  expect(made.every(({ action }) => action === "create")).toBe(true);
  const { out } = await server.done([...evaluate, "-o", "json"], { folder });
  // 80 of 100 at rank 1.
  expect(JSON.parse(out)).toMatchObject({
    questions: 100,
    settings: [{ figures: { "recall@3": 0.8, mrr: 0.8, "ndcg@3": 0.8 } }],
  });
  const run = (await server.done([...evaluate, "-o", "trec"], { folder })).out.trim().split("\n");
  expect(
    run.filter((line) => line.split(" ")[3] === "1").map((line) => line.split(" ")[2]),
  ).toEqual(Array.from({ length: 80 }, (_, at) => `d${at * 5}`));
  // As with a directory: nothing to do, one changed, one gone.
  const plan = async (rows: readonly object[]) => {
    await writeFile(documents, lines(rows));
    const line = [...sync, "--prune", "--dry-run"];
    const all = JSON.parse((await server.done(line, { folder })).out) as {
      action: string;
      path: string;
    }[];
    return all
      .filter(({ action }) => action !== "skip")
      .map(({ action, path }) => `${action} ${path}`);
  };
  expect(await plan(corpus)).toEqual([]);
  const [first, ...others] = corpus.slice(0, -1);
  expect(await plan([{ ...first, text: "Changed." }, ...others])).toEqual([
    "update d0.md",
    "delete d499.md",
  ]);
});

test.each([
  ['{"_id":"a","text":"b"}\n{"_id":"a","text":"c"}\n', "line 2: a second document with the _id a"],
  ['{"_id":"../a","text":"b"}\n', "line 1: invalid _id"],
  ['{"title":"a"}\n', "line 1: a document has _id and text"],
])("a collection with a mistake changes nothing: %s", async (text, why) => {
  const server = await testSandbox();
  const folder = await temporaryDirectory();
  await server.done(["kb", "create", "Rules", "--indexing-technique", "economy"]);
  await writeFile(join(folder, "corpus.jsonl"), text);
  const line = ["kb", "sync", "Rules", join(folder, "corpus.jsonl")];
  expect(await server.cli(line, { folder })).toMatchObject({
    exit: 2,
    err: expect.stringContaining(why),
  });
});
