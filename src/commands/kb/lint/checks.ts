import {
  binaryKinds,
  extensionOf,
  extraKinds,
  markupKinds,
  textKinds,
} from "../sync/file-kinds.ts";
import { parseFrontMatter } from "../../../lib/front-matter.ts";

/** One thing that is wrong with a file. */
export interface Problem {
  /** Stable word for programs. */
  readonly finding: Finding;
  /** What is wrong, as a sentence without its end. */
  readonly problem: string;
  /** What to do about it. */
  readonly fix: string;
}

/** Every finding, and whether the file comes through: with a warning it does. */
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

export type Finding = keyof typeof findings;

const isText = (extension: string) => textKinds.has(extension) || markupKinds.has(extension);

/** What is wrong with the kind of a file, as far as its name says. */
export function* kindProblems(path: string): Generator<Problem> {
  const extension = extensionOf(path);
  if (isText(extension) || binaryKinds.has(extension)) return;
  const called = extension === "" ? "a file without an extension" : `.${extension}`;
  if (extraKinds.has(extension)) {
    yield {
      finding: "maybe-kind",
      problem: `only servers set up for it take ${called}`,
      fix: "ask the operator for ETL_TYPE, or save it as another kind",
    };
    return;
  }
  yield {
    finding: "kind",
    problem: `the server does not take ${called}`,
    fix: "leave it out by .kbignore or --exclude, save it as .md or .pdf, or add its text: kb doc add",
  };
}

/** How files of a kind begin, as Latin-1; a ZIP is what Office files are. */
const signatures: readonly (readonly [begins: string, name: string, kinds: readonly string[]])[] = [
  ["%PDF-", "a PDF", ["pdf"]],
  ["PK\u0003\u0004", "a ZIP or an Office file", ["docx", "xlsx", "pptx", "epub"]],
  ["\u00d0\u00cf\u0011\u00e0", "an older Office file", ["xls", "doc", "msg"]],
  ["\u0089PNG", "a picture", []],
  ["\u00ff\u00d8\u00ff", "a picture", []],
  ["GIF8", "a picture", []],
  ["\u001f\u008b", "a compressed file", []],
  ["\u007fELF", "a program", []],
];

/** What is wrong with the bytes of a file. */
export async function contentProblems(path: string, bytes: Uint8Array): Promise<Problem[]> {
  const extension = extensionOf(path);
  const begin = Buffer.from(bytes.subarray(0, 8)).toString("latin1");
  const looks = signatures.find(([begins]) => begin.startsWith(begins));
  if (bytes.length === 0) return [empty];
  if (!isText(extension)) {
    const [, , kinds = []] = signatures.find(([, , each]) => each.includes(extension)) ?? [];
    if (kinds.length === 0 || looks?.[2] === kinds) return [];
    return [
      {
        finding: "wrong-kind",
        problem: `it does not begin like .${extension}${looks ? ` but like ${looks[1]}` : ""}`,
        fix: "open it: it may be damaged or have the wrong extension",
      },
    ];
  }
  if (looks) {
    return [
      {
        finding: "binary",
        problem: `it is ${looks[1]}, not text`,
        fix: `give it its own extension, or leave it out`,
      },
    ];
  }
  return textProblems(extension, bytes);
}

const empty: Problem = {
  finding: "empty",
  problem: "it holds no words",
  fix: "write something, or leave it out",
};

async function textProblems(extension: string, bytes: Uint8Array): Promise<Problem[]> {
  const wide = utf16(bytes);
  const decoded = wide === undefined ? utf8(bytes) : undefined;
  if (decoded === undefined) {
    const isBinary = wide === undefined && bytes.subarray(0, 8192).includes(0);
    return [
      isBinary
        ? { finding: "binary", problem: "it is no text", fix: "leave it out" }
        : {
            finding: "encoding",
            problem: wide ? `it is ${wide}, not UTF-8` : `it is not UTF-8 (line ${badLine(bytes)})`,
            fix: "save it as UTF-8",
          },
    ];
  }
  const problems: Problem[] = [];
  if (decoded.startsWith("\uFEFF")) {
    problems.push({
      finding: "bom",
      problem: "it begins with a byte order mark, which becomes a part of its text",
      fix: "save it as UTF-8 without BOM",
    });
  }
  const words = decoded.replace(/^\uFEFF/, "");
  if (words.trim() === "") return [...problems, empty];
  const nul = words.indexOf("\0");
  if (nul !== -1) {
    problems.push({
      finding: "nul",
      problem: `it holds a NUL character (line ${lineAt(words, nul)}), which the server refuses`,
      fix: "take the character out",
    });
  }
  if (textKinds.has(extension)) {
    const matter = await parseFrontMatter(decoded);
    if (matter.kind === "broken") {
      problems.push({
        finding: "front-matter",
        problem: `the front matter is broken (line ${matter.line}): ${matter.reason}`,
        fix: "correct the YAML between the lines ---",
      });
    }
  }
  return problems;
}

/** Name of the encoding of a text whose first bytes say that it is no UTF-8. */
function utf16([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "UTF-16 (LE)";
  return first === 0xfe && second === 0xff ? "UTF-16 (BE)" : undefined;
}

/** The text with its byte order mark; undefined where it is no UTF-8. */
function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const lineAt = (decoded: string, index: number): number =>
  decoded.slice(0, index).split("\n").length;

/** The line of the first byte that is no UTF-8: a line feed is never a part of another character. */
function badLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const feed = bytes.indexOf(10, start);
    const end = feed === -1 ? bytes.length : feed;
    if (utf8(bytes.subarray(start, end)) === undefined) return line;
    start = end + 1;
  }
  return line;
}
