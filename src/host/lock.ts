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

/** Who wants a lock, and how to find out about others of the same machine and namespace. */
export interface LockOwner {
  readonly pid: number;
  readonly isAlive: (pid: number) => boolean;
  /** Who holds a lock longer than `staleAfter` keeps it fresh; who is quick needs no clock. */
  readonly clock?: { readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> };
}

/** What a lock file says of its owner. */
interface Held {
  readonly pid: number;
  /** When that process started, as the system tells; null where it does not. */
  readonly start: string | null;
  /** Where its pid means something: machine, boot and namespace. */
  readonly place: string;
  readonly token: string;
}

/** Somebody else has the lock; `holder` says who. */
export class LockHeld extends Error {
  readonly holder: string;

  constructor(file: string, holder: string) {
    super(`${file} is held by ${holder}`);
    this.holder = holder;
  }
}

/** An owner whom nobody here can look at, as in another container, is dead after so many ms. */
const staleAfter = 15_000;
const freshEvery = 3000;

/** Locks of this very process: its own pid in a file proves nothing, it may be reused. */
const ours = new Set<string>();

/** A lock that we have: its file, open, and what we wrote into it. */
interface Taken {
  readonly file: string;
  readonly descriptor: number;
  readonly token: string;
  readonly text: string;
}

/**
 * Makes a lock file, and gives the function that removes it. Takes the place of an owner that is
 * dead: at once where its process can be looked at, else when its file has not been touched for 15
 * seconds. Throws LockHeld when it is alive.
 */
export function takeLock(file: string, owner: LockOwner): () => void {
  const lock = taken(file, owner);
  const over = new AbortController();
  if (owner.clock) void keepFresh(lock, owner.clock, over.signal);
  return () => {
    over.abort();
    letGo(lock);
  };
}

function taken(file: string, owner: LockOwner): Taken {
  for (let attempt = 0; attempt < 3; attempt++) {
    const made = created(file, owner);
    if (made) return made;
    const held = read(file);
    if (held === undefined) continue;
    if (isHeld(file, held, owner)) throw new LockHeld(file, info(held));
    // Only who has the lock on a dead owner's place may take it: that lock itself becomes ours.
    const claim = taken(`${file}.${held?.token ?? "unnamed"}`, owner);
    if (isStill(file, held)) {
      renameSync(claim.file, file);
      return { ...claim, file };
    }
    letGo(claim);
  }
  throw new LockHeld(file, info(null));
}

/** `wx`: of two that start at once, one fails here. */
function created(file: string, { pid }: LockOwner): Taken | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx", 0o600);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return undefined;
    throw error;
  }
  const token = randomBytes(8).toString("hex");
  const mine: Held = { pid, start: startOf(pid), place: placeOf(), token };
  const text = `${JSON.stringify(mine)}\n`;
  try {
    writeSync(descriptor, text, 0);
  } catch (error) {
    closeSync(descriptor);
    rmSync(file, { force: true });
    throw Object.assign(Object(error), { path: file }); // the system names no file of a failed write
  }
  ours.add(token);
  return { file, descriptor, token, text };
}

function letGo({ file, descriptor, token }: Taken): void {
  ours.delete(token);
  closeSync(descriptor);
  if (read(file)?.token === token) rmSync(file, { force: true });
}

/** Is the dead owner's file still there, as it was? One that says nothing may be a new one. */
function isStill(file: string, held: Held | null): boolean {
  const now = read(file);
  return now === null
    ? held === null && !isFresh(file)
    : now?.token === held?.token && now !== undefined;
}

const info = (held: Held | null) =>
  held ? `pid ${held.pid} on ${held.place.split(" ", 1)[0]}` : "another process";

function isHeld(file: string, held: Held | null, { pid, isAlive }: LockOwner): boolean {
  if (held?.place !== placeOf()) return isFresh(file);
  if (held.pid === pid) return ours.has(held.token);
  if (!isAlive(held.pid)) return false;
  const start = startOf(held.pid);
  // Without start times another program may have got the pid: only the true owner touches the file.
  return held.start !== null && start !== null ? held.start === start : isFresh(file);
}

/** Was the file touched lately, by the clock of its own disk? Owners may have another one. */
function isFresh(file: string): boolean {
  const probe = `${file}.${randomBytes(8).toString("hex")}.now`;
  try {
    writeFileSync(probe, "", { flag: "wx" });
    return statSync(probe).mtimeMs - statSync(file).mtimeMs < staleAfter;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Writes our own file again and again until we let go: so the disk sets its time by its own clock. */
async function keepFresh(
  { descriptor, text }: Taken,
  clock: NonNullable<LockOwner["clock"]>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(freshEvery, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      writeSync(descriptor, text, 0);
    } catch {
      // a full disk; the next time may work
    }
  }
}

/** Machine, boot and pid namespace, as far as the system tells. */
function placeOf(): string {
  return [hostname(), textOf("/proc/sys/kernel/random/boot_id"), namespace()].join(" ");
}

function namespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

/** Start of a process in ticks since the machine's; Linux only. */
function startOf(pid: number): string | null {
  const stat = textOf(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may hold blanks; the start is the 20th field after it.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

/** undefined where nothing is there, null where nothing (yet) can be read. */
function read(file: string): Held | null | undefined {
  try {
    const held: unknown = JSON.parse(readFileSync(file, "utf8"));
    return describesOwner(held) ? held : null;
  } catch (error) {
    const gone = error instanceof Error && "code" in error && error.code === "ENOENT";
    return gone ? undefined : null;
  }
}

const describesOwner = (value: unknown): value is Held =>
  typeof value === "object" &&
  value !== null &&
  ["pid", "start", "place"].every((field) => field in value) &&
  "token" in value &&
  /^[0-9a-f]{16}$/.test(String(value.token));
