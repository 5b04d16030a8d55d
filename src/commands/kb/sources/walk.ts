import { commandLine } from "../../../lib/command-line.ts";
import { missingPathHint } from "../../../lib/did-you-mean.ts";
import type { Ignore } from "ignore";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { codeOf, reasonOf, usage } from "../../../errors.ts";
import type { Files, NamedEntry } from "../../../host/host.ts";
import { isInside } from "../../../host/safe-path.ts";

/** A regular file below a directory. */
export interface FoundFile {
  readonly kind: "file";
  /** Relative to the directory, with `/`. */
  readonly path: string;
  /** Path to open it. */
  readonly location: string;
}

/** An entry below a directory that cannot be read as a file. */
export interface Obstacle {
  readonly kind: "unreadable" | "broken-link" | "link-loop" | "outside-link" | "no-file";
  readonly path: string;
  readonly problem: string;
}

const obstacleTexts: Readonly<Record<Obstacle["kind"], string>> = {
  unreadable: "failed to read",
  "broken-link": "broken symlink",
  "link-loop": "symlink loop",
  "outside-link": "the symlink points outside the directory",
  "no-file": "not a regular file (a pipe, socket or device)",
};

/** An obstacle, with the reason of a failed read. */
export const obstacle = (kind: Obstacle["kind"], path: string, error?: unknown): Obstacle => {
  const text = obstacleTexts[kind];
  return { kind, path, problem: kind === "unreadable" ? `${text}: ${reasonOf(error)}` : text };
};

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

/** Number of links whose status is read at a time. */
const concurrency = 16;

/** The patterns of an ignore file, for paths below `base`. */
interface IgnoreRules {
  readonly base: string;
  readonly rules: Ignore;
}

/** What is at a path; undefined for a directory inside the walked one. */
interface PathStatus {
  readonly entry: FoundFile | Obstacle | undefined;
  readonly isDirectory: boolean;
  /** Set if the status was read. */
  readonly size?: number;
}

/**
 * Walks a directory and yields its entries, ordered by path: files, obstacles, and what patterns and
 * ignore files exclude. Skips names that start with a dot. Follows symlinks only inside the directory,
 * so that a planted link does not expose other files. Throws usage if there is no such directory.
 */
export async function* walkFiles(
  directory: string,
  filter: FileFilter,
  files: Files,
): AsyncGenerator<DirectoryEntry> {
  const status = await files.stat(directory);
  if (!status?.isDirectory) {
    const reason = status ? "not a directory" : "not found";
    const message = `failed to read directory ${directory}: ${reason}`;
    throw usage(message, await directoryHint(directory, status !== null, files));
  }
  const root = await files.realPath(directory);
  const scope = { rulesOf: await ignoreRules(), isKept: await pathFilter(filter) };
  yield* walk({ directory, root, files, ...scope }, "", [], []);
}

/** What names a source that is not a directory: the file or the site that was meant. */
async function directoryHint(path: string, isFile: boolean, files: Files): Promise<string> {
  if (isFile)
    return `files are uploaded by ${commandLine("kb doc upload", ["KB", path])}; the rows of a sheet are synced with --rows`;
  const [, host, repository] = /^git@([^:]+):(.+)$/.exec(path) ?? [];
  const git = host && repository ? `ssh://git@${host}/${repository}` : path;
  if (git.endsWith(".git"))
    return `a repository is a source: ${commandLine("kb sync", ["KB", `git+${git}`])}`;
  const bucket = /^(?:s3|gs|az|b2):\/\/(.*)$/.exec(path)?.[1];
  const remote = bucket === undefined ? path : `REMOTE:${bucket}`;
  if (bucket !== undefined || /^\w[\w-]+:(?!\/)/.test(path))
    return `a remote of rclone is a source: ${commandLine("kb sync", ["KB", `rclone:${remote}`])}`;
  return /^https?:/.test(path)
    ? `a site is a source: ${commandLine("kb sync", ["KB", `web+${path}`])}`
    : missingPathHint(path, files);
}

/** Decides about paths by patterns, without ignore files: names that start with a dot are skipped. */
export async function pathFilter({ include = [], exclude = [] }: FileFilter) {
  const rules = await ignoreRules();
  const included = include.length > 0 ? rules(include) : undefined;
  const excluded = rules(exclude);
  return (path: string, isDirectory = false): boolean =>
    !path.split("/").some((step) => /^\.(?!\.?$)/.test(step)) &&
    !excluded.ignores(isDirectory ? `${path}/` : path) &&
    (isDirectory || included === undefined || included.ignores(path));
}

/** Returns what makes rules of patterns. */
async function ignoreRules(): Promise<Walk["rulesOf"]> {
  const { default: ignore } = await import("ignore");
  const options = { ignorecase: false, allowRelativePaths: true }; // paths of sources may be invalid
  return (patterns) => ignore(options).add(patterns.map(simplifyPattern));
}

interface Walk {
  readonly directory: string;
  /** Real path of the directory. */
  readonly root: string;
  readonly rulesOf: (patterns: readonly string[]) => Ignore;
  readonly isKept: (path: string, isDirectory: boolean) => boolean;
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
  let entries: readonly NamedEntry[];
  let real: string;
  try {
    entries = await files.entries(location);
    real = await files.realPath(location);
  } catch (error) {
    yield obstacle("unreadable", base.slice(0, -1) || ".", error);
    return;
  }
  if (parents.includes(real)) {
    yield obstacle("link-loop", base.slice(0, -1));
    return;
  }
  const rules = [...inherited];
  for (const name of ignoreFiles) {
    const isThere = entries.some((entry) => entry.name === name);
    const found = isThere ? await readIgnoreFile(scope, base + name) : undefined;
    if (typeof found === "string") rules.push({ base, rules: rulesOf(found.split(/\r?\n/)) });
    else if (found) yield found;
  }
  const shown = entries.filter(({ name }) => !name.startsWith("."));
  const read = async (own: NamedEntry) => {
    const path = base + own.name;
    return { path, ...(own.isLink ? await statusOf(scope, path) : knownStatus(scope, path, own)) };
  };
  for await (const { path, entry, isDirectory } of mapConcurrent(shown, concurrency, read)) {
    if (!scope.isKept(path, isDirectory) || isIgnored(path, isDirectory, rules))
      yield { kind: "excluded", path };
    else if (entry) yield entry;
    else yield* walk(scope, `${path}/`, rules, [...parents, real]);
  }
}

/** Do the ignore files exclude a path? */
function isIgnored(path: string, isDirectory: boolean, all: readonly IgnoreRules[]): boolean {
  let isOut = false;
  for (const { base, rules } of all) {
    const own = path.slice(base.length);
    const { ignored, unignored } = rules.test(isDirectory ? `${own}/` : own);
    isOut = ignored || (isOut && !unignored);
  }
  return isOut;
}

/** The status of a file or directory, which the list around it tells; not of a link. */
const knownStatus = (
  { directory }: Walk,
  path: string,
  { isDirectory, isFile }: Pick<NamedEntry, "isDirectory" | "isFile">,
): PathStatus => {
  if (isDirectory) return { entry: undefined, isDirectory };
  const entry = isFile
    ? ({ kind: "file", path, location: `${directory}/${path}` } as const)
    : undefined;
  return { entry: entry ?? obstacle("no-file", path), isDirectory };
};

async function statusOf(scope: Walk, path: string): Promise<PathStatus> {
  const { directory, root, files } = scope;
  const location = `${directory}/${path}`;
  try {
    const stat = await files.stat(location);
    if (!stat) return { entry: obstacle("broken-link", path), isDirectory: false };
    const { isDirectory, isLink, size } = stat;
    // Only a link leads out of a directory that is inside.
    if (isLink && !isInside(root, await files.realPath(location)))
      return { entry: obstacle("outside-link", path), isDirectory };
    return { ...knownStatus(scope, path, stat), size };
  } catch (error) {
    const kind = codeOf(error) === "ELOOP" ? "link-loop" : "unreadable";
    return { entry: obstacle(kind, path, error), isDirectory: false };
  }
}

/**
 * The text of an ignore file, or why it cannot be read; undefined if there is none, which as for git
 * includes a directory or a broken symlink of this name. Throws usage for one that is too large.
 */
async function readIgnoreFile(scope: Walk, path: string): Promise<string | Obstacle | undefined> {
  const { entry, isDirectory, size = 0 } = await statusOf(scope, path);
  if (!entry || isDirectory || entry.kind === "broken-link") return undefined;
  if (entry.kind === "link-loop") return { ...entry, kind: "unreadable" }; // as an error
  if (entry.kind !== "file") return entry;
  if (size > MAX_IGNORE_FILE_BYTES) {
    throw usage(`ignore file ${path} is too large`, "an ignore file may have at most 1 MiB");
  }
  return new TextDecoder().decode(await scope.files.read(entry.location));
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
