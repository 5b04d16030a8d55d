import type { Ignore } from "ignore";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { codeOf, reasonOf, usage } from "../../../errors.ts";
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
    throw usage(message);
  }
  const root = await files.realPath(directory);
  const { default: ignore } = await import("ignore");
  const rulesOf = (patterns: readonly string[]) =>
    ignore({ ignorecase: false }).add(patterns.map(simplifyPattern));
  const included = include.length > 0 ? rulesOf(include) : undefined;
  yield* walk(
    { directory, root, rulesOf, included, excluded: rulesOf(exclude), files },
    "",
    [],
    [],
  );
}

interface Walk {
  readonly directory: string;
  /** Real path of the directory. */
  readonly root: string;
  readonly rulesOf: (patterns: readonly string[]) => Ignore;
  readonly included: Ignore | undefined;
  readonly excluded: Ignore;
  readonly files: Files;
}

/** `base` is "" or ends with a slash; `parents` are the real paths of the directories around it. */
async function* walk(
  scope: Walk,
  base: string,
  inherited: readonly IgnoreRules[],
  parents: readonly string[],
): AsyncGenerator<DirectoryEntry> {
  const { directory, rulesOf, files } = scope;
  const location = `${directory}/${base}`;
  let names: readonly string[];
  let real: string;
  try {
    names = await files.list(location);
    real = await files.realPath(location);
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
    const found = names.includes(name) ? await readIgnoreFile(scope, base, name) : undefined;
    if (typeof found === "string") rules.push({ base, rules: rulesOf(found.split(/\r?\n/)) });
    else if (found) yield found;
  }
  const visible = names.filter((name) => !name.startsWith("."));
  const read = (name: string) => readStatus(scope, location, name);
  for await (const status of mapConcurrent(visible, concurrency, read)) {
    const path = base + status.name;
    if (!isIncluded(scope, path, status.stat?.isDirectory === true, rules)) {
      yield { kind: "excluded", path };
      continue;
    }
    const entry = entryOf(path, location, status);
    if (entry) yield entry;
    else yield* walk(scope, `${path}/`, rules, [...parents, real]);
  }
}

function isIncluded(
  { included, excluded }: Walk,
  path: string,
  isDirectory: boolean,
  ignoreRules: readonly IgnoreRules[],
): boolean {
  const marked = (text: string) => (isDirectory ? `${text}/` : text);
  if (excluded.ignores(marked(path))) return false;
  let isIgnored = false;
  for (const { base, rules } of ignoreRules) {
    const { ignored, unignored } = rules.test(marked(path.slice(base.length)));
    isIgnored = ignored || (isIgnored && !unignored);
  }
  return !isIgnored && (isDirectory || included === undefined || included.ignores(path));
}

async function readStatus(
  { root, files }: Walk,
  location: string,
  name: string,
): Promise<EntryStatus> {
  try {
    const stat = await files.stat(location + name);
    const inside = stat !== null && isInside(root, await files.realPath(location + name));
    return { name, stat, inside };
  } catch (error) {
    return { name, error };
  }
}

/**
 * The text of an ignore file, or why it cannot be read; undefined if there is none, which as for git
 * includes a directory or a broken symlink of this name. Throws usage for one that is too large.
 */
async function readIgnoreFile(
  scope: Walk,
  base: string,
  name: string,
): Promise<string | Obstacle | undefined> {
  const location = `${scope.directory}/${base}`;
  const { stat, inside, error } = await readStatus(scope, location, name);
  const path = base + name;
  if (error !== undefined) return { kind: "unreadable", path, reason: reasonOf(error) };
  if (!stat || stat.isDirectory) return undefined;
  if (!inside) return { kind: "outside-link", path };
  if (!stat.isFile) return { kind: "no-file", path };
  if (stat.size > MAX_IGNORE_FILE_BYTES) {
    throw usage(`ignore file ${path} is too large`, "an ignore file may have at most 1 MiB");
  }
  return new TextDecoder().decode(await scope.files.read(location + name));
}

/** The entry for a path; undefined for a directory. */
function entryOf(
  path: string,
  location: string,
  { name, stat, inside, error }: EntryStatus,
): FoundFile | Obstacle | undefined {
  if (error !== undefined) {
    return codeOf(error) === "ELOOP"
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
  throw usage(
    `invalid pattern ${JSON.stringify(pattern)}: too many **`,
    `use ** at most ${MAX_DOUBLE_STARS} times in a pattern`,
  );
}
