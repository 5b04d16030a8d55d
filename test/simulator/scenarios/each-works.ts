import { equal } from "node:assert/strict";
import { addText, createKb, documentsOf } from "../knowledge.ts";
import type { World } from "../world.ts";

/** What `--each` does with the rows of a file. */
export interface Work {
  readonly name: string;
  readonly argv: readonly string[];
  readonly header: string;
  readonly rows: readonly string[];
  /** May a row be sent twice? */
  readonly isRepeatable: boolean;
  /** The request that changes something, as the trace has it. */
  readonly write: RegExp;
  readonly env: Readonly<Record<string, string>>;
  /** How often the server has the effect of each row. */
  counts(): Promise<readonly number[]>;
}

/** Makes what the rows of a work name. */
type MakeWork = (world: World, texts: readonly string[]) => Promise<Work>;

const kbEnv = { KB_KEY: "dataset-sandbox" };
const wfEnv = { KB_APP_KEY: "app-echo" };

const countIn = (texts: readonly string[], found: readonly string[]): number[] =>
  texts.map((text) => found.filter((each) => each === text).length);

interface Tag {
  readonly id: string;
  readonly name: string;
}
const tagsOf = ({ server }: World) => server.call<Tag[]>("GET", "/v1/datasets/tags");

const createTags: MakeWork = async (world, texts) => ({
  name: "create tags",
  argv: ["kb", "tag", "create"],
  header: "name",
  rows: texts,
  isRepeatable: false,
  write: /: POST \/v1\/datasets\/tags /,
  env: kbEnv,
  counts: async () =>
    countIn(
      texts,
      (await tagsOf(world)).map(({ name }) => name),
    ),
});

const renameTags: MakeWork = async (world, texts) => {
  const ids: string[] = [];
  for (const text of texts) {
    const body = { name: `old ${text}` };
    ids.push((await world.server.call<Tag>("POST", "/v1/datasets/tags", body)).id);
  }
  return {
    name: "rename tags",
    argv: ["kb", "tag", "rename"],
    header: "tag,name",
    rows: texts.map((text) => `old ${text},${text}`),
    isRepeatable: true,
    write: /: PATCH \/v1\/datasets\/tags /,
    env: kbEnv,
    async counts() {
      const names = new Map((await tagsOf(world)).map(({ id, name }) => [id, name]));
      return texts.map((text, index) => Number(names.get(ids[index] ?? "") === text));
    },
  };
};

const addDocuments: MakeWork = async ({ server }, texts) => {
  const kb = await createKb(server, "Handbook");
  return {
    name: "add documents",
    argv: ["kb", "doc", "add", kb, "--indexing-technique", "economy"],
    header: "name,text",
    rows: texts.map((text) => `${text}.md,${text}`),
    isRepeatable: true,
    write: /create-by-text/,
    env: kbEnv,
    counts: async () =>
      countIn(
        texts,
        (await documentsOf(server, kb)).map(({ text }) => text),
      ),
  };
};

const deleteDocuments: MakeWork = async ({ server }, texts) => {
  const kb = await createKb(server, "Handbook");
  for (const text of texts) await addText(server, kb, { name: `${text}.md`, text });
  return {
    name: "delete documents",
    argv: ["kb", "doc", "delete", kb, "--yes"],
    header: "document",
    rows: texts.map((text) => `${text}.md`),
    isRepeatable: true,
    write: /: DELETE /,
    env: kbEnv,
    async counts() {
      const documents = await documentsOf(server, kb);
      return texts.map((text) => Number(documents.every((each) => each.text !== text)));
    },
  };
};

/** A new name is sent together with the content, which must not be lost. */
const renameDocuments: MakeWork = async (world, texts) => {
  const { server } = world;
  const kb = await createKb(server, "Handbook");
  const ids: string[] = [];
  for (const text of texts) ids.push(await addText(server, kb, { name: `old ${text}.md`, text }));
  await world.pause(60_000); // they can be renamed once they are indexed
  return {
    name: "rename documents",
    argv: ["kb", "doc", "rename", kb, "--yes"],
    header: "doc,name",
    rows: texts.map((text) => `old ${text}.md,${text}.md`),
    isRepeatable: true,
    write: /update-by/,
    env: kbEnv,
    async counts() {
      const documents = new Map((await documentsOf(server, kb)).map((each) => [each.id, each]));
      return texts.map((text, index) => {
        const document = documents.get(ids[index] ?? "");
        equal(document?.text, text, `the content of ${document?.name}`);
        return Number(document?.name === `${text}.md`);
      });
    },
  };
};

const addChunks: MakeWork = async (world, texts) => {
  const { server } = world;
  const kb = await createKb(server, "Handbook");
  const document = await addText(server, kb, { name: "notes.md", text: "notes" });
  await world.pause(60_000); // chunks can be added once it is indexed
  const path = `/v1/datasets/${kb}/documents/${document}/segments?limit=100`;
  return {
    name: "add chunks",
    argv: ["kb", "chunk", "add", kb, document],
    header: "content",
    rows: texts,
    isRepeatable: false,
    write: /: POST .*segments/,
    env: kbEnv,
    async counts() {
      const { data } = await server.call<{ data: { content: string }[] }>("GET", path);
      return countIn(
        texts,
        data.map(({ content }) => content),
      );
    },
  };
};

const runWorkflow: MakeWork = async ({ server }, texts) => ({
  name: "run a workflow",
  argv: ["wf", "run"],
  header: "query",
  rows: texts,
  isRepeatable: false,
  write: /: POST \/v1\/workflows\/run /,
  env: wfEnv,
  async counts() {
    const key = wfEnv.KB_APP_KEY;
    const logs = await server.call<{ data: { workflow_run: { id: string } }[] }>(
      "GET",
      "/v1/workflows/logs?limit=100",
      undefined,
      key,
    );
    const queries: string[] = [];
    for (const { workflow_run: run } of logs.data) {
      const path = `/v1/workflows/run/${run.id}`;
      const { inputs } = await server.call<{ inputs: string }>("GET", path, undefined, key);
      queries.push((JSON.parse(inputs) as { query: string }).query);
    }
    return countIn(texts, queries);
  },
});

const works: readonly MakeWork[] = [
  createTags,
  renameTags,
  addDocuments,
  deleteDocuments,
  addChunks,
  runWorkflow,
];

/** Makes one of the works. Renames are drawn apart, so that earlier seeds keep theirs. */
export const makeWork: MakeWork = (world, texts) => {
  const make =
    world.random("rename documents") < 0.15 ? renameDocuments : world.pick(works, "work");
  return make(world, texts);
};
