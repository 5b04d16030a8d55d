import { parseFrontMatter } from "../../../lib/formats/yaml.ts";
import { counted, decodeUtf8 } from "../../../lib/text.ts";
import { previewText } from "../chunks/index.ts";
import type { Splitting } from "../chunks/index.ts";
import {
  binaryKinds,
  contentFixes,
  extensionOf,
  extraKinds,
  markupKinds,
  pointerProblem,
  textKinds,
  textProblem,
} from "../sources/index.ts";

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
export interface LintProblem {
  readonly severity: "error" | "warning";
  /** Stable word for programs. */
  readonly finding: keyof typeof findings;
  readonly problem: string;
  readonly fix: string;
}

/** The problem of a finding. */
export function found(finding: LintProblem["finding"], problem: string): LintProblem {
  const [severity, fix] = findings[finding];
  return { severity, finding, problem, fix };
}

const isText = (extension: string) => textKinds.has(extension) || markupKinds.has(extension);

/** Problems with the type of a file, by its name. */
export function* kindProblems(path: string): Generator<LintProblem> {
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
export async function contentProblems(
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
  return textProblems(extension, bytes, splitting);
}

const empty = found("empty", "the file has no text");

async function textProblems(extension: string, bytes: Uint8Array, splitting: Splitting) {
  const unfit = textProblem(bytes);
  const decoded = decodeUtf8(bytes);
  if (decoded === undefined || (unfit && unfit.finding !== "nul"))
    return unfit ? [found(unfit.finding, unfit.problem)] : [];
  const problems: LintProblem[] = [];
  if (decoded.startsWith("\uFEFF")) {
    problems.push(found("bom", "starts with a byte order mark, which becomes part of the text"));
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
    if (!unfit) problems.push(...splitProblems(decoded, splitting));
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
