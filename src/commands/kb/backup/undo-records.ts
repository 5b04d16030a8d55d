/* The records of commands that can be undone, one file each. */
import { join } from "node:path";
import { isUnfinished } from "../../../host/host.ts";
import type { Host } from "../../../host/host.ts";
import { isObject, stringifyJson, tryParseJson } from "../../../lib/json.ts";
import { lockWork } from "../../task/files.ts";
import { orderOf } from "./store.ts";

/** A command that can be undone: the snapshots around it. */
export interface UndoRecord {
  /** The command with its arguments, for people. */
  readonly command: string;
  /** Directory of the backup. */
  readonly directory: string;
  readonly kb: { readonly id: string; readonly name: string; readonly base_url: string };
  /** ID of the snapshot before the command. */
  readonly before: string;
  /** ID of the one after it; `deleted` without the knowledge base, null if the command did not end. */
  readonly after: string | null;
  /** ISO 8601, in UTC. */
  readonly at: string;
  /** Its place among the others, as that of a snapshot. */
  readonly order?: string;
  /** An undo has begun, so the state may be between the two. */
  readonly undoing?: true;
}

/** A record and its file. */
export interface StoredRecord extends UndoRecord {
  readonly path: string;
}

/** The directory of the records of this machine. */
export const folderOf = ({ directories }: Host): string => join(directories.state, "undo");

/** Keeps other undos of this machine out; throws failure while one is at work. Returns what ends that. */
export async function lockRecords(host: Host): Promise<() => void> {
  await host.files.makeDirectory(folderOf(host), 0o700);
  return lockWork(join(folderOf(host), "undo"), "another kb undo is at work", host);
}

export interface StoredRecords {
  /** Oldest first. */
  readonly records: readonly StoredRecord[];
  /** Paths of what may be a record and cannot be read as one. */
  readonly bad: readonly string[];
}

/** The records of this machine. */
export async function readRecords(host: Host): Promise<StoredRecords> {
  const folder = folderOf(host);
  const records: StoredRecord[] = [];
  const bad: string[] = [];
  const entries = (await host.files.stat(folder)) ? await host.files.entries(folder) : [];
  for (const { name, isFile } of entries) {
    if (!name.includes(".json") || isUnfinished(name)) continue;
    const path = join(folder, name);
    const bytes = isFile && name.endsWith(".json") ? await host.files.read(path) : undefined;
    const value = bytes && tryParseJson(new TextDecoder().decode(bytes));
    if (isRecord(value)) records.push({ ...value, path });
    else bad.push(path);
  }
  records.sort((a, b) => (orderOfRecord(a) < orderOfRecord(b) ? -1 : 1));
  return { records, bad };
}

/** The place of a record among the others. */
export const orderOfRecord = ({ at: taken_at, order }: UndoRecord): string =>
  orderOf({ taken_at, order });

function isRecord(value: unknown): value is UndoRecord {
  if (!isObject(value) || !isObject(value["kb"])) return false;
  const { command, directory, before, after, at, kb } = value;
  const texts = [command, directory, before, at, kb["id"], kb["name"], kb["base_url"]];
  return (
    texts.every((text) => typeof text === "string") && (after === null || typeof after === "string")
  );
}

/** Writes a record again, to its file. */
export const writeRecord = ({ path, ...record }: StoredRecord, { files }: Host): Promise<void> =>
  files.writeAtomic(path, `${stringifyJson(record)}\n`, 0o600);
