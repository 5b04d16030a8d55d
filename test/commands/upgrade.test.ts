/** What version 0.1.0 has written, read by the commands of today. */
import { cpSync, readdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { copiedFiles, withStored } from "../lib/earlier-version.ts";
import { testSandbox } from "../lib/sandbox.ts";

/** Its README says how the files were made. */
const { folder, path, textOf } = await copiedFiles("0.1.0");
const server = await testSandbox({ allowedHosts: ["127.0.0.1"], models: true });
const { ran, outOf, writes } = withStored(server, folder);

test("profiles, their keys and their settings are known", async () => {
  const rows = JSON.parse(await outOf("kb", "profile", "list", "-o", "json")) as readonly object[];
  const base_url = "http://127.0.0.1:7080/v1";
  const key = "dataset-****dbox in the profile file";
  const apps = { echo: "**** in the profile file" };
  expect(rows).toMatchObject([
    { name: "work", default: true, base_url, key, user: "ann", apps, default_app: "echo" },
    { name: "readonly", default: false, base_url, key, output: "json", read_only: true },
  ]);
  const config = await outOf("kb", "config", "explain", "--columns", "setting,value,source");
  expect(config).toContain("end user\tann\tprofile work\n");
  expect(config).toContain("application\techo\tprofile work\n");
  const names = await outOf("kb", "list", "--columns", "name");
  expect(names.split("\n").sort()).toEqual(["", "Files", "Website"]);
  expect((await ran("kb", "-p", "readonly", "create", "No")).exit).toBe(2);
});

/** A document in the manifest of an export. */
interface Exported {
  readonly id: string;
  readonly name: string;
  readonly stored: string;
  readonly file: string;
  readonly metadata: Readonly<Record<string, string>>;
}
const documentsIn = (directory: string) =>
  (
    JSON.parse(textOf(`${directory}/manifest.json`)) as {
      readonly state: { readonly documents: readonly Exported[] };
    }
  ).state.documents;

test("an export is imported", async () => {
  await outOf("kb", "import", path("bundle"));
  expect(await outOf("kb", "verify", path("bundle"), "Handbook")).toBe("");
  await outOf("kb", "export", "Handbook", path("now"));
});

test("a sync knows the documents that were marked, and uploads nothing", async () => {
  const now = new Map(documentsIn("now").map((each) => [each.name, each]));
  for (const { name, metadata } of documentsIn("bundle")) {
    // The mark of the stored file is that of the old server.
    const marks = { ...metadata, kb_file: now.get(name)?.stored };
    const values = Object.entries(marks).flatMap(([field, value]) => [
      "--set",
      `${field}=${value}`,
    ]);
    await outOf("kb", "metadata", "set", "Handbook", name, ...values);
  }
  const written = writes();
  const { out, err } = await ran("kb", "sync", "Handbook", path("bundle/documents"));
  expect(out).toBe("");
  expect(err).toContain("3 files: 3 unchanged");
  expect(written()).toEqual([]);
});

test("a file of a knowledge base has no difference to the import", async () => {
  await outOf("kb", "plan", path("handbook.kb.yaml"), "--exit-code");
});

test("results of an evaluation are a baseline", async () => {
  const line = ["eval", "Handbook", path("questions.jsonl"), "--top-k", "1"];
  const out = await outOf("kb", ...line, "--baseline", path("eval.json"));
  expect(out).toMatch(/^eval\.json\tndcg@1\t1\t1\t\+0\.000\t\t1\.0000\tsame$/m);
  expect(out).toMatch(/^latency_p50 \(s\)\t0\.009\t/m);
});

test("a batch that was killed continues: no row that was sent is sent again", async () => {
  const [journal = ""] = readdirSync(path("state")).filter((name) => name.startsWith("each-"));
  expect(textOf(`state/${journal}`)).toMatch(/\{"sent":2\}\n$/);
  const written = writes();
  const { exit, out } = await ran("kb", "tag", "create", "--each", path("tags.csv"));
  const ends = out.split("\n").map((line) => line.split("\t").slice(0, 2).join(" "));
  expect(ends).toEqual(["red skipped", "green unknown", "blue ok", ""]);
  expect(exit).toBe(10);
  expect(written()).toEqual(["POST /v1/datasets/tags"]);
});

test("an export that was cut off downloads no document again", async () => {
  // The documents that it has stored are those of the server, by their IDs.
  cpSync(path("bundle/documents"), path("cut/documents"), { recursive: true });
  const lines = textOf("cut/manifest.part.jsonl")
    .trim()
    .split("\n")
    .map((line) => {
      const entry = JSON.parse(line) as { readonly file: string };
      const { id, stored } = documentsIn("now").find(({ file }) => file === entry.file) ?? {};
      return JSON.stringify({ ...entry, id, stored });
    });
  writeFileSync(path("cut/manifest.part.jsonl"), `${lines.join("\n")}\n`);
  const written = writes();
  await outOf("kb", "export", "Handbook", path("cut"));
  expect(written()).toEqual([]);
  expect(documentsIn("cut").map(({ name }) => name)).toEqual(
    documentsIn("now").map(({ name }) => name),
  );
});

test("a recording is replayed, drawn and compared", async () => {
  const replayed = await outOf("wf", "replay", path("run.jsonl"));
  expect(replayed).toContain("\nhello\n");
  expect(await outOf("wf", "timeline", path("run.jsonl"))).toContain(
    "\nEnd\tsucceeded\t0 ms\t0 ms\n",
  );
  await outOf("wf", "run", "query=hello", "--record", path("now.jsonl"));
  await outOf("wf", "diff", path("run.jsonl"), path("now.jsonl"), "--exit-code");
});

test("an export of logs continues with the runs that came since", async () => {
  const before = textOf("runs.jsonl");
  await outOf("wf", "logs", "export", path("runs.jsonl"), "--state", path("logs.json"));
  expect(textOf("runs.jsonl").startsWith(before)).toBe(true);
});

test("results of a suite are a baseline", async () => {
  const line = ["--app", "answers", "test", "run", path("suite.yaml")];
  const { out } = await server.done(["wf", ...line, "--baseline", path("results.json")]);
  expect(out).toContain("passes");
});
