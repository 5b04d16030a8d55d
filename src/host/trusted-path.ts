import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/** What makes a path untrusted: a directory or link on the way, or the file itself. */
export interface UntrustedPart {
  readonly path: string;
  /** "belongs to user 1002" */
  readonly reason: string;
  /** Whether `chmod go-w` would make this part a trusted one. */
  readonly isWritable?: true;
}

const GROUP_OR_OTHERS_WRITE = 0o022;
const STICKY = 0o1000;
/** As many as Linux follows. */
const MAX_LINKS = 40;

/**
 * Returns the first part of a path where others than the user and root could change what is there: the
 * directories from the root on, links and what they point to, the file or directory itself. Others may write
 * to a sticky directory such as /tmp, where they cannot replace what is not theirs; with `sticky: false` they may
 * not. What does not exist is not trusted. Windows has no check, because modes say nothing there.
 */
export function untrustedPart(
  path: string,
  uid: number | undefined = process.getuid?.(),
  { sticky = true }: { readonly sticky?: boolean } = {},
): UntrustedPart | undefined {
  if (uid === undefined) return undefined;
  // Not normalized: after a link, `..` leads out of the directory that it points to.
  let rest = stepsOf(isAbsolute(path) ? path : `${process.cwd()}/${path}`);
  let at = "/";
  try {
    for (let links = 0; ;) {
      const stats = lstatSync(at);
      if (stats.uid !== uid && stats.uid !== 0) {
        return { path: at, reason: `belongs to user ${stats.uid}` };
      }
      const isKept = sticky && rest.length > 0 && (stats.mode & STICKY) !== 0;
      if (stats.isSymbolicLink()) {
        if (++links > MAX_LINKS) return { path, reason: "leads through too many links" };
        const target = readlinkSync(at);
        rest = [...stepsOf(target), ...rest];
        at = isAbsolute(target) ? "/" : dirname(at);
      } else if ((stats.mode & GROUP_OR_OTHERS_WRITE) !== 0 && !isKept) {
        const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
        return { path: at, reason: `can be written by others (mode ${mode})`, isWritable: true };
      }
      const step = rest.shift();
      if (step === undefined) return undefined;
      at = join(at, step); // `at` has no links, so this may be `..`
    }
  } catch (error) {
    return { path: at, reason: `cannot be checked: ${(error as Error).message}` };
  }
}

const stepsOf = (path: string): string[] =>
  path.split("/").filter((step) => step !== "" && step !== ".");

/**
 * Returns the real path of a directory that only the user can read and write, and that only the user and root can
 * replace. Creates it and those above it; not by a recursive mkdir, which never returns for a place where
 * nothing can be created, such as /proc/nowhere. Undefined if it is open to others. Throws the system error.
 */
export function privateDirectory(path: string, isSafe = isSafeFromOthers): string | undefined {
  create(path, isSafe);
  const stats = statSync(path);
  // Without rights for others at all: a checkout or an unpacked archive rarely contains such a directory.
  const isPrivate = stats.isDirectory() && (stats.mode & 0o077) === 0;
  return isPrivate && isSafe(path) ? realpathSync(path) : undefined;
}

function create(path: string, isSafe: (directory: string) => boolean): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  create(parent, isSafe);
  if (!isSafe(parent)) throw new Error("nothing is created where others can write");
  mkdirSync(path, { mode: 0o700 });
}

/** Links in directories of others do not do, nor do sticky directories: others can create there what is missing. On Windows, nothing is known. */
function isSafeFromOthers(directory: string): boolean {
  const uid = process.getuid?.();
  return uid !== undefined && untrustedPart(directory, uid, { sticky: false }) === undefined;
}
