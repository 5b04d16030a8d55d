import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
let number = 0;

const kb = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: home });

/** Writes a file with these lines and returns its path. */
async function file(...lines: readonly string[]): Promise<string> {
  const path = join(home, `${++number}.yml`);
  await writeFile(path, `${lines.join("\n")}\n`);
  return path;
}

const writes = () => server.seen.filter(({ method }) => method !== "GET").length;

describe("apply", () => {
  const whole = () =>
    file(
      "knowledge_base: Handbook",
      "description: What new colleagues ask",
      "permission: all_team_members",
      "indexing_technique: economy",
      "retrieval_model:",
      "  top_k: 5",
      "tags: [published, people]",
      "metadata:",
      "  team: string",
      "  reviewed: time",
      "built_in_fields: true",
    );

  test("creates what plan prints, and has nothing left to do afterwards", async () => {
    const path = await whole();
    const before = writes();
    const plan = await kb("plan", path, "--exit-code");
    expect(plan.exit).toBe(14);
    const rows = [
      "create\tknowledge base\tHandbook\t\t\t",
      "create\tsetting\tdescription\t\tWhat new colleagues ask\t",
      "create\tsetting\tpermission\t\tall_team_members\t",
      "create\tsetting\tindexing_technique\t\teconomy\t",
      "create\tsetting\tretrieval_model.top_k\t\t5\t",
      "bind\ttag\tpublished\t\t\t",
      "bind\ttag\tpeople\t\t\t",
      "create\tfield\tteam\t\tstring\t",
      "create\tfield\treviewed\t\ttime\t",
      "switch\tbuilt-in fields\tbuilt_in_fields\tfalse\ttrue\t",
    ];
    expect(plan.out).toBe(`${rows.join("\n")}\n`);
    expect((await kb("apply", path, "--dry-run")).out).toBe(plan.out);
    const grid = (await kb("plan", path, "-o", "grid", "--color", "always")).out.split("\n");
    expect(grid[7]).toContain("\u001b[32mbind\u001b[39m");
    expect(grid[10]).toContain("\u001b[33mswitch\u001b[39m");
    expect(grid[10]).toContain("\u001b[31mfalse\u001b[39m");
    expect(grid[10]).toContain("\u001b[32mtrue\u001b[39m");
    expect(writes()).toBe(before);

    const applied = await kb("apply", path);
    expect(applied.exit, applied.err).toBe(0);
    expect(applied.out).toBe(plan.out);
    const shown = JSON.parse((await kb("show", "Handbook", "-o", "json")).out) as object;
    expect(shown).toMatchObject({
      description: "What new colleagues ask",
      permission: "all_team_members",
      indexing_technique: "economy",
      retrieval_model_dict: { top_k: 5 },
      built_in_field_enabled: true,
    });

    const again = await kb("apply", path);
    expect(again).toMatchObject({ exit: 0, out: "" });
    expect((await kb("plan", path, "--exit-code")).exit).toBe(0);
  });

  test("pull prints a file that matches the knowledge base", async () => {
    const path = join(home, "pulled.yml");
    await kb("pull", "Handbook", "--output-file", path);
    const text = await readFile(path, "utf8");
    expect(text).toMatch(/^knowledge_base: Handbook\ndescription: What new colleagues ask\n/);
    expect(text).toContain("tags:\n  - people\n  - published\n");
    expect(text).toContain("metadata:\n  reviewed: time\n  team: string\n");
    expect((await kb("plan", path, "--exit-code")).exit).toBe(0);
  });

  test("changes only what the file has", async () => {
    const path = await file(
      "knowledge_base: Handbook",
      "description: Rules",
      "tags: [people]",
      "metadata: { year: number }",
    );
    const applied = await kb("apply", path);
    expect(applied.out).toBe(
      [
        "change\tsetting\tdescription\tWhat new colleagues ask\tRules\t",
        "unbind\ttag\tpublished\t\t\t",
        "create\tfield\tyear\t\tnumber\t",
        "",
      ].join("\n"),
    );
    expect((await kb("tag", "bound", "Handbook", "--jq", ".[].name")).out).toBe("people\n");
    const fields = await kb(
      "metadata",
      "list",
      "Handbook",
      "--jq",
      '[.[].name] | sort | join(" ")',
    );
    expect(fields.out).toBe("reviewed team year\n");
  });

  test("syncs documents from a directory relative to the file", async () => {
    await write(join(home, "pages"), { "a.md": "a", "b/c.md": "c", "d.zip": "d" });
    const path = await file("knowledge_base: Handbook", "documents:", "  directory: pages");
    const plan = await kb("plan", path, "--exit-code");
    expect(plan.exit).toBe(14);
    expect(plan.out).toBe(
      "create\tdocument\ta.md\t\t\t1 character to index\ncreate\tdocument\tb/c.md\t\t\t1 character to index\n",
    );
    const applied = await kb("apply", path);
    expect(applied.exit, applied.err).toBe(0);
    const names = await kb("doc", "list", "Handbook", "--jq", '[.[].name] | sort | join(" ")');
    expect(names.out).toBe("a.md b/c.md\n");
    expect(await kb("apply", path)).toMatchObject({ exit: 0, out: "" });
    expect((await kb("plan", path, "--exit-code")).exit).toBe(0);
  });

  test.each([
    ["custom", "text_model"],
    ["hierarchical", "hierarchical_model"],
  ])("splits new documents by a %s rule of the file", async (mode, form) => {
    await write(join(home, "ruled"), { "a.md": "One. Two." });
    const parts = "{ separator: '. ', max_tokens: 50 }";
    const rules =
      mode === "custom"
        ? `{ pre_processing_rules: [], segmentation: ${parts} }`
        : `{ pre_processing_rules: [], parent_mode: paragraph, segmentation: ${parts}, subchunk_segmentation: ${parts} }`;
    const path = await file(
      `knowledge_base: Split ${mode}`,
      "indexing_technique: economy",
      `process_rule: { mode: ${mode}, rules: ${rules} }`,
      "documents: { directory: ruled }",
    );
    const applied = await kb("apply", path);
    expect(applied.exit, applied.err).toBe(0);
    const shown = '[.doc_form, .document_process_rule.mode] | join(" ")';
    const { out } = await kb("doc", "show", `Split ${mode}`, "a.md", "--jq", shown);
    expect(out).toBe(`${form} ${mode}\n`);
  });

  test("ignores duplicate tags and the order of settings", async () => {
    const path = await file(
      "knowledge_base: Handbook",
      "tags: [people, people]",
      "retrieval_model:",
      "  reranking_model: { reranking_model_name: '', reranking_provider_name: '' }",
    );
    const applied = await kb("apply", path);
    expect(applied.exit, applied.err).toBe(0);
    expect(await kb("plan", path, "--exit-code")).toMatchObject({ exit: 0, out: "" });
  });

  test("prompts before it deletes more than max_delete", async () => {
    const pages = join(home, "pruned");
    await write(pages, { "a.md": "a", "b.md": "b", "c.md": "c" });
    const lines = ["knowledge_base: Pruned", "indexing_technique: economy", "documents:"];
    const pruning = [...lines, "  directory: pruned", "  prune: true"];
    const path = await file(...pruning);
    expect((await kb("apply", path)).exit).toBe(0);
    const left = async () => (await kb("doc", "list", "Pruned", "--jq", "map(.name)|sort")).out;

    await rm(join(pages, "a.md"));
    const unconfirmed = await kb("apply", path);
    expect(unconfirmed.exit).toBe(2);
    expect(unconfirmed.err).toContain("Delete 1 of 3 documents");
    expect(unconfirmed.err).toContain("hint: pass --yes");
    expect((await kb("apply", await file(...pruning, "  max_delete: 1"))).exit).toBe(0);
    expect(JSON.parse(await left())).toEqual(["b.md", "c.md"]);

    await rm(join(pages, "b.md"));
    expect((await kb("apply", path, "--yes")).exit).toBe(0);
    expect(JSON.parse(await left())).toEqual(["c.md"]);
  });

  test.each(["plan", "apply"])("%s: documents need an indexing technique", async (verb) => {
    await write(join(home, "pages"), { "a.md": "a" });
    const before = writes();
    const path = await file("knowledge_base: Bare", "documents:", "  directory: pages");
    const ran = await kb(verb, path);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("set indexing_technique to high_quality or economy");
    expect(writes()).toBe(before);
  });

  test("rejects another type for an existing field, with a hint", async () => {
    const path = await file("knowledge_base: Handbook", "metadata: { team: number }");
    const before = writes();
    for (const command of ["plan", "apply"]) {
      const ran = await kb(command, path);
      expect(ran.exit).toBe(5);
      expect(ran.err).toContain("the type of a field cannot change");
    }
    expect(writes()).toBe(before);
  });
});

describe("an invalid file is rejected with the line", () => {
  test.each<[string, readonly string[], string]>([
    [
      "an unknown field",
      ["knowledge_base: A", "descripton: x"],
      'line 2: unknown field "descripton"',
    ],
    [
      "an invalid value",
      ["knowledge_base: A", "", "permission: everybody"],
      'line 3: permission is "everybody", not one of only_me, all_team_members, partial_members',
    ],
    [
      "an invalid field type",
      ["knowledge_base: A", "metadata:", "  team: text"],
      'line 2: metadata.team is "text", not one of string, number, time',
    ],
    [
      "an unknown search setting",
      ["knowledge_base: A", "retrieval_model:", "  topk: 3"],
      "line 2: retrieval_model has an unknown field topk",
    ],
    [
      "an unknown field of the documents",
      ["knowledge_base: A", "documents:", "  directory: a", "  prefx: b"],
      "line 2: documents has an unknown field prefx",
    ],
    [
      "a value of another type",
      ["knowledge_base: A", "tags: [a, 1]"],
      "line 2: tags.1 is a number, not text",
    ],
    ["null", ["knowledge_base: A", "description:"], "line 2: description is null"],
    [
      "null for the documents",
      ["knowledge_base: A", "documents: { directory: a, prefix: }"],
      "line 2: documents.prefix is null",
    ],
    [
      "an invalid max_delete",
      ["knowledge_base: A", "documents: { directory: a, max_delete: many }"],
      "line 2: documents.max_delete is not a number or a percentage",
    ],
    ["no name", ["description: x"], "line 1: knowledge_base is missing"],
    ["no mapping", ["- a"], "line 1: expected a mapping"],
    ["no YAML", ["knowledge_base: A", "tags: [a"], "line 3: "],
    ["an empty name", ["knowledge_base: ''"], "line 1: knowledge_base is empty, not a name"],
  ])("%s", async (_, lines, message) => {
    const before = server.seen.length;
    const ran = await kb("apply", await file(...lines));
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
    expect(server.seen.length).toBe(before);
  });
});
