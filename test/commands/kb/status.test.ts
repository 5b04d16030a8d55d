import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();
const home = await temporaryDirectory();
const docs = join(home, "docs");
const kb = (...words: readonly string[]) => server.cli(["kb", ...words], { folder: home });
const status = async (...flags: readonly string[]) =>
  (await server.done(["kb", "status", "Handbook", docs, ...flags], { folder: home })).out;
const lines = (changes: string, unchanged: string, problems: string) =>
  `changes\t${changes}\nunchanged\t${unchanged}\nproblems\t${problems}\n`;

beforeAll(async () => {
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  await server.done(["kb", "doc", "add", "Handbook", "mine.md", "--text", "Somebody's text"]);
  await server.done(["kb", "doc", "wait", "Handbook"]);
  await write(docs, { "a.md": "one", "b.md": "two", "p.png": "x" });
});

test("shows what each sync would do, and changes nothing", async () => {
  expect(await status()).toBe(
    lines("2 to create; 6 characters to index", "0 of 3 files", "1 skipped"),
  );
  await kb("sync", "Handbook", docs);
  server.seen.length = 0;
  expect(await status("--exit-code")).toBe(lines("none", "2 of 3 files", "1 skipped"));
  expect(server.seen.filter(({ method }) => method !== "GET")).toEqual([]);

  await write(docs, { "a.md": "other", "b.md": null, "mine.md": "My own", "p.png": null });
  const kept = "1 document without a file (deleted by --prune only)";
  const changed = "1 to update; 5 characters to index";
  expect(await status()).toBe(lines(changed, "0 of 2 files", `1 in conflict: mine.md; ${kept}`));
  expect(await status("--prune", "--adopt")).toBe(
    lines("2 to update, 1 to delete; 11 characters to index", "0 of 2 files", "none"),
  );
  await write(docs, { "empty.md": "" });
  const problems = `1 in conflict: mine.md; 1 would fail: empty.md; ${kept}`;
  expect(await status()).toBe(lines(changed, "0 of 3 files", problems));
  await write(docs, { "empty.md": null });
});

test("-o json has counts; --exit-code tells a difference", async () => {
  const { exit, out, err } = await kb("status", "Handbook", docs, "--exit-code", "-o", "json");
  expect(exit).toBe(14);
  expect(JSON.parse(out)).toMatchObject({
    state: "out of date",
    files: 2,
    actions: { update: 1, conflict: 1 },
    without_file: 1,
  });
  expect(err).toContain("differ");
});
