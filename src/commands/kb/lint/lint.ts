import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { usage, verdict } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { formatBytes, parseBytes } from "../../../lib/numbers.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, isFileName, isPath, unicodeForm, withSlashes } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { obstacle, uploadKind, walkFiles } from "../sources/index.ts";
import { MAX_NAME_LENGTH } from "../sync/index.ts";
import type { FoundFile, Obstacle } from "../sources/index.ts";
import { splittingFor, unmatchedSeparators } from "../chunks/index.ts";
import type { Splitting } from "../chunks/index.ts";
import { contentProblems, found, kindProblems } from "./checks.ts";
import type { LintProblem } from "./checks.ts";
import type { lintParams } from "./command.ts";

interface LintRow extends LintProblem {
  /** Path relative to the directory. */
  readonly file: string;
}

/** Default upload limit of a server (server §9.3); text is not uploaded. */
const uploadLimit = 15 * 2 ** 20;
const concurrency = 8;

/** Lists the problems that files would have as documents; sends nothing. Throws gate for errors, or `strict` warnings. */
export async function* run(
  input: Input<typeof lintParams>,
  context: Context,
): AsyncGenerator<LintRow> {
  const { files } = context.host;
  const limit = input.max_size === undefined ? undefined : parseBytes("--max-size", input.max_size);
  const mayBeName = !isPath(input.directory) && !isFileName(input.directory);
  if (mayBeName && (await files.stat(input.directory)) === null)
    throw usage(
      `failed to read directory ${input.directory}: not found`,
      `paths are relative to the current directory; a knowledge base is checked by ${commandLine("kb check", [input.directory])}`,
    );
  const entries: (FoundFile | Obstacle)[] = [];
  for await (const entry of walkFiles(input.directory, input, files)) {
    if (context.host.signal.aborted) throw context.abortError();
    if (entry.kind !== "excluded") entries.push(entry);
  }
  const splitting = await splittingFor(input, context);
  const check = (entry: FoundFile | Obstacle) => checkEntry(entry, { limit, splitting }, context);
  const names = new Map<string, string>();
  const contents = new Map<string, string>();
  const rows: LintRow[] = unmatchedSeparators(splitting.rule).map((separator) => ({
    file: input.rule === undefined ? "--process-rule" : "--rule",
    ...found("separator", `separator ${JSON.stringify(separator)} is found in no text`),
  }));
  let done = 0;
  const count = (current?: string) =>
    context.progress({ done, total: entries.length, unit: "files", current });
  count();
  for await (const checked of mapConcurrent(entries, concurrency, check)) {
    const { path: file, kind } = checked.entry;
    done++;
    count(file);
    const problems = [
      ...nameProblems(file, names),
      ...(kind === "file" ? kindProblems(file) : []),
      ...checked.problems,
      ...duplicateProblems(checked, contents),
    ];
    for (const { severity, ...problem } of problems) rows.push({ severity, file, ...problem });
  }
  yield* rows; // at the end, so that columns fit all rows

  const errors = rows.filter(({ severity }) => severity === "error").length;
  const warnings = rows.length - errors;
  const summary = `${counted(entries.length, "file")}: ${counted(errors, "error")}, ${counted(warnings, "warning")}`;
  if (errors === 0 && (warnings === 0 || !input.strict)) return context.summary(summary);
  throw verdict("gate", summary, { files: entries.length, errors, warnings });
}

interface CheckedEntry {
  readonly entry: FoundFile | Obstacle;
  readonly problems: readonly LintProblem[];
  /** Hash of the content, if it was read. */
  readonly hash?: string;
}

async function checkEntry(
  entry: FoundFile | Obstacle,
  { limit, splitting }: { readonly limit: number | undefined; readonly splitting: Splitting },
  context: Context,
): Promise<CheckedEntry> {
  if (entry.kind !== "file") return { entry, problems: [found(entry.kind, entry.problem)] };
  const { files } = context.host;
  const maxBytes = limit ?? (uploadKind(entry.path) === "text" ? Infinity : uploadLimit);
  let bytes: Uint8Array;
  try {
    const size = (await files.stat(entry.location))?.size ?? 0;
    if (context.host.signal.aborted) throw context.abortError();
    if (size > maxBytes) return { entry, problems: [sizeProblem(size, maxBytes)] };
    bytes = await files.read(entry.location);
  } catch (error) {
    if (context.host.signal.aborted) throw context.abortError(); // the file may be readable
    const { problem } = obstacle("unreadable", entry.path, error);
    return { entry, problems: [found("unreadable", problem)] };
  }
  return {
    entry,
    problems: await contentProblems(entry.path, bytes, splitting),
    hash: sha256(bytes),
  };
}

function sizeProblem(size: number, limit: number): LintProblem {
  const shown = [formatBytes(size), formatBytes(limit)];
  const [actual, allowed] = shown[0] === shown[1] ? [`${size} bytes`, limit] : shown;
  return found("size", `${actual}, more than the limit of ${allowed}`);
}

/** Problems of a path as the name of a document; `seen` has the paths before it. */
function* nameProblems(path: string, seen: Map<string, string>): Generator<LintProblem> {
  const length = [...path].length;
  if (length > MAX_NAME_LENGTH)
    yield found(
      "name-length",
      `the path has ${length} characters; the limit is ${MAX_NAME_LENGTH}`,
    );
  // oxlint-disable-next-line no-control-regex -- file names may have them
  const character = /[\\\u0000-\u001f\u007f]/.exec(path)?.[0];
  if (character !== undefined) {
    const sign = character === "\\" ? "a backslash" : "a control character";
    yield found("name-sign", `the name contains ${sign}`);
  }
  const name = withSlashes(unicodeForm(path, "NFC"));
  const other = seen.get(name.toLowerCase());
  if (other === undefined) seen.set(name.toLowerCase(), path);
  else if (withSlashes(unicodeForm(other, "NFC")) === name)
    yield found("name-clash", `the document name is the same as for ${other}`);
  else yield found("name-case", `the document name differs from that of ${other} only in case`);
}

/** Reports a file whose content another one has; `seen` has the files before it, by hash. */
function* duplicateProblems(
  { entry: { path }, problems, hash }: CheckedEntry,
  seen: Map<string, string>,
): Generator<LintProblem> {
  if (hash === undefined) return;
  const isEmpty = problems.some(({ finding }) => finding === "empty");
  const other = isEmpty ? undefined : seen.get(hash);
  if (other === undefined) seen.set(hash, path);
  else yield found("duplicate", `same content as ${other}, so searches find both`);
}
