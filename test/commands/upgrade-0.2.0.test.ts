/** What version 0.2.0 has written, with the data of its server, read by the commands of today. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { readAnswerRules } from "../../src/sandbox/apps/definitions/read-rules.ts";
import { copiedFiles, withStored } from "../lib/earlier-version.ts";
import { testSandbox } from "../lib/sandbox.ts";

/** Its README says how the files were made. */
const { folder, path, textOf } = await copiedFiles("0.2.0");
writeFileSync(path("data/sandbox.db"), gunzipSync(readFileSync(path("data/sandbox.db.gz"))));
const [record = ""] = readdirSync(path("state/undo"));
writeFileSync(
  path(`state/undo/${record}`),
  textOf(`state/undo/${record}`).replace("/old/backups", path("backups")),
);
const server = await testSandbox({
  directory: path("data"),
  allowedHosts: ["127.0.0.1"],
  models: true,
  applications: [readAnswerRules(parse(textOf("rules.yaml")) as object, "rules")],
});
const { ran, outOf, writes } = withStored(server, folder);

test("profiles, their keys and what they bind", async () => {
  const rows = JSON.parse(await outOf("kb", "profile", "list", "-o", "json")) as readonly object[];
  const base_url = "http://127.0.0.1:7080/v1";
  const key = "dataset-****dbox in the profile file";
  expect(rows).toMatchObject([
    { name: "work", default: true, base_url, key, user: "ann", default_app: "echo" },
    { name: "readonly", default: false, base_url, key, output: "json", read_only: true },
    {
      name: "bound",
      base_url,
      knowledge_bases: { Handbook: "11111111-1111-4111-8111-111111111111" },
    },
  ]);
  expect((await ran("kb", "-p", "readonly", "create", "No")).exit).toBe(2);
});

test("the data of a sandbox", async () => {
  const names = await outOf("kb", "list", "--columns", "name,documents", "--limit", "4");
  expect(names).toBe("Synced\t3\nRows\t3\nMoved\t1\nHandbook\t2\n");
});

test("a sync knows the marked documents, and the one that was deleted on the server", async () => {
  const written = writes();
  const line = ["Handbook", path("docs"), "--metadata", "team=people", "--dry-run"];
  const { out, err } = await ran("kb", "sync", ...line);
  expect(out).toMatch(/^create\tleave\.md\t.*\n$/);
  expect(err).toContain("3 files: 1 to create, 2 unchanged");
  const synced = await ran("kb", "sync", "--config", path("sources.yaml"), "--yes");
  expect(synced.err).toContain("handbook: 3 files: 3 unchanged");
  expect(written()).toEqual([]);
  const history = await outOf("kb", "sync", "history", "handbook", "--columns", "at,kb,result");
  expect(history.split("\n")[1]).toBe("2026-11-29T12:42:31.920Z\tSynced\tok");
});

test("an import that was killed continues, and nothing is doubled", async () => {
  const line = ["import", path("bundle"), "--name", "Moved", "--as-is", "--yes"];
  const { exit, err } = await ran("kb", ...line);
  expect(err).toContain("resuming the import into Moved\n");
  expect(exit).toBe(0);
  expect(await outOf("kb", "verify", path("bundle"), "name:Moved", "--chunks")).toBe("");
});

test("an export is compared with a knowledge base, and imported", async () => {
  expect((await ran("kb", "verify", path("bundle"), "name:Handbook")).out).toBe(
    "document\tleave.md\texists\t\n",
  );
  await outOf("kb", "import", path("bundle"), "--name", "Whole", "--as-is", "--yes");
  expect(await outOf("kb", "verify", path("bundle"), "name:Whole", "--chunks")).toBe("");
});

test("a snapshot is restored, and the last command undone", async () => {
  const list = await outOf(
    "kb",
    "backup",
    "list",
    path("backups"),
    "--columns",
    "snapshot,documents,status",
  );
  expect(list).toBe("436641bc\t2\tcomplete\nc1b13d8d\t3\tcomplete\n66e233c6\t3\tcomplete\n");
  const line = ["backup", "restore", path("backups"), "Handbook", "--snapshot", "66e233c6"];
  await outOf("kb", ...line, "--name", "Restored", "--yes");
  expect(await outOf("kb", "verify", path("bundle"), "name:Restored", "--chunks")).toBe("");
  expect((await ran("kb", "undo", "--yes")).err).toContain("undid kb doc delete Handbook leave.md");
  // The mark of the stored file is that of the new one.
  expect((await ran("kb", "verify", path("bundle"), "name:Handbook", "--chunks")).out).toMatch(
    /^metadata\tleave\.md: kb_file\t\S+\t\S+\n$/,
  );
});

test("results of a suite are a baseline; what they lack is named", async () => {
  const line = ["--app", "rules", "test", "run", path("suite.yaml"), "--repeat", "5"];
  const history = ["--history", path("history")];
  const { exit, out } = await ran("wf", ...line, "--baseline", path("results.json"), ...history);
  expect(exit).toBe(0);
  expect(out).toContain("results.json of an unknown time ");
  expect(out).toContain(
    "# history: not used, since the baseline has no time (files of version 0.2.0 have none)\n",
  );
  await outOf("wf", ...line, "--save", path("now.json"));
  const later = await outOf("wf", ...line, "--baseline", path("now.json"), ...history);
  expect(later).toContain("; refused: 5 of an earlier version");
});
