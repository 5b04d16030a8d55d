import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";

/** Who wants a folder, and how to find out about others. */
export interface Owner {
  readonly pid: number;
  readonly isAlive: (pid: number) => boolean;
  readonly now: Date;
}

/** What the pid file says. */
interface Held {
  readonly pid: number;
  /** When that process started, as the system tells; null where it does not. */
  readonly start: string | null;
  /** When the folder was taken, ms since 1970. */
  readonly since: number;
}

/** Folders that this very process holds: its own pid in a file proves nothing, it may be reused. */
const ours = new Set<string>();

/**
 * Takes a folder for one process and gives the function that lets it go. Clears what a dead owner
 * has left behind; throws an Error that names the owner when it is alive.
 */
export function takeFolder(folder: string, owner: Owner): () => void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "sandbox.pid");
  const held = read(file);
  if (ours.has(folder) || (held && holds(held, owner))) {
    throw new Error(
      `the folder ${folder} is in use by the sandbox with pid ${held?.pid ?? owner.pid}: ` +
        "stop that one, or give this one another folder",
    );
  }
  // Whoever died with the database open has left its lock, a folder that never goes by itself.
  rmSync(join(folder, "sandbox.db.lock"), { recursive: true, force: true });
  rmSync(file, { force: true });
  const mine: Held = { pid: owner.pid, start: startOf(owner.pid), since: owner.now.getTime() };
  // `wx`: of two that start at once, one fails here.
  writeFileSync(file, `${JSON.stringify(mine)}\n`, { flag: "wx" });
  ours.add(folder);
  return () => {
    ours.delete(folder);
    rmSync(file, { force: true });
  };
}

/** Is the process that wrote the file still there, and not another one with its pid? */
function holds(held: Held, owner: Owner): boolean {
  if (held.pid === owner.pid || !owner.isAlive(held.pid)) return false;
  const start = startOf(held.pid);
  if (held.start !== null && start !== null) return held.start === start;
  // Without start times: nobody who took the folder before the machine started can be alive.
  return held.since >= owner.now.getTime() - uptime() * 1000;
}

/** Start of a process in ticks since the machine's, and the machine's boot id; Linux only. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The name of the program, in brackets, may hold blanks; the start is the 20th field after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[19] === undefined ? null : `${boot} ${fields[19]}`;
  } catch {
    return null;
  }
}

function read(file: string): Held | undefined {
  try {
    const held: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isHeld(held) ? held : undefined;
  } catch {
    return undefined;
  }
}

const isHeld = (value: unknown): value is Held =>
  typeof value === "object" && value !== null && "pid" in value && "since" in value;
