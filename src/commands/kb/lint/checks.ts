import { parseFrontMatter } from "../../../lib/front-matter.ts";
import { decodeUtf8 } from "../../../lib/utf8.ts";
import { binaryKinds, extensionOf, extraKinds, markupKinds, textKinds } from "../sync/index.ts";

/** A problem of a file. */
export interface LintProblem {
  /** Stable word for programs. */
  readonly finding: LintFinding;
  readonly problem: string;
  readonly fix: string;
}

/** Findings and their severity; a file with a warning is still accepted. */
export const findings = {
  empty: "error",
  size: "error",
  kind: "error",
  "maybe-kind": "warning",
  "wrong-kind": "warning",
  binary: "error",
  encoding: "error",
  nul: "error",
  bom: "warning",
  "front-matter": "error",
  "name-length": "error",
  "name-sign": "error",
  "name-clash": "error",
  duplicate: "warning",
  unreadable: "error",
  "broken-link": "error",
  "link-loop": "error",
  "outside-link": "error",
  "no-file": "warning",
} as const satisfies Record<string, "error" | "warning">;

export type LintFinding = keyof typeof findings;

const isText = (extension: string) => textKinds.has(extension) || markupKinds.has(extension);

/** Problems with the type of a file, by its name. */
export function* kindProblems(path: string): Generator<LintProblem> {
  const extension = extensionOf(path);
  if (isText(extension) || binaryKinds.has(extension)) return;
  const files = extension === "" ? "files without an extension" : `.${extension} files`;
  if (extraKinds.has(extension)) {
    yield {
      finding: "maybe-kind",
      problem: `only servers with a special setting accept ${files}`,
      fix: "set ETL_TYPE on the server, or convert the file",
    };
    return;
  }
  yield {
    finding: "kind",
    problem: `the server does not accept ${files}`,
    fix: "exclude it with .kbignore or --exclude, convert it to .md or .pdf, or add its text with kb doc add",
  };
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
export async function contentProblems(path: string, bytes: Uint8Array): Promise<LintProblem[]> {
  const extension = extensionOf(path);
  const firstBytes = Buffer.from(bytes.subarray(0, 8)).toString("latin1");
  const signature = signatures.find(([start]) => firstBytes.startsWith(start));
  if (bytes.length === 0) return [empty];
  if (!isText(extension)) {
    const [, , kinds = []] = signatures.find(([, , each]) => each.includes(extension)) ?? [];
    if (kinds.length === 0 || signature?.[2] === kinds) return [];
    return [
      {
        finding: "wrong-kind",
        problem: `the content is not that of .${extension}${signature ? `, but of ${signature[1]}` : ""}`,
        fix: "check the file: it may be damaged or have the wrong extension",
      },
    ];
  }
  if (signature) {
    return [
      {
        finding: "binary",
        problem: `the content is ${signature[1]}, not text`,
        fix: "correct the extension, or exclude it",
      },
    ];
  }
  return textProblems(extension, bytes);
}

const empty: LintProblem = {
  finding: "empty",
  problem: "the file has no text",
  fix: "add text, or exclude it",
};

async function textProblems(extension: string, bytes: Uint8Array): Promise<LintProblem[]> {
  const fix = "save it as UTF-8";
  const wide = utf16Name(bytes);
  if (wide) return [{ finding: "encoding", problem: `encoded as ${wide}, not UTF-8`, fix }];
  const decoded = decodeUtf8(bytes);
  if (decoded === undefined) {
    if (bytes.subarray(0, 8192).includes(0))
      return [{ finding: "binary", problem: "the content is binary", fix: "exclude it" }];
    const problem = `not valid UTF-8 (line ${invalidLine(bytes)})`;
    return [{ finding: "encoding", problem, fix }];
  }
  const problems: LintProblem[] = [];
  if (decoded.startsWith("\uFEFF")) {
    problems.push({
      finding: "bom",
      problem: "starts with a byte order mark, which becomes part of the text",
      fix: "save it as UTF-8 without BOM",
    });
  }
  const text = decoded.replace(/^\uFEFF/, "");
  if (text.trim() === "") return [...problems, empty];
  const nul = text.indexOf("\0");
  if (nul !== -1) {
    problems.push({
      finding: "nul",
      problem: `contains a NUL character (line ${lineAt(text, nul)}), which the server rejects`,
      fix: "remove the character",
    });
  }
  if (textKinds.has(extension)) {
    const matter = await parseFrontMatter(decoded);
    if (matter.kind === "broken") {
      problems.push({
        finding: "front-matter",
        problem: `invalid front matter (line ${matter.line}): ${matter.reason}`,
        fix: "fix the YAML between the --- lines",
      });
    }
  }
  return problems;
}

/** Name of the encoding if the text starts with a byte order mark of UTF-16. */
function utf16Name([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "UTF-16 (LE)";
  return first === 0xfe && second === 0xff ? "UTF-16 (BE)" : undefined;
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split("\n").length;

/** The first line that is not UTF-8; a line feed is never part of another character. */
function invalidLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const feed = bytes.indexOf(10, start);
    const end = feed === -1 ? bytes.length : feed;
    if (decodeUtf8(bytes.subarray(start, end)) === undefined) return line;
    start = end + 1;
  }
  return line;
}
