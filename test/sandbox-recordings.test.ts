/** The recorded exchanges of the knowledge side, asked of the sandbox again. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFault } from "../src/sandbox/faults.ts";
import { type Sandbox, startSandbox } from "../src/sandbox/server.ts";
import { manualClock, type ManualClock } from "./manual-clock.ts";
import { compared, type Ids, recording, resend } from "./replay.ts";

/** Exchanges that are not asked: `file: title` → why. */
const exceptions: Readonly<Record<string, string>> = {
  "knowledge: create by file, 16 MB of text (body not recorded)":
    "the request was not recorded; sandbox-knowledge.test.ts sends one",
  "older-1.12.1: run, streaming": "runs of old servers are not played",
  "older-1.12.1: run detail": "runs of old servers are not played",
  "older-1.12.1: run that fails, streaming": "runs of old servers are not played",
  "older-1.12.1: logs": "there is no run of an old server to be listed",
};

const sameSecond =
  "the order of knowledge bases of one second is that of their ids, which is chance";

/** Differences that may be: `file: title` → which, and why. */
const tolerated: Readonly<Record<string, readonly [RegExp, string]>> = {
  "knowledge: list": [/\.indexing_technique:/, sameSecond],
  "knowledge: list, limit 3": [/\.indexing_technique:/, sameSecond],
  "knowledge: list, limit 200": [/\.indexing_technique:/, sameSecond],
  "knowledge: show document that failed to index": [
    /^body\.dataset_process_rule\./,
    "the server stored two rules in one second and takes the older for the newest",
  ],
  "errors: page 0 limit 0": [/^body\.data\.\d+\./, "the recorded bases were of all kinds"],
  "errors: form unknown token": [
    /^message: recorded Form not found\. /,
    "the routes of the web application, which the server suggests, are not played",
  ],
  "download: create 'b.txt '": [/\.word_count:/, "the recorded server was cutting it already"],
  "older-1.12.1: unbind, tag_ids only": [/^message: .*TagUnbindingPayload/, "it quotes half an id"],
};

/** Sent before the document of the exchange before could be indexed; else a second passes. */
const atOnce = new Set([
  "knowledge: indexing status at once",
  "knowledge: update while indexing",
  "persistence: delete while indexing",
]);

let clock: ManualClock;
let sandbox: Sandbox;
let ids: Ids;

describe.each([
  [
    "knowledge, then what was asked of the same server",
    ["knowledge", "metadata", "tags", "deletion"],
  ],
  ["errors", ["errors"]],
  ["hierarchy", ["hierarchy"]],
  ["persistence", ["persistence"]],
  ["pipeline", ["pipeline"]],
  ["download", ["download"]],
  ["child-chunks", ["child-chunks"]],
  ["older-1.12.1", ["older-1.12.1"]],
])("%s", (_name, files) => {
  beforeAll(async () => {
    clock = manualClock();
    ids = new Map();
    const older = files.some((file) => file.startsWith("older"));
    const faults = older ? [parseFault("* * version=1.12.1")] : [];
    sandbox = await startSandbox({ clock, folder: null, faults });
  });
  afterAll(() => sandbox.stop());

  const exchanges = files.flatMap((file) =>
    recording(file).map((exchange, at) => {
      const before = at === 0 ? unrecorded[file] : undefined;
      return [`${file}: ${exchange.title}`, exchange, before] as const;
    }),
  );
  test.each(exchanges.filter(([name]) => !(name in exceptions)))(
    "%s",
    async (name, exchange, before) => {
      await before?.();
      await clock.advance(atOnce.has(name) ? 50 : 1000);
      const [tolerable] = tolerated[name] ?? [];
      const found = compared(exchange, await resend(exchange, sandbox.origin, ids), ids);
      expect(found.filter((difference) => !tolerable?.test(difference))).toEqual([]);
    },
  );
});

/** What the recorder did before it kept exchanges: file → makes it, and learns its ids. */
const unrecorded: Readonly<Record<string, () => Promise<void>>> = {
  async deletion() {
    ids.set("ff62f1f3-7397-46f4-951a-70ce64f40f50", await newBase());
  },
  async persistence() {
    ids.set("667f1963-8562-4fdf-85b6-bf5b67fcfb53", await newBase());
  },
  async pipeline() {
    ids.set("d8638ab1-b032-4dfc-82a6-5c5fdac49bd8", await newBase());
  },
  async errors() {
    for (let number = 0; number < 46; number++) await newBase(`base ${number}`);
  },
  "older-1.12.1": async () => void (await post("/datasets/tags", { name: "the first" })),
  async "child-chunks"() {
    const base = await newBase();
    const { document } = await post(`/datasets/${base}/document/create-by-text`, {
      name: "parents.txt",
      text: "Parent one.\n\nParent two.",
      indexing_technique: "economy",
    });
    const { id } = document as { readonly id: string };
    await clock.advance(1000);
    const path = `/datasets/${base}/documents/${id}/segments`;
    const { data } = (await ask("GET", path)) as { data: readonly { readonly id: string }[] };
    ids.set("f82c475b-5248-4d3f-bb70-9603e1a04a1d", base);
    ids.set("f7b48836-5277-4afb-8ee6-efc95c6597d3", id);
    ids.set("87a8373b-a80e-4893-9b9a-a66aeb2ce275", data[0]?.id ?? "");
  },
};

async function newBase(name = "unrecorded"): Promise<string> {
  const answer = await post("/datasets", { name });
  return String(answer["id"]);
}

type Answer = Readonly<Record<string, unknown>>;

const post = (path: string, body: object) => ask("POST", path, body);

async function ask(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${sandbox.origin}/v1${path}`, {
    method,
    headers: { Authorization: "Bearer dataset-sandbox", "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Answer; // every answer here is an object
}
