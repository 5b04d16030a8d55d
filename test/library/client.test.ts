import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CliError, createClient, rowsById } from "../../src/library/client.ts";
import { methodAndPath } from "../../src/operations/operation.ts";
import type { AnyOperation, Param } from "../../src/operations/operation.ts";
import type { Client } from "../../types/index.d.ts";
import { operationTypes } from "../../scripts/reference/library.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";

const { sandbox, seen } = await testSandbox();
const baseUrl = `${sandbox.origin}/v1`;
const knowledge = createClient({ baseUrl, key: sandbox.knowledgeKey, retries: 0 });
const id = "8ca64476-7bdd-4c78-82b6-49a488a5da84";

/** A value that a parameter takes. */
function sample({ kind, choices, many }: Param): unknown {
  const each = () => {
    if (choices) return choices[0];
    if (kind === "integer" || kind === "number") return 1;
    if (kind === "flag") return true;
    if (kind === "json") return {};
    if (kind === "file")
      return { path: "a.txt", name: "a.txt", bytes: new TextEncoder().encode("A") };
    return kind === "text" ? "text" : id;
  };
  return many ? [each()] : each();
}

type Method = (input: object) => Promise<unknown> & AsyncIterable<unknown>;
const methodsOf = (client: Client) => client as unknown as Readonly<Record<string, Method>>;

const rows = Object.entries(rowsById()).flatMap(([name, each]) =>
  (each.some(({ fixed }) => fixed) ? each : each.slice(0, 1)).map(
    (row) => [name, row, each.length > 1] as const,
  ),
);

test.each(rows)("%s is sent as the table says", async (name, row: AnyOperation, isChosen) => {
  const needed = Object.entries(row.params).filter(
    ([, param]) => param.required ?? param.in === "path",
  );
  const input = {
    ...Object.fromEntries(needed.map(([param, each]) => [param, sample(each)])),
    ...(isChosen && row.fixed),
  };
  const key = row.key === "dataset" ? sandbox.knowledgeKey : (sandbox.appKeys["echo"] ?? "");
  const stop = new AbortController();
  const client = methodsOf(createClient({ baseUrl, key, retries: 0, signal: stop.signal }));
  const before = seen.length;
  const call = client[name] ?? (() => expect.fail());
  if (row.returns.kind === "events") {
    const events = call(input)[Symbol.asyncIterator]();
    await events.next().catch(refused);
    stop.abort();
    await events.return?.();
  } else await call(input).catch(refused);
  const [method, path] = methodAndPath(row);
  const filled = path.replace(/\{(\w+)\}/g, (_, param: string) =>
    encodeURIComponent(String(row.fixed?.[param] ?? input[param])),
  );
  const sent = seen
    .slice(before)
    .map((request) => `${request.method} ${request.path.split("?")[0]}`);
  expect(sent).toEqual([`${method} /v1${filled}`]);
});

/** The sandbox may refuse what is made up; nothing else may fail. */
function refused(error: unknown): void {
  expect(error).toBeInstanceOf(CliError);
  expect((error as CliError).kind).toMatch(
    /^(refused|not-found|unsupported|auth|failure|limited)$/,
  );
}

test("lists are arrays, and iterators over all pages, of which none is read before", async () => {
  const { id: dataset_id } = await knowledge.createDataset({ name: "Pages" });
  const names = Array.from({ length: 101 }, (_, at) => `${at}.md`);
  for (const name of names)
    await knowledge.createDocumentFromText({
      dataset_id,
      name,
      text: name,
      indexing_technique: "economy",
    });
  const before = seen.length;
  const list = knowledge.listDocuments({ dataset_id });
  expect(seen.length).toBe(before);
  const first = await list;
  expect(first).toHaveLength(100);
  expect(first[0]).toMatchObject({ name: "100.md" });
  const all: string[] = [];
  for await (const { name } of first) all.push(name);
  expect(all.toSorted()).toEqual(names.toSorted());
  expect(seen.length - before).toBe(3);
});

test.each<[what: string, method: string, input: object, message: string]>([
  [
    "an unknown parameter",
    "createKnowledgeTag",
    { nam: "a" },
    'createKnowledgeTag has no parameter "nam"',
  ],
  [
    "a missing parameter",
    "createKnowledgeTag",
    {},
    'createKnowledgeTag needs the parameter "name"',
  ],
  [
    "one about files",
    "createDocumentFromText",
    { dataset_id: "a", name: "a", text: "a", encoding: "gbk" },
    'createDocumentFromText has no parameter "encoding"',
  ],
  ["that of a list", "listDatasets", { nam: "a" }, 'listDatasets has no parameter "nam"'],
  [
    "no mode",
    "executeWorkflow",
    { inputs: {} },
    "executeWorkflow needs one of: response_mode: streaming; response_mode: blocking",
  ],
])("%s rejects the promise", async (_, method, input, message) => {
  const before = seen.length;
  const promise = methodsOf(knowledge)[method]?.(input);
  await expect(promise).rejects.toMatchObject({ kind: "usage", message });
  expect(seen.length).toBe(before);
});

test("a wrong parameter is thrown by the iterator of a list and of a stream", async () => {
  const first = (values: unknown) =>
    (values as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
  const list = methodsOf(knowledge)["listDatasets"]?.({ nam: "a" });
  await expect(first(list)).rejects.toThrow("has no parameter");
  const run = { inputs: {}, response_mode: "streaming", nam: "a" };
  const events = methodsOf(knowledge)["executeWorkflow"]?.(run);
  await expect(first(events)).rejects.toThrow("has no parameter");
});

test.each<[what: string, call: () => unknown, message: string]>([
  ["a key with a blank", () => createClient({ baseUrl, key: "a b" }), "key contains spaces"],
  ["plain HTTP", () => createClient({ baseUrl: "http://example.com", key: "app-1" }), "plain HTTP"],
])("%s is a mistake of the caller", (_, call, message) => {
  expect(call).toThrow(message);
});

test("an error says whether something was changed, and never the key", async () => {
  const other = createClient({ baseUrl, key: "dataset-wrong-0123456789", retries: 0 });
  const error = await other.createKnowledgeTag({ name: "a" }).catch((one: unknown) => one);
  expect(error).toMatchObject({ kind: "auth", exit: 4, info: { sideEffect: "none" } });
  expect(JSON.stringify(error) + String(error)).not.toContain("0123456789");
});

test("types/operations.d.ts has the operations of the table", async () => {
  const { execFileSync } = await import("node:child_process");
  const file = join(root, "types", "operations.d.ts");
  const made = execFileSync(
    process.execPath,
    [join(root, "node_modules", "oxfmt", "bin", "oxfmt"), "--stdin-filepath", file],
    { input: operationTypes(), encoding: "utf8" },
  );
  expect(readFileSync(file, "utf8")).toBe(made);
});
