import { execFileSync } from "node:child_process";
import { cp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { formsOfChunks, handEditedBase } from "../../lib/as-is-bases.ts";
import { killer, nth } from "../../lib/killed-at.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const home = await temporaryDirectory();
const servers = {
  "1.14.2": await testSandbox({ speed: 400, models: true }),
  "1.16.1": await testSandbox({ speed: 400, server: "1.16.1", models: true }),
};
const server = servers["1.14.2"];
beforeEach(() => server.sandbox.setFaults([]));

const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });
/** Requests that change a chunk, since a number of requests. */
const chunkWrites = (since = 0) =>
  server.seen
    .slice(since)
    .filter(({ method, path }) => method !== "GET" && path.includes("/segments"))
    .map(
      ({ method, path }) =>
        `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, "ID").split("/segments")[1]}`,
    );

const every = (["1.14.2", "1.16.1"] as const).flatMap((version) =>
  formsOfChunks.map((form) => [version, form[0], form] as const),
);

test.each(sampled(10, every.toReversed()))(
  "%s, %s: an export as is, imported and copied, has no differences",
  async (version, name, form) => {
    const { done: run, cli } = servers[version];
    const folder = join(home, `${version} ${name}`);
    await handEditedBase(servers[version], name, form);
    const target = { folder };
    await run(["kb", "export", name, join(folder, "bundle")]);
    await run(
      ["kb", "import", join(folder, "bundle"), "--name", `${name} in`, "--as-is", "-y"],
      target,
    );
    await run(["kb", "copy", name, "--name", `${name} copy`, "--as-is", "-y"], target);
    for (const sides of [
      [name, `name:${name} in`],
      [join(folder, "bundle"), `name:${name} copy`],
    ]) {
      const ran = await cli(["kb", "verify", ...sides, "--chunks"]);
      expect(ran.out).toBe("");
      expect(ran.err).toContain(
        "no differences; compared 3 and 3 documents with their content, chunks",
      );
    }
    // Without --as-is, verify sees what is lost.
    await run(["kb", "copy", name, "--name", `${name} split`], target);
    const { exit, out } = await cli(["kb", "verify", name, `name:${name} split`, "--chunks"]);
    expect(exit).toBe(14);
    expect(out).toMatch(/^chunk\tedited\.md: chunk 1\t/m);
  },
);

describe("an import as is", () => {
  test("sends no chunk that the server splits as it is stored", async () => {
    await handEditedBase(server, "Once", formsOfChunks[1]);
    const bundle = join(home, "once");
    await done("export", "Once", bundle);
    const before = server.seen.length;
    const ran = await done("import", bundle, "--name", "Once in", "--as-is", "-y");
    // Two documents of three are as they were split.
    expect(chunkWrites(before)).toEqual([
      "POST /ID",
      "DELETE /ID",
      "POST ",
      "POST /ID",
      "POST /ID",
      "POST /ID",
    ]);
    expect(ran.err).toContain("\nchunks: 1 updated, 2 added, 1 deleted\n");
    const again = server.seen.length;
    const second = await done("import", bundle, "--into", "Once in", "--as-is", "-y");
    expect(chunkWrites(again)).toEqual([]);
    expect(second.err).toContain("3 documents: 3 unchanged");
  });

  test("says what it embeds and leaves out, and sends nothing without consent", async () => {
    await handEditedBase(server, "Asked", formsOfChunks[1]);
    const bundle = join(home, "asked");
    await done("export", "Asked", bundle);
    const ran = await kb("import", bundle, "--name", "Asked in", "--as-is");
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(
      "not imported: ids, hit counts, tokens, times, authors and index hashes of chunks",
    );
    expect(ran.err).toMatch(
      /Embed 3 documents \(913 B\), and again up to 22 chunks \(910 characters\) that the server splits in another way\?/,
    );
    expect((await kb("show", "Asked in")).exit).toBe(3);
    const before = server.seen.length;
    const refused = await kb("copy", "Asked", "--name", "Asked in", "--as-is");
    expect(refused.exit).toBe(2);
    expect(refused.err).toContain("--yes");
    const read = server.seen.slice(before).filter(({ path }) => /download|segments/.test(path));
    expect(read).toEqual([]); // nothing is downloaded that would not be used
    const copy = await done("copy", "Asked", "--name", "Asked in", "--as-is", "--dry-run");
    expect(copy.err).toMatch(
      /to embed: 3 documents, and again up to 22 chunks \(910 characters\) that the server splits in another way/,
    );
  });

  test.each(
    sampled(6, [
      ["POST *document/create-by-text status=503 times=4", 0],
      ["POST *segments reset times=1", 1],
      ["POST *segments/* reset times=1", 1],
      ["POST *segments cut-bytes=3 times=1", 1],
      ["DELETE *segments/* reset times=1", 1],
    ]),
  )("after %s ends as an undisturbed one", async (fault, at) => {
    const name = `Fault ${fault.replaceAll("/*", " one").replaceAll(/\W+/g, " ")}`.slice(0, 33);
    await handEditedBase(server, name, formsOfChunks[at === 0 ? 0 : 4]);
    const bundle = join(home, name);
    await done("export", name, bundle);
    server.sandbox.setFaults([parseFault(fault)]);
    const argv = ["import", bundle, "--name", `${name} in`, "--as-is", "-y"] as const;
    const first = await kb(...argv);
    server.sandbox.setFaults([]);
    if (first.exit !== 0) await done(...argv);
    await done("verify", bundle, `name:${name} in`, "--chunks");
  });

  test("gives a document its chunks that an import without them has split", async () => {
    await handEditedBase(server, "Later", formsOfChunks[0]);
    const bundle = join(home, "later");
    await done("export", "Later", bundle);
    await done("import", bundle, "--name", "Later in");
    const ran = await done("import", bundle, "--into", "Later in", "--as-is");
    expect(ran.out).toMatch(/^chunks\tdocument\tedited\.md\t/m);
    await done("verify", bundle, "Later in", "--chunks");
  });

  test("enables a disabled document before it changes its chunks, and disables it again", async () => {
    await done("create", "Off", "--indexing-technique", "economy");
    await done("doc", "add", "Off", "a.md", "--text", "First.");
    await done("doc", "wait", "Off");
    await done("chunk", "add", "Off", "a.md", "--content", "Added by hand.");
    await done("doc", "disable", "Off", "a.md");
    await done("export", "Off", join(home, "off"));
    await done("import", join(home, "off"), "--name", "Off in");
    await done("import", join(home, "off"), "--into", "Off in", "--as-is", "-y");
    await done("verify", "Off", "Off in", "--chunks");
  });

  test("reads an export of version 1, with the chunks that it has", async () => {
    const bundle = join(home, "former");
    await cp(join(import.meta.dirname, "former-export"), bundle, { recursive: true });
    await done("import", bundle, "--name", "Former", "--as-is", "-y");
    const contents = await done("chunk", "list", "Former", "leave.md", "--jq", ".[].content");
    expect(contents.out).toBe("Leave is 30 days. Ask early.\nTrains are booked by everybody.\n");
    const ran = await done("verify", bundle, "Former", "--chunks");
    expect(ran.err).toContain("no differences");
  });

  test("leaves out what no import can bring, which verify lists by itself", async () => {
    const bundle = join(home, "odd");
    await cp(join(import.meta.dirname, "former-export"), bundle, { recursive: true });
    const file = join(bundle, "chunks/leave.md.jsonl");
    const empty = { position: 3, content: " ", enabled: true, children: [] };
    const failed = { ...empty, position: 4, content: "Failed", enabled: false, status: "error" };
    const lines = [empty, { ...failed, summary: "s" }].map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(file, (await readFile(file, "utf8")) + lines.join(""));
    const ran = await done("import", bundle, "--name", "Odd", "--as-is", "-y");
    expect(ran.err).toContain(
      "; 1 chunk whose embedding failed; 1 empty chunk; 1 summary without a model\n",
    );
    const verified = await done("verify", bundle, "Odd", "--chunks");
    expect(verified.out).toBe(
      "not importable\tleave.md: chunk 3\t \t\nnot importable\tleave.md: chunk 4\tFailed\t\n",
    );
    expect(verified.err).toContain("; 2 differences that no import can remove");
  });

  test.each<[string, string[], string[], string]>([
    ["without chunks", ["--no-chunks"], [], "no chunks are stored of 3 documents: edited.md"],
    ["and --no-wait", [], ["--no-wait"], "--as-is and --no-wait exclude each other"],
    [
      "into another form",
      [],
      ["--into", "Questions"],
      "chunks of the form text_model cannot be imported into a knowledge base of the form qa_model",
    ],
  ])("is refused %s, before anything is sent", async (what, exported, imported, message) => {
    const bundle = join(home, `refused ${what}`);
    if ((await kb("show", "Refused")).exit !== 0) {
      await handEditedBase(server, "Refused", formsOfChunks[0]);
      await handEditedBase(server, "Questions", formsOfChunks[3]);
    }
    await done("export", "Refused", bundle, ...exported);
    const before = server.seen.length;
    const target = imported.includes("--into") ? [] : ["--name", "Refused in"];
    const ran = await kb("import", bundle, "--as-is", "-y", ...imported, ...target);
    expect(ran.err).toContain(message);
    const writes = server.seen
      .slice(before)
      .filter(({ method, path }) => method !== "GET" && !path.endsWith("-zip"));
    expect(writes).toEqual([]);
  });
});

test("an export with changed chunks gets another file, and the former one goes", async () => {
  await handEditedBase(server, "Twice", formsOfChunks[0]);
  const bundle = join(home, "twice");
  await done("export", "Twice", bundle);
  const files = async () => (await readdir(join(bundle, "chunks"))).sort();
  const before = ["archived.md.jsonl", "disabled.md.jsonl", "edited.md.jsonl"];
  expect(await files()).toEqual(before);
  await done("export", "Twice", bundle);
  expect(await files()).toEqual(before);
  await done("chunk", "add", "Twice", "edited.md", "--content", "One more");
  await done("export", "Twice", bundle);
  expect(await files()).toEqual([...before.slice(0, 2), "edited.md (1).jsonl"].sort());
  await writeFile(join(bundle, "chunks/disabled.md.jsonl"), "{}\n");
  const ran = await kb("import", bundle, "--name", "Damaged");
  expect(ran.err).toContain("chunks/disabled.md.jsonl is changed");
});

test("an export that was killed leaves no chunks of a document that is gone since", async () => {
  await done("create", "Shrinks", "--indexing-technique", "economy");
  for (const name of ["a.md", "b.md"]) await done("doc", "add", "Shrinks", name, "--text", name);
  await done("doc", "wait", "Shrinks");
  const bundle = join(home, "shrinks");
  const files = () => readdir(join(bundle, "chunks"));
  const isManifest = nth(1, /^writeAtomic .*manifest/);
  await killer(server)(isManifest, ["kb", "export", "Shrinks", bundle], home);
  expect(await files()).toEqual(["a.md.jsonl", "b.md.jsonl"]);
  await done("doc", "delete", "Shrinks", "a.md", "--yes");
  await done("export", "Shrinks", bundle);
  expect(await files()).toEqual(["b.md.jsonl"]);
});

test("an import that continues does not disable a document again, which would lock it", async () => {
  await done("create", "Both", "--indexing-technique", "economy");
  await done("doc", "add", "Both", "a.md", "--text", "a");
  await done("doc", "wait", "Both");
  await done("doc", "disable", "Both", "a.md");
  await done("doc", "archive", "Both", "a.md");
  const bundle = join(home, "both");
  await done("export", "Both", bundle);
  const locking = servers["1.16.1"];
  const changes = async () => {
    const before = locking.seen.length;
    const { exit } = await locking.cli(["kb", "import", bundle, "--name", "Both in"]);
    const sent = locking.seen.slice(before).filter(({ method }) => method === "PATCH");
    return [exit, ...sent.map(({ path }) => path.replace(/.*\//, ""))];
  };
  // Once disabled, it is locked for ten minutes.
  expect(await changes()).toEqual([10, "disable", "archive"]);
  expect(await changes()).toEqual([10, "archive"]);
});

test("verify --chunks says that chunks are missing, and does not wait for a pipe in their place", async () => {
  await done("create", "Piped", "--indexing-technique", "economy");
  await done("doc", "add", "Piped", "a.md", "--text", "a");
  await done("doc", "wait", "Piped");
  const bundle = join(home, "piped");
  await done("export", "Piped", bundle);
  const path = join(bundle, "chunks/a.md.jsonl");
  await rm(path);
  const missing = await kb("verify", bundle, "Piped", "--chunks");
  expect(missing.err).toContain(`${path} is missing`);
  expect(missing.exit).toBe(2);
  execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
  const { exit, err } = await kb("verify", bundle, "Piped", "--chunks");
  expect(err).toContain(`${path} is not a regular file`);
  expect(exit).toBe(2);
});

test("verify --chunks names what it does not compare", async () => {
  await done("create", "Ruled", "--indexing-technique", "economy");
  const rule = (tokens: number) =>
    JSON.stringify({
      mode: "custom",
      rules: { pre_processing_rules: [], segmentation: { separator: "\n", max_tokens: tokens } },
    });
  await done("create", "Ruled 2", "--indexing-technique", "economy");
  for (const [base, language, tokens] of [
    ["Ruled", "English", 500],
    ["Ruled 2", "German", 600],
  ] as const) {
    const flags = ["--doc-language", language, "--process-rule", rule(tokens)];
    await done("doc", "add", base, "a.md", "--text", "one", ...flags);
    await done("doc", "wait", base);
  }
  const ran = await done("verify", "Ruled", "Ruled 2", "--chunks");
  expect(ran.err).toContain(
    "whether child chunks were made by hand, languages of documents, chunking rules of documents\n",
  );
});

test.each(
  sampled(5, [
    ["high_quality", true, "edited chunks, summaries"],
    ["high_quality", false, "edited chunks"],
    ["economy", true, "edited chunks"],
  ]),
)("an export of %s, with summaries enabled: %s, omits %s", async (technique, enable, words) => {
  const setting = { enable, model_name: "m", model_provider_name: "p", summary_prompt: "short" };
  const flags = ["--indexing-technique", technique];
  const name = `Omits ${technique} ${enable}`;
  await done("create", name, ...flags, "--summary-index-setting", JSON.stringify(setting));
  const { err } = await done("export", name, join(home, name), "--no-chunks");
  expect(err).toContain(`not exported: ${words}; without --no-chunks they are\n`);
});

test("verify --chunks shows the words that differ on a page", async () => {
  await handEditedBase(server, "Page", formsOfChunks[1]);
  await done("copy", "Page", "--name", "Page split");
  const { exit, out } = await kb("verify", "Page", "Page split", "--chunks", "-o", "html");
  expect(exit).toBe(14);
  expect(out).toMatch(/<del>.*formula/);
  expect(out).toMatch(/<ins>.*edited\.md/);
});
