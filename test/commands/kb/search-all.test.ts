// `kb search --all`: one list of the results of all knowledge bases that the key opens.
import { beforeAll, describe, expect, test } from "vitest";
import { cannedServer, ok, pageOf } from "../../lib/canned-server.ts";
import type { Canned, Routes } from "../../lib/canned-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";

const canned = await cannedServer();
const server = await testSandbox({ models: true });

const idOf = (number: number) => `${number}`.repeat(8) + "-0000-4000-8000-000000000000";
const semantic = { search_method: "semantic_search", reranking_enable: false, top_k: 2 };
const vectors = (model: string, more: object = {}) => ({
  indexing_technique: "high_quality",
  embedding_model: model,
  embedding_model_provider: "a/b/c",
  retrieval_model_dict: { ...semantic, score_threshold_enabled: false, ...more },
});
const keywords = {
  indexing_technique: "economy",
  retrieval_model_dict: {
    ...vectors("").retrieval_model_dict,
    search_method: "keyword_search",
  },
};

/** A knowledge base: its settings, and the scores of what its search finds. */
type Base = readonly [name: string, settings: object, scores: readonly number[]];

/** A server with these knowledge bases, in the order of its list; `a1` is the first chunk that `A` finds. */
function serving(bases: readonly Base[], more: Routes = {}): Routes {
  const listed = bases.map(([name, settings], at) => ({
    id: idOf(at + 1),
    name,
    provider: "vendor",
    document_count: 1,
    ...settings,
  }));
  const routes = bases.flatMap(([name, , scores], at): [string, Canned][] => {
    const records = scores.map((score, index) => {
      const text = `${name.toLowerCase()}${index + 1}`;
      const document = { id: idOf(9), name: `${name.toLowerCase()}.md` };
      return { segment: { id: idOf(8), content: text, document }, score, child_chunks: [] };
    });
    return [
      [`GET /datasets/${idOf(at + 1)}`, ok(listed[at])],
      [`POST /datasets/${idOf(at + 1)}/retrieve`, ok({ query: { content: "x" }, records })],
    ];
  });
  return { ...more, "GET /datasets": pageOf(...listed), ...Object.fromEntries(routes) };
}

const search = (routes: Routes, ...flags: string[]) =>
  canned.run(routes, ["kb", "search", "--all", "leave", ...flags]);
const texts = async (routes: Routes, ...flags: string[]) => {
  const ran = await search(routes, "--jq", ".[].segment.content", ...flags);
  expect(ran.exit, ran.err).toBe(0);
  return ran.out.trim().split("\n");
};
const searched = () =>
  canned.seen
    .filter(({ line }) => line.endsWith("/retrieve"))
    .map(({ line }) => line.slice(15, 16));

const A: Base = ["A", vectors("one"), [0.9, 0.5, 0.4]];
const B: Base = ["B", vectors("one"), [0.95, 0.3]];
const C: Base = ["C", keywords, [0, 0]];
const D: Base = ["D", vectors("two"), [0.99]];
const bases = [A, B, C, D];

describe("the order of the list", () => {
  test.each<[string, readonly Base[], string[]]>([
    ["rank before score", [A, B], ["b1", "a1", "a2", "b2", "a3"]],
    ["the list, where no score differs", [C, ["E", keywords, [0]]], ["c1", "e1", "c2"]],
    ["economy takes turns", [A, C], ["a1", "c1", "a2", "c2", "a3"]],
    ["another model takes turns", bases, ["b1", "c1", "d1", "a1", "c2", "a2", "b2", "a3"]],
    [
      "so does another method",
      [A, ["F", vectors("one", { search_method: "full_text_search" }), [0.18, 0.1]]],
      ["a1", "f1", "a2", "f2", "a3"],
    ],
    [
      "and reranking",
      [["G", vectors("one", { reranking_enable: true }), [0.2]], B],
      ["g1", "b1", "b2"],
    ],
    ["none", [], [""]],
  ])("%s", async (_, served, expected) => {
    expect(await texts(serving(served))).toEqual(expected);
  });

  test("--top-k limits the list, and no knowledge base gives fewer", async () => {
    expect(await texts(serving(bases), "--top-k", "3")).toEqual(["b1", "c1", "d1"]);
    const sent = canned.seen.flatMap(({ line, body }) =>
      line.endsWith("/retrieve") ? [(body as { retrieval_model: object }).retrieval_model] : [],
    );
    expect(sent).toHaveLength(4);
    for (const model of sent) expect(model).toMatchObject({ top_k: 3 });
  });
});

test("each result has its knowledge base, in columns and in JSON", async () => {
  const rows = await search(serving([A, C]), "--columns", "kb,rank,document,score,kb_id");
  expect(rows.out.split("\n").slice(0, 3)).toEqual([
    `A\t1\ta.md\t0.9\t${idOf(1)}`,
    `C\t1\tc.md\t0\t${idOf(2)}`,
    `A\t2\ta.md\t0.5\t${idOf(1)}`,
  ]);
  const [first] = JSON.parse((await search(serving([C]), "-o", "json")).out) as object[];
  expect(first).toMatchObject({ kb: "C", kb_id: idOf(1), rank: 1, segment: { content: "c1" } });
  const table = await search(serving([C]), "-o", "csv");
  expect(table.out.split("\r\n")[0]).toBe("kb,document,score,content,answer,child,chunk");
  const argv = ["kb", "search", "--all", "leave"];
  const shown = await canned.run(serving([A]), argv, {
    tty: true,
    env: { NO_COLOR: "1" },
  });
  expect(shown.out).toMatch(/^1 {2}0\.90 {2}A: a\.md\n {3}a1\n/);
});

test("an empty knowledge base is not searched: it has no table of vectors yet", async () => {
  const empty = { ...vectors("one"), document_count: 0 };
  const external = { ...keywords, document_count: 0, provider: "external" };
  const served: Base[] = [["E", empty, []], A, ["X", external, [0.1]]];
  expect(await texts(serving(served))).toEqual(["a1", "x1", "a2", "a3"]);
  expect(searched().toSorted()).toEqual(["2", "3"]);
});

describe("knowledge bases that fail", () => {
  const failing = (status: number, code: string): Canned => ({
    status,
    json: { code, message: "The model is overloaded.", status },
  });

  test.each([400, 403, 404])("are named for %i, and the others are printed", async (status) => {
    const more = { [`POST /datasets/${idOf(2)}/retrieve`]: failing(status, "invalid_param") };
    const ran = await search({ ...serving(bases), ...more }, "--columns", "segment.content");
    expect(ran.out.split("\n")).toEqual(["a1", "c1", "d1", "a2", "c2", "a3", ""]);
    expect(ran.exit).toBe(10);
    expect(ran.err).toMatch(/^B: .*The model is overloaded\./m);
    expect(ran.err).toContain("error: failed to search 1 of 4 knowledge bases: B\n");
    const quiet = await search({ ...serving(bases), ...more }, "-q", "-o", "json");
    const { error } = JSON.parse(quiet.err) as { error: { exit: number; details: object } };
    expect(error.exit).toBe(10);
    expect(error.details).toMatchObject({
      failed: [{ kb: "B", error: expect.stringContaining("The model is overloaded.") }],
    });
  });

  test("a rejected key ends the command", async () => {
    const more = { "GET /datasets": failing(401, "unauthorized") };
    const ran = await search({ ...serving(bases), ...more });
    expect([ran.exit, ran.out, searched()]).toEqual([4, "", []]);
  });
});

test("--only searches those that it names, once, without the list", async () => {
  const two = ["--only", idOf(2), "--only", idOf(3), "--only", idOf(2)];
  expect(await texts(serving(bases), ...two)).toEqual(["b1", "c1", "b2", "c2"]);
  expect(canned.seen.map(({ line }) => line)).not.toContain("GET /datasets");
  const gone = await search(serving([A]), "--only", idOf(1), "--only", idOf(7));
  expect(gone.exit).toBe(10);
  expect(gone.err).toContain(`failed to search 1 of 2 knowledge bases: ${idOf(7)}`);
});

describe("the line", () => {
  test.each([
    [
      ["Handbook", "leave", "--only", "A", "--only", "B"],
      "--only needs --all",
      "`kb search leave --all --only A --only B`",
    ],
    [
      ["--all", "parental", "leave"],
      "with --all, the query is the only argument",
      "in one: `kb search parental leave`, in all: `kb search 'parental leave' --all`",
    ],
    [
      ["leave"],
      "name a knowledge base, or pass --all",
      "in one: `kb search KB leave`, in all: `kb search leave --all`",
    ],
  ])("kb search %j sends nothing", async (words, message, hint) => {
    const ran = await canned.run(serving(bases), ["kb", "search", ...words]);
    expect([ran.exit, ran.err]).toEqual([2, `error: ${message}\nhint: ${hint}\n`]);
    expect(canned.seen).toEqual([]);
  });
});

describe("a key that cannot list", () => {
  const ids: Record<string, string> = {};
  const done = (...argv: string[]) => server.done(["kb", ...argv]);

  beforeAll(async () => {
    for (const [name, technique] of [
      ["Handbook", "economy"],
      ["Vectors", "high_quality"],
      ["Shut", "economy"],
    ] as const) {
      ids[name] = (
        await done("create", name, "--indexing-technique", technique, "-o", "name")
      ).out.trim();
      await done("doc", "add", name, `${name}.md`, "--text", `Thirty days of leave, says ${name}`);
      await done("doc", "wait", name);
    }
  });

  const run = (KB_DATASET_IDS: string) => {
    const KB_KEY = `dataset-bound-${ids["Handbook"]},${ids["Vectors"]}`;
    const env = { KB_PROFILE: "", KB_KEY, KB_DATASET_IDS };
    return server.cli(["kb", "search", "--all", "leave", "--columns", "kb,document"], { env });
  };

  test("searches what the profile names, and names what it does not open", async () => {
    const named = `Rules=${ids["Handbook"]}, ${ids["Vectors"]}`;
    const ran = await run(named);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).toBe("Handbook\tHandbook.md\nVectors\tVectors.md\n");
    expect(ran.err).toContain(
      "the key cannot list knowledge bases: searching those that are named\n",
    );
    const more = await run(`${named}, Shut=${ids["Shut"]}`);
    expect([more.exit, more.out]).toEqual([10, ran.out]);
    expect(more.err).toContain("failed to search 1 of 3 knowledge bases: Shut");
  });

  test("without any, is told how to name them", async () => {
    const ran = await run("");
    expect([ran.exit, ran.out]).toEqual([4, ""]);
    expect(ran.err).toContain(
      "which it cannot list: name them with `kb login PROFILE --kb NAME=ID`",
    );
  });

  test("one that can list searches all of them", async () => {
    const ran = await done("search", "--all", "leave", "--columns", "kb");
    expect(ran.out.trim().split("\n").toSorted()).toEqual(["Handbook", "Shut", "Vectors"]);
  });
});
