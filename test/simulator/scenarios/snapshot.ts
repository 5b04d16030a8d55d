import { deepEqual, equal, ok } from "node:assert/strict";
import { sha256 } from "../../../src/lib/sha256.ts";
import { requireHolder, requireOneWriter } from "../claims.ts";
import { addText, createKb, documentsOf, type StoredDocument } from "../knowledge.ts";
import type { Machine } from "../machine.ts";
import type { Ended, SimulatedProcess } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

const DIRECTORY = "/home/user/export";
const NAMES = ["a.md", "b.md", "c.md", "d.md", "e.md"];
const env = { KB_KEY: "dataset-sandbox" };

/** Codes with which a disturbed command may end: its error says what is left to do. */
const honest = [1, 7, 10, 11, 12, 130];

interface Stage {
  readonly world: World;
  readonly machine: Machine;
  readonly source: string;
  /** A knowledge base that no command names. */
  readonly other: string;
  /** Did someone change the source in this turn? */
  isEdited: boolean;
}

interface Base {
  readonly id: string;
  readonly name: string;
}

/** The knowledge base of the copy; there is at most one. */
async function copyOf({ world }: Stage): Promise<string | undefined> {
  const { data } = await world.server.call<{ data: Base[] }>("GET", "/v1/datasets?limit=100");
  const found = data.filter(({ name }) => name === "Copy");
  ok(found.length <= 1, `${found.length} knowledge bases of one name`);
  return found[0]?.id;
}

/** What people put into documents. */
const contentOf = (documents: readonly StoredDocument[]) =>
  documents.map(({ name, text, fields }) => ({ name, text, team: fields["team"] }));

/** Someone changes documents; each change can be dropped. */
async function edit({ world }: Stage, kb: string, turn: string): Promise<boolean> {
  let isEdited = false;
  for (const { id, name } of await documentsOf(world.server, kb)) {
    if (!world.happens("edit", `${name} ${turn}`, 0.12)) continue;
    const path = `/v1/datasets/${kb}/documents/${id}/update-by-text`;
    const text = `${name} of ${turn}: ${world.below(1e9, `text of ${name} ${turn}`)}`;
    // Rejected while the document is being indexed.
    await world.server.call("POST", path, { name, text }).then(
      () => (isEdited = true),
      (error: unknown) => world.note(`not edited: ${String(error)}`),
    );
  }
  return isEdited;
}

/** Runs a command, sometimes twice at once, while someone may change the source. */
async function disturbed(stage: Stage, argv: readonly string[], name: string): Promise<Ended[]> {
  const { world, machine, source } = stage;
  stage.isEdited = false;
  const processes: SimulatedProcess[] = [
    world.start(argv, { name, machine: world.somewhere(machine, name), env }),
  ];
  if (world.happens("edited meanwhile", name, 0.3)) {
    await world.pause(world.random(`meanwhile ${name}`) * 2000);
    stage.isEdited = await edit(stage, source, `${name} meanwhile`);
  }
  if (world.happens("twice", name, 0.35)) {
    await world.pause(world.random(`twice ${name}`) * 600);
    const again = `${name} again`;
    const place = world.somewhere(machine, again);
    processes.push(world.start(argv, { name: again, machine: place, env }));
  }
  const ends = await Promise.all(processes.map(({ ended }) => ended));
  for (const one of processes) requireHolder(world, one);
  for (const { exit, err } of ends) {
    if (exit === null || exit === 0) continue;
    const isTaken = exit === 5 && /already exists|409/.test(err);
    ok(honest.includes(exit) || isTaken, `exit code ${exit} of ${name}: ${err}`);
  }
  return ends;
}

interface Manifest {
  readonly state: {
    readonly documents: readonly { name: string; file: string | null; sha256: string | null }[];
  };
}

/** The files of an export by name, each as the manifest says; undefined without a manifest. */
function exportedFiles({ machine: { disk } }: Stage): Map<string, string> | undefined {
  if (!disk.has(`${DIRECTORY}/manifest.json`)) return undefined;
  const { state } = JSON.parse(disk.text(`${DIRECTORY}/manifest.json`)) as Manifest;
  const texts = new Map<string, string>();
  for (const { name, file, sha256: hash } of state.documents) {
    // A file that did not arrive alone either counts as lost: such an export does not end with 0.
    if (file === null) continue;
    ok(disk.has(`${DIRECTORY}/${file}`), `${file} of the manifest is missing`);
    const text = disk.text(`${DIRECTORY}/${file}`);
    equal(sha256(text), hash, `${file} has not the content of the manifest`);
    texts.set(name, text);
  }
  return texts;
}

async function playExport(stage: Stage, turn: number): Promise<void> {
  const { world, source } = stage;
  await edit(stage, source, `before export ${turn}`);
  const before = await documentsOf(world.server, source);
  const argv = ["kb", "export", source, DIRECTORY];
  const names = [`export ${turn}`, `export ${turn} again`] as const;
  const ends = await disturbed(stage, argv, names[0]);
  if (ends.length > 1) requireOneWriter(world, names, /: (write|append) \/home\/user\/export\//);
  const files = exportedFiles(stage);
  if (!stage.isEdited && ends.some(({ exit }) => exit === 0))
    deepEqual(files, new Map(before.map(({ name, text }) => [name, text])), "the exported files");
}

/** The knowledge bases that are not the copy have what people wrote, and the copy nothing twice. */
async function requireOthers(stage: Stage, before: readonly StoredDocument[]): Promise<void> {
  const { world, source, other } = stage;
  const now = await documentsOf(world.server, source);
  if (!stage.isEdited) deepEqual(contentOf(now), contentOf(before), "the source was changed");
  deepEqual(
    now.map(({ name }) => name),
    NAMES,
    "the source has other documents",
  );
  const others = await documentsOf(world.server, other);
  deepEqual(
    others.map(({ name, text }) => [name, text]),
    NAMES.map((name) => [name, `other ${name}`]),
    "another knowledge base was changed",
  );
  const copy = await copyOf(stage);
  if (copy === undefined) return;
  const names = (await documentsOf(world.server, copy)).map(({ name }) => name);
  deepEqual(names, [...new Set(names)], "the copy has a document twice");
}

/** Runs a command that fills the copy until it says that it is done; returns whether it did. */
async function playCopy(stage: Stage, argv: readonly string[], turn: number): Promise<boolean> {
  const { world, source } = stage;
  const before = await documentsOf(world.server, source);
  const names = [`copy ${turn}`, `copy ${turn} again`] as const;
  const ends = await disturbed(stage, argv, names[0]);
  if (ends.length > 1) requireOneWriter(world, names, /: POST .*\/datasets/);
  await requireOthers(stage, before);
  const isDone = ends.some(({ exit }) => exit === 0);
  if (isDone) ok(await copyOf(stage), "exit code 0, but there is no copy");
  return isDone;
}

async function undisturbed({ world, machine }: Stage, ...argv: readonly string[]): Promise<Ended> {
  return world.start(argv, { name: `undisturbed ${argv[1]} ${argv[2]}`, machine, env }).ended;
}

async function prepare(world: World): Promise<Stage> {
  const { server } = world;
  const source = await createKb(server, "Handbook");
  const other = await createKb(server, "Other");
  const field = { type: "string", name: "team" };
  const { id } = await server.call<{ id: string }>(
    "POST",
    `/v1/datasets/${source}/metadata`,
    field,
  );
  for (const name of NAMES) {
    const document = await addText(server, source, { name, text: `${name} at first` });
    await addText(server, other, { name, text: `other ${name}` });
    const values = [{ id, name: "team", value: `team ${name}` }];
    const body = { operation_data: [{ document_id: document, metadata_list: values }] };
    await server.call("POST", `/v1/datasets/${source}/documents/metadata`, body);
  }
  await world.pause(60_000); // until all are indexed
  return { world, machine: world.containers(), source, other, isEdited: false };
}

async function play(world: World): Promise<void> {
  const stage = await prepare(world);
  const { source } = stage;
  const isCopy = world.random("copy") < 0.5;
  const line = isCopy
    ? ["kb", "copy", source, "--name", "Copy"]
    : ["kb", "import", DIRECTORY, "--name", "Copy"];
  if (!isCopy) await playExports(stage, 1 + world.below(3, "exports"));
  const turns = 2 + world.below(3, "turns");
  let isDone = false;
  // A document that changes between two tries of a copy is a conflict.
  let mayConflict = false;
  for (let turn = 0; turn < turns && !isDone; turn++) {
    isDone = await playCopy(stage, line, turn);
    mayConflict ||= isCopy && stage.isEdited;
  }

  world.calm();
  await world.pause(60_000);
  if (!isDone) {
    const end = await undisturbed(stage, ...line);
    const isConflict = mayConflict && end.exit === 10 && end.out.includes("conflict");
    const isComplete = end.exit === 5 && end.err.includes("already exists");
    ok(end.exit === 0 || isConflict || isComplete, `${end.exit}: ${end.out}${end.err}`);
  }
  if (mayConflict) return;
  const { out } = await undisturbed(
    stage,
    "kb",
    "verify",
    isCopy ? source : DIRECTORY,
    "name:Copy",
  );
  // An export during the indexing of a document has that status.
  const differences = out.split("\n").filter((line) => line !== "" && !line.startsWith("status\t"));
  deepEqual(differences, [], "the copy differs");
}

/** Exports until the directory has all that the knowledge base has, or an earlier state of it. */
async function playExports(stage: Stage, turns: number): Promise<void> {
  const { world, source } = stage;
  for (let turn = 0; turn < turns; turn++) await playExport(stage, turn);
  // A power cut soon after a kill would take the names of the last files away again.
  await world.pause(60_000);
  if (exportedFiles(stage) && world.random("export again") < 0.5) return;
  world.faults.isOver = true;
  const end = await undisturbed(stage, "kb", "export", source, DIRECTORY);
  equal(end.exit, 0, end.err);
  const found = await undisturbed(stage, "kb", "verify", DIRECTORY, source);
  equal(found.exit, 0, `the export differs: ${found.out}${found.err}`);
  world.faults.isOver = false;
}

/** Exports, imports and copies, killed and repeated, of documents that people change. */
export const snapshot: Scenario = {
  name: "snapshot",
  play,
  guards: [
    {
      name: "an import notes its knowledge base only once it is created",
      file: "src/commands/kb/snapshot/import-target.ts",
      from: "await files.writeAtomic(note, `${JSON.stringify({ name })}\\n`, 0o600);",
      to: "",
    },
    {
      name: "an import forgets which knowledge base it created",
      file: "src/commands/kb/snapshot/import-target.ts",
      from: "await noteTarget(note, dataset_id, name, context);\n  if",
      to: "if",
    },
    {
      name: "an import that continues does not note the knowledge base that it found",
      file: "src/commands/kb/snapshot/import-target.ts",
      from: "if (!isKnown && !context.options.dryRun)",
      to: "if (!isKnown && context.options.dryRun)",
    },
    {
      name: "two imports into one name",
      file: "src/commands/kb/snapshot/import.ts",
      from: "await lockImport(target, manifest, context);",
      to: "() => {};",
    },
    {
      name: "two exports into one directory",
      file: "src/commands/kb/snapshot/export.ts",
      from: "const release = await lockExport(input.directory, context.host);",
      to: "const release = () => {};",
    },
    {
      name: "two copies through one directory",
      file: "src/commands/kb/snapshot/copy.ts",
      from: "const release = await lockWork(directory, busy, context.host);",
      to: "const release = () => {};",
    },
    {
      name: "a manifest that is not read because of an interrupt counts as damaged",
      file: "src/commands/kb/snapshot/bundle.ts",
      from: "const bytes = await readRegular(path, files);",
      to: 'const bytes = await readRegular(path, files).catch(() => Buffer.from(""));',
    },
    {
      name: "a ZIP with a wrong byte becomes documents",
      file: "src/lib/formats/unzip.ts",
      from: 'if (crc32(content) !== checksum) throw broken("wrong checksum of a file");',
      to: "void crc32;",
    },
    {
      name: "an export replaces files that the manifest of the last one names",
      file: "src/commands/kb/snapshot/export.ts",
      from: "if (!old?.file || old.stored !== stored) continue;",
      to: "if (!old?.file) continue;",
    },
  ],
};
