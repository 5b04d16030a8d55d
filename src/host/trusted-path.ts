import { lstatSync, readlinkSync } from "node:fs";
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
