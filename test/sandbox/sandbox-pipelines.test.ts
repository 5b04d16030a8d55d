/** Pipelines of the sandbox: cases that the recordings do not cover. */
import { describe, expect, test } from "vitest";
import { eventsIn } from "../lib/replay.ts";
import { docx, paragraph } from "../lib/office-files.ts";
import { fileForm, openTestSandbox, type TestSandbox } from "../lib/sandbox-client.ts";
import { temporaryDirectory } from "../lib/support.ts";

const open = () => openTestSandbox({ models: true });

async function baseNamed({ call }: TestSandbox, name: string): Promise<string> {
  const { data } = await call("GET", `/datasets?keyword=${name}`);
  return data.find((base) => base.name === name)?.id ?? "none";
}

/** A run of the pipeline `Files` that reads one file. */
const runOf = (file: string, more: object = {}) => ({
  inputs: {},
  datasource_type: "local_file",
  datasource_info_list: [{ related_id: file, name: "a.md" }],
  start_node_id: "d",
  is_published: true,
  response_mode: "blocking",
  ...more,
});

const upload = async (
  { call }: TestSandbox,
  name: string,
  content: string | Uint8Array<ArrayBuffer>,
) => (await call("POST", "/datasets/pipeline/file-upload", fileForm(name, content))).id;

/** The document that a published run of `Files` makes of a text, a second later. */
async function documentOf(server: TestSandbox, text: string, more: object = {}) {
  const base = await baseNamed(server, "Files");
  const path = `/datasets/${base}/pipeline/run`;
  await server.call("POST", path, runOf(await upload(server, "a.md", text), more));
  await server.clock.advance(1000);
  const [document] = (await server.call("GET", `/datasets/${base}/documents`)).data;
  return { base, document };
}

async function contents(server: TestSandbox, base: string, document = "none"): Promise<string[]> {
  const { data } = await server.call("GET", `/datasets/${base}/documents/${document}/segments`);
  return data.map(({ content }) => content);
}

describe("a published run", () => {
  test.each([
    ["the default separator", "One.\n\n\n\n Two. ", {}, ["One.", "Two."]],
    ["the separator of the run", "One.--Two.", { inputs: { separator: "--" } }, ["One.", "Two."]],
    ["an empty separator", "One.\n\nTwo.", { inputs: { separator: "" } }, ["One.\n\nTwo."]],
  ])("splits at %s", async (_, text, more, chunks) => {
    const server = await open();
    const { base, document } = await documentOf(server, text, more);
    expect(await contents(server, base, document?.id)).toEqual(chunks);
    expect(document).toMatchObject({
      name: "a.md",
      display_status: "available",
      word_count: chunks.join("").length,
    });
  });

  test("whose model fails ends in an error", async () => {
    const { document } = await documentOf(await open(), "One. [[embed-error:rate]]");
    expect(document).toMatchObject({
      display_status: "error",
      error: "Rate limit reached for stub-chat: 3 requests per minute",
    });
  });

  test("reads the text of a Word file", async () => {
    const server = await open();
    const base = await baseNamed(server, "Files");
    const file = await upload(server, "a.docx", new Uint8Array(docx(paragraph("Only here."))));
    await server.call("POST", `/datasets/${base}/pipeline/run`, runOf(file));
    await server.clock.advance(1000);
    const [document] = (await server.call("GET", `/datasets/${base}/documents`)).data;
    expect(await contents(server, base, document?.id)).toEqual(["Only here."]);
  });

  test("of a file without text ends in an error", async () => {
    const server = await open();
    const base = await baseNamed(server, "Files");
    const file = await upload(server, "a.bin", "\0");
    await server.call("POST", `/datasets/${base}/pipeline/run`, runOf(file));
    await server.clock.advance(1000);
    const [document] = (await server.call("GET", `/datasets/${base}/documents`)).data;
    expect(document).toMatchObject({ display_status: "error", word_count: null });
  });

  test.each([
    ["local_file", { name: "a.md" }, "a.md"],
    ["website_crawl", { title: "A page" }, "A page"],
    ["online_document", { page: { page_name: "Notes" } }, "Notes"],
    ["online_drive", { name: "b.pdf" }, "b.pdf"],
    ["website_crawl", {}, "untitled"],
  ])("names the document of a %s by %j", async (datasource_type, info, name) => {
    const server = await open();
    const path = `/datasets/${await baseNamed(server, "Website")}/pipeline/run`;
    const more = { datasource_type, datasource_info_list: [info] };
    const { documents } = (await server.call("POST", path, runOf("", more))) as unknown as {
      documents: readonly { readonly name: string }[];
    };
    expect(documents.map((document) => document.name)).toEqual([name]);
  });

  test("makes documents whose embedding can be switched, and whose text replaced", async () => {
    const server = await open();
    const { base, document } = await documentOf(server, "One.\n\nTwo.");
    const other = { embedding_model: "stub-embed-64", embedding_model_provider: "stub" };
    await server.call("PATCH", `/datasets/${base}`, {
      ...other,
      indexing_technique: "high_quality",
    });
    await server.clock.advance(1000);
    expect(await contents(server, base, document?.id)).toEqual(["One.", "Two."]);
    const path = `/datasets/${base}/documents/${document?.id}`;
    await server.call("POST", `${path}/update-by-text`, { name: "a.md", text: "Three." });
    await server.clock.advance(1000);
    expect(await contents(server, base, document?.id)).toEqual(["Three."]);
    expect(await server.call("GET", path)).toMatchObject({ data_source_type: "upload_file" });
  });

  test("makes documents that cannot be downloaded", async () => {
    const server = await open();
    const { base, document } = await documentOf(server, "One.");
    const path = `/datasets/${base}/documents`;
    expect(await server.call("GET", `${path}/${document?.id}/download`)).toMatchObject({
      status: 404,
      message: "Document does not have an uploaded file to download.",
    });
    expect(
      await server.call("POST", `${path}/download-zip`, { document_ids: [document?.id] }),
    ).toMatchObject({
      status: 404,
      message: "Only uploaded-file documents can be downloaded as ZIP.",
    });
  });
});

describe("a run of the draft", () => {
  const draft = { is_published: false };

  test("of an unknown file fails at the data source", async () => {
    const server = await open();
    const path = `/datasets/${await baseNamed(server, "Files")}/pipeline/run`;
    const response = await server.send("POST", path, {
      ...runOf("00000000-0000-4000-8000-000000000000", draft),
      response_mode: "streaming",
    });
    const error = expect.stringContaining("UploadFile not found for file_id=00000000-0000-4000");
    expect(eventsIn(await response.text())).toMatchObject([
      { event: "workflow_started" },
      { event: "node_started", data: { node_id: "d" } },
      { event: "node_finished", data: { node_id: "d", status: "failed", error } },
      { event: "workflow_finished", data: { status: "failed", error } },
    ]);
  });

  test.each([
    ["a start node that is not there", { start_node_id: "zz" }, "Root node id zz not found"],
    ["nothing to read", { datasource_info_list: [] }, "list index out of range"],
  ])("of %s is rejected", async (_, more, message) => {
    const server = await open();
    const path = `/datasets/${await baseNamed(server, "Files")}/pipeline/run`;
    const sent = runOf("", { ...draft, ...more });
    expect(await server.call("POST", path, sent)).toMatchObject({
      status: 500,
      code: "pipeline_run_error",
      message: expect.stringContaining(message),
    });
  });
});

test("a data source of uploads cannot be run", async () => {
  const server = await open();
  const path = `/datasets/${await baseNamed(server, "Files")}/pipeline/datasource/nodes/d/run`;
  const sent = { inputs: {}, datasource_type: "local_file", is_published: true };
  const response = await server.send("POST", path, sent);
  expect(eventsIn(await response.text())).toEqual([
    { event: "datasource_error", error: "Unsupported datasource provider: local_file" },
  ]);
});

describe("the knowledge bases", () => {
  const names = async ({ call }: TestSandbox) =>
    (await call("GET", "/datasets")).data.map(({ name }) => name).sort();

  test("exist only with models", async () => {
    expect(await names(await openTestSandbox())).toEqual([]);
    expect(await names(await open())).toEqual(["Files", "Website"]);
  });

  test("keep their documents, and come back when they were deleted", async () => {
    const directory = await temporaryDirectory();
    const first = await openTestSandbox({ models: true, directory });
    await documentOf(first, "One.");
    await first.call("DELETE", `/datasets/${await baseNamed(first, "Website")}`);
    await first.stop();
    const second = await openTestSandbox({ models: true, directory });
    expect(await names(second)).toEqual(["Files", "Website"]);
    const path = `/datasets/${await baseNamed(second, "Files")}/documents`;
    expect((await second.call("GET", path)).total).toBe(1);
  });

  test("do not take a name from another", async () => {
    const directory = await temporaryDirectory();
    const first = await openTestSandbox({ directory });
    const own = await first.base("Files");
    await first.stop();
    const second = await openTestSandbox({ models: true, directory });
    expect(await names(second)).toEqual(["Files", "Website"]);
    expect(await baseNamed(second, "Files")).toBe(own);
  });
});
