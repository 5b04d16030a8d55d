import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { hostname } from "node:os";
import { codeOf } from "../errors.ts";
import { shownLine } from "../lib/command-line.ts";
import { attempt, isObject, tryParseJson } from "../lib/json.ts";
import type { Lock } from "./host.ts";

/** The process that takes a lock, and how to check other processes of the same machine. */
export interface LockOwner {
  readonly pid: number;
  readonly isAlive: (pid: number) => boolean;
  /** Needed to hold a lock for longer than STALE_AFTER_MS: it is refreshed from time to time. */
  readonly clock?: {
    readonly now: () => Date;
    readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  };
}

type FileCalls = "closeSync" | "openSync" | "readFileSync" | "readlinkSync" | "renameSync";
type MoreFileCalls = "rmSync" | "statSync" | "writeFileSync" | "writeSync";

/** The system below the locks; the simulator has one of its own. */
export interface LockSystem {
  readonly fs: Pick<typeof fs, FileCalls | MoreFileCalls>;
  readonly hostname: () => string;
  readonly randomBytes: (size: number) => Buffer;
  /** Tokens of the locks of this process: a file with its pid may be that of an earlier process. */
  readonly ownTokens: Set<string>;
}
const nodeSystem: LockSystem = { fs, hostname, randomBytes, ownTokens: new Set() };

/** A process on its system. */
interface Self extends LockOwner, LockSystem {}

interface LockContent {
  readonly pid: number;
  /** Start time of that process; null if the system does not provide it. */
  readonly start: string | null;
  /** Where the pid is valid: machine, boot and pid namespace. */
  readonly place: string;
  /** When the lock was taken; earlier versions did not write it. */
  readonly since?: string | undefined;
  readonly token: string;
}

type Refused = Extract<Lock, { readonly heldBy: string }>;

/** An owner that cannot be checked, as in another container, counts as dead after this time. */
const STALE_AFTER_MS = 15_000;
const REFRESH_INTERVAL_MS = 3000;

interface HeldLock {
  readonly file: string;
  readonly descriptor: number;
  readonly token: string;
  readonly text: string;
}

/**
 * Creates a lock file. Replaces a dead owner: at once if its process can be checked, otherwise once
 * its file has not been refreshed for 15 seconds. Throws the system error.
 *
 *     file       {"pid":7,…,"token":"a1"}   pid 7 is dead
 *     file.a1    created by pid 9, so that no other process replaces that owner, too
 *     file       renamed from file.a1: the lock of pid 9
 */
export function takeLock(file: string, owner: LockOwner, system: LockSystem = nodeSystem): Lock {
  const self: Self = { ...owner, ...system };
  const lock = acquire(file, self);
  if ("heldBy" in lock) return lock;
  const released = new AbortController();
  void refresh(lock, self, released.signal);
  return {
    release() {
      released.abort();
      release(lock, self);
    },
  };
}

function acquire(file: string, self: Self): HeldLock | Refused {
  for (let turn = 0; turn < 3; turn++) {
    const lock = create(file, self);
    if (lock) return lock;
    const content = readLock(file, self);
    if (content === undefined) continue;
    if (isOwnerAlive(file, content, self)) return describe(content, self);
    // Only the holder of the lock on a dead owner may replace it, by that lock itself.
    const claim = acquire(`${file}.${content?.token ?? "unnamed"}`, self);
    if ("heldBy" in claim) return claim;
    if (isUnchanged(file, content, self)) {
      self.fs.renameSync(claim.file, file);
      return { ...claim, file };
    }
    release(claim, self);
  }
  return describe(null, self);
}

/** Undefined if the file exists: of two processes at once, `wx` fails for one. */
function create(file: string, self: Self): HeldLock | undefined {
  const { fs: system, pid } = self;
  const token = self.randomBytes(8).toString("hex");
  const { start } = processStat(pid, self);
  const since = self.clock?.now().toISOString();
  const content: LockContent = { pid, start, place: currentPlace(self), since, token };
  const text = `${JSON.stringify(content)}\n`;
  const descriptor = unless("EEXIST", () => system.openSync(file, "wx", 0o600));
  if (descriptor === undefined) return undefined;
  try {
    // At once: a process that is killed before leaves a file that says nothing of its owner.
    system.writeSync(descriptor, text, 0);
  } catch (error) {
    system.closeSync(descriptor);
    system.rmSync(file, { force: true });
    throw Object.assign(Object(error), { path: file }); // a failed write has no path
  }
  self.ownTokens.add(token);
  return { file, descriptor, token, text };
}

function release({ file, descriptor, token }: HeldLock, self: Self): void {
  self.ownTokens.delete(token);
  self.fs.closeSync(descriptor);
  if (readLock(file, self)?.token === token) self.fs.rmSync(file, { force: true });
}

/** Is the file of the dead owner still the same? An unreadable one may be a new one. */
function isUnchanged(file: string, content: LockContent | null, self: Self): boolean {
  const current = readLock(file, self);
  return current === null
    ? content === null && !isFresh(file, self)
    : current !== undefined && current.token === content?.token;
}

/** Who holds a lock, since when, and how to get it. */
function describe(content: LockContent | null, self: Self): Refused {
  const next = "wait until it has finished";
  if (!content)
    return {
      heldBy: "another process",
      next: `${next}; the lock of a killed process expires after ${STALE_AFTER_MS / 1000} seconds`,
    };
  const { pid, place, since } = content;
  const [machine] = place.split(" ", 1);
  const heldBy = `pid ${pid} on ${machine}${since === undefined ? "" : ` since ${since}`}`;
  const kill = (...words: readonly string[]) => shownLine(["kill", ...words, String(pid)]);
  if (place !== currentPlace(self)) return { heldBy, next: `${next}, or end it there: ${kill()}` };
  return processStat(pid, self).state === "T"
    ? {
        heldBy,
        next: `it is stopped: resume it with ${kill("-CONT")}, or end it: ${kill("-KILL")}`,
      }
    : { heldBy, next: `${next}, or end it: ${kill()}` };
}

function isOwnerAlive(file: string, content: LockContent | null, self: Self): boolean {
  if (content?.place !== currentPlace(self)) return isFresh(file, self);
  if (content.pid === self.pid) return self.ownTokens.has(content.token);
  if (!self.isAlive(content.pid)) return false;
  const { state, start } = processStat(content.pid, self);
  if (state === "Z" || state === "X") return false; // ended, but its parent has not waited for it
  // Without start times, the pid may be that of another process: only the owner refreshes the file.
  return content.start !== null && start !== null ? content.start === start : isFresh(file, self);
}

/** Was the file refreshed lately, by the clock of its disk? That of the owner may differ. */
function isFresh(file: string, self: Self): boolean {
  const { fs: system } = self;
  const probe = `${file}.${self.randomBytes(8).toString("hex")}.now`;
  try {
    system.writeFileSync(probe, "", { flag: "wx" });
    const written = unless("ENOENT", () => system.statSync(file).mtimeMs) ?? -Infinity;
    return system.statSync(probe).mtimeMs - written < STALE_AFTER_MS;
  } finally {
    system.rmSync(probe, { force: true });
  }
}

/** Rewrites the file until the lock is released, so that the disk updates its time. */
async function refresh(
  { descriptor, text }: HeldLock,
  { fs: system, clock }: Self,
  signal: AbortSignal,
): Promise<void> {
  while (clock) {
    await clock.sleep(REFRESH_INTERVAL_MS, signal).catch(() => {});
    if (signal.aborted) return;
    attempt(() => system.writeSync(descriptor, text, 0)); // after a full disk, the next one may work
  }
}

/** Machine, boot and pid namespace, as far as the system provides them. */
const currentPlace = ({ fs: system, hostname: nameOf }: Self): string =>
  [
    nameOf(),
    attempt(() => system.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    attempt(() => system.readlinkSync("/proc/self/ns/pid")),
  ].join(" ");

/** State of a process, and its start time in ticks since boot; Linux only. */
function processStat(
  pid: number,
  { fs: system }: Self,
): { readonly state: string; readonly start: string | null } {
  const stat = attempt(() => system.readFileSync(`/proc/${pid}/stat`, "utf8")) ?? "";
  // The program name, in parentheses, may contain spaces; the start time is the 20th field after it.
  const { 0: state = "", 19: start = null } = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state, start };
}

/** Undefined if the file does not exist, null if it has no valid content (yet). */
function readLock(file: string, { fs: system }: Self): LockContent | null | undefined {
  const text = attempt(() => unless("ENOENT", () => system.readFileSync(file, "utf8")) ?? null);
  if (text === null) return undefined;
  const content = tryParseJson(text ?? "");
  const isValid =
    isObject(content) &&
    "start" in content &&
    typeof content["place"] === "string" &&
    Number(content["pid"]) > 0 && // it becomes part of a command
    /^[\dTZ:.-]*$/.test(String(content["since"] ?? "")) &&
    /^[0-9a-f]{16}$/.test(String(content["token"]));
  return isValid ? (content as unknown as LockContent) : null; // written by `create`
}

/** The result of the work; undefined if it fails with this system error. */
function unless<T>(code: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codeOf(error) === code) return undefined;
    throw error;
  }
}
