import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cannedServer, ok, pageOf } from "../../lib/canned-server.ts";
import type { Routes } from "../../lib/canned-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();
const run = (argv: readonly string[], world: World = {}) =>
  server.cli(["kb", ...argv], { folder, ...world });
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], { folder })).out;

/** Runs a command on a terminal and returns what it said and asked. */
async function asked(argv: readonly string[], ...answers: string[]) {
  const questions: string[] = [];
  const ran = await run(argv, { tty: true, columns: 200, answers, questions });
  return { ...ran, questions };
}

const writes = () =>
  server.seen.flatMap(({ method, path }) =>
    method === "GET" ? [] : `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, "ID").slice(12)}`,
  );
const lists = () => server.seen.filter(({ path }) => path.includes("/documents?")).length;

/** The names of documents with a value each: `a people, b people`. */
const rows = async (kb: string, column: string) => {
  const lines = (await done("doc", "list", kb, "--columns", `name,${column}`)).trim().split("\n");
  return lines
    .map((line) => line.replace("\t", " ").trim())
    .sort()
    .join(", ");
};

/** Two documents of people, one of another team, and one without any. */
async function base(kb: string): Promise<void> {
  await done("create", kb, "--indexing-technique", "economy");
  await done("metadata", "create", kb, "team", "--type", "string");
  await done("doc", "add", kb, "--each", join(folder, "texts.csv"), "--concurrency", "1");
  await done("metadata", "set", kb, "a", "b", "--set", "team=people");
  await done("metadata", "set", kb, "c", "--set", "team=it");
  await done("doc", "wait", kb);
}

const kb = "Handbook";
beforeAll(async () => {
  const texts = ["a", "b", "c", "d"].map((name) => `${name},three words here`);
  await writeFile(join(folder, "texts.csv"), ["name,text", ...texts, ""].join("\n"));
  for (const name of [kb, "Changed"]) await base(name);
});
beforeEach(() => void (server.seen.length = 0));

describe("a delete by condition", () => {
  test.each<[where: string[], found: string]>([
    [["team = people"], "2 of 4 documents match: b, a (32 words); not judged, without a value: 1"],
    [["team = people", "name = a"], "1 of 4 documents match: a (16 words)"],
    // What lacks the value does not differ from it.
    [["team != people"], "1 of 4 documents match: c (16 words); not judged, without a value: 1"],
    [["not team = it"], "2 of 4 documents match: b, a (32 words); not judged, without a value: 1"],
    [["team does not exist"], "1 of 4 documents match: d (16 words)"],
    [["words > 3 and status = available"], "4 of 4 documents match: d, c, b, a (64 words)"],
    [["words > 1000"], "0 of 4 documents match"],
  ])("%j: %s", async (where, found) => {
    const flags = where.flatMap((each) => ["--where", each]);
    const { err, exit } = await run(["doc", "delete", kb, ...flags, "--dry-run"]);
    expect([exit, err.split("\n")[0]]).toEqual([0, found]);
    expect(writes()).toEqual([]);
  });

  test("asks on a terminal, as after the names of documents", async () => {
    const where = ["--where", "team = people"];
    const ran = await asked(["doc", "delete", kb, ...where], "n");
    expect(ran.questions).toEqual([
      "Delete documents b, a from knowledge base Handbook? This cannot be undone. [y/N, b to back up first] ",
    ]);
    expect(ran.err).toContain("documents match: b, a (32 words)");
    expect(ran.err).toContain("\nnothing was deleted\n");
    expect([ran.exit, writes()]).toEqual([2, []]);
    const one = await asked(["doc", "delete", kb, "--where", "name = a"], "n");
    expect(one.questions[0]).toMatch(/^Delete document a from knowledge base Handbook: 1 chunk\?/);
  });

  test("without a terminal it needs --yes before anything is read", async () => {
    const ran = await run(["doc", "delete", kb, "--where", "team = people"]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("hint: pass --yes to skip the prompt");
    expect(server.seen).toEqual([]);
  });

  test.each<[argv: string[], exit: number, problem: string]>([
    [["doc", "delete", kb, "--where", "tem = people"], 2, "unknown field tem\nhint: did you mean"],
    [["doc", "delete", kb, "--where", "words > x"], 2, "invalid number"],
    [["doc", "delete", kb, "a", "--where", "words > 0"], 2, "either --where or named documents"],
    [["doc", "delete", kb, "--each", "f", "--where", "words > 0"], 2, "--where is not possible"],
    [["metadata", "set", kb, "--where", "words > 0"], 2, "--set, --unset or --replace is required"],
    [["metadata", "set", kb, "--where", "words > 0", "--set", "x=1"], 3, '"x" not found'],
    [["--where", "words > 0", "doc", "list", kb], 2, "write it behind the command"],
    [["doc", "delete", "--where", "words > 0"], 2, "<kb> is missing"],
    [["doc", "disable", kb], 2, "<doc> is missing"],
  ])("%j is refused before the list is read", async (argv, exit, problem) => {
    const ran = await run([...argv, ...(argv[0] === "--where" ? [] : ["--yes"])]);
    expect(ran.err).toContain(problem);
    expect([ran.exit, lists(), writes()]).toEqual([exit, 0, []]);
  });
});

test("other changes ask, too, and concern the documents that match", async () => {
  const where = ["Changed", "--where", "team = people"];
  for (const [verb, status] of [
    ["disable", "disabled"],
    ["enable", "available"],
    ["archive", "archived"],
    ["unarchive", "available"],
  ] as const) {
    expect((await run(["doc", verb, ...where])).exit).toBe(2);
    const declined = await asked(["doc", verb, ...where], "n");
    expect(declined.questions[0]).toMatch(
      /^\w+ documents b, a in knowledge base Changed\? \[y\/N\]/,
    );
    expect(declined.err).toContain("\nnothing was changed\n");
    const ran = await run(["doc", verb, ...where, "--yes", "-o", "json"]);
    expect(JSON.parse(ran.out)).toEqual({ result: "success" });
    expect(await rows("Changed", "status")).toBe(
      `a ${status}, b ${status}, c available, d available`,
    );
  }
  const set = ["metadata", "set", "Changed", "--where", "team does not exist", "--set", "team=new"];
  expect((await asked(set, "y")).questions).toEqual([
    "Set metadata of document d in knowledge base Changed? [y/N] ",
  ]);
  expect(await rows("Changed", "team")).toBe("a people, b people, c it, d new");
});

test("a delete takes what matches, is told like one by names, and can be undone", async () => {
  await done("metadata", "set", "Changed", "d", "--unset", "team");
  const ran = await asked(["doc", "delete", "Changed", "--where", "team != people"], "b");
  expect(ran.exit).toBe(0);
  expect(ran.err).toContain("\nDeleted document c from knowledge base Changed (1 chunk)\n");
  expect(ran.err).toContain("to undo it: `kb undo`");
  expect(await rows("Changed", "team")).toBe("a people, b people, d");
  expect((await asked(["undo"], "y")).exit).toBe(0);
  expect(await rows("Changed", "team")).toBe("a people, b people, c it, d");
  const both = await run(
    ["doc", "delete", "Changed", "--where", "team = people", "--yes", "-o", "csv"],
    {},
  );
  expect(both.out.replaceAll(/[0-9a-f-]{36}/g, "ID")).toBe(
    "name,status,error,id\r\nb,ok,,ID\r\na,ok,,ID\r\n",
  );
  expect(await rows("Changed", "team")).toBe("c it, d");
  const none = await run(["doc", "delete", "Changed", "--where", "team = people", "--yes"]);
  expect([none.exit, none.out]).toEqual([0, ""]);
  expect(none.err).toContain("0 of 2 documents match");
});

describe("the whole list is read", () => {
  const id = (at: number) => `22222222-2222-4222-8222-${String(at).padStart(12, "0")}`;
  const dataset = "11111111-1111-4111-8111-111111111111";
  const document = (at: number) => ({ id: id(at), name: `${at}`, word_count: at });
  const page = (from: number, to: number, total: number) =>
    ok({
      data: Array.from({ length: to - from }, (_, at) => document(from + at)),
      has_more: to < total,
      limit: 100,
      total,
      page: 1 + from / 100,
    });
  const routes = (total: number): Routes => ({
    "GET /datasets/*/metadata": ok({ doc_metadata: [], built_in_field_enabled: false }),
    "GET /datasets/*/documents": ({ line }) =>
      line.includes("page=2") ? page(100, 103, total) : page(0, 100, total),
    "DELETE /datasets/*/documents/*": { status: 204 },
  });
  const line = ["kb", "doc", "delete", dataset, "--where", "words > 100", "--yes"];

  test("documents of the second page match", async () => {
    const canned = await cannedServer();
    const ran = await canned.run(routes(103), line);
    expect(ran.exit).toBe(0);
    expect(canned.lines().filter((each) => each.startsWith("DELETE"))).toEqual([
      `DELETE /datasets/${dataset}/documents/${id(101)}`,
      `DELETE /datasets/${dataset}/documents/${id(102)}`,
    ]);
  });

  test("nothing is deleted if the server does not send all of it", async () => {
    const canned = await cannedServer();
    const ran = await canned.run(routes(120), line);
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("failed to read the whole list: received 103 of 120 rows");
    expect(canned.lines().some((each) => each.startsWith("DELETE"))).toBe(false);
  });

  test("values that are missing are not judged", async () => {
    const canned = await cannedServer();
    const rows = [{ ...document(0), word_count: null }, { id: id(1), name: "1" }, document(7)];
    const answers = { ...routes(0), "GET /datasets/*/documents": pageOf(...rows) };
    const ran = await canned.run(answers, [...line.slice(0, 5), "words < 9", "--yes"]);
    expect(ran.err).toBe("1 of 3 documents match: 7 (7 words); not judged, without a value: 2\n");
    expect(canned.lines().filter((each) => each.startsWith("DELETE"))).toEqual([
      `DELETE /datasets/${dataset}/documents/${id(7)}`,
    ]);
  });
});

test("rows of any list are filtered by their columns", async () => {
  const list = (...flags: string[]) => run(["list", "--columns", "name", ...flags]);
  expect((await list("--where", "documents > 3 and name != Changed")).out).toBe("Handbook\n");
  const none = await list("--where", "document_count > 10");
  expect([none.exit, none.out]).toEqual([0, ""]);
  expect(none.err).toBe("0 of 2 rows match (filtered locally)\n");
  const wrong = await list("--where", "document > 10");
  expect([wrong.exit, wrong.out]).toEqual([2, ""]);
  expect(wrong.err).toContain("unknown field document\nhint: did you mean document");
});
