import {
  closeSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

/** The process that takes a lock, and how to check other processes of the same machine. */
export interface LockOwner {
  readonly pid: number;
  readonly isAlive: (pid: number) => boolean;
  /** Needed to hold a lock for longer than STALE_AFTER_MS: it is refreshed from time to time. */
  readonly clock?: { readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> };
}

/** Content of a lock file. */
interface LockContent {
  readonly pid: number;
  /** Start time of that process; null if the system does not provide it. */
  readonly start: string | null;
  /** Where the pid is valid: machine, boot and pid namespace. */
  readonly place: string;
  readonly token: string;
}

/** Another process, `holder`, has the lock. */
export class LockHeld extends Error {
  readonly holder: string;

  constructor(file: string, holder: string) {
    super(`${file} is held by ${holder}`);
    this.holder = holder;
  }
}

/** An owner that cannot be checked, as in another container, counts as dead after this time. */
const STALE_AFTER_MS = 15_000;
const REFRESH_INTERVAL_MS = 3000;

/** Tokens of the locks of this process: a file with its pid may be that of an earlier process. */
const ownTokens = new Set<string>();

/** A lock that this process holds. */
interface HeldLock {
  readonly file: string;
  readonly descriptor: number;
  readonly token: string;
  readonly text: string;
}

/**
 * Creates a lock file and returns the function that removes it. Replaces a dead owner: at once if its
 * process can be checked, otherwise once its file has not been refreshed for 15 seconds. Throws
 * LockHeld if the owner is alive.
 *
 *     file       {"pid":7,…,"token":"a1"}   pid 7 is dead
 *     file.a1    created by pid 9, so that no other process replaces that owner, too
 *     file       renamed from file.a1: the lock of pid 9
 */
export function takeLock(file: string, owner: LockOwner): () => void {
  const lock = acquire(file, owner);
  const released = new AbortController();
  if (owner.clock) void refresh(lock, owner.clock, released.signal);
  return () => {
    released.abort();
    release(lock);
  };
}

function acquire(file: string, owner: LockOwner): HeldLock {
  for (let attempt = 0; attempt < 3; attempt++) {
    const lock = create(file, owner);
    if (lock) return lock;
    const content = readLock(file);
    if (content === undefined) continue;
    if (isOwnerAlive(file, content, owner)) throw new LockHeld(file, describe(content));
    // Only the holder of the lock on a dead owner may replace it, by that lock itself.
    const claim = acquire(`${file}.${content?.token ?? "unnamed"}`, owner);
    if (isUnchanged(file, content)) {
      renameSync(claim.file, file);
      return { ...claim, file };
    }
    release(claim);
  }
  throw new LockHeld(file, describe(null));
}

/** Undefined if the file exists: of two processes at once, `wx` fails for one. */
function create(file: string, { pid }: LockOwner): HeldLock | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx", 0o600);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return undefined;
    throw error;
  }
  const token = randomBytes(8).toString("hex");
  const content: LockContent = { pid, start: startTime(pid), place: currentPlace(), token };
  const text = `${JSON.stringify(content)}\n`;
  try {
    writeSync(descriptor, text, 0);
  } catch (error) {
    closeSync(descriptor);
    rmSync(file, { force: true });
    throw Object.assign(Object(error), { path: file }); // a failed write has no path
  }
  ownTokens.add(token);
  return { file, descriptor, token, text };
}

function release({ file, descriptor, token }: HeldLock): void {
  ownTokens.delete(token);
  closeSync(descriptor);
  if (readLock(file)?.token === token) rmSync(file, { force: true });
}

/** Is the file of the dead owner still the same? An unreadable one may be a new one. */
function isUnchanged(file: string, content: LockContent | null): boolean {
  const current = readLock(file);
  return current === null
    ? content === null && !isFresh(file)
    : current?.token === content?.token && current !== undefined;
}

const describe = (content: LockContent | null) =>
  content ? `pid ${content.pid} on ${content.place.split(" ", 1)[0]}` : "another process";

function isOwnerAlive(file: string, content: LockContent | null, self: LockOwner): boolean {
  if (content?.place !== currentPlace()) return isFresh(file);
  if (content.pid === self.pid) return ownTokens.has(content.token);
  if (!self.isAlive(content.pid)) return false;
  const start = startTime(content.pid);
  // Without start times, the pid may be that of another process: only the owner refreshes the file.
  return content.start !== null && start !== null ? content.start === start : isFresh(file);
}

/** Was the file refreshed lately, by the clock of its disk? That of the owner may differ. */
function isFresh(file: string): boolean {
  const probe = `${file}.${randomBytes(8).toString("hex")}.now`;
  try {
    writeFileSync(probe, "", { flag: "wx" });
    return statSync(probe).mtimeMs - statSync(file).mtimeMs < STALE_AFTER_MS;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Rewrites the file until the lock is released, so that the disk updates its time. */
async function refresh(
  { descriptor, text }: HeldLock,
  clock: NonNullable<LockOwner["clock"]>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(REFRESH_INTERVAL_MS, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      writeSync(descriptor, text, 0);
    } catch {
      // such as a full disk; the next refresh may work
    }
  }
}

/** Machine, boot and pid namespace, as far as the system provides them. */
function currentPlace(): string {
  return [hostname(), textOf("/proc/sys/kernel/random/boot_id"), pidNamespace()].join(" ");
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

/** Start time of a process in ticks since boot; Linux only. */
function startTime(pid: number): string | null {
  const stat = textOf(`/proc/${pid}/stat`);
  // The program name, in parentheses, may contain spaces; the start time is the 20th field after it.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

/** Undefined if the file does not exist, null if it has no valid content (yet). */
function readLock(file: string): LockContent | null | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isLockContent(content) ? content : null;
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return isMissing ? undefined : null;
  }
}

const isLockContent = (value: unknown): value is LockContent =>
  typeof value === "object" &&
  value !== null &&
  ["pid", "start", "place"].every((field) => field in value) &&
  "token" in value &&
  /^[0-9a-f]{16}$/.test(String(value.token));
