/** `kb tune` against the sandbox: what it finds, costs, applies and leaves behind. */
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { afterAppend } from "../../lib/after-append.ts";
import { answering } from "../../lib/answering.ts";
import { hintedCommands } from "../../lib/hinted.ts";
import { root } from "../../lib/paths.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import type { TestSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const example = (name: string) => join(root, "examples", name);

/** The handbook in a knowledge base with vectors. */
async function handbook() {
  const server = await testSandbox({ speed: 200, models: true });
  const folder = await temporaryDirectory();
  await server.done(["kb", "create", "Staff", "--indexing-technique", "high_quality"]);
  await server.done(["kb", "sync", "Staff", example("handbook")], { folder });
  const written = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  return { ...server, folder, written };
}

const names = async ({ done }: Pick<TestSandbox, "done">) =>
  (await done(["kb", "list", "--all", "--jq", ".[].name"])).out.trim().split("\n").sort();

const searches = ({ seen }: Pick<TestSandbox, "seen">) =>
  seen.filter(({ path }) => path.includes("/retrieve")).length;

const refused = ["text", "file"].map((kind) => parseFault(`POST */create-by-${kind} status=500`));

interface Tuned {
  readonly verdict: string;
  readonly best: string;
  readonly searches: number;
  readonly context_chars: number;
  readonly arms: readonly {
    readonly front: readonly { readonly value: number; readonly context_chars: number }[];
  }[];
  readonly questions: { readonly tune: number; readonly proof: number };
  readonly comparison: { readonly difference: number; readonly p: number };
  readonly needed: readonly { readonly difference: number; readonly questions: number }[];
}

const server = await handbook();

/** The questions about five documents are to tune with, 9 of 24: nine documents can prove more than five. */
const toTune = ["leave", "incident-response", "code-of-conduct", "equipment", "osaka-leave"];
const questions = await server.written(
  "questions.jsonl",
  (await readFile(example("questions.jsonl"), "utf8")).replaceAll(
    /"documents": \["([\w-]+)\.md".*\](?=[,}])/g,
    (found, first: string) => `${found}, "part": "${toTune.includes(first) ? "tune" : "proof"}"`,
  ),
);

test("a dry run and a declined one send no search; budgets are kept", async () => {
  const { cli, done, folder, written } = server;
  const before = searches(server);
  const line = ["kb", "tune", "Staff", questions];
  const planned = await done([...line, "--dry-run"], { folder });
  expect(planned.out).toContain("# Staff: 6 arms, at most 93 searches\n");
  const asked = await cli(line, { folder });
  expect(asked).toMatchObject({ exit: 2 });
  expect(asked.err).toContain("--yes");
  expect(searches(server)).toBe(before);
  for (const most of [20, 50]) {
    const start = searches(server);
    const flags = ["--max-requests", String(most), "--yes"];
    const { out } = await done([...line, ...flags], { folder });
    expect(out).toContain("beyond --max-requests");
    expect(searches(server) - start).toBeLessThanOrEqual(most);
  }
  const few = await cli([...line, "--max-requests", "3", "--yes"], { folder });
  expect(few).toMatchObject({ exit: 2 });
  expect(few.err).toContain("--max-requests 3 is too few: the least is 11");
  const arms = await written("arms.yml", "- { max_tokens: [100, 200] }\n");
  const embedded = [...line, "--arms", arms, "--max-embedded", "40000", "--dry-run"];
  // 25,900 characters; an overlap of a quarter makes a third more: 34,534 for each of the two.
  expect((await done(embedded, { folder })).out).toContain(
    "# not tried: 1 arm beyond --max-embedded\n",
  );
});

test("arms are reranked by a named model, or else by the only active one", async () => {
  const second = (host: Parameters<typeof answering>[0]) =>
    answering(host, ({ request, body }) => {
      if (!request.includes("/model-types/rerank")) return body;
      const { data } = JSON.parse(body.toString()) as { data: { models: object[] }[] };
      for (const { models } of data)
        models.push(...models.map((each) => ({ ...each, model: "b" })));
      return Buffer.from(JSON.stringify({ data }));
    });
  const line = ["kb", "tune", "Staff", questions, "--dry-run", "-o", "json"];
  const arms = async (...flags: readonly string[]) => {
    const { out } = await server.done([...line, ...flags], { around: second });
    return (JSON.parse(out) as Tuned).arms.length;
  };
  expect(await arms("--rerank-model", "stub-rerank")).toBeGreaterThan(await arms());
});

test("mistakes in arms and parts are named before anything is sent", async () => {
  const { cli, folder, written } = server;
  const files = [
    ["- { top: 3 }\n", "arm 1: unknown setting top"],
    ["- { max_tokens: 20 }\n", "max_tokens is 20, not a whole number from 50 to 4000"],
    ["- { top_k: 0 }\n", 'invalid value "0"'],
    ["- { search_method: semantic_search }\n", "no arm differs from the current settings"],
    ["search_method: hybrid_search\n", "expected a list of arms"],
  ] as const;
  const before = searches(server);
  for (const [text, message] of files) {
    const arms = await written("arms.yml", text);
    const line = ["kb", "tune", "Staff", questions, "--arms", arms, "--yes"];
    const { exit, err } = await cli(line, { folder });
    expect(exit, text).toBe(2);
    expect(err).toContain(message);
  }
  const part = await written(
    "part.jsonl",
    '{"question":"a","documents":["leave.md"],"part":"test"}',
  );
  const wrong = await cli(["kb", "tune", "Staff", part, "--yes"], { folder });
  expect(wrong.err).toContain('line 1: part is "test", not tune or proof');
  expect(searches(server)).toBe(before);
});

rareTest("the next tuning removes what a failed one left, by ID and name", async () => {
  const { cli, done, folder, sandbox, written } = server;
  const arms = await written("arms.yml", "- { max_tokens: [100, 200] }\n");
  const line = ["kb", "tune", "Staff", questions, "--yes"];
  const before = await names(server);
  sandbox.setFaults([parseFault("DELETE * status=403")]);
  const kept = await cli([...line, "--arms", arms, "--max-requests", "7"], { folder });
  sandbox.setFaults([]);
  expect(kept.exit).toBe(10);
  const left = (await names(server)).filter((name) => !before.includes(name));
  expect(left).toHaveLength(2);
  await done(["kb", "delete", left[1] ?? "", "--yes"]);
  // A knowledge base that somebody has renamed is no longer a temporary one.
  await done(["kb", "update", left[0] ?? "", "--name", "Kept"]);
  expect((await done(line, { folder })).err).not.toContain("removed");
  expect(await names(server)).toEqual([...before, "Kept"].sort());
  sandbox.setFaults(refused);
  const failed = await cli([...line, "--arms", arms], { folder });
  sandbox.setFaults([]);
  expect(failed.exit).toBe(10);
  expect(failed.err).toContain("temporary knowledge bases stay until the next kb tune");
  const { err } = await done(line, { folder });
  expect(err).toContain("removed 1 temporary knowledge base of an interrupted tuning");
  expect(await readdir(join(folder, "state", "imports"))).toEqual([]);
  expect(await names(server)).toEqual([...before, "Kept"].sort());
});

rareTest("a document is in one part, and five of them are too few for a claim of 1 %", async () => {
  const { done, folder, written } = server;
  const plain = await done(["kb", "tune", "Staff", example("questions.jsonl"), "--dry-run"]);
  // By the hashes of 14 documents, toTune are the five of the proof.
  expect(plain.out).toContain("# proof: the best arm and the current settings on 9 questions");
  const both = await written(
    "both.jsonl",
    ["tune", "proof", "tune"]
      .map((part, at) => `{"question":"q${at}","documents":["leave.md"],"part":"${part}"}\n`)
      .concat('{"question":"r","documents":["security.md"]}\n')
      .join(""),
  );
  const mixed = await done(["kb", "tune", "Staff", both, "--dry-run"], { folder });
  expect(mixed.err).toContain("questions about these name both: leave.md");
  expect(mixed.out).toContain("# proof: the best arm and the current settings on 3 questions");
  const line = ["kb", "tune", "Staff", example("questions.jsonl"), "--level", "0.01", "--yes"];
  const { out } = await done(line, { folder });
  expect(out).toContain("# Staff: inconclusive");
  expect(out).toContain("# 5 documents cannot show a difference: at least 7 are needed");
  expect(out).toContain("(4 of 5 times, with as many for each document)");
});

test("a longer list of the same search is not better at the same length of context", async () => {
  const arms = await server.written("longer.yml", "- { top_k: 10 }\n");
  const save = join(server.folder, "nothing.yml");
  const line = ["kb", "tune", "Staff", questions, "--arms", arms, "--level", "0.2"];
  const { out, err } = await server.done([...line, "--save", save, "--yes", "-o", "json"], {
    folder: server.folder,
  });
  expect((JSON.parse(out) as Tuned).verdict).not.toBe("better");
  const [today, longer] = (JSON.parse(out) as Tuned).arms;
  // Half of the characters: five of the first ten chunks, or of those of today.
  expect(longer?.front.map(({ value }) => value)).toEqual(today?.front.map(({ value }) => value));
  const { context_chars: whole } = JSON.parse(out) as Tuned;
  const eighths = today?.front.map(({ context_chars }) => (8 * context_chars) / whole);
  expect(eighths?.map((each) => each.toFixed(1)).join(" ")).toBe("1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0");
  const { out: page } = await server.done([...line, "--yes", "-o", "html"], {
    folder: server.folder,
  });
  expect(page).toContain(
    '<figcaption>recall by characters of the context <span class="legend"><span class="series-1">today</span> <span class="series-2">top_k=10</span>',
  );
  expect(page).toMatch(
    /<svg [^>]*aria-label="recall by characters of the context: today from 0\.\d\d to 0\.\d\d, last 0\.\d\d; top_k=10/,
  );
  expect(page.match(/<svg class="bar[ "]/g)).toHaveLength(2); // one for each arm
  expect(err).toContain(`${save} is not written: no other settings are proven better`);
  await expect(stat(save)).rejects.toThrow("ENOENT");
});

rareTest(
  "settings are not applied over others, nor after failed searches; what failed is sent again",
  async () => {
    const { cli, done, folder, sandbox } = server;
    const line = ["kb", "tune", "Staff", questions, "--yes", "--apply", "-o", "json"];
    const settings = async () =>
      (await done(["kb", "show", "Staff", "--jq", ".retrieval_model_dict"])).out;
    const today = await settings();
    const change = (model: object) =>
      done(["kb", "update", "Staff", "--retrieval-model", JSON.stringify(model)]);
    const others = { ...(JSON.parse(today) as object), top_k: 7 };
    let searched = 0;
    const meanwhile = afterAppend((text) =>
      text.includes('"list":') && searched++ === 0 ? change(others) : undefined,
    );
    const changed = await cli(line, { folder, ...meanwhile });
    expect(changed).toMatchObject({ exit: 10, out: expect.stringContaining('"applied":false') });
    expect(changed.err).toContain("the knowledge base was changed while it was searched");
    expect(JSON.parse(await settings())).toEqual(others);
    await change(JSON.parse(today) as object);
    sandbox.setFaults([parseFault("POST */retrieve status=500 skip=66 times=2")]);
    const failed = await cli([...line, "--max-requests", "93"], { folder });
    sandbox.setFaults([]);
    expect(failed).toMatchObject({ exit: 10, out: expect.stringContaining('"verdict":"better"') });
    expect(failed.err).toContain("2 searches failed and do not count");
    expect(await settings()).toBe(today);
    const before = searches(server);
    const { out } = await done(
      line.filter((word) => word !== "--apply"),
      { folder },
    );
    expect(JSON.parse(out)).toMatchObject({ verdict: "better" });
    expect(searches(server) - before).toBe(2);
  },
);

rareTest(
  "nothing is sent after the minutes, not even by what waited for a knowledge base",
  async () => {
    const { done, folder, written } = server;
    const arms = await written("arms.yml", "- { max_tokens: [110, 210] }\n");
    const limits = ["--max-requests", "7", "--max-minutes", "60"];
    const line = [
      "kb",
      "tune",
      "Staff",
      questions,
      "--arms",
      arms,
      ...limits,
      "--yes",
      "-o",
      "json",
    ];
    let ms = 0;
    const late = afterAppend((text) => text.includes('"filled"') && (ms = 3_600_000));
    const from = server.seen.length;
    const { out } = await done(line, { folder, ...late, elapsed: () => ms });
    expect(JSON.parse(out)).toMatchObject({ verdict: "inconclusive", searches: 1 });
    const sent = server.seen.slice(from).filter(({ path }) => /create-by|retrieve/.test(path));
    // One search with today's settings, and the 14 documents of the first knowledge base.
    expect(sent).toHaveLength(15);
  },
);

rareTest(
  "a report is given though temporary knowledge bases cannot be removed; the same line removes them",
  async () => {
    const { cli, done, folder, sandbox, written } = server;
    const arms = await written("arms.yml", "- { max_tokens: 120 }\n");
    const line = ["kb", "tune", "Staff", questions, "--arms", arms, "--max-requests", "6", "--yes"];
    const before = await names(server);
    sandbox.setFaults([parseFault("DELETE * status=403")]);
    const kept = await cli(line, { folder });
    sandbox.setFaults([]);
    expect(kept).toMatchObject({ exit: 10, out: expect.stringContaining("# Staff: ") });
    expect(kept.err).toContain("temporary knowledge bases stay until the next kb tune");
    const sent = searches(server);
    expect((await done(line, { folder })).out).toBe(kept.out);
    expect([searches(server), await names(server)]).toEqual([sent, before]);
  },
);

rareTest(
  "settings for another form of documents are saved with a name of at most 40 characters",
  async () => {
    const { done, folder, written } = server;
    const arm =
      "{ child_max_tokens: 100, top_k: 10, search_method: hybrid_search, vector_weight: 0.3 }";
    const arms = await written("children.yml", `- ${arm}\n`);
    const save = join(folder, "children.kb.yml");
    const name = "n".repeat(36);
    await done(["kb", "update", "Staff", "--name", name]);
    const line = ["kb", "tune", name, questions, "--arms", arms, "--save", save, "--yes"];
    const { err } = await done(line, { folder });
    await done(["kb", "update", name, "--name", "Staff"]);
    expect(err).toContain("name the directory of its documents in it");
    const saved = await readFile(save, "utf8");
    expect(saved).toContain(`knowledge_base: ${name.slice(0, 34)} tuned\n`);
    expect(saved).toMatch(/vector_weight: 0\.3\n.*\n\s+keyword_weight: 0\.7\n/);
  },
);

test("tuning the handbook proves weights, applies them, and then keeps them", async () => {
  const { done, folder } = server;
  const world = { folder };
  const shown = await done(["kb", "tune", "Staff", questions, "--yes"], world);
  const labelled = shown.out.split("\n").map((row) => row.split("\t"));
  expect(
    labelled.flatMap((row) =>
      ["today", "best"].includes(row.at(-1) ?? "") ? [[row[0], row.at(-1)]] : [],
    ),
  ).toEqual([
    ["today", "today"],
    ["hybrid_search vector_weight=0.3", "best"],
  ]);
  const [update = []] = hintedCommands(shown.out);
  expect(update.slice(0, 2)).toEqual(["kb", "update"]);
  await done([...update, "--dry-run"], world);
  const line = ["kb", "tune", "Staff", questions, "--yes", "--apply", "-o", "json"];
  const before = searches(server);
  const first = JSON.parse((await done(line, world)).out) as Tuned;
  expect(first).toMatchObject({ verdict: "better", best: "hybrid_search vector_weight=0.3" });
  expect(first.questions).toEqual({ tune: 9, proof: 15 });
  // 7 of 15 gained and none lost, those of six documents: all signs alike are 1 in 64.
  expect(first.comparison).toMatchObject({ difference: 0.466667, documents: 9, p: 0.015625 });
  expect(searches(server) - before).toBe(first.searches);
  const { out } = await done(["kb", "show", "Staff", "--jq", ".retrieval_model_dict"]);
  expect(JSON.parse(out)).toMatchObject({
    search_method: "hybrid_search",
    weights: { vector_setting: { vector_weight: 0.3 } },
  });
  const again = JSON.parse((await done(line, world)).out) as Tuned;
  expect(again).toMatchObject({
    verdict: "keep what you have",
    best: "today",
    applied: false,
  });
});

test("after its minutes a tuning stops, and continues with more of them", async () => {
  const { cli, done, folder, written } = server;
  const arms = await written("more.yml", "- { top_k: 5 }\n- { search_method: semantic_search }\n");
  const line = ["kb", "tune", "Staff", questions, "--arms", arms, "--yes", "-o", "json"];
  const before = searches(server);
  let ms = 0; // each look at the clock takes 20: some searches fit into 600
  const elapsed = () => (ms += 20);
  const stopped = await done([...line, "--max-minutes", "0.01"], { folder, elapsed });
  const sent = searches(server) - before;
  expect(JSON.parse(stopped.out)).toMatchObject({ verdict: "inconclusive", searches: sent });
  expect(sent).toBe(3);
  const { out, err } = await cli(line, { folder });
  expect(err).toContain(`continuing: ${sent} searches are recorded`);
  expect(JSON.parse(out)).toMatchObject({ searches: searches(server) - before });
});

rareTest(
  "rules are tried with one question each: their knowledge bases are made one after the other",
  async () => {
    const { done, folder, written } = server;
    const arms = await written("arms.yml", "- { max_tokens: [100, 150, 200] }\n");
    const line = ["kb", "tune", "Staff", questions, "--arms", arms, "--max-requests", "8", "--yes"];
    const from = server.seen.length;
    const { out } = await done([...line, "-o", "json"], { folder });
    expect(JSON.parse(out)).toMatchObject({ questions: { tune: 1, proof: 2 } });
    const sizes = server.seen.slice(from).flatMap(({ path, body }) => {
      const text = path.includes("create-by") ? new TextDecoder().decode(body) : "";
      return /"max_tokens":(\d+)/.exec(text)?.[1] ?? [];
    });
    // The handbook has 14 documents.
    expect(sizes).toEqual([100, 150, 200].flatMap((size) => Array<string>(14).fill(String(size))));
    expect((await names(server)).filter((name) => name.startsWith("tune"))).toEqual([]);
  },
);

rareTest("chunking is tried in temporary knowledge bases, and applied by a file", async () => {
  const other = await handbook();
  const { done, folder, written } = other;
  const arms = await written(
    "arms.yml",
    "- { max_tokens: 100 }\n- { max_tokens: 300, child_max_tokens: 80 }\n",
  );
  const lines = (await readFile(example("misspelt.jsonl"), "utf8")).trim().split("\n");
  const parts = lines.map((line) => {
    const part = /"documents": \["(security|leave)/.test(line) ? "tune" : "proof";
    return JSON.stringify({ ...(JSON.parse(line) as object), part });
  });
  const file = await written("parts.jsonl", parts.join("\n"));
  const before = await names(other);
  const saved = join(folder, "tuned.yml");
  const line = ["kb", "tune", "Staff", file, "--arms", arms, "--level", "0.2", "--save", saved];
  expect((await done([...line.slice(0, -2), "--yes"], { folder })).out).toContain(
    "the same command with --save",
  );
  const rules = other.seen.flatMap(({ path, body }) => {
    const text = path.includes("create-by") ? new TextDecoder().decode(body) : "";
    return (
      text
        .match(/"(parent_)?mode":"\w+"/g)
        ?.sort()
        .join() ?? []
    );
  });
  // Without chunking of its own, `Staff` has the rule of the server.
  expect([...new Set(rules)]).toEqual([
    '"mode":"automatic"',
    '"mode":"custom"',
    '"mode":"hierarchical","parent_mode":"paragraph"',
  ]);
  const sent = other.seen.length;
  const { out, err } = await done([...line, "--yes", "-o", "json"], { folder });
  expect(other.seen.slice(sent).every(({ method }) => method === "GET")).toBe(true);
  expect(JSON.parse(out)).toMatchObject({
    questions: { tune: 4, proof: 8 },
    verdict: "better",
    best: "max_tokens=100",
  });
  // Both overlaps are a quarter: 2 × 34,534.
  expect(err).toContain("2 temporary knowledge bases, 69,068 characters to embed");
  expect(await names(other)).toEqual(before);
  expect(err).toContain(`to apply: \`kb apply ${saved} --rewrite\``);
  const { out: changes } = await done(["kb", "apply", saved, "--rewrite", "--yes"], { folder });
  expect(changes).toContain("retrieval_model.top_k");
  const rule = ".document_process_rule.rules.segmentation.max_tokens";
  expect((await done(["kb", "doc", "show", "Staff", "leave.md", "--jq", rule])).out).toBe("100\n");
  expect((await done(["kb", "apply", saved])).err).not.toContain("another rule");
});
