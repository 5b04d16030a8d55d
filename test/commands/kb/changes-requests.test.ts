/** The requests of a sync to a knowledge base with documents: what it sends, reads and waits for. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import { actions, write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const { done, seen, sandbox } = await testSandbox({ speed: 200 });
const folder = await temporaryDirectory();

beforeAll(async () => {
  await write(join(folder, "files"), { "notes.md": "The plotter stands on the mezzanine." });
  await done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  await done(["kb", "sync", "Handbook", join(folder, "files")], { folder });
});

test("later files are sent without a rule, as the server applies its last one, and none is read", async () => {
  seen.length = 0;
  await write(join(folder, "files"), { "later.md": "A later note.", "notes.md": "Changed." });
  await done(["kb", "sync", "Handbook", join(folder, "files")], { folder });
  const sent = seen.find(({ path }) => path.endsWith("/document/create-by-text"));
  expect(JSON.parse(new TextDecoder().decode(sent?.body))).toMatchObject({ name: "later.md" });
  expect(new TextDecoder().decode(sent?.body)).not.toContain("process_rule");
  const writes = seen.findIndex(({ method }) => method !== "GET");
  const updated = seen.findIndex(({ path }) => path.endsWith("/update-by-text"));
  // The document is indexed, so nothing has to be waited for.
  expect(seen.slice(writes, updated).filter(({ method }) => method === "GET")).toEqual([]);
  expect(seen.filter(({ path }) => /\/documents\/[0-9a-f-]{36}\?/.test(path))).toEqual([]);
});

test("chunks edited by hand are lost, and looked for, only in documents that are sent again", async () => {
  for (const name of ["notes.md", "later.md"]) {
    const list = await done(["kb", "chunk", "list", "Handbook", name, "-o", "name"]);
    const edit = ["kb", "chunk", "update", "Handbook", name, list.out.split("\n")[0] ?? ""];
    await done([...edit, "--content", "Edited by hand"]);
  }
  await write(join(folder, "files"), { "notes.md": "Changed again." });
  seen.length = 0;
  const ran = await done(["kb", "sync", "Handbook", join(folder, "files"), "-n"], { folder });
  expect(ran.out).toMatch(/^update\tnotes\.md\t.*; loses chunk 1 \(edited\)\t\S+\n$/);
  const read = seen.flatMap(({ path }) => /documents\/([^/]+)\/segments/.exec(path)?.[1] ?? []);
  expect(new Set(read).size).toBe(1);
});

test("a sync waits for the last document that is being indexed", async () => {
  await write(join(folder, "files"), { "waited.md": "Not indexed at the first look." });
  let looks = 0;
  const url = await alteringProxy(sandbox.origin, ({ method, path, json }) => {
    if (method !== "GET" || !/\/documents\?/.test(path)) return;
    const { data } = json as { data: Record<string, unknown>[] };
    const waited = data.find(({ name }) => name === "waited.md");
    if (waited && ++looks === 1) waited["indexing_status"] = "indexing";
  });
  const line = ["kb", "sync", "Handbook", join(folder, "files"), "-y", "--base-url", url];
  expect(actions((await done(line, { folder })).out)).toContain("create waited.md");
});
