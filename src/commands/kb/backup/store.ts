/**
 * The directory of a backup. Contents, chunks and manifests are objects, files that are named after their
 * SHA-256, so snapshots share what is the same and any tool may carry the directory on:
 *
 *     kb-backup.json                                 {"kb_backup":1}
 *     objects/ab/ab12…                               bytes of a document, its chunks, a manifest
 *     snapshots/<kb id>/20261127T030951Z-1a2b3c4d.json   the name of a manifest, written last
 */
import { join } from "node:path";
import { problemIn } from "../../../api/response.ts";
import type { RequiredFields } from "../../../operations/operation.ts";
import { CliError, isMissing, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Files, Host } from "../../../host/host.ts";
import { newPathInside, pathInside } from "../../../host/safe-path.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { isUuid } from "../../../lib/text.ts";
import { lockWork, removeUnfinished } from "../../task/files.ts";
import { checkedManifest } from "../snapshot/index.ts";
import type { BundledDocument, Manifest } from "../snapshot/index.ts";

/** The state of a knowledge base at a time. */
export interface Snapshot {
  /** Eight hexadecimal digits. */
  readonly id: string;
  readonly kb: { readonly id: string; readonly name: string; readonly base_url: string };
  /** ISO 8601, in UTC. */
  readonly taken_at: string;
  /** Hash of its manifest. */
  readonly manifest: string;
  readonly documents: number;
  /** Size of their contents. */
  readonly bytes: number;
  /** The command before or after which it was taken. */
  readonly note?: string | undefined;
}

const markName = "kb-backup.json";
const mark = { kb_backup: 1 };

/** Path of an object below the directory, with `/`. */
export const objectPath = (hash: string): string => `objects/${hash.slice(0, 2)}/${hash}`;

/** Is it a SHA-256 in hexadecimal digits? */
export const isHash = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

/** Throws usage for a directory that is not a backup. */
export async function requireBackup(directory: string, { files }: Host): Promise<void> {
  const bytes = await files.read(join(directory, markName)).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  const found = bytes && tryParseJson(new TextDecoder().decode(bytes));
  if (isObject(found) && found["kb_backup"] === mark.kb_backup) return;
  throw usage(
    found === undefined
      ? `no backup found in ${directory}`
      : `${join(directory, markName)} is of a format that this version does not read`,
    `kb backup makes one in a new or empty directory; an export is for ${commandLine("kb import", [directory])}`,
  );
}

/**
 * Locks a directory for a command that writes to it, and makes a new or empty one a backup. Throws usage for
 * one with other files, and failure while another command has the lock. Returns what releases it.
 */
export async function openBackup(directory: string, host: Host): Promise<() => void> {
  const { files } = host;
  const status = await files.stat(directory);
  if (status && !status.isDirectory) throw usage(`${directory} is not a directory`);
  const entries = status ? await files.entries(directory) : [];
  const isNew = entries.every(({ name }) => name.startsWith(`${markName}.`));
  if (!isNew) await requireBackup(directory, host);
  await files.makeDirectory(directory, 0o700);
  const busy = `another command is writing to ${directory}`;
  const release = await lockWork(join(directory, markName), busy, host);
  try {
    if (isNew) await files.writeAtomic(join(directory, markName), `${JSON.stringify(mark)}\n`);
    else await removeUnfinished(directory, files);
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

/** Stores bytes under their hash; returns the hash and how many bytes the directory grew by. */
export async function putObject(
  directory: string,
  bytes: Uint8Array,
  files: Files,
): Promise<{ readonly hash: string; readonly added: number }> {
  const hash = sha256(bytes);
  const path = await newPathInside(directory, objectPath(hash), files);
  // Writes are atomic, but anything may have damaged the file since.
  const isThere = (await files.stat(path))?.size === bytes.length;
  if (isThere && sha256(await files.read(path)) === hash) return { hash, added: 0 };
  await files.writeAtomic(path, bytes);
  return { hash, added: bytes.length };
}

/** Reads an object. Throws usage if it is missing or damaged. */
export async function readObject(
  directory: string,
  hash: string,
  files: Files,
): Promise<Uint8Array> {
  const path = await pathInside(directory, objectPath(hash), files);
  const bytes = await files.read(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (bytes && sha256(bytes) === hash) return bytes;
  throw usage(
    `${path} is ${bytes ? "damaged" : "missing"}`,
    "the next kb backup stores again what the knowledge base still has; or get the file from a copy of the directory",
  );
}

const snapshotName = /^\d{8}T\d{6}Z-[0-9a-f]{8}\.json$/;

/** A file that should be a snapshot and is not. */
export interface BadSnapshot {
  readonly path: string;
  readonly why: string;
}

/** All snapshots, oldest first, and the files that cannot be read as one. */
export async function readSnapshots(
  directory: string,
  files: Files,
): Promise<{ readonly snapshots: readonly Snapshot[]; readonly bad: readonly BadSnapshot[] }> {
  const snapshots: Snapshot[] = [];
  const bad: BadSnapshot[] = [];
  const top = join(directory, "snapshots");
  const kbs = (await files.stat(top)) ? await files.entries(top) : [];
  for (const kb of kbs.filter(({ name, isDirectory }) => isDirectory && isUuid(name))) {
    for (const { name, isFile } of await files.entries(join(top, kb.name))) {
      if (!isFile || !snapshotName.test(name)) continue;
      const path = join(top, kb.name, name);
      const read = readSnapshot(await files.read(path), kb.name, name);
      if (typeof read === "string") bad.push({ path, why: read });
      else snapshots.push(read);
    }
  }
  snapshots.sort((a, b) => (a.taken_at < b.taken_at ? -1 : 1));
  return { snapshots, bad };
}

/** The snapshot in a file; why it is none. */
function readSnapshot(bytes: Uint8Array, kbId: string, name: string): Snapshot | string {
  const value = tryParseJson(new TextDecoder().decode(bytes));
  if (!isObject(value)) return "not valid JSON";
  const { sum, ...snapshot } = value;
  if (sum !== sha256(JSON.stringify(snapshot))) return "modified after the backup";
  if (problemIn(snapshotFields, snapshot, "") !== undefined) return "fields are missing";
  const read = snapshot as unknown as Snapshot;
  const isValid = read.kb.id === kbId && isHash(read.manifest) && Date.parse(read.taken_at) > 0;
  if (!isValid) return "fields are missing";
  return snapshotFile(read) === name ? read : "its name is that of another snapshot";
}

const snapshotFields = {
  id: "text",
  kb: { id: "text", name: "text", base_url: "text" },
  taken_at: "text",
  manifest: "text",
  documents: "number",
  bytes: "number",
} as const satisfies RequiredFields;

const snapshotFile = ({ taken_at, id }: Pick<Snapshot, "taken_at" | "id">): string =>
  `${taken_at.replace(/[-:]|\.\d+/g, "")}-${id}.json`;

/** Path of the file of a snapshot, below the directory. */
export const snapshotPath = (snapshot: Snapshot): string =>
  `snapshots/${snapshot.kb.id}/${snapshotFile(snapshot)}`;

/** Writes a snapshot, whose objects are stored already. */
export async function writeSnapshot(
  directory: string,
  snapshot: Snapshot,
  files: Files,
): Promise<void> {
  const path = await newPathInside(directory, snapshotPath(snapshot), files);
  const sum = sha256(JSON.stringify(snapshot));
  await files.writeAtomic(path, `${JSON.stringify({ ...snapshot, sum })}\n`);
}

/**
 * Reads the manifest of a snapshot: an export whose files are objects. Throws usage for a damaged one, and for
 * one that names other files.
 */
export async function readManifestOf(
  directory: string,
  { manifest: hash, taken_at }: Snapshot,
  files: Files,
): Promise<Manifest> {
  const invalid = (why: string): CliError => usage(`invalid manifest ${objectPath(hash)}: ${why}`);
  const value = tryParseJson(new TextDecoder().decode(await readObject(directory, hash, files)));
  if (!isObject(value) || value["kb_export"] === undefined) throw invalid("not a manifest");
  const manifest = checkedManifest({ ...value, exported_at: taken_at }, invalid);
  for (const { name, file, sha256: content } of manifest.state.documents)
    if (file !== null && (!isHash(content) || file !== objectPath(content)))
      throw invalid(`${name} is not stored by its hash`);
  for (const { name, chunks } of manifest.state.documents)
    if (chunks && (!isHash(chunks.sha256) || chunks.file !== objectPath(chunks.sha256)))
      throw invalid(`the chunks of ${name} are not stored by their hash`);
  return manifest;
}

/** The hashes of the objects that a document of a manifest names. */
export const objectsOf = ({ sha256: content, chunks }: BundledDocument): string[] =>
  [content, chunks?.sha256].filter((hash) => typeof hash === "string");
