import { deepEqual, equal, ok } from "node:assert/strict";
import { sha256 } from "../../../src/lib/sha256.ts";
import { addParagraphs, chunksOf, createVectorKb, editChunks, forms } from "../chunks.ts";
import type { Form } from "../chunks.ts";
import { requireHolder } from "../claims.ts";
import type { Machine } from "../machine.ts";
import type { Ended } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

const DIRECTORY = "/home/user/export";
const NAMES = ["a.md", "b.md", "c.md"];
const env = { KB_KEY: "dataset-sandbox" };
/** Codes with which a disturbed command may end: its error says what is left to do. */
const honest = [1, 5, 7, 9, 10, 11, 12, 130];

/** A knowledge base with edited chunks, and the machine whose commands move it. */
export interface Stage {
  readonly world: World;
  readonly machine: Machine;
  readonly source: string;
  readonly ids: readonly string[];
  readonly form: Form;
}

/** Someone changes chunks; each change can be dropped. */
async function edit({ world, source, ids, form }: Stage, turn: string): Promise<void> {
  const kinds = ["edit", "disable", "delete", "add", "child"];
  for (const [at, id] of ids.entries())
    for (const kind of form === "hierarchical_model" ? kinds : kinds.slice(0, 4)) {
      if (!world.happens("edit", `${kind} ${NAMES[at]} ${turn}`, 0.4)) continue;
      const words = `${kind} of ${turn}: ${world.below(1e6, `${kind} ${at} ${turn}`)}`;
      const place = `/v1/datasets/${source}/documents/${id}`;
      // Nothing can be added to a document that is disabled.
      await editChunks(world.server, place, kind, words).catch((error: unknown) =>
        world.note(`not edited: ${String(error)}`),
      );
    }
}

/** A knowledge base of a form, each document with paragraphs and edits of its own; the first one is disabled. */
export async function prepare(world: World): Promise<Stage> {
  const { server } = world;
  const source = await createVectorKb(server, "Handbook");
  const form = world.pick(forms, "form");
  const ids: string[] = [];
  for (const name of NAMES) {
    const count = 3 + world.below(10, `paragraphs of ${name}`);
    ids.push(await addParagraphs(server, source, { name, form, count }));
  }
  await world.pause(60_000); // until all are indexed
  const stage = { world, machine: world.containers(), source, ids, form };
  await edit(stage, "first");
  const path = `/v1/datasets/${source}/documents/status/disable`;
  await server.call("PATCH", path, { document_ids: ids.slice(0, 1) });
  await world.pause(60_000);
  return stage;
}

/** Runs a command, sometimes twice at once; it may also end with the codes of `others`. */
export async function disturbed(
  { world, machine }: Stage,
  argv: readonly string[],
  name: string,
  others: readonly number[] = [],
): Promise<Ended[]> {
  const start = (each: string) =>
    world.start(argv, { name: each, machine: world.somewhere(machine, each), env });
  const processes = [start(name)];
  if (world.happens("twice", name, 0.3)) {
    // Often at almost the same time.
    await world.pause(world.random(`twice ${name}`) ** 3 * 2000);
    processes.push(start(`${name} again`));
  }
  const ends = await Promise.all(processes.map(({ ended }) => ended));
  for (const one of processes) requireHolder(world, one);
  for (const { exit, err } of ends)
    ok(
      exit === null || exit === 0 || [...honest, ...others].includes(exit),
      `exit code ${exit} of ${name}: ${err}`,
    );
  return ends;
}

/** Runs a command that is not repeated. */
export const undisturbed = (
  { world, machine }: Stage,
  ...argv: readonly string[]
): Promise<Ended> =>
  world.start(argv, { name: `undisturbed ${argv.join(" ")}`, machine, env }).ended;

/** Each file with chunks is as the manifest says; at the end, there are no others. */
function requireBundle({ machine: { disk } }: Stage, isEnd = false): void {
  if (!disk.has(`${DIRECTORY}/manifest.json`)) return;
  const { state } = JSON.parse(disk.text(`${DIRECTORY}/manifest.json`)) as {
    readonly state: { readonly documents: readonly { chunks: { file: string; sha256: string } }[] };
  };
  for (const { chunks } of state.documents) {
    const path = `${DIRECTORY}/${chunks.file}`;
    ok(disk.has(path), `${chunks.file} of the manifest is missing`);
    equal(sha256(disk.text(path)), chunks.sha256, `${chunks.file} is not that of the manifest`);
  }
  const named = state.documents.map(({ chunks }) => chunks.file.replace("chunks/", ""));
  const files = disk.list(`${DIRECTORY}/chunks`).filter((name) => !name.endsWith(".tmp"));
  if (isEnd) deepEqual(files.sort(), named.sort(), "files of chunks");
}

/** Exports several times while people change chunks between; at the end, the export is that of the source. */
async function playExports(stage: Stage): Promise<void> {
  const { world, source } = stage;
  const argv = ["kb", "export", source, DIRECTORY];
  const turns = 1 + world.below(3, "exports");
  for (let turn = 0; turn < turns; turn++) {
    if (turn > 0) await edit(stage, `export ${turn}`);
    await disturbed(stage, argv, `export ${turn}`);
    requireBundle(stage);
  }
  world.faults.isOver = true;
  await world.pause(60_000); // a lock of a killed process, a server that restarts
  equal((await undisturbed(stage, ...argv)).exit, 0);
  requireBundle(stage, true);
  const found = await undisturbed(stage, "kb", "verify", DIRECTORY, source, "--chunks");
  equal(found.exit, 0, `the export differs: ${found.out}${found.err}`);
  world.faults.isOver = false;
}

/** The chunks of the copy; there is at most one. */
export async function copied({ world }: Stage, copy = "Copy"): Promise<unknown> {
  const { data } = await world.server.call<{ data: { id: string; name: string }[] }>(
    "GET",
    "/v1/datasets?limit=100",
  );
  const found = data.filter(({ name }) => name === copy);
  ok(found.length <= 1, `${found.length} knowledge bases of one name`);
  return found[0] && (await chunksOf(world.server, found[0].id));
}

async function play(world: World): Promise<void> {
  const stage = await prepare(world);
  const { source } = stage;
  const isCopy = world.random("copy") < 0.4;
  const line = isCopy
    ? ["kb", "copy", source, "--name", "Copy", "--as-is", "--yes"]
    : ["kb", "import", DIRECTORY, "--name", "Copy", "--as-is", "--yes"];
  if (!isCopy) await playExports(stage);
  const expected = await chunksOf(world.server, source);
  let isDone = false;
  const turns = 1 + world.below(3, "turns");
  for (let turn = 0; turn < turns && !isDone; turn++) {
    const ends = await disturbed(stage, line, `move ${turn}`);
    isDone = ends.some(({ exit }) => exit === 0);
    if (isDone) deepEqual(await copied(stage), expected, "exit code 0, but the chunks differ");
  }

  world.calm();
  await world.pause(60_000);
  if (!isDone) {
    const { exit, out, err } = await undisturbed(stage, ...line);
    const isComplete = exit === 5 && err.includes("already exists");
    ok(exit === 0 || isComplete, `${exit}: ${out}${err}`);
  }
  deepEqual(await copied(stage), expected, "the chunks of the copy differ");
  deepEqual(await chunksOf(world.server, source), expected, "the source was changed");
  const sides = [isCopy ? source : DIRECTORY, "name:Copy"];
  const verified = await undisturbed(stage, "kb", "verify", ...sides, "--chunks");
  equal(verified.exit, 0, `${verified.out}${verified.err}`);
}

const plan = "src/commands/kb/chunk-lists/compare-chunks.ts";
const make = "src/commands/kb/chunk-lists/make-chunks.ts";

/** Moves with chunks as they are, killed and repeated, of every form. */
export const asIs: Scenario = {
  name: "as-is",
  server: (seed) => ({ models: true, server: seed % 2 === 0 ? "1.14.2" : "1.16.1" }),
  play,
  guards: [
    {
      name: "chunks are done after a lost response",
      file: make,
      from: "if (!isLost(error) || ++lost > MAX_LOST || context.host.signal.aborted) throw error;",
      to: "if (isLost(error)) return counts; throw error;",
    },
    {
      name: "a changed chunk keeps its keywords",
      file: make,
      from: '...(action === "keywords" && { "segment.keywords": to.keywords }),',
      to: "",
    },
    {
      name: "the list is not read again after the first phase",
      file: make,
      from: "if (steps.length === 0) return counts;",
      to: 'if (steps.length === 0 || last !== "") return counts;',
    },
    {
      name: "chunks that are too many stay",
      file: plan,
      from: '...surplus.map(({ id }) => ({ action: "delete", id }) as const),',
      to: "",
    },
    {
      name: "child chunks that the server made stay",
      file: plan,
      from: '...surplus.map(({ id }): ChunkStep => ({ action: "delete child", parent, id })),',
      to: "",
    },
    {
      name: "a question is changed without its answer",
      file: make,
      from: '...(doc_form === "qa_model" && { "segment.answer": to.answer ?? "" }),',
      to: "",
    },
    {
      name: "an import that continues compares no chunks",
      file: "src/commands/kb/snapshot/as-is.ts",
      from: "if (steps.length === 0) return change;",
      to: "return change;",
    },
    {
      name: "an export replaces the chunks that the last manifest names",
      file: "src/commands/kb/snapshot/export.ts",
      from: "const file = uniquePath(`",
      to: "const file = old ?? uniquePath(`",
    },
  ],
};
