/** Knowledge bases of the sandbox: cases that the recordings do not cover. */
import { describe, expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { rareTest } from "../lib/sampled.ts";
import { fileForm, openTestSandbox, type TestSandbox } from "../lib/sandbox-client.ts";

const keywordSearch = (more: object = {}) => ({
  search_method: "keyword_search",
  reranking_enable: false,
  top_k: 3,
  score_threshold_enabled: false,
  ...more,
});

const custom = (segmentation: object, rules: readonly string[] = []) => ({
  mode: "custom",
  rules: {
    pre_processing_rules: rules.map((id) => ({ id, enabled: true })),
    segmentation,
  },
});

/** `word10 word11 …`, both bounds included. */
const numbered = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => `word${first + index}`).join(" ");

async function contents({ call }: TestSandbox, base: string, document: string): Promise<string[]> {
  const { data } = await call("GET", `/datasets/${base}/documents/${document}/segments?limit=100`);
  return data.map(({ content }) => content);
}

describe("a text document", () => {
  test("passes through the stages over time", async () => {
    const { call, base, clock } = await openTestSandbox({ indexingDelay: 1000 });
    const kb = await base();
    const { batch, document } = await call("POST", `/datasets/${kb}/document/create-by-text`, {
      name: "a.md",
      text: "One.\n\nTwo.",
      indexing_technique: "economy",
      process_rule: custom({ separator: "\n\n", max_tokens: 500 }),
    });
    expect(document.display_status).toBe("queuing");

    const stages = [];
    for (let step = 0; step < 5; step++) {
      const { data } = await call("GET", `/datasets/${kb}/documents/${batch}/indexing-status`);
      const [{ indexing_status, completed_segments, total_segments } = { indexing_status: "" }] =
        data;
      stages.push([indexing_status, completed_segments, total_segments]);
      await clock.advance(250);
    }
    expect(stages).toEqual([
      ["waiting", 0, 0],
      ["parsing", 0, 0],
      ["splitting", 0, 0],
      ["indexing", 0, 2],
      ["completed", 2, 2],
    ]);
  });

  test.each([
    [
      "at each separator",
      "# One\n\nTwo.\n\n- Three",
      custom({ separator: "\n\n", max_tokens: 500 }),
      ["One", "Two.", "- Three"],
    ],
    [
      "again if a part is too long, with an overlap",
      numbered(10, 69),
      // Servers before 1.16.1 lose the spaces: ten words of six characters fill a chunk, the next one repeats one.
      custom({ separator: "###", max_tokens: 60, chunk_overlap: 6 }),
      [
        [10, 19],
        [19, 28],
        [28, 37],
        [37, 46],
        [46, 55],
        [55, 64],
        [64, 69],
      ].map(([first = 0, last = 0]) => numbered(first, last).replaceAll(" ", "")),
    ],
    [
      "after spaces, URLs and addresses are removed",
      "See  https://example.com/x now\n\n\n\nor mail a@example.com",
      custom({ separator: "###", max_tokens: 500 }, ["remove_extra_spaces", "remove_urls_emails"]),
      ["See  now\n\nor mail"],
    ],
    ["into one chunk if it is short", "One.\n\nTwo.", { mode: "automatic" }, ["One.\n\nTwo."]],
  ])("is split %s", async (_how, text, process_rule, chunks) => {
    const server = await openTestSandbox();
    const kb = await server.base();
    const id = await server.add(kb, "a.md", text, { process_rule });
    expect(await contents(server, kb, id)).toEqual(chunks);
  });

  test("is split into parents and children", async () => {
    const { call, base, add } = await openTestSandbox();
    const kb = await base();
    const id = await add(kb, "h.txt", "One a. One b.\n\nTwo.", {
      doc_form: "hierarchical_model",
      process_rule: {
        mode: "hierarchical",
        rules: {
          pre_processing_rules: [],
          segmentation: { separator: "\n\n", max_tokens: 500 },
          parent_mode: "full-doc",
          subchunk_segmentation: { separator: ". ", max_tokens: 200 },
        },
      },
    });
    const path = `/datasets/${kb}/documents/${id}/segments`;
    const [parent] = (await call("GET", path)).data;
    expect(parent?.child_chunks).toEqual([]); // of full-doc, only their own route returns them
    const { data } = await call("GET", `${path}/${parent?.id}/child_chunks`);
    expect(data.map(({ content }) => content)).toEqual(["One a", "One b.\n\nTwo."]);
  });

  test.each([
    [{ mode: "custom" }, "Process rule rules is required"],
    [{ mode: "custom", rules: {} }, "Process rule pre_processing_rules is required"],
    [
      { mode: "custom", rules: { pre_processing_rules: [] } },
      "Process rule segmentation is required",
    ],
    [custom({ separator: "", max_tokens: 50 }), "Process rule segmentation separator is required"],
    [custom({ separator: "\n" }), "Process rule segmentation max_tokens is required"],
  ])("is rejected with the rule %j: %s", async (process_rule, message) => {
    const { call, base } = await openTestSandbox();
    const body = { name: "a", text: "b", indexing_technique: "economy", process_rule };
    const response = await call("POST", `/datasets/${await base()}/document/create-by-text`, body);
    expect([response.status, response.message]).toEqual([400, message]);
  });

  test("with a name that is too long: the name is truncated", async () => {
    const { call, base, add } = await openTestSandbox();
    const kb = await base();
    await add(kb, "é".repeat(201), "x");
    const { data } = await call("GET", `/datasets/${kb}/documents`);
    expect(data[0]?.name).toBe("é".repeat(200));
  });
});

describe("a file", () => {
  rareTest("of 16 MB is rejected without a text", async () => {
    const { call, base, add } = await openTestSandbox();
    const kb = await base();
    const large = () => fileForm("large.txt", new Uint8Array(16 * 1024 * 1024).fill(97));
    const create = await call("POST", `/datasets/${kb}/document/create-by-file`, large());
    expect(create).toMatchObject({ status: 400, code: "invalid_param", message: "" });
    const id = await add(kb, "small.txt", "x");
    const update = await call("PATCH", `/datasets/${kb}/documents/${id}`, large());
    expect(update).toMatchObject({ status: 413, code: "file_too_large", message: "" });
  });

  test("without text fails to index", async () => {
    const { call, base, clock } = await openTestSandbox();
    const kb = await base();
    await call("POST", `/datasets/${kb}/document/create-by-file`, fileForm("a.pdf", "%PDF-1.7"));
    await clock.advance(1000);
    const { data } = await call("GET", `/datasets/${kb}/documents?status=error`);
    expect(data[0]?.error).toMatch(/^The sandbox cannot extract text/);
  });

  test("is rejected together with a second one", async () => {
    const { call, base } = await openTestSandbox();
    const form = fileForm("a.txt", "x");
    form.append("file2", new Blob(["y"]), "b.txt");
    const response = await call("POST", `/datasets/${await base()}/document/create-by-file`, form);
    expect([response.status, response.code]).toEqual([400, "too_many_files"]);
  });
});

describe("a search", () => {
  const facts = [
    ["parking.md", "Parking costs 4 euros a day. Parking permits are sold at the desk."],
    ["leave.md", "Leave is asked for two weeks before."],
    ["osaka.md", "有給休暇は二週間前に申請します。"],
    ["shenzhen.md", "报销需要发票。"],
  ] as const;

  async function openFilled(): Promise<TestSandbox & { readonly kb: string }> {
    const server = await openTestSandbox();
    const kb = await server.base();
    for (const [name, text] of facts) await server.add(kb, name, text);
    return { ...server, kb };
  }

  const names = (records: Awaited<ReturnType<TestSandbox["call"]>>["records"]) =>
    records.map(({ segment }) => segment.document.name);

  test.each([
    ["parking permits", ["parking.md"]],
    ["WEEKS desk parking", ["parking.md", "leave.md"]],
    ["有給", ["osaka.md"]],
    ["报销", ["shenzhen.md"]],
    ["no match", []],
    ["?!", []],
  ])("for %s finds %j, best match first", async (query, expected) => {
    const { call, kb } = await openFilled();
    const stored = await call("POST", `/datasets/${kb}/retrieve`, { query });
    expect(names(stored.records)).toEqual(expected);
    const scores = stored.records.map(({ score }) => score);
    expect(scores.every((score) => score > 0 && score <= 1)).toBe(true);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));

    const retrieval_model = keywordSearch();
    const byKeyword = await call("POST", `/datasets/${kb}/retrieve`, {
      query,
      retrieval_model,
    });
    expect(names(byKeyword.records)).toEqual(expected);
    expect(new Set(byKeyword.records.map(({ score }) => score)).has(0)).toBe(expected.length > 0);
  });

  test("skips documents that are disabled, archived or not indexed yet", async () => {
    const { call, base, add, clock } = await openTestSandbox();
    const kb = await base();
    const search = async () =>
      names((await call("POST", `/datasets/${kb}/retrieve`, { query: "parking" })).records);
    const id = await add(kb, "a.md", "Parking.");
    const set = (action: string) =>
      call("PATCH", `/datasets/${kb}/documents/status/${action}`, { document_ids: [id] });
    expect(await search()).toEqual(["a.md"]);
    await set("disable");
    expect(await search()).toEqual([]);
    await set("enable");
    await set("archive");
    expect(await search()).toEqual([]);
    await set("un_archive");
    expect(await search()).toEqual(["a.md"]);
    await call("POST", `/datasets/${kb}/documents/${id}/update-by-text`, {
      name: "a.md",
      text: "Lockers.",
    });
    expect(await search()).toEqual([]);
    await clock.advance(1000);
    expect(await search()).toEqual([]);
  });

  test("returns at most top_k results, and none below the threshold", async () => {
    const { call, kb } = await openFilled();
    const count = async (settings: object) => {
      const retrieval_model = keywordSearch({ search_method: "full_text_search", ...settings });
      const query = "parking weeks";
      const { records } = await call("POST", `/datasets/${kb}/retrieve`, {
        query,
        retrieval_model,
      });
      return records.length;
    };
    expect(await count({})).toBe(2);
    expect(await count({ top_k: 1 })).toBe(1);
    expect(await count({ score_threshold_enabled: true, score_threshold: 0.9 })).toBe(0);
  });

  test.each([
    ["is", "team", "People", ["a.md"]],
    ["is not", "team", "People", ["b.md", "c.md"]],
    ["contains", "team", "o", ["a.md", "b.md"]],
    ["start with", "team", "To", ["b.md"]],
    ["empty", "team", "", ["c.md"]],
    ["in", "team", ["Tools", "People"], ["a.md", "b.md"]],
    [">", "level", 1, ["b.md"]],
    ["≤", "level", 2, ["a.md", "b.md"]],
    ["before", "level", 2, ["a.md"]],
  ])("filters by metadata: %s", async (comparison_operator, name, value, expected) => {
    const { call, base, add } = await openTestSandbox();
    const kb = await base();
    const field = async (type: string, label: string) =>
      (await call("POST", `/datasets/${kb}/metadata`, { type, name: label })).id;
    const [team, level] = [await field("string", "team"), await field("number", "level")];
    const values = [
      ["a.md", "People", 1],
      ["b.md", "Tools", 2],
    ] as const;
    for (const [document, teamName, number] of values) {
      const document_id = await add(kb, document, "Parking.");
      const metadata_list = [
        { id: team, name: "team", value: teamName },
        { id: level, name: "level", value: number },
      ];
      await call("POST", `/datasets/${kb}/documents/metadata`, {
        operation_data: [{ document_id, metadata_list }],
      });
    }
    await add(kb, "c.md", "Parking.");
    const conditions = [{ name, comparison_operator, value }];
    const retrieval_model = keywordSearch({ metadata_filtering_conditions: { conditions } });
    const body = { query: "parking", retrieval_model };
    expect(names((await call("POST", `/datasets/${kb}/retrieve`, body)).records)).toEqual(expected);
  });
});

describe("downloads", () => {
  test("by link truncate non-ASCII text, as ZIP they are complete", async () => {
    const { call, base, add, send } = await openTestSandbox();
    const kb = await base();
    const text = "Grüße 世界!";
    const id = await add(kb, "dir/a.md", text);
    const { url } = await call("GET", `/datasets/${kb}/documents/${id}/download`);
    const link = new Uint8Array(await (await fetch(url)).arrayBuffer());
    const bytes = new TextEncoder().encode(text);
    expect(link).toEqual(bytes.subarray(0, 9));

    const zip = await send("POST", `/datasets/${kb}/documents/download-zip`, {
      document_ids: [id, id],
    });
    expect(readEntries(Buffer.from(await zip.arrayBuffer()))).toEqual([
      ["a.md", text],
      ["a (1).md", text],
    ]);
  });
});

/** Reads names and texts of an uncompressed archive from its directory. */
function readEntries(zip: Buffer): [name: string, text: string][] {
  const end = zip.length - 22;
  expect(zip.readUInt32LE(end)).toBe(0x06054b50);
  const entries: [string, string][] = [];
  let offset = zip.readUInt32LE(end + 16);
  for (let count = zip.readUInt16LE(end + 10); count > 0; count--) {
    expect(zip.readUInt32LE(offset)).toBe(0x02014b50);
    const [size, length] = [zip.readUInt32LE(offset + 24), zip.readUInt16LE(offset + 28)];
    const name = zip.subarray(offset + 46, offset + 46 + length).toString("utf8");
    const file = zip.readUInt32LE(offset + 42);
    const content = file + 30 + zip.readUInt16LE(file + 26);
    entries.push([name, zip.subarray(content, content + size).toString("utf8")]);
    offset += 46 + length;
  }
  return entries;
}

describe("a chunk", () => {
  test("of a question-and-answer document requires an answer", async () => {
    const { call, base, add, send } = await openTestSandbox();
    const kb = await base();
    const id = await add(kb, "qa.txt", "x", { doc_form: "qa_model" });
    const path = `/datasets/${kb}/documents/${id}/segments`;
    const rejected = await send("POST", path, { segments: [{ content: "Where?" }] });
    expect([rejected.status, await rejected.json()]).toEqual([
      400,
      { code: "invalid_param", message: "Answer is required", status: 400 },
    ]);
    const added = await call("POST", path, {
      segments: [{ content: "Where?", answer: "Here." }],
    });
    expect(added.status).toBe(200);
  });

  test("is found by its current content", async () => {
    const { call, base, add } = await openTestSandbox();
    const kb = await base();
    const id = await add(kb, "a.md", "Parking.");
    const path = `/datasets/${kb}/documents/${id}/segments`;
    const { data } = await call("GET", path);
    await call("POST", `${path}/${data[0]?.id}`, { segment: { content: "Lockers." } });
    const search = async (query: string) =>
      (await call("POST", `/datasets/${kb}/retrieve`, { query })).records.length;
    expect([await search("parking"), await search("lockers")]).toEqual([0, 1]);
  });
});

test("renaming or deleting a metadata field changes the values of documents", async () => {
  const { call, base, add } = await openTestSandbox();
  const kb = await base();
  const document_id = await add(kb, "a.md", "x");
  const { id } = await call("POST", `/datasets/${kb}/metadata`, {
    type: "string",
    name: "team",
  });
  await call("POST", `/datasets/${kb}/documents/metadata`, {
    operation_data: [{ document_id, metadata_list: [{ id, name: "team", value: "People" }] }],
  });
  const values = async () => {
    const { data } = await call("GET", `/datasets/${kb}/documents`);
    return data[0]?.doc_metadata.slice(0, 1).map(({ name, value }) => [name, value]);
  };
  await call("PATCH", `/datasets/${kb}/metadata/${id}`, { name: "group" });
  expect(await values()).toEqual([["group", "People"]]);
  await call("DELETE", `/datasets/${kb}/metadata/${id}`);
  expect(await values()).toEqual([]);
});

test.each([
  ["typed, [] without any", [], [[], [["days", 7]]]],
  ["text, null without any, as in some builds", ["* * plain-metadata"], [null, [["days", "7"]]]],
])("metadata of listed documents: %s", async (_, faults, expected) => {
  const { call, base, add, sandbox } = await openTestSandbox();
  sandbox.setFaults(faults.map(parseFault));
  const kb = await base();
  const document_id = await add(kb, "a.md", "x");
  const { id } = await call("POST", `/datasets/${kb}/metadata`, {
    type: "number",
    name: "days",
  });
  const list = async () => {
    const { data } = await call("GET", `/datasets/${kb}/documents`);
    const fields = data[0]?.doc_metadata ?? null;
    return fields && fields.slice(0, 1).map(({ name, value }) => [name, value]);
  };
  const before = await list();
  await call("POST", `/datasets/${kb}/documents/metadata`, {
    operation_data: [{ document_id, metadata_list: [{ id, name: "days", value: 7 }] }],
  });
  expect([before, await list()]).toEqual(expected);
  // A document on its own has typed values in all builds.
  const alone = await call("GET", `/datasets/${kb}/documents/${document_id}`);
  expect(alone.doc_metadata?.[0]?.value).toBe(7);
});

describe.each(["1.14.2", "1.15.0"])("server %s", (server) => {
  const newer = server === "1.15.0";

  test("limits below 1, filters by tag, and invalid flags", async () => {
    const { call, base } = await openTestSandbox({ server });
    const first = await base("first");
    const second = await base("second");
    const tags = [];
    for (const name of ["draft", "public"]) {
      tags.push((await call("POST", "/datasets/tags", { name })).id);
    }
    await call("POST", "/datasets/tags/binding", { tag_ids: tags, target_id: first });
    await call("POST", "/datasets/tags/binding", {
      tag_ids: tags.slice(0, 1),
      target_id: second,
    });

    const rows = async (query: string) => {
      const { status, data } = await call("GET", `/datasets?${query}`);
      return status === 200 ? data.length : status;
    };
    expect(await rows("limit=0")).toBe(newer ? 1 : 2);
    expect(await rows("limit=-1")).toBe(newer ? 1 : 2);
    const [draft, published] = tags;
    expect(await rows(`tag_ids=${draft}`)).toBe(2);
    expect(await rows(`tag_ids=${draft}&tag_ids=${published}`)).toBe(newer ? 1 : 2);
    expect(await rows(`tag_ids=${draft}&tag_ids=${first}`)).toBe(newer ? 0 : 2);
    expect(await rows("tag_ids=abc")).toBe(newer ? 500 : 0);
    expect(await rows("include_all=maybe")).toBe(newer ? 400 : 2);
    const [row] = (await call("GET", "/datasets")).data;
    expect(row && "maintainer" in row).toBe(newer);
  });

  test("invalid pages of chunks and child chunks", async () => {
    const { call, base, add } = await openTestSandbox({ server });
    const kb = await base();
    const path = `/datasets/${kb}/documents/${await add(kb, "a.md", "x")}/segments`;
    const page = async (query: string) => (await call("GET", `${path}?${query}`)).status;
    const pages = ["page=abc", "limit=abc", "page=0", "limit=500", "status=bogus"];
    expect(await Promise.all(pages.map(page))).toEqual(
      newer ? [200, 200, 400, 200, 500] : [400, 400, 200, 200, 200],
    );
    const { data } = await call("GET", path);
    const children = await call("GET", `${path}/${data[0]?.id}/child_chunks`);
    expect(children).toMatchObject({ total: 0, total_pages: newer ? 1 : 0 });
  });
});

test("unknown IDs are ignored", async () => {
  const { call, base, send } = await openTestSandbox();
  const kb = await base();
  const unknownId = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  const binding = { tag_ids: [unknownId], target_id: kb };
  const statuses = [
    (
      await call("PATCH", `/datasets/${kb}/documents/status/disable`, {
        document_ids: [unknownId],
      })
    ).status,
    (await send("POST", "/datasets/tags/binding", binding)).status,
    (await send("POST", "/datasets/tags/unbinding", binding)).status,
    (await send("DELETE", `/datasets/${kb}/metadata/${unknownId}`)).status,
    // The server fails to validate its own response.
    (await call("PATCH", `/datasets/${kb}/metadata/${unknownId}`, { name: "x" })).status,
  ];
  expect(statuses).toEqual([200, 204, 204, 204, 400]);
  expect((await call("GET", `/datasets/${kb}/tags`)).total).toBe(0);
});

rareTest(
  "a file for a pipeline may be of any kind, and is rejected without a text if too large",
  async () => {
    const { call } = await openTestSandbox();
    const upload = (name: string, size: number) =>
      call("POST", "/datasets/pipeline/file-upload", fileForm(name, new Uint8Array(size)));
    expect((await upload("a.exe", 2)).status).toBe(201);
    expect(await upload("big.txt", 15 * 1024 * 1024 + 1)).toMatchObject({
      status: 400,
      code: "invalid_param",
      message: "",
    });
  },
);
