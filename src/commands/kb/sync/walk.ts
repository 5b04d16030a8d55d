import type { Ignore, Options } from "ignore";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, reasonOf } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isInside } from "../../../host/safe-path.ts";

/** A regular file below a directory. */
export interface FoundFile {
  readonly kind: "file";
  /** Relative to the directory, with `/`. */
  readonly path: string;
  /** Path to open it. */
  readonly location: string;
  readonly size: number;
}

/** An entry below a directory that cannot be read as a file. */
export interface Obstacle {
  readonly kind: "unreadable" | "broken-link" | "link-loop" | "outside-link" | "no-file";
  readonly path: string;
  /** The system's error, if there is one. */
  readonly reason?: string | undefined;
}

/** A file or directory that a pattern or an ignore file excludes. */
export interface ExcludedEntry {
  readonly kind: "excluded";
  readonly path: string;
}

export type DirectoryEntry = FoundFile | Obstacle | ExcludedEntry;

/** Which files to read; patterns are those of .gitignore. */
export interface FileFilter {
  readonly include?: readonly string[] | undefined;
  /** These are excluded whatever ignore files say. */
  readonly exclude?: readonly string[] | undefined;
}

/** Ignore files, which apply to their directory and below; the later one takes precedence. */
const ignoreFiles = [".gitignore", ".kbignore"] as const;
const MAX_IGNORE_FILE_BYTES = 2 ** 20;

/** Number of entries whose status is read at a time. */
const concurrency = 16;

/** The patterns of an ignore file, for paths below `base`. */
interface IgnoreRules {
  readonly base: string;
  readonly rules: Ignore;
}

/** The status of an entry, or the error that reading it gave; null if a symlink is broken. */
interface EntryStatus {
  readonly name: string;
  readonly stat?: Awaited<ReturnType<Files["stat"]>>;
  readonly inside?: boolean;
  readonly error?: unknown;
}

/**
 * Walks a directory and yields its entries, ordered by path: files, obstacles, and what patterns and
 * ignore files exclude. Skips names that start with a dot. Follows symlinks only inside the directory,
 * so that a planted link does not expose other files. Throws usage if there is no such directory.
 */
export async function* walkFiles(
  directory: string,
  { include = [], exclude = [] }: FileFilter,
  files: Files,
): AsyncGenerator<DirectoryEntry> {
  const status = await files.stat(directory);
  if (!status?.isDirectory) {
    const reason = status ? "not a directory" : "not found";
    const message = `failed to read directory ${directory}: ${reason}`;
    throw new CliError("usage", message, { sideEffect: "none" });
  }
  const root = await files.realPath(directory);
  const { default: ignore } = await import("ignore");
  const filter = new EntryFilter(ignore, include, exclude);
  yield* new DirectoryWalk(directory, root, filter, files).walk("", [], []);
}

/** Decides by patterns and ignore files which entries count. */
class EntryFilter {
  readonly #ignore: (options: Options) => Ignore;
  readonly #included: Ignore | undefined;
  readonly #excluded: Ignore;

  constructor(
    ignore: (options: Options) => Ignore,
    include: readonly string[],
    exclude: readonly string[],
  ) {
    this.#ignore = ignore;
    this.#included = include.length > 0 ? this.rulesOf(include) : undefined;
    this.#excluded = this.rulesOf(exclude);
  }

  rulesOf(patterns: readonly string[]): Ignore {
    return this.#ignore({ ignorecase: false }).add(patterns.map(simplifyPattern));
  }

  includes(path: string, isDirectory: boolean, ignoreRules: readonly IgnoreRules[]): boolean {
    const marked = (text: string) => (isDirectory ? `${text}/` : text);
    if (this.#excluded.ignores(marked(path))) return false;
    let isIgnored = false;
    for (const { base, rules } of ignoreRules) {
      const { ignored, unignored } = rules.test(marked(path.slice(base.length)));
      isIgnored = ignored || (isIgnored && !unignored);
    }
    if (isIgnored) return false;
    return isDirectory || this.#included === undefined || this.#included.ignores(path);
  }
}

class DirectoryWalk {
  readonly #directory: string;
  /** Real path of the directory. */
  readonly #root: string;
  readonly #filter: EntryFilter;
  readonly #files: Files;

  constructor(directory: string, root: string, filter: EntryFilter, files: Files) {
    this.#directory = directory;
    this.#root = root;
    this.#filter = filter;
    this.#files = files;
  }

  /** `base` is "" or ends with a slash; `parents` are the real paths of the directories around it. */
  async *walk(
    base: string,
    inherited: readonly IgnoreRules[],
    parents: readonly string[],
  ): AsyncGenerator<DirectoryEntry> {
    const location = `${this.#directory}/${base}`;
    let names: readonly string[];
    let real: string;
    try {
      names = await this.#files.list(location);
      real = await this.#files.realPath(location);
    } catch (error) {
      yield { kind: "unreadable", path: base.slice(0, -1) || ".", reason: reasonOf(error) };
      return;
    }
    if (parents.includes(real)) {
      yield { kind: "link-loop", path: base.slice(0, -1) };
      return;
    }
    const rules = [...inherited];
    for (const name of ignoreFiles) {
      const found = names.includes(name) ? await this.#ignoreFile(base, name) : undefined;
      if (typeof found === "string")
        rules.push({ base, rules: this.#filter.rulesOf(found.split(/\r?\n/)) });
      else if (found) yield found;
    }
    const visible = names.filter((name) => !name.startsWith("."));
    const read = (name: string) => this.#status(location, name);
    for await (const status of mapConcurrent(visible, concurrency, read)) {
      const path = base + status.name;
      const isDirectory = status.stat?.isDirectory === true;
      if (!this.#filter.includes(path, isDirectory, rules)) yield { kind: "excluded", path };
      else {
        const entry = entryOf(path, location, status);
        if (entry) yield entry;
        else yield* this.walk(`${path}/`, rules, [...parents, real]);
      }
    }
  }

  async #status(location: string, name: string): Promise<EntryStatus> {
    try {
      const stat = await this.#files.stat(location + name);
      const inside =
        stat !== null && isInside(this.#root, await this.#files.realPath(location + name));
      return { name, stat, inside };
    } catch (error) {
      return { name, error };
    }
  }

  /**
   * The text of an ignore file, or why it cannot be read; undefined if there is none, which as for git
   * includes a directory or a broken symlink of this name. Throws usage for one that is too large.
   */
  async #ignoreFile(base: string, name: string): Promise<string | Obstacle | undefined> {
    const location = `${this.#directory}/${base}`;
    const { stat, inside, error } = await this.#status(location, name);
    const path = base + name;
    if (error !== undefined) return { kind: "unreadable", path, reason: reasonOf(error) };
    if (!stat || stat.isDirectory) return undefined;
    if (!inside) return { kind: "outside-link", path };
    if (!stat.isFile) return { kind: "no-file", path };
    if (stat.size > MAX_IGNORE_FILE_BYTES) {
      throw new CliError("usage", `ignore file ${path} is too large`, {
        sideEffect: "none",
        hint: "an ignore file may have at most 1 MiB",
      });
    }
    return new TextDecoder().decode(await this.#files.read(location + name));
  }
}

/** The entry for a path; undefined for a directory. */
function entryOf(
  path: string,
  location: string,
  { name, stat, inside, error }: EntryStatus,
): FoundFile | Obstacle | undefined {
  if (error !== undefined) {
    const isLoop = error instanceof Error && "code" in error && error.code === "ELOOP";
    return isLoop
      ? { kind: "link-loop", path }
      : { kind: "unreadable", path, reason: reasonOf(error) };
  }
  if (!stat) return { kind: "broken-link", path };
  if (!inside) return { kind: "outside-link", path };
  if (stat.isDirectory) return undefined;
  if (!stat.isFile) return { kind: "no-file", path };
  return { kind: "file", path, location: location + name, size: stat.size };
}

/** Limit for `**` in a pattern: each one multiplies the ways to match a deep path. */
const MAX_DOUBLE_STARS = 4;

/** Collapses consecutive `**` in a pattern, which mean the same. Throws usage if too many remain. */
function simplifyPattern(pattern: string): string {
  const short = pattern.replace(/(\*\*\/)+/g, "**/");
  if (short.split("**").length - 1 <= MAX_DOUBLE_STARS) return short;
  throw new CliError("usage", `invalid pattern ${JSON.stringify(pattern)}: too many **`, {
    sideEffect: "none",
    hint: `use ** at most ${MAX_DOUBLE_STARS} times in a pattern`,
  });
}
