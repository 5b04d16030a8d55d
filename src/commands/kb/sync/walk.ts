import type { Ignore } from "ignore";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, reasonOf } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isInside } from "../../../host/safe-path.ts";

/** A file below a folder. */
export interface FolderFile {
  readonly kind: "file";
  /** From the folder on, with `/` between its parts. */
  readonly path: string;
  /** Where it is opened. */
  readonly place: string;
  /** Bytes. */
  readonly size: number;
}

/** Something below a folder that cannot be read as a file. */
export interface Obstacle {
  readonly kind: "unreadable" | "broken-link" | "link-loop" | "outside-link" | "no-file";
  readonly path: string;
  /** What the system says, where it says anything. */
  readonly reason?: string | undefined;
}

/** A file or a whole folder that is there and not wanted. */
export interface SkippedEntry {
  readonly kind: "left-out";
  readonly path: string;
}

/** What a folder holds. */
export type FoundEntry = FolderFile | Obstacle | SkippedEntry;

/** Which files are wanted; patterns are those of .gitignore. */
export interface FileFilter {
  /** Only these. */
  readonly include?: readonly string[] | undefined;
  /** None of these, whatever the files in the folder say. */
  readonly exclude?: readonly string[] | undefined;
}

/** Files whose lines leave out what is beside and below them; the later one has the last word. */
const ignoreFiles = [".gitignore", ".kbignore"] as const;

/** Names looked at at once. */
const looks = 16;

/** Rules of one folder, for paths below it. */
interface Rules {
  readonly base: string;
  readonly rules: Ignore;
}

/**
 * What lies below a folder, in the order of paths: wanted files, what stands in their way, and what
 * patterns, .gitignore and .kbignore leave out. What begins with a dot is passed over; links are
 * followed where they stay in the folder: whoever may put a link there need not see what else is on
 * this machine. Throws usage where there is no folder.
 */
export async function* walkFiles(
  folder: string,
  { include = [], exclude = [] }: FileFilter,
  files: Files,
): AsyncGenerator<FoundEntry> {
  const found = await files.stat(folder);
  if (!found?.isDirectory) {
    const reason = found ? "it is a file" : "there is no such folder";
    throw new CliError("usage", `${folder} cannot be read: ${reason}`, { sideEffect: "none" });
  }
  const root = await files.realPath(folder);
  const { default: ignore } = await import("ignore");
  const rulesOf = (lines: readonly string[]) =>
    ignore({ ignorecase: false }).add(lines.map(quickPattern));
  const only = include.length > 0 ? rulesOf(include) : undefined;
  const without = rulesOf(exclude);

  const isWanted = (path: string, isFolder: boolean, outer: readonly Rules[]): boolean => {
    const as = (text: string) => (isFolder ? `${text}/` : text);
    if (without.ignores(as(path))) return false;
    let left = false;
    for (const { base, rules } of outer) {
      const { ignored, unignored } = rules.test(as(path.slice(base.length)));
      left = ignored || (left && !unignored);
    }
    return !left && (isFolder || only === undefined || only.ignores(path));
  };

  /** `base` is "" or ends with a slash; `above` are the real places of the folders around it. */
  async function* walk(
    base: string,
    outer: readonly Rules[],
    above: readonly string[],
  ): AsyncGenerator<FoundEntry> {
    const place = `${folder}/${base}`;
    let names: readonly string[];
    let real: string;
    try {
      names = await files.list(place);
      real = await files.realPath(place);
    } catch (error) {
      yield { kind: "unreadable", path: base.slice(0, -1) || ".", reason: reasonOf(error) };
      return;
    }
    if (above.includes(real)) {
      yield { kind: "link-loop", path: base.slice(0, -1) };
      return;
    }
    const own: Rules[] = [];
    for (const name of ignoreFiles) {
      if (!names.includes(name)) continue;
      const found = await ignoreFileAt(place, base, name);
      if (found === undefined) continue;
      if (typeof found === "string") own.push({ base, rules: rulesOf(found.split(/\r?\n/)) });
      else yield found;
    }
    const rules = [...outer, ...own];
    const shown = names.filter((name) => !name.startsWith("."));
    for await (const { name, stat, inside, error } of mapConcurrent(shown, looks, (name) =>
      lookAt(place, name),
    )) {
      const path = base + name;
      if (!isWanted(path, stat?.isDirectory === true, rules)) yield { kind: "left-out", path };
      else if (error !== undefined) {
        yield codeOf(error) === "ELOOP"
          ? { kind: "link-loop", path }
          : { kind: "unreadable", path, reason: reasonOf(error) };
      } else if (!stat) yield { kind: "broken-link", path };
      else if (!inside) yield { kind: "outside-link", path };
      else if (stat.isDirectory) yield* walk(`${path}/`, rules, [...above, real]);
      else if (!stat.isFile) yield { kind: "no-file", path };
      else yield { kind: "file", path, place: place + name, size: stat.size };
    }
  }

  const lookAt = async (place: string, name: string) => {
    try {
      const stat = await files.stat(place + name);
      const inside = stat !== null && isInside(root, await files.realPath(place + name));
      return { name, stat, inside };
    } catch (error) {
      return { name, error };
    }
  };
  /**
   * The text of an ignore file; what stands in its way where it is none; undefined where there is
   * nothing to read: a folder, as for git, or a link to nowhere. Throws usage for one without end.
   */
  const ignoreFileAt = async (
    place: string,
    base: string,
    name: string,
  ): Promise<string | Obstacle | undefined> => {
    const { stat, inside, error } = await lookAt(place, name);
    const path = base + name;
    if (error !== undefined) return { kind: "unreadable", path, reason: reasonOf(error) };
    if (!stat || stat.isDirectory) return undefined;
    if (!inside) return { kind: "outside-link", path };
    if (!stat.isFile) return { kind: "no-file", path };
    if (stat.size > largestIgnoreFile) {
      throw new CliError("usage", `${path} is too large for a list of patterns`, {
        sideEffect: "none",
        hint: "an ignore file may have 1 MiB",
      });
    }
    return new TextDecoder().decode(await files.read(place + name));
  };
  yield* walk("", [], []);
}

/** Bytes that an ignore file may have. */
const largestIgnoreFile = 2 ** 20;

/** Times that `**` stands in a pattern; each of them multiplies the ways to lay it over a deep path. */
const mostStars = 4;

/** The pattern without `**` after `**`, which means the same. Throws usage for one that takes for ever. */
function quickPattern(pattern: string): string {
  const short = pattern.replace(/(\*\*\/)+/g, "**/");
  if (short.split("**").length - 1 <= mostStars) return short;
  throw new CliError("usage", `the pattern ${JSON.stringify(pattern)} holds ** too often`, {
    sideEffect: "none",
    hint: `** may stand in it ${mostStars} times`,
  });
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";
