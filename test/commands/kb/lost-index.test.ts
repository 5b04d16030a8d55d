// What no list shows: chunks that are gone, and an economy index that is gone. No other state gives an alarm.
import { afterEach, expect, test } from "vitest";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import type { Altered } from "../../lib/altering-proxy.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const world = { folder: await temporaryDirectory() };
const kb = (...argv: string[]) => server.cli(["kb", ...argv], world);
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], world)).out.trim();
const lose = async (what: object) => {
  const body = JSON.stringify(what);
  const { ok } = await fetch(`${server.sandbox.origin}/_sandbox/lose`, { method: "POST", body });
  expect(ok).toBe(true);
};
const idOf = (...argv: string[]) => done(...argv, "--jq", ".id");
const loseChunks = async (name: string, document = "a.md") =>
  lose({ chunks: await idOf("doc", "show", name, document) });
const loseKeywords = async (name: string) => lose({ keywords: await idOf("show", name) });

const economy = ["--indexing-technique", "economy"];
const quality = ["--indexing-technique", "high_quality"];
async function base(name: string, technique = economy, documents = ["a.md", "b.md"]) {
  await done("create", name, ...technique);
  for (const each of documents) await done("doc", "add", name, each, "--text", `Leave of ${each}`);
  if (documents.length > 0) await done("doc", "wait", name);
}
const chunk = (name: string, document: string) =>
  done("chunk", "list", name, document, "--jq", ".[0].id");
const searchFails = (name: string) =>
  idOf("show", name).then((id) =>
    server.sandbox.setFaults([parseFault(`POST */datasets/${id}/retrieve status=500`)]),
  );
afterEach(() => server.sandbox.setFaults([]));

const gone = "its chunks are gone";
const empty = "searches fail: they find nothing, not even keywords of chunks: ";
type State = readonly [state: string, make: (name: string) => Promise<unknown>, rows: string[]];
const states: readonly State[] = [
  ["whole", (name) => base(name), []],
  ["whole, of high quality", (name) => base(name, quality), []],
  ["without documents", (name) => base(name, economy, []), []],
  [
    "without chunks",
    async (name) => {
      await base(name);
      await loseChunks(name);
    },
    [`no chunks a.md ${gone} kb heal $`],
  ],
  [
    "without chunks, of high quality",
    async (name) => {
      await base(name, quality);
      await loseChunks(name);
    },
    [`no chunks a.md ${gone} kb heal $`],
  ],
  [
    "without chunks of a disabled document",
    async (name) => {
      await base(name);
      await done("doc", "disable", name, "a.md");
      await loseChunks(name);
    },
    [],
  ],
  [
    "without keywords",
    async (name) => {
      await base(name);
      await loseKeywords(name);
    },
    [`search $ ${empty}`],
  ],
  [
    "without keywords, one document disabled, of the other a chunk",
    async (name) => {
      await base(name);
      await done("doc", "disable", name, "a.md");
      await done("chunk", "add", name, "b.md", "--content", "Another", "--keyword", "more");
      await done("chunk", "update", name, "b.md", await chunk(name, "b.md"), "--no-enabled");
      await loseKeywords(name);
    },
    [`search $ ${empty}more`],
  ],
  [
    "without keywords, all documents disabled",
    async (name) => {
      await base(name);
      await done("doc", "disable", name, "a.md", "b.md");
      await loseKeywords(name);
    },
    [],
  ],
  [
    "without keywords of high quality",
    async (name) => {
      await base(name, quality);
      await loseKeywords(name);
    },
    [],
  ],
  [
    "with a search that fails",
    async (name) => {
      await base(name);
      await searchFails(name);
    },
    ["not checked $ search: "],
  ],
];

const rowsOf = (out: string) =>
  out
    .split("\n")
    .filter(Boolean)
    .map((row) => row.split("\t").slice(0, 5).toSpliced(1, 1).join(" "));

let number = 0;
test.each(states)("a knowledge base %s", async (_, make, expected) => {
  const name = `Base${++number}`;
  await make(name);
  const ran = await kb("check", name, "--no-content", "--retries", "0");
  const rows = rowsOf(ran.out).filter((row) => !row.includes("--no-content"));
  expect(rows.toSorted(), ran.err).toEqual(
    expected.map((row) => expect.stringContaining(row.replaceAll("$", name)) as unknown),
  );
});

test("chunks with other keywords than those that a search looks up give no alarm", async () => {
  await base("Own words", economy, ["a.md", "b.md", "c.md"]);
  // A server looks up words: "annual leave" is two.
  const url = await alteringProxy(server.sandbox.origin, ({ path, json }: Altered) => {
    if (!/\/segments\?/.test(path)) return;
    for (const row of (json as { data: Record<string, unknown>[] }).data)
      row["keywords"] = String(row["content"]).endsWith("a.md") ? ["leave"] : ["zzz"];
  });
  const { out } = await kb("check", "Own words", "--no-content", "--base-url", url);
  expect(rowsOf(out)).toHaveLength(1);
});

test("a document that is being written again is not without chunks", async () => {
  await base("Written");
  await loseChunks("Written");
  const url = await alteringProxy(server.sandbox.origin, ({ path, json }: Altered) => {
    if (/\/documents\/[0-9a-f-]{36}\?metadata/.test(path))
      Object.assign(json as object, { indexing_status: "indexing" });
  });
  const { out } = await kb("check", "Written", "--no-content", "--base-url", url);
  expect(out).not.toContain(gone);
});

test("heal brings chunks back that are gone, and changes nothing else", async () => {
  await base("Healed");
  const ids = await done("doc", "list", "Healed", "--all", "-o", "name");
  await loseChunks("Healed");
  expect(await done("heal", "Healed", "--dry-run")).toMatch(
    /^update\tdocument\ta\.md\tno chunks: /,
  );
  await done("heal", "Healed");
  expect(await done("chunk", "list", "Healed", "a.md", "--jq", ".[].content")).toBe(
    "Leave of a.md",
  );
  expect(await done("doc", "list", "Healed", "--all", "-o", "name")).toBe(ids);
  expect(await done("check", "Healed")).toBe("");
  const since = server.seen.length;
  await done("heal", "Healed");
  expect(server.seen.slice(since).filter(({ method }) => method !== "GET")).toEqual([]);
});

test("an update with --rewrite brings keywords back, and the message without it says so", async () => {
  await base("Words");
  await loseKeywords("Words");
  const [row = ""] = (await kb("check", "Words")).out.split("\n");
  expect(row.split("\t")[4]).toBe("kb update Words --rewrite");
  await done("update", "Words", "--rewrite", "-y");
  expect(await done("search", "Words", "leave", "--search-method", "keyword_search")).toContain(
    "Leave of a.md",
  );
  expect(await done("check", "Words")).toBe("");
  // It writes nothing where searches find.
  const since = server.seen.length;
  await done("update", "Words", "--rewrite");
  const written = server.seen.slice(since).filter(({ path }) => path.includes("update-by"));
  expect(written).toEqual([]);
});
