import { mapAll } from "../../../api/concurrent-map.ts";
import { usage } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { isInShard } from "../../task/shard.ts";
import type { Shard } from "../../task/shard.ts";
import type { Context } from "../../task/command-spec.ts";
import {
  isCustomField,
  isSynced,
  syncFields,
  convertValues,
  typesFor,
} from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import { documentNames } from "../snapshot/index.ts";
import { documentPath, readLocalFile } from "./local-files.ts";
import type { LocalFile, Selection, SkippedFile } from "./local-files.ts";
import { matchesNone, patternValues } from "./patterns.ts";
import type { Pattern } from "./patterns.ts";
import { walkFiles } from "./walk.ts";
import type { DirectoryEntry, FoundFile, Obstacle } from "./walk.ts";

/** Number of files read at a time. */
const concurrency = 16;

export interface ScanOptions extends Selection {
  readonly directory: string;
  readonly prune?: boolean | undefined;
  readonly since?: string | undefined;
  readonly metadata_from?: "front-matter" | undefined;
}

/** The files that a sync reads. */
export interface ScannedFiles {
  readonly files: readonly LocalFile[];
  readonly skipped: readonly SkippedFile[];
}

/**
 * Lists a directory; the files of an export have the names of their documents. Throws usage if there is no
 * file and --prune would delete every document.
 */
export async function listEntries(
  { directory, prune, include, exclude }: ScanOptions,
  context: Context,
): Promise<readonly DirectoryEntry[]> {
  const entries = await collect(walkFiles(directory, { include, exclude }, context.host.files));
  const isReadable = entries.every(({ path }) => path !== ".");
  if (prune && !(isReadable && entries.some(({ kind }) => kind === "file"))) {
    const message = `no readable files in ${directory}; refusing to --prune everything`;
    throw usage(message);
  }
  const names = await documentNames(directory, context.host.files);
  if (names.size === 0) return entries;
  return entries.map((entry) => ({ ...entry, path: names.get(entry.path) ?? entry.path }));
}

/** Reads the files of the shard; only --since needs the state of the server for that. */
export async function readFiles(
  entries: readonly DirectoryEntry[],
  { shard, ...options }: ScanOptions & { readonly shard: Shard | undefined },
  state: Promise<KbState>,
  context: Context,
): Promise<ScannedFiles> {
  const inShard = entries
    .filter((entry) => entry.kind !== "excluded")
    .filter(({ path }) => isInShard(documentPath(path, options.prefix), shard));
  const changed = await changedEntries(inShard, options, state, context);
  const withFrontMatter = options.metadata_from !== undefined;
  let done = 0;
  const count = (current?: string) =>
    context.progress({ verb: "Reading", done, total: changed.length, unit: "files", current });
  count();
  const read = await mapAll(changed, concurrency, async (entry) => {
    const file = await readLocalFile(entry, options, withFrontMatter, context);
    done++;
    count(entry.path);
    return file;
  });
  return {
    files: read.filter(isFile),
    skipped: read.filter((each): each is SkippedFile => !isFile(each)),
  };
}

const isFile = (each: LocalFile | SkippedFile): each is LocalFile => "hash" in each;

/** With --since, drops files that are unchanged in git and already synced. */
async function changedEntries<T extends FoundFile | Obstacle>(
  entries: readonly T[],
  { since, directory, prefix }: ScanOptions,
  state: Promise<KbState>,
  context: Context,
): Promise<readonly T[]> {
  if (since === undefined) return entries;
  const unchanged = await unchangedSince(since, directory, context);
  const { documents } = await state;
  const synced = new Set(
    documents.filter(isSynced).map(({ metadata }) => metadata[syncFields.path]),
  );
  return entries.filter(
    ({ path }) =>
      !unchanged.has(documentPath(path, undefined)) || !synced.has(documentPath(path, prefix)),
  );
}

/**
 * Files with their final metadata: front matter and patterns, as the fields store it. Throws usage that
 * names file, field and value.
 */
export function withMetadata(
  readable: readonly LocalFile[],
  patterns: readonly Pattern[],
  { fields }: KbState,
): readonly LocalFile[] {
  const files = readable.map((file) => ({
    ...file,
    metadata: {
      ...Object.fromEntries(Object.entries(file.metadata).filter(([name]) => isCustomField(name))),
      ...patternValues(file.relativePath, patterns),
    },
  }));
  const known = new Map(fields.map(({ name, type }) => [name, type]));
  const types = typesFor(
    known,
    files.map(({ metadata }) => metadata),
  );
  return files.map((file) => ({
    ...file,
    metadata: convertValues(file.metadata, types, file.path),
  }));
}

/** Prints which names of front matter and which patterns a sync does not use. */
export async function noticeUnused(
  files: readonly LocalFile[],
  patterns: readonly Pattern[],
  entries: readonly DirectoryEntry[],
  context: Context,
): Promise<void> {
  const names = new Set(files.flatMap(({ metadata }) => Object.keys(metadata)));
  const reserved = [...names].filter((name) => !isCustomField(name)).sort();
  if (reserved.length > 0) {
    const shown = reserved.map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
    await context.notice(
      `skipped front matter keys that cannot be field names: ${shown.join(", ")}`,
    );
  }
  const paths = entries
    .filter(({ kind }) => kind === "file")
    .map(({ path }) => documentPath(path, undefined));
  for (const { text } of patterns.filter((pattern) => matchesNone(pattern, paths)))
    await context.notice(`--match ${JSON.stringify(text)} matches no files`);
}

/** A tracked regular file in `ls-files --stage`; not a symlink (120000) or a submodule (160000). */
const regularFile = /^100\d{3} [^\t]*\t(.*)$/s;

/** Limit for the output of git, which is a list of file names. */
const MAX_OUTPUT_BYTES = 256 * 2 ** 20;

/** Turns off programs that git starts on its own. */
const noPrograms = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/** Settings that name programs to run; the repository may be untrusted. */
const programSettings =
  /^(filter\..*\.(clean|smudge|process|required)|core\.(fsmonitor|hookspath|sshcommand))$/is;

/** Lists names of files that differ, without looking into submodules. */
const diffNames = [
  "diff",
  "--no-ext-diff",
  "--no-textconv",
  "--ignore-submodules=all",
  "--name-only",
  "--relative",
  "-z",
];

/** Environment that overrides settings with an empty value; unlike -c it takes any name. */
const emptySettings = (names: readonly string[]) => ({
  GIT_CONFIG_COUNT: String(names.length),
  ...Object.fromEntries(
    names.flatMap((name, at) => [
      [`GIT_CONFIG_KEY_${at}`, name],
      [`GIT_CONFIG_VALUE_${at}`, ""],
    ]),
  ),
});

/**
 * Paths below a directory that git knows to be unchanged since a revision. New files, symlinks, and
 * files behind symlinks or in submodules are not among them. Throws usage.
 */
async function unchangedSince(
  revision: string,
  directory: string,
  { host, signal, abortError }: Context,
): Promise<ReadonlySet<string>> {
  // No protocol is allowed, as a remote can name a program.
  let env: Record<string, string | undefined> = { GIT_ALLOW_PROTOCOL: "none" };
  const git = async (...args: readonly string[]): Promise<string[]> => {
    const child = host.spawn("git", [...noPrograms, "-C", directory, ...args], {
      env,
      collect: MAX_OUTPUT_BYTES,
      signal,
    });
    const exit = await child.exit.catch(() => 127);
    if (signal.aborted) throw abortError();
    if (exit !== 0) {
      const message = `invalid --since ${JSON.stringify(revision)}: git exited with code ${exit}`;
      throw usage(message, "the directory must be in a git repository that contains this revision");
    }
    return (await child.output).split("\0").filter((path) => path !== "");
  };
  const settings = await git("config", "--list", "--name-only", "-z");
  env = { ...env, ...emptySettings(settings.filter((name) => programSettings.test(name))) };
  await git("rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`);
  const tracked = await git("ls-files", "--stage", "-z", "--", ".");
  const changed = new Set(await git(...diffNames, revision, "--", "."));
  return new Set(
    tracked.flatMap((entry) => {
      const path = regularFile.exec(entry)?.[1];
      return path === undefined || changed.has(path) ? [] : [documentPath(path, undefined)];
    }),
  );
}
