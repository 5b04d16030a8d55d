import { deepEqual, equal, ok } from "node:assert/strict";
import { createVectorKb } from "../chunks.ts";
import { requireHolder } from "../claims.ts";
import type { Machine } from "../machine.ts";
import type { Ended } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

const SHEET = "/home/user/faq.csv";
const env = { KB_KEY: "dataset-sandbox" };
/** Codes with which a disturbed sync may end: its error says what is left to do. */
const honest = [1, 5, 7, 9, 10, 11, 12, 130];

interface Line {
  readonly id: number;
  readonly content: string;
  /** The answer, or keywords of plain content. */
  readonly beside: string;
}

interface Segment {
  readonly id: string;
  readonly content: string;
  readonly answer: string | null;
  readonly keywords: readonly string[] | null;
}

interface Stage {
  readonly world: World;
  readonly machine: Machine;
  readonly kb: string;
  readonly isPair: boolean;
  readonly hasIds: boolean;
  lines: readonly Line[];
  next: number;
  /** Chunks that somebody changed on the server after a sync of all rows, and what they have. */
  readonly edited: Map<string, string>;
}

/** Changes the sheet, and the order of its rows; each change can be dropped. */
function edit(stage: Stage, turn: string): void {
  const { world, isPair, machine } = stage;
  const made = (id: number, words: string): Line => ({
    id,
    content: `Question ${id} of ${words}?`,
    beside: isPair ? `Answer of ${words}.` : `word ${words}`,
  });
  const lines = stage.lines.flatMap((line) => {
    const place = `row ${line.id} ${turn}`;
    if (stage.lines.length > 3 && world.happens("row deleted", place, 0.05)) return [];
    if (world.happens("row renamed", place, 0.08)) return [made(line.id, place)];
    if (world.happens("row changed", place, 0.1))
      return [{ ...line, beside: made(line.id, place).beside }];
    return [line];
  });
  for (let count = turn === "0" ? 6 : world.below(3, `new rows ${turn}`); count > 0; count--)
    lines.push(made(stage.next++, `new ${turn}`));
  stage.lines = lines.toSorted(
    (a, b) => world.random(`${a.id} ${turn}`) - world.random(`${b.id} ${turn}`),
  );
  const head = isPair ? "id,question,answer" : "id,content,keywords";
  const rows = stage.lines.map((each) => `${each.id},"${each.content}","${each.beside}"\n`);
  machine.disk.put(SHEET, `${head}\n${rows.join("")}`);
}

const textOf = ({ content, answer, keywords }: Omit<Segment, "id">): string =>
  JSON.stringify([content, answer || (keywords ?? []).toSorted().join()]);

/** The chunks of the document; undefined without one. */
async function chunksOf({
  world,
  kb,
}: Stage): Promise<(Segment & { place: string })[] | undefined> {
  const documents = `/v1/datasets/${kb}/documents`;
  const { data } = await world.server.call<{ data: { id: string; name: string }[] }>(
    "GET",
    `${documents}?limit=100`,
  );
  ok(data.length <= 1, "two documents of one sheet");
  const [document] = data;
  if (!document) return undefined;
  equal(document.name, "faq.csv");
  const place = `${documents}/${document.id}/segments`;
  const list = await world.server.call<{ data: Segment[] }>("GET", `${place}?limit=100`);
  return list.data.map((each) => ({ ...each, place: `${place}/${each.id}` }));
}

const wanted = ({ lines, isPair }: Stage): readonly string[] =>
  lines
    .map(({ content, beside }) =>
      textOf({ content, answer: isPair ? beside : null, keywords: isPair ? null : [beside] }),
    )
    .sort();

/** Somebody changes chunks on the server. */
async function editOnServer(stage: Stage, turn: string): Promise<void> {
  const { world, isPair, edited } = stage;
  for (const { id, content, place } of (await chunksOf(stage)) ?? []) {
    if (!world.happens("edit on the server", `${content} ${turn}`, 0.05)) continue;
    const words = `by hand in ${turn}`;
    const segment = isPair ? { content, answer: words } : { content: `${content} ${words}` };
    await world.server.call("POST", place, { segment });
    edited.set(id, isPair ? words : `${content} ${words}`);
  }
}

const syncLine = ({ kb, hasIds }: Stage, ...more: readonly string[]): readonly string[] =>
  [
    "kb",
    "sync",
    kb,
    SHEET,
    "--rows",
    "--prune",
    "--yes",
    ...(hasIds ? ["--id-column", "id"] : []),
  ].concat(more);

/** Syncs, sometimes twice at once; returns whether all rows are known to be there, and noted. */
async function playTurn(stage: Stage, turn: string): Promise<boolean> {
  const { world, machine, edited, hasIds } = stage;
  const start = (name: string) =>
    world.start(syncLine(stage), { name, machine: world.somewhere(machine, name), env });
  const processes = [start(`sync ${turn}`)];
  if (world.happens("twice", turn, 0.3)) {
    await world.pause(world.random(`twice ${turn}`) ** 3 * 2000);
    processes.push(start(`sync ${turn} again`));
  }
  const ends = await Promise.all(processes.map(({ ended }) => ended));
  for (const one of processes) requireHolder(world, one);
  for (const { exit, err } of ends)
    ok(exit === null || exit === 0 || honest.includes(exit), `exit code ${exit}: ${err}`);
  const chunks = (await chunksOf(stage)) ?? [];
  const isDone = ends.some(({ exit }) => exit === 0);
  const there = new Set(chunks.map(textOf));
  // A request of a killed process may still arrive, so there may be more than the rows.
  if (isDone) for (const row of wanted(stage)) ok(there.has(row), `exit code 0 without ${row}`);
  // The notes may be lost with the disk.
  const mayForget = world.faults.happened.some((each) => /^(full disk|io error|power)/.test(each));
  if (hasIds && !mayForget)
    for (const chunk of chunks) {
      const text = edited.get(chunk.id);
      if (text !== undefined)
        ok([chunk.content, chunk.answer].includes(text), `${text} was overwritten`);
    }
  return ends.every(({ exit }) => exit === 0) && !mayForget;
}

async function undisturbed(stage: Stage, name: string): Promise<Ended> {
  const { world, machine } = stage;
  const line = syncLine(stage, "--adopt", "-o", "jsonl");
  const end = await world.start(line, { name, machine, env }).ended;
  equal(end.exit, 0, `${name}: ${end.out}${end.err}`);
  return end;
}

async function play(world: World): Promise<void> {
  const stage: Stage = {
    world,
    machine: world.containers(),
    kb: await createVectorKb(world.server, "FAQ"),
    isPair: world.random("pairs") < 0.5,
    hasIds: world.random("ids") < 0.6,
    lines: [],
    next: 1,
    edited: new Map(),
  };
  const turns = 2 + world.below(3, "turns");
  for (let turn = 0; turn < turns; turn++) {
    edit(stage, `${turn}`);
    if (await playTurn(stage, `${turn}`)) await editOnServer(stage, `${turn}`);
  }
  world.calm();
  await world.pause(60_000);
  await undisturbed(stage, "undisturbed sync");
  deepEqual(((await chunksOf(stage)) ?? []).map(textOf).sort(), wanted(stage), "the chunks");
  const again = await undisturbed(stage, "sync without a change");
  equal(again.out, "", "a sync without a change reports changes");
}

const match = "src/commands/kb/sync/match-rows.ts";
const make = "src/commands/kb/sync/sync-rows.ts";

/** Syncs of the rows of a changing sheet, killed, repeated and at once, while somebody edits chunks. */
export const rows: Scenario = {
  name: "rows",
  server: (seed) => ({ models: true, server: seed % 2 === 0 ? "1.14.2" : "1.16.1" }),
  play,
  guards: [
    {
      name: "what the model wrote stays after a kill",
      file: match,
      from: "notes.generated?.includes(chunk.id) ?? pairs.size === 0",
      to: "notes.generated?.includes(chunk.id) ?? false",
    },
    {
      name: "an edit on the server is overwritten",
      file: match,
      from: "rules.isTold && !rules.adopt && !isLeft(chunk)",
      to: "rules.isTold && !rules.adopt && chunk.content === PLACEHOLDER",
    },
    {
      name: "rows that are sent are not noted before",
      file: make,
      from: "await note(before);",
      to: "",
    },
    {
      name: "rows count as stored without a look",
      file: make,
      from: "const after = await read();",
      to: "const after = { ...before, rows: before.rows.map((each) => ({ ...each, action: 'unchanged' as const })) };",
    },
  ],
};
