import { cp, copyFile, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import sqlite from "node-sqlite3-wasm";
import { expect } from "vitest";
import { unzip } from "../../src/lib/formats/unzip.ts";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import type { Sandbox, ReceivedRequest } from "../../src/sandbox/http/server.ts";
import { write } from "./directory.ts";
import { fastClock } from "./fast-clock.ts";
import { cli, temporaryDirectory } from "./support.ts";
import type { Ran, World } from "./support.ts";
import { placesIn } from "./torture-lines.ts";
import type { Places } from "./torture-lines.ts";

/** A sandbox with data, directories and profiles that can be reset to the same state. */
export interface Stage {
  readonly places: Places;
  /** Resets everything. */
  fresh(): Promise<Scene>;
}

/** The stage while command lines run on it. */
export interface Scene {
  readonly origin: string;
  readonly seen: readonly ReceivedRequest[];
  cli(argv: readonly string[], world?: World): Promise<Ran>;
  look(): Promise<Look>;
  stop(): Promise<void>;
}

/** The state that a command line may have changed, without values that always differ. */
export interface Look {
  readonly server: readonly string[];
  readonly files: ReadonlyMap<string, string>;
}

/** Delays are short, but no form expires. */
const clock = { ...fastClock(200), now: () => new Date() };

export async function stage(): Promise<Stage> {
  const root = await temporaryDirectory();
  const [world, kept] = [join(root, "world"), join(root, "kept")];
  // The port is fixed, because responses and files contain it; from 32768 on ports are ephemeral.
  let port = 20_000 + (process.pid % 12_000);

  async function open(): Promise<Scene> {
    const seen: ReceivedRequest[] = [];
    const sandbox: Sandbox = await startSandbox({
      clock,
      directory: join(world, "sandbox"),
      port,
      indexingDelay: 1,
      onRequest: (request) => void seen.push(request),
    });
    const env = {
      KB_BASE_URL: `${sandbox.origin}/v1`,
      KB_KEY: "dataset-sandbox",
      KB_APP_KEY: "app-echo",
    };
    return {
      origin: sandbox.origin,
      seen,
      cli: (argv, more = {}) =>
        cli(argv, { folder: join(world, "home"), ...more, env: { ...env, ...more.env } }),
      look: async () => ({
        server: await rowsOf(join(world, "sandbox", "sandbox.db"), join(root, "look.db")),
        files: await filesBelow(world),
      }),
      stop: () => sandbox.stop(),
    };
  }

  await write(world, files);
  await write(join(world, "sandbox"), { ".keep": "" });
  const scene = await open().catch(() => {
    port += 1; // already in use
    return open();
  });
  const run = async (words: string, stdin = "", exit = 0) => {
    const argv = words.split(" ").map((word) => word.replace(/^\.\//, `${world}/`));
    const ran = await scene.cli(argv, { stdin });
    expect(ran.exit, `${words}: ${ran.err}`).toBe(exit);
    return ran.out.trim();
  };
  await run("kb create Handbook --indexing-technique economy");
  await run("kb metadata create Handbook team --type string");
  await run("kb tag create draft");
  await run("kb tag create published");
  await run("kb tag bind Handbook published");
  await run("kb doc add Handbook welcome.md --text Welcome!");
  await run("kb doc add Handbook leave.md --text-file ./docs/people/leave.md");
  await run("kb doc wait Handbook");
  await run("kb metadata set Handbook welcome.md --set team=house");
  await run("kb create Synced --indexing-technique economy");
  await run("kb sync Synced ./synced");
  await write(join(world, "synced"), { "a.md": "changed", "gone.md": null, "new.md": "new" });
  await run("kb export Handbook ./backup");
  await run("kb doc add Handbook later.md --text later");
  await run("kb doc delete Handbook later.md -y");
  await run("wf run --input query=hello --record ./run.jsonl");
  await run("wf run --input query=again --record ./other.jsonl");
  await run("wf logs export ./runs.jsonl --state ./runs.state");
  const id = JSON.parse(await run("wf run --input query=more -o json")) as { id: string };
  const paused = await scene.cli(["wf", "run", "--input", "query=form", "-o", "jsonl"], {
    env: { KB_APP_KEY: "app-review" },
  });
  const token = /"form_token": ?"([^"]+)"/.exec(paused.out)?.[1] ?? "";
  expect(paused.exit).toBe(8);
  const profile = "--insecure-storage --base-url http://127.0.0.1:9";
  await run(`kb login work ${profile} --key-file - --no-check`, "dataset-work");
  await run(`kb login command --base-url ${scene.origin} --key-command key --no-check`);
  await scene.stop();
  await rm(kept, { recursive: true, force: true });
  await cp(world, kept, { recursive: true });

  return {
    places: placesIn(world, token, id.id),
    async fresh() {
      await rm(world, { recursive: true, force: true });
      await cp(kept, world, { recursive: true });
      return open();
    },
  };
}

const files = {
  "docs/a.md": "# First\n\nsome words about it\n",
  "docs/people/leave.md": "30 days of leave\n",
  "docs/prices.csv": "a,b\n1,2\n",
  "synced/a.md": "first",
  "synced/b/same.md": "same",
  "synced/gone.md": "gone",
  "tags.csv": "name\nred\ngreen\nblue\n",
  "texts.jsonl": [1, 2, 3].map((n) => `{"name":"t${n}.md","text":"text ${n}"}\n`).join(""),
  "queries.csv": "query\none\ntwo\nthree\n",
  "questions.jsonl":
    '{"question":"leave","documents":["leave.md"]}\n{"question":"welcome","documents":["welcome.md"]}\n',
  "expect.yml": "name: Short\nchecks:\n  - run succeeded\n",
  "kb.yml":
    "knowledge_base: Applied\nindexing_technique: economy\ndescription: made\ntags: [published, people]\nmetadata:\n  team: string\ndocuments:\n  directory: docs\n",
};

/** All data of the sandbox that its clients could see. */
const shown: readonly string[] = [
  "SELECT 'base', name, description, permission, indexing_technique, retrieval_model, built_in FROM datasets",
  `SELECT 'document', datasets.name, documents.name, hex(files.bytes), enabled, archived, metadata
     FROM documents JOIN datasets ON datasets.id = dataset_id JOIN files ON files.id = file_id`,
  `SELECT 'field', datasets.name, metadata_fields.name, type
     FROM metadata_fields JOIN datasets ON datasets.id = dataset_id`,
  "SELECT 'tag', name FROM tags",
  `SELECT 'binding', tags.name, datasets.name FROM tag_bindings
     JOIN tags ON tags.id = tag_id JOIN datasets ON datasets.id = dataset_id`,
  "SELECT 'run', app, inputs FROM runs",
  "SELECT 'form', app, status, action, inputs FROM forms",
];

async function rowsOf(file: string, copy: string): Promise<string[]> {
  await copyFile(file, copy);
  const database = new sqlite.Database(copy);
  const rows = shown.flatMap((sql) => database.all(sql).map((row) => same(JSON.stringify(row))));
  database.close();
  return rows.sort();
}

async function filesBelow(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    // Contains errors, whose text differs in each run.
    const isReport = path.startsWith("home/state/failures/") && path.endsWith(".json");
    if (!entry.isFile() || path.startsWith("sandbox/") || isReport) continue;
    const bytes = await readFile(join(folder, path));
    const text = path.endsWith(".zip") ? await unzipped(bytes) : bytes.toString("latin1");
    found.set(same(path), same(text));
  }
  return found;
}

/** The content of a ZIP, without its times. */
async function unzipped(zip: Uint8Array): Promise<string> {
  const texts: string[] = [];
  for await (const bytes of unzip(Readable.from([zip]))) texts.push(bytes.toString());
  return texts.join("\n");
}

/** Text without values that differ in each run (IDs, times, durations), lines sorted. */
export const same = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?/g, "TIME")
    .replace(/\b(1[789]\d{8}(\d{3})?|20\d{12,})(\.\d+)?\b/g, "TIME")
    .replace(/\b\d+(\.\d+)?(e-\d+)?( ?(ms|s|min|h)\b)/g, "SPAN")
    .replace(/\b\d+\.\d+(e-\d+)?\b/g, "FRACTION")
    .replace(/("at"|"elapsed_time"):[\w.-]+/g, "$1:SPAN") // of no time, and of so little that it is 5e-05
    .replace(/"sum": "[0-9a-f]{64}"/g, '"sum": "SUM"') // over times, too
    .split("\n")
    .sort()
    .join("\n");
