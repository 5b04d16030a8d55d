/**
 * The directory of a backup. Contents, chunks and manifests are objects, files that are named after their
 * SHA-256, so snapshots share what is the same and any tool may carry the directory on:
 *
 *     kb-backup.json                                 {"kb_backup":1}
 *     objects/ab/ab12…                               bytes of a document, its chunks, a manifest
 *     snapshots/<kb id>/20261127T030951Z-1a2b3c4d.json   the name of a manifest, written last
 */
import { basename, join } from "node:path";
import { problemIn } from "../../../api/response.ts";
import type { RequiredFields } from "../../../operations/operation.ts";
import { CliError, reasonOf, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isUnfinished } from "../../../host/host.ts";
import type { Files, Host, NamedEntry } from "../../../host/host.ts";
import { newPathInside, pathInside, readRegular } from "../../../host/safe-path.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { isUuid } from "../../../lib/text.ts";
import { lockWork, removeUnfinished } from "../../task/files.ts";
import { checkedManifest, type BundledDocument, type Manifest } from "../snapshot/index.ts";

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
  /** What it lacks of the knowledge base, for people; undefined if it is complete. */
  readonly partial?: string | undefined;
  /** Its place among the others, as a time, if the clock was behind that of an earlier one. */
  readonly order?: string | undefined;
}

/** The time by which snapshots and records are in order, whatever the clock was. */
export const orderOf = ({ taken_at, order }: Pick<Snapshot, "taken_at" | "order">): string =>
  order ?? taken_at;

/** What puts a time after an earlier one that a clock ahead has written; ISO 8601. */
export const orderAfter = (last: string | undefined, now: string): { readonly order?: string } =>
  last === undefined || last < now
    ? {}
    : { order: new Date(Date.parse(last) + 1000).toISOString() };

const markName = "kb-backup.json";
const mark = { kb_backup: 1 };

/** Path of an object below the directory, with `/`. */
export const objectPath = (hash: string): string => `objects/${hash.slice(0, 2)}/${hash}`;

/** Is it a SHA-256 in hexadecimal digits? */
export const isHash = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

/** Throws usage for a directory that is not a backup. */
export async function requireBackup(directory: string, { files }: Host): Promise<void> {
  const bytes = await readRegular(join(directory, markName), files);
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
  if (status && !status.isDirectory) throw usage(`${directory}: not a directory`);
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
  const there = await files.stat(path);
  const isThere = there?.isFile && there.size === bytes.length;
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
  const bytes = await readRegular(path, files);
  if (bytes && sha256(bytes) === hash) return bytes;
  throw usage(
    `${path} is ${bytes ? "damaged" : "missing"}`,
    "the next kb backup stores again what the knowledge base still has; or get the file from a copy of the directory",
  );
}

const snapshotName = /^(\d{8}T\d{6}Z)-([0-9a-f]{8})\.json$/;

/** What stands among the snapshots and cannot be read as one: it may be one that needs objects. */
export interface BadSnapshot {
  readonly path: string;
  readonly why: string;
  /** What folder and name tell: the knowledge base, the second of `orderOf`, and the ID. */
  readonly kb_id?: string | undefined;
  readonly second?: string | undefined;
  readonly id?: string | undefined;
}

/** The snapshots of a backup, in order, and what cannot be read as one. */
export interface StoredSnapshots {
  readonly snapshots: readonly Snapshot[];
  readonly bad: readonly BadSnapshot[];
}

/** Reads all snapshots of a directory that must be a backup. Each entry beside them is one that cannot be read, but for what is known to be none. */
export async function readSnapshots(directory: string, host: Host): Promise<StoredSnapshots> {
  await requireBackup(directory, host);
  const { files } = host;
  const snapshots: Snapshot[] = [];
  const bad: BadSnapshot[] = [];
  const top = join(directory, "snapshots");
  const isThere = (await files.entries(directory)).some(({ name }) => name === basename(top));
  const found = await files.stat(top);
  if (isThere && !found?.isDirectory)
    bad.push({ path: top, why: found ? "not a directory" : "a link that leads nowhere" });
  const kbs = found?.isDirectory ? await files.entries(top) : [];
  for (const kb of kbs.filter((entry) => !isNone(entry))) {
    const folder = join(top, kb.name);
    if (!kb.isDirectory || !isUuid(kb.name)) {
      bad.push({ path: folder, why: kindOf(kb) ?? "not made by kb backup" });
      continue;
    }
    for (const entry of await files.entries(folder)) {
      if (isNone(entry)) continue;
      const path = join(folder, entry.name);
      const [, second, id] = snapshotName.exec(entry.name) ?? [];
      const read =
        kindOf(entry) ??
        (id === undefined
          ? "not the name of a snapshot"
          : await readSnapshot(path, kb.name, files));
      if (typeof read === "string") bad.push({ path, why: read, kb_id: kb.name, second, id });
      else snapshots.push(read);
    }
  }
  snapshots.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  return { snapshots, bad };
}

/** Files that are no snapshots: unfinished ones, journals of backups, and what file managers leave. */
const isNone = ({ name, isFile }: NamedEntry): boolean =>
  isFile && (isUnfinished(name) || /\.part\.jsonl$|^(\.DS_Store|Thumbs\.db)$/.test(name));

/** Why an entry cannot be a snapshot, whatever its name is. */
function kindOf({ isFile, isDirectory, isLink }: NamedEntry): string | undefined {
  if (isLink) return "a link, which is not followed";
  return isFile || isDirectory ? undefined : "not a regular file";
}

/** The snapshot in a file; why it is none. */
async function readSnapshot(path: string, kbId: string, files: Files): Promise<Snapshot | string> {
  const bytes = await files.read(path).catch((error: unknown) => {
    if (error instanceof CliError) throw error; // interrupted
    return reasonOf(error);
  });
  if (typeof bytes === "string") return bytes;
  const value = tryParseJson(new TextDecoder().decode(bytes));
  if (!isObject(value)) return "not valid JSON";
  const { sum, ...snapshot } = value;
  if (sum !== sha256(stringifyJson(snapshot))) return "modified after the backup";
  if (problemIn(snapshotFields, snapshot, "") !== undefined) return "fields are missing";
  const read = snapshot as unknown as Snapshot;
  if (read.kb.id !== kbId) return "of another knowledge base than its folder";
  const times = [read.taken_at, orderOf(read)];
  const isValid = isHash(read.manifest) && times.every((time) => Date.parse(time) > 0);
  if (!isValid) return "fields are missing";
  return snapshotFile(read) === basename(path) ? read : "its name is that of another snapshot";
}

const snapshotFields = {
  id: "text",
  kb: { id: "text", name: "text", base_url: "text" },
  taken_at: "text",
  manifest: "text",
  documents: "number",
  bytes: "number",
  "note?": "text",
  "partial?": "text",
  "order?": "text",
} as const satisfies RequiredFields;

/** A time to the second, as in the name of a snapshot. */
export const secondOf = (iso: string): string => iso.replace(/[-:]|\.\d+/g, "");

const snapshotFile = (snapshot: Pick<Snapshot, "taken_at" | "order" | "id">): string =>
  `${secondOf(orderOf(snapshot))}-${snapshot.id}.json`;

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
  const sum = sha256(stringifyJson(snapshot));
  await files.writeAtomic(path, `${stringifyJson({ ...snapshot, sum })}\n`);
}

/** Reads the manifest of a snapshot. Throws usage for a damaged one, and for one that names other files than objects. */
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
