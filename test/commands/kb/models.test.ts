import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readRequest } from "../../../src/sandbox/http/exchange.ts";
import type { ReceivedRequest } from "../../../src/sandbox/http/server.ts";
import { listening } from "../../lib/listening.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import type { TestSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

/** Providers on the server with the names of their models. */
let providers: readonly { readonly provider: string; readonly models: readonly string[] }[] = [];
const twoProviders = [
  { provider: "langgenius/openai/openai", models: ["text-embedding-3-small"] },
  { provider: "langgenius/siliconflow/siliconflow", models: ["BAAI/bge-m3", "bge-m3"] },
];
const kb = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const seen: ReceivedRequest[] = [];
let baseUrl = "";

beforeAll(async () => {
  const server = createServer((request, response) => {
    void readRequest(request).then((arrived) => {
      seen.push(arrived);
      const lists = arrived.path.startsWith("/v1/workspaces/current/models/model-types/");
      const data = providers.map(({ provider, models }) => ({
        provider,
        models: models.map((model) => ({ model, model_type: "text-embedding" })),
      }));
      response.writeHead(200, { "content-type": "application/json" });
      const documents = arrived.method === "GET" && arrived.path.includes("/documents");
      const page = { data: [], has_more: false, limit: 100, total: 0, page: 1 };
      const object = {
        id: kb,
        name: "Handbook",
        tags: [],
        embedding_model: null,
        document: { id: kb, name: "a.md" },
      };
      const single = documents ? page : object;
      response.end(JSON.stringify(lists ? { data } : single));
    });
  });
  baseUrl = await listening(server);
});
beforeEach(() => {
  providers = twoProviders;
  seen.length = 0;
});

const run = (...argv: string[]) =>
  cli(argv, { env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-sandbox" } });

const writes = () => seen.filter(({ method }) => method !== "GET");
const requests = () => seen.map(({ method, path }) => `${method} ${path}`);
const listing = "GET /v1/workspaces/current/models/model-types/text-embedding";

/** The model in the last request, in its JSON body or in the JSON part of its form. */
function modelSent(): unknown {
  const last = seen.findLast(({ method }) => method !== "GET");
  const bytes = last?.parts.find(({ name }) => name === "data")?.bytes ?? last?.body;
  const { embedding_model, embedding_model_provider, indexing_technique } = JSON.parse(
    new TextDecoder().decode(bytes),
  ) as Record<string, unknown>;
  // A model without its technique is dropped, or breaks the index.
  expect(indexing_technique).toBe("high_quality");
  return { embedding_model, embedding_model_provider };
}

describe("provider/model", () => {
  test.each([
    [
      "langgenius/openai/openai/text-embedding-3-small",
      "langgenius/openai/openai",
      "text-embedding-3-small",
    ],
    [
      "langgenius/siliconflow/siliconflow/BAAI/bge-m3",
      "langgenius/siliconflow/siliconflow",
      "BAAI/bge-m3",
    ],
    ["langgenius/siliconflow/siliconflow/bge-m3", "langgenius/siliconflow/siliconflow", "bge-m3"],
    [
      "name:langgenius/siliconflow/siliconflow/bge-m3",
      "langgenius/siliconflow/siliconflow",
      "bge-m3",
    ],
  ])("%s is found in the list and fills both fields", async (typed, provider, model) => {
    const ran = await run("kb", "create", "Handbook", "--embedding-model", typed);
    expect(ran.exit, ran.err).toBe(0);
    expect(requests()).toEqual([listing, "POST /v1/datasets"]);
    expect(modelSent()).toEqual({ embedding_model: model, embedding_model_provider: provider });
  });

  test("works in every command with a model", async () => {
    const folder = await temporaryDirectory();
    const file = join(folder, "a.md");
    await writeFile(file, "hello");
    const model = ["--embedding-model", "langgenius/siliconflow/siliconflow/BAAI/bge-m3"];
    for (const line of [
      ["kb", "create", "Handbook"],
      ["kb", "update", kb],
      ["kb", "doc", "add", kb, "a.md", "--text", "hello", "--indexing-technique", "high_quality"],
      ["kb", "doc", "upload", kb, file, "--indexing-technique", "high_quality"],
    ]) {
      const ran = await run(...line, ...model);
      expect(ran.exit, ran.err).toBe(0);
      expect(modelSent()).toEqual({
        embedding_model: "BAAI/bge-m3",
        embedding_model_provider: "langgenius/siliconflow/siliconflow",
      });
    }
  });

  test("is printed with -v", async () => {
    const typed = "langgenius/openai/openai/text-embedding-3-small";
    const ran = await run("kb", "create", "Handbook", "--embedding-model", typed, "-v");
    expect(ran.err).toContain(`embedding model "${typed}" is text-embedding-3-small`);
    expect(ran.err).toContain(
      'embedding_model_provider "langgenius/openai/openai" (from the model)',
    );
  });

  test("is resolved once for all rows of --each", async () => {
    const rows = join(await temporaryDirectory(), "rows.csv");
    await writeFile(rows, "name\nA\nB\n");
    const ran = await run(
      "kb",
      "create",
      "--each",
      rows,
      "--concurrency",
      "1",
      "--embedding-model",
      "langgenius/siliconflow/siliconflow/BAAI/bge-m3",
    );
    expect(ran.exit, ran.err).toBe(0);
    expect(requests()).toEqual([listing, "POST /v1/datasets", "POST /v1/datasets"]);
    expect(modelSent()).toEqual({
      embedding_model: "BAAI/bge-m3",
      embedding_model_provider: "langgenius/siliconflow/siliconflow",
    });
  });
});

describe("other names of a model", () => {
  const large = {
    embedding_model: "BAAI/bge-m3",
    embedding_model_provider: "langgenius/siliconflow/siliconflow",
  };
  test.each([
    ["the model alone, if one provider has it", ["BAAI/bge-m3"]],
    ["the last part of the provider", ["siliconflow/BAAI/bge-m3"]],
    [
      "a flag for the provider",
      ["BAAI/bge-m3", "--embedding-model-provider", "langgenius/siliconflow/siliconflow"],
    ],
    [
      "a flag for the last part of the provider",
      ["BAAI/bge-m3", "--embedding-model-provider", "siliconflow"],
    ],
  ])("%s is completed", async (_, words) => {
    for (const line of [
      ["kb", "create", "Handbook"],
      ["kb", "update", kb],
    ]) {
      const ran = await run(...line, "--embedding-model", ...words);
      expect(ran.exit, ran.err).toBe(0);
      expect(modelSent()).toEqual(large);
    }
  });
});

describe("nothing is sent", () => {
  test("for an unknown model: exit code 3 and the existing names", async () => {
    const ran = await run("kb", "create", "Handbook", "--embedding-model", "openai/ada");
    expect(ran.exit).toBe(3);
    expect(ran.err).toBe(
      'error: embedding model "openai/ada" not found\n' +
        "hint: available: langgenius/openai/openai/text-embedding-3-small, " +
        "langgenius/siliconflow/siliconflow/BAAI/bge-m3, langgenius/siliconflow/siliconflow/bge-m3\n",
    );
    expect(requests()).toEqual([listing]);
  });

  test.each([
    ["nope"],
    ["gpt-4o"], // not an embedding model
    ["text-embedding-3-small", "--embedding-model-provider", "siliconflow"],
    ["bge-m3", "--embedding-model-provider", "some/where"],
  ])("when a model alone or its provider is wrong: %s", async (...words) => {
    for (const line of [
      ["kb", "create", "Handbook"],
      ["kb", "update", kb],
    ]) {
      const ran = await run(...line, "--embedding-model", ...words);
      expect(ran.exit).toBe(3);
      expect(ran.err).toContain("hint: available: langgenius/openai/openai/text-embedding-3-small");
      expect(writes()).toEqual([]);
    }
  });

  test("for an ambiguous model: exit code 5 and both providers", async () => {
    providers = [...twoProviders, { provider: "other/one", models: ["bge-m3"] }];
    for (const line of [
      ["kb", "create", "Handbook"],
      ["kb", "update", kb],
    ]) {
      const ran = await run(...line, "--embedding-model", "bge-m3");
      expect(ran.exit).toBe(5);
      expect(ran.err).toContain(
        "langgenius/siliconflow/siliconflow  bge-m3\n  other/one  bge-m3\n",
      );
      expect(writes()).toEqual([]);
    }
  });

  test.each([
    [
      "economy with a model",
      ["--indexing-technique", "economy", "--embedding-model", "bge-m3"],
      "can only be used with --indexing-technique high_quality",
    ],
    [
      "a provider alone",
      ["--embedding-model-provider", "some/where"],
      "--embedding-model is required with --embedding-model-provider",
    ],
  ])("%s: 2", async (_, flags, message) => {
    for (const line of [
      ["kb", "create", "Handbook"],
      ["kb", "update", kb],
    ]) {
      const ran = await run(...line, ...flags);
      expect(ran.exit).toBe(2);
      expect(ran.err).toContain(message);
      expect(writes()).toEqual([]);
    }
  });

  test("for high_quality without a model on the server: exit code 2 and a hint", async () => {
    providers = [];
    for (const line of [
      ["kb", "create", "Handbook"],
      ["kb", "update", kb],
      ["kb", "doc", "add", kb, "a.md", "--text", "x"],
    ]) {
      const ran = await run(...line, "--indexing-technique", "high_quality");
      expect(ran.exit).toBe(2);
      expect(ran.err).toContain("high_quality indexing requires an embedding model");
      expect(ran.err).toContain("the workspace has no active embedding model");
      expect(writes()).toEqual([]);
    }
  });

  test("for a workspace without models", async () => {
    providers = [];
    const ran = await run("kb", "create", "Handbook", "--embedding-model", "openai/ada");
    expect(ran.exit).toBe(3);
    expect(ran.err).toContain("hint: the workspace has no active embedding model");
  });

  test("for two models of the same text: exit code 5 and both", async () => {
    providers = [
      { provider: "langgenius/openai", models: ["x/large"] },
      { provider: "langgenius", models: ["openai/x/large"] },
    ];
    const line = ["kb", "create", "Handbook", "--embedding-model", "langgenius/openai/x/large"];
    const ran = await run(...line);
    expect(ran.exit).toBe(5);
    expect(ran.err).toBe(
      'error: embedding model name "langgenius/openai/x/large" is ambiguous (2 matches)\n' +
        "  langgenius/openai  x/large\n" +
        "  langgenius  openai/x/large\n" +
        "hint: set provider and model with separate flags\n",
    );
    expect(requests()).toEqual([listing]);
    const chosen = await run(
      "kb",
      "create",
      "Handbook",
      "--embedding-model",
      "x/large",
      "--embedding-model-provider",
      "langgenius/openai",
    );
    expect(chosen.exit).toBe(0);
  });
});

let sandbox: TestSandbox;
let folder = "";
beforeAll(async () => {
  sandbox = await testSandbox();
  folder = await temporaryDirectory();
});
beforeEach(() => {
  sandbox.seen.length = 0;
});

async function created(...line: string[]): Promise<string> {
  const ran = await sandbox.cli([...line, "-o", "name"]);
  expect(ran.exit, ran.err).toBe(0);
  return ran.out.trim();
}
const createdKb = (name: string) =>
  created("kb", "create", name, "--indexing-technique", "economy");
const sandboxRequests = () => sandbox.seen.map(({ method, path }) => `${method} ${path}`);

describe("name resolution", () => {
  test("metadata fields and documents are found only in their knowledge base", async () => {
    const [here, there] = [await createdKb("Here"), await createdKb("There")];
    const field = await created("kb", "metadata", "create", here, "team", "--type", "string");
    await created("kb", "doc", "add", here, "a.md", "--text", "hello");
    const renamed = await sandbox.cli(["kb", "metadata", "rename", "Here", "team", "group"]);
    expect(renamed.exit, renamed.err).toBe(0);
    const elsewhere = await sandbox.cli(["kb", "metadata", "rename", "There", "group", "x"]);
    expect(elsewhere.exit).toBe(3);
    expect(elsewhere.err).toContain('metadata field "group" not found');
    const byId = ["kb", "metadata", "delete", here, `id:${field}`, "--yes"];
    expect((await sandbox.cli(byId)).exit).toBe(0);
    const document = await sandbox.cli(["kb", "doc", "show", there, "a.md"]);
    expect(document.exit).toBe(3);
    expect(document.err).toContain('document "a.md" not found');
  });

  test("the keyword of a lookup has no wildcards, and one page is enough", async () => {
    const kb = await createdKb("Wild");
    for (const name of ["50%_off.md", "50 xoff.md"])
      await created("kb", "doc", "add", kb, name, "--text", "hello");
    sandbox.seen.length = 0;
    const ran = await sandbox.cli([
      "kb",
      "doc",
      "show",
      "Wild",
      "50%_off.md",
      "-v",
      "--jq",
      ".name",
    ]);
    expect(ran).toMatchObject({ exit: 0, out: "50%_off.md\n" });
    const id = sandbox.seen.at(-1)?.path.split("/").at(-1) ?? "";
    expect(ran.err).toContain(`knowledge base "Wild" is ${kb}\n`);
    expect(ran.err).toContain(`document "50%_off.md" is ${id}\n`);
    expect(sandboxRequests()).toEqual([
      "GET /v1/datasets?keyword=Wild&include_all=true&page=1&limit=100",
      `GET /v1/datasets/${kb}/documents?keyword=off.md&page=1&limit=100`,
      `GET /v1/datasets/${kb}/documents/${id}`,
    ]);
  });

  test("several tags need one lookup", async () => {
    const kb = await createdKb("Tagged");
    for (const name of ["one", "two", "three"]) await created("kb", "tag", "create", name);
    sandbox.seen.length = 0;
    const ran = await sandbox.cli(["kb", "tag", "bind", kb, "one", "name:two", "three"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(sandboxRequests()).toEqual(["GET /v1/datasets/tags", "POST /v1/datasets/tags/binding"]);
  });

  test("id: accepts only IDs", async () => {
    const ran = await sandbox.cli(["kb", "show", "id:Handbook"]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toBe(
      'error: "Handbook" is not a valid knowledge base ID\nhint: IDs are UUIDs, or the first 8 or more characters of one; remove id: to use a name\n',
    );
    expect(sandbox.seen).toEqual([]);
  });

  test("an unknown profile or application suggests one or lists the existing ones", async () => {
    const near = await sandbox.cli(["wf", "app", "info", "--app", "ehco"]);
    expect(near.err).toBe(
      'error: application "ehco" not found in profile sandbox\nhint: did you mean "echo"?\n',
    );
    const app = await sandbox.cli(["wf", "app", "info", "--app", "xyz"]);
    expect(app.exit).toBe(2);
    expect(app.err).toContain('application "xyz" not found in profile sandbox');
    expect(app.err).toContain(
      "hint: applications of the profile: echo, review, slow, broken, loop, chat, chat-review",
    );
    const world = { folder: await temporaryDirectory(), stdin: "dataset-x" };
    const base = ["--base-url", "https://example.com", "--key-file", "-", "--no-check"];
    await sandbox.cli(["kb", "login", "staging", ...base], world);
    const profile = await sandbox.cli(["kb", "list", "-p", "stagin"], world);
    expect(profile.exit).toBe(2);
    expect(profile.err).toContain('profile "stagin" not found (-p)');
    expect(profile.err).toContain('hint: did you mean "staging"?');
  });
});

/** Writes a file for these tests. */
async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

describe("invalid input sends nothing", () => {
  const add = (...flags: string[]) => ["kb", "doc", "add", kb, "a.md", ...flags];

  test.each<[string, () => Promise<string[]>, string]>([
    [
      "bytes that are not UTF-8",
      async () => add("--text-file", await file("latin1.md", Uint8Array.of(0x67, 0x72, 0xfc))),
      'latin1.md" is not UTF-8 text',
    ],
    [
      "text with a NUL",
      async () => add("--text-file", await file("nul.md", "a\0b")),
      "contains a NUL character",
    ],
    ["a directory as a file", async () => add("--text-file", folder), '": is a directory'],
    [
      "a directory to upload",
      async () => ["kb", "doc", "upload", kb, folder],
      "is a directory\nhint: to upload its files, run `kb sync",
    ],
    [
      "a missing file",
      async () => add("--text-file", join(folder, "none.md")),
      'none.md": file not found',
    ],
    [
      "stdin for two values",
      async () => add("--text-file", "-", "--process-rule", "-"),
      "stdin (-) can only be used once",
    ],
    [
      "two texts",
      async () => add("--text", "a", "--text-file", "-"),
      "use either --text or --text-file, not both",
    ],
    [
      "JSON from a missing file",
      async () => add("--text", "a", "--process-rule", `@${join(folder, "none.json")}`),
      'none.json": file not found',
    ],
    [
      "invalid JSON",
      async () => add("--text", "a", "--process-rule", "{mode: automatic}"),
      '--process-rule "{mode: automatic}" is not valid JSON',
    ],
    [
      "a list instead of an object",
      async () => add("--text", "a", "--process-rule", "[1]"),
      '--process-rule "[1]" is not an object',
    ],
    [
      "a list as additional body fields",
      async () => add("--text", "a", "--body", "[1]"),
      '--body "[1]" is not an object',
    ],
    [
      "an additional field without a value",
      async () => add("--text", "a", "--body-set", "mode"),
      '--body-set "mode" is not path=value',
    ],
    ["an empty knowledge base", async () => ["kb", "show", ""], "<kb> is empty"],
    ["an empty document", async () => ["kb", "doc", "show", kb, " "], '<doc> " " is empty'],
    ["no columns", async () => ["kb", "list", "--columns", ""], 'column "" not found'],
    [
      "page 0",
      async () => ["kb", "list", "--page", "0"],
      '--page "0" is not a whole number from 1',
    ],
    ["no rows", async () => ["kb", "list", "-L", "0"], '--limit "0" is not a whole number from 1'],
    [
      "--all and --page",
      async () => ["kb", "list", "--all", "--page", "2"],
      "--all cannot be used with --limit or --page",
    ],
    [
      "--page for a list with cursors",
      async () => ["wf", "conversation", "messages", kb, "--page", "2"],
      "--page",
    ],
    ["--page for a list without pages", async () => ["kb", "tag", "list", "--page", "2"], "--page"],
    [
      "a number too large to be exact",
      async () => ["kb", "list", "--page", "99999999999999999999"],
      "is not a whole number from 1 to 99999",
    ],
  ])("%s ends with 2", async (_, line, message) => {
    const ran = await sandbox.cli(await line(), { stdin: "hello" });
    expect(ran.err).toContain(message);
    expect(ran.exit).toBe(2);
    expect(ran.out).toBe("");
    expect(sandbox.seen).toEqual([]);
  });

  rareTest("a name of 10,000 characters is not found, with a short error", async () => {
    const ran = await sandbox.cli(["kb", "show", "日".repeat(10_000)]);
    expect(ran.exit).toBe(3);
    expect(ran.err.length).toBeLessThan(400);
    const [request] = sandbox.seen;
    expect(new URL(`http://x${request?.path}`).searchParams.get("keyword")).toHaveLength(100);
  });
});

describe("unusual input is accepted", () => {
  test("-- without flags", async () => {
    expect((await sandbox.cli(["kb", "--"])).out).toContain("Usage: kb <command> [flags]");
    expect((await sandbox.cli(["kb", "list", "--keyword", "nobody", "-o", "json", "--"])).out).toBe(
      "[]\n",
    );
    expect((await sandbox.cli(["kb", "show", "--", "-dash"])).exit).toBe(3);
  });

  rareTest("a text of 10 MB", async () => {
    const id = await createdKb("Large");
    const text = "0123456789grüße\n".repeat(600_000);
    const path = await file("large.md", text);
    sandbox.seen.length = 0;
    const ran = await sandbox.cli(["kb", "doc", "add", id, "large.md", "--text-file", path]);
    expect(ran.exit, ran.err).toBe(0);
    const sent = JSON.parse(new TextDecoder().decode(sandbox.seen.at(-1)?.body)) as {
      text: string;
    };
    expect(sent.text === text).toBe(true);
  });

  test("--curl with --dry-run prints the curl command", async () => {
    const ran = await sandbox.cli(["kb", "create", "Never", "--dry-run", "--curl"]);
    expect(ran.exit).toBe(0);
    expect(ran.out).toMatch(/^curl /);
    expect(sandbox.seen).toEqual([]);
  });
});
