import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { formsOfChunks } from "../../lib/as-is-bases.ts";
import { cannedServer, ok } from "../../lib/canned-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, server: "1.16.1", models: true });
const home = await temporaryDirectory();
const answers = await cannedServer();
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });

/** What an update asks for, as flags and as the state that is stored then. */
const updates = [
  ["keywords", ["--keyword", "zebra"], { keywords: ["zebra"] }],
  [
    "a content and keywords",
    ["--content", "New", "--keyword", "zebra"],
    { content: "New", keywords: ["zebra"] },
  ],
  [
    "a content of a disabled chunk",
    ["--content", "Off", "--no-enabled"],
    { content: "Off", enabled: false },
  ],
  [
    "keywords of a disabled chunk",
    ["--keyword", "zebra", "--no-enabled"],
    { keywords: ["zebra"], enabled: false },
  ],
  [
    "all",
    ["--content", "All", "--keyword", "zebra", "--keyword", "horse", "--no-enabled"],
    { content: "All", keywords: ["horse", "zebra"], enabled: false },
  ],
  ["the status", ["--no-enabled"], { enabled: false }],
] as const;
const bases = ["economy", "vectors", "questions"] as const;

interface Row {
  readonly id: string;
  readonly content: string;
  readonly keywords: readonly string[] | null;
  readonly enabled: boolean;
}
const rows = async (name: string) =>
  JSON.parse((await done("chunk", "list", name, "a.md", "-o", "json", "--all")).out) as Row[];
const stateOf = ({ content, keywords, enabled }: Row) => ({
  content,
  keywords: keywords?.toSorted() ?? null,
  enabled,
});

beforeAll(async () => {
  for (const name of bases) {
    const [, how, rule, form] = formsOfChunks.find(([each]) => each === name) ?? formsOfChunks[0];
    await done("create", name, ...how);
    const text = updates.map((_, at) => `Part ${at} is about something of its own, in words.`);
    const split = {
      ...rule,
      rules: { ...rule.rules, segmentation: { ...rule.rules.segmentation, max_tokens: 50 } },
    };
    const given = ["--text", text.join("\n\n"), "--doc-form", form];
    await done("doc", "add", name, "a.md", ...given, "--process-rule", JSON.stringify(split));
    await done("doc", "wait", name);
  }
});

/** The bodies of the requests that changed chunks since a number of requests. */
const sent = (since: number): unknown[] =>
  server.seen
    .slice(since)
    .filter(({ method, path }) => method === "POST" && /segments\/./.test(path))
    .map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as unknown);

describe.each(bases)("in %s", (name) => {
  test.each(updates.map((each, at) => [...each, at] as const))(
    "an update of %s is stored whole, by the requests that its dry run shows",
    async (_, flags, expected, at) => {
      const before = (await rows(name))[at];
      const line = ["chunk", "update", name, "a.md", before?.id ?? "", ...flags];
      const shown = await done(...line, "--dry-run", "-o", "json");
      const since = server.seen.length;
      await done(...line);
      const planned = shown.out
        .trim()
        .split("\n")
        .map((text) => (JSON.parse(text) as { body: unknown }).body);
      expect(sent(since)).toEqual(planned);
      const after = (await rows(name))[at];
      expect(after && stateOf(after)).toMatchObject(expected);
      if (!("content" in expected)) expect(after?.content).toBe(before?.content);
    },
  );

  test("a copy as it is and a sheet need one run for all of them", async () => {
    await done("copy", name, "--name", `${name} 2`, "--as-is", "-y");
    await done("verify", name, `name:${name} 2`, "--chunks");
    const [document] = (await done("doc", "list", `${name} 2`, "-o", "name")).out.split("\n");
    const sheet = join(home, `${name}.csv`);
    const lines = (await rows(`${name} 2`)).map(({ id, enabled }, at) =>
      [document, id, `Sheet ${at}`, `"a\nb"`, enabled ? "no" : "yes"].join(","),
    );
    const head = "document_id,chunk_id,content,keywords,enabled";
    await writeFile(sheet, `${[head, ...lines].join("\n")}\n`);
    await done("chunk", "import", `${name} 2`, sheet);
    const states = (await rows(`${name} 2`)).map(stateOf);
    expect(states).toEqual(
      updates.map(([, , state], at) => ({
        content: `Sheet ${at}`,
        keywords: ["a", "b"],
        enabled: "enabled" in state,
      })),
    );
    const again = await done("chunk", "import", `${name} 2`, sheet);
    expect(again.err).toContain("6 rows: 6 unchanged\n");
  });
});

test("a disabled chunk is changed only while it is enabled, and the error says so", async () => {
  const disabled = (await rows("economy")).find(({ enabled }) => !enabled)?.id ?? "";
  const line = ["kb", "chunk", "update", "economy", "a.md", disabled, "--content", "More"];
  const ran = await server.cli(line);
  expect(ran.exit).toBe(5);
  expect(ran.err).toContain("--enabled");
  await server.done([...line, "--enabled"]);
});

describe("a field that the server stores in another way", () => {
  const kb = "11111111-1111-4111-8111-111111111111";
  const doc = "22222222-2222-4222-8222-222222222222";
  const chunk = "55555555-5555-4555-8555-555555555555";
  const canned = {
    content: "Text",
    answer: null,
    keywords: ["k"],
    enabled: true,
    summary: "s",
    status: "completed",
  };
  test.each([
    ["content", ["--content", "New"], {}],
    ["answer", ["--answer", "Because."], {}],
    ["keywords", ["--keyword", "zebra"], {}],
    ["keywords", ["--keyword", "zebra"], { keywords: null }],
    ["enabled", ["--no-enabled"], {}],
    ["summary", ["--summary", "New"], { summary: undefined }],
    ["content, keywords", ["--content", "New", "--keyword", "zebra"], {}],
  ])("%s: exit code 9 names it", async (fields, flags, stored) => {
    const path = `/datasets/${kb}/documents/${doc}/segments/${chunk}`;
    const data = { ...canned, id: chunk, ...stored };
    const ran = await answers.run(
      {
        [`GET ${path}`]: ok({ data, doc_form: "text_model" }),
        [`POST ${path}`]: ok({ data, doc_form: "text_model" }),
      },
      ["kb", "chunk", "update", kb, doc, chunk, ...flags],
    );
    expect(ran.exit).toBe(9);
    expect(ran.err).toContain(`did not store these fields as sent: ${fields}\n`);
    expect(ran.err).toContain(`kb chunk show ${kb} ${doc} ${chunk}`);
  });
});
