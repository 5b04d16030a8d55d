import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { usage, verdict } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { encodingName } from "../../../lib/formats/encoding.ts";
import { formatBytes, parseBytes } from "../../../lib/numbers.ts";
import { sha256 } from "../../../lib/sha256.ts";
import {
  counted,
  isFileName,
  isPath,
  unicodeForm,
  withSlashes,
  decodeUtf8,
} from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import {
  obstacle,
  recoded,
  uploadKind,
  uploadLimit,
  walkFiles,
  binaryKinds,
  contentFixes,
  extensionOf,
  extraKinds,
  markupKinds,
  pointerProblem,
  textKinds,
  textProblem,
} from "../sources/index.ts";
import { MAX_NAME_LENGTH } from "../sync/index.ts";
import type { FoundFile, Obstacle } from "../sources/index.ts";
import { splittingFor, unmatchedSeparators, previewText } from "../chunks/index.ts";
import type { Splitting } from "../chunks/index.ts";
import type { lintParams } from "./command.ts";
import { proposedEncoding } from "./propose-encoding.ts";
import { parseFrontMatter } from "../../../lib/formats/yaml.ts";

interface LintRow extends LintProblem {
  /** Path relative to the directory. */
  readonly file: string;
}

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
  if (input.encoding !== undefined) await encodingName(input.encoding);
  const splitting = await splittingFor(input, context);
  const reading = { ...splitting, limit, encoding: input.encoding };
  const check = (entry: FoundFile | Obstacle) => checkEntry(entry, reading, context);
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

type Reading = Splitting &
  Record<"limit", number | undefined> &
  Pick<Input<typeof lintParams>, "encoding">;

async function checkEntry(
  entry: FoundFile | Obstacle,
  { limit, encoding, ...splitting }: Reading,
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
    bytes = await recoded(entry.path, await files.read(entry.location), encoding);
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

const exclude = "repair it, or exclude it with .kbignore or --exclude";

/** Findings, their severity and what to do; a file with a warning is still accepted. */
const findings = {
  empty: ["error", "add text, or exclude it"],
  size: ["error", "split it, or set the limit of the server with --max-size"],
  kind: [
    "error",
    "exclude it with .kbignore or --exclude, convert it to .md or .pdf, or add its text with kb doc add",
  ],
  "maybe-kind": ["warning", "set ETL_TYPE on the server, or convert the file"],
  "wrong-kind": ["warning", "check the file: it may be damaged or have the wrong extension"],
  binary: ["error", contentFixes.binary],
  encoding: ["error", contentFixes.encoding],
  pointer: ["error", contentFixes.pointer],
  nul: ["error", contentFixes.nul],
  bom: ["warning", "save it as UTF-8 without BOM"],
  "front-matter": ["error", "fix the YAML between the --- lines"],
  "name-length": ["error", "shorten it"],
  "name-sign": ["error", "rename it"],
  "name-clash": ["error", "rename or exclude one: they differ only in Unicode form or the slash"],
  "name-case": ["warning", "rename one of them: some disks take both for one file"],
  duplicate: ["warning", "keep one of them"],
  separator: ["warning", "choose one of ASCII characters"],
  "cut-sentences": ["warning", "add empty lines, or split with longer chunks"],
  "cut-blocks": ["warning", "make tables and code blocks shorter, or split with longer chunks"],
  "glued-words": [
    "warning",
    "add empty lines, split with longer chunks, or update the server to 1.16.1",
  ],
  "deleted-characters": [
    "warning",
    "replace them; ï, ¿ and ¾ are kept by servers of 1.16.1 or later",
  ],
  unreadable: ["error", exclude],
  "broken-link": ["error", exclude],
  "link-loop": ["error", exclude],
  "outside-link": ["error", exclude],
  "no-file": ["error", exclude],
} as const satisfies Record<string, readonly [severity: "error" | "warning", fix: string]>;

/** A problem of a file. */
interface LintProblem {
  readonly severity: "error" | "warning";
  /** Stable word for programs. */
  readonly finding: keyof typeof findings;
  readonly problem: string;
  readonly fix: string;
}

/** The problem of a finding. */
function found(finding: LintProblem["finding"], problem: string): LintProblem {
  const [severity, fix] = findings[finding];
  return { severity, finding, problem, fix };
}

const isText = (extension: string) => textKinds.has(extension) || markupKinds.has(extension);

/** Problems with the type of a file, by its name. */
function* kindProblems(path: string): Generator<LintProblem> {
  const extension = extensionOf(path);
  if (isText(extension) || binaryKinds.has(extension)) return;
  const files = extension === "" ? "files without an extension" : `.${extension} files`;
  if (extraKinds.has(extension))
    yield found("maybe-kind", `only servers with a special setting accept ${files}`);
  else yield found("kind", `the server does not accept ${files}`);
}

/** First bytes of files as Latin-1; Office files are ZIP files. */
const signatures: readonly (readonly [start: string, name: string, kinds: readonly string[]])[] = [
  ["%PDF-", "a PDF", ["pdf"]],
  ["PK\u0003\u0004", "a ZIP or an Office file", ["docx", "xlsx", "pptx", "epub"]],
  ["\u00d0\u00cf\u0011\u00e0", "an older Office file", ["xls", "doc", "msg"]],
  ["\u0089PNG", "a picture", []],
  ["\u00ff\u00d8\u00ff", "a picture", []],
  ["GIF8", "a picture", []],
  ["\u001f\u008b", "a compressed file", []],
  ["\u007fELF", "a program", []],
];

/** Problems with the content of a file. */
async function contentProblems(
  path: string,
  bytes: Uint8Array,
  splitting: Splitting,
): Promise<LintProblem[]> {
  const extension = extensionOf(path);
  const firstBytes = Buffer.from(bytes.subarray(0, 8)).toString("latin1");
  const signature = signatures.find(([start]) => firstBytes.startsWith(start));
  if (bytes.length === 0) return [empty];
  const pointer = pointerProblem(bytes);
  if (pointer) return [found(pointer.finding, pointer.problem)];
  if (!isText(extension)) {
    const [, , kinds = []] = signatures.find(([, , each]) => each.includes(extension)) ?? [];
    if (kinds.length === 0 || signature?.[2] === kinds) return [];
    const but = signature ? `, but of ${signature[1]}` : "";
    return [found("wrong-kind", `the content is not that of .${extension}${but}`)];
  }
  if (signature) return [found("binary", `the content is ${signature[1]}, not text`)];
  const problems = await textProblems(extension, bytes, splitting);
  const [first = empty] = problems;
  if (!["encoding", "binary"].includes(first.finding)) return problems;
  const name = await proposedEncoding(bytes);
  if (name === undefined && first.finding === "binary") return problems;
  const unknown = "its encoding is unknown: name it with --encoding, or save it as UTF-8";
  return [{ ...first, fix: name ? `it reads as ${name}: --encoding ${name}` : unknown }];
}

const empty = found("empty", "the file has no text");

async function textProblems(extension: string, bytes: Uint8Array, splitting: Splitting) {
  const unfit = textProblem(bytes);
  const decoded = decodeUtf8(bytes);
  if (decoded === undefined || (unfit && unfit.finding !== "nul"))
    return unfit ? [found(unfit.finding, unfit.problem)] : [];
  const problems: LintProblem[] = [];
  if (decoded.startsWith("\uFEFF")) {
    problems.push(found("bom", "starts with a byte order mark, which an upload keeps as text"));
  }
  const text = decoded.replace(/^\uFEFF/, "");
  if (text.trim() === "") return [...problems, empty];
  if (unfit) problems.push(found(unfit.finding, unfit.problem));
  if (textKinds.has(extension)) {
    const matter = await parseFrontMatter(decoded);
    if (matter.kind === "broken") {
      const problem = `invalid front matter (line ${matter.line}): ${matter.reason}`;
      problems.push(found("front-matter", problem));
    }
    if (!unfit) problems.push(...splitProblems(text, splitting));
  }
  return problems;
}

/** What the chunks of a text will cut or lack (server §9.9). */
function* splitProblems(text: string, splitting: Splitting): Generator<LintProblem> {
  const { counts } = previewText(text, splitting).figures;
  const { cut_sentences, cut_blocks, glued_words: glued, deleted_characters: deleted } = counts;
  const ends = (count: number) => `${counted(count, "chunk")} will end inside a`;
  if (cut_sentences > 0) yield found("cut-sentences", `${ends(cut_sentences)} sentence`);
  if (cut_blocks > 0) yield found("cut-blocks", `${ends(cut_blocks)} table or code block`);
  if (glued > 0)
    yield found(
      "glued-words",
      `${counted(glued, "word")} will be glued to the one before, so that searches for them fail`,
    );
  if (deleted > 0)
    yield found("deleted-characters", `the server will delete ${counted(deleted, "character")}`);
}
