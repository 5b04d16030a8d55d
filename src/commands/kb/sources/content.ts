import { constants } from "node:buffer";
import { toUtf8 } from "../../../lib/formats/encoding.ts";
import { decodeUtf8 } from "../../../lib/text.ts";

/** Text files: their content is what is indexed. */
export const textKinds: ReadonlySet<string> = new Set(["txt", "md", "markdown", "mdx"]);
/** Files with text that the server extracts (server §9.3). */
export const markupKinds: ReadonlySet<string> = new Set([
  "html",
  "htm",
  "csv",
  "vtt",
  "properties",
]);
/** Other files that every server accepts (server §9.3). */
export const binaryKinds: ReadonlySet<string> = new Set(["pdf", "docx", "xlsx", "xls"]);
/** Files that only servers with a special setting accept (server §9.3). */
export const extraKinds: ReadonlySet<string> = new Set([
  "doc",
  "pptx",
  "eml",
  "msg",
  "xml",
  "epub",
]);

/** The extension in lower case without its dot; "" if there is none. */
export const extensionOf = (path: string): string =>
  /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";

/** Default upload limit of a server (server §9.3); text is not uploaded. */
export const uploadLimit = 15 * 2 ** 20;

/** Is a file sent as text or uploaded? Undefined if no server accepts it. */
export function uploadKind(path: string): "text" | "file" | undefined {
  const extension = extensionOf(path);
  if (textKinds.has(extension)) return "text";
  return [markupKinds, binaryKinds, extraKinds].some((kinds) => kinds.has(extension))
    ? "file"
    : undefined;
}

/**
 * The content of a file with its text as UTF-8; uploaded texts only where the encoding is given. Pages say theirs, and
 * other files are no plain text. Throws usage.
 */
export const recoded = async (path: string, bytes: Uint8Array, encoding?: string) =>
  uploadKind(path) === "text" || (encoding !== undefined && /\.(csv|vtt|properties)$/i.test(path))
    ? toUtf8(bytes, encoding)
    : bytes;

/** What to do about a content that cannot be that of a document. */
export const contentFixes = {
  pointer:
    "fetch the content with git lfs pull or git annex get and sync that checkout, or exclude it",
  binary: "correct the extension, or exclude it",
  encoding: "name its encoding with --encoding (kb lint may know it), or save it as UTF-8",
  nul: "remove the character",
  size: "split it, or exclude it",
} as const;

/** Why a content cannot be that of a document. */
export interface ContentProblem {
  readonly finding: keyof typeof contentFixes;
  readonly problem: string;
}

/** How the files begin that stand for a content which git keeps elsewhere, and their size at most. */
const pointers = [
  [/^version https:\/\/(git-lfs|hawser)\.github\.com\/spec\/.*\r?\n(.*\n)*?oid sha256:/, "Git LFS"],
  [/^\/annex\/objects\/\S+\s*$/, "git-annex"],
] as const;
const MAX_POINTER = 1024;

/** Is it a pointer to a content instead of one? It would be indexed as a few lines of text. */
export function pointerProblem(bytes: Uint8Array): ContentProblem | undefined {
  if (bytes.length > MAX_POINTER) return undefined;
  const text = new TextDecoder().decode(bytes);
  const [, name] = pointers.find(([start]) => start.test(text)) ?? [];
  return name && { finding: "pointer", problem: `a pointer of ${name}, not the content` };
}

/** Why bytes are not a text to send; undefined if they are. */
export function textProblem(bytes: Uint8Array): ContentProblem | undefined {
  const wide = wideName(bytes);
  if (wide) return { finding: "encoding", problem: `encoded as ${wide}, not UTF-8` };
  const text = decodeUtf8(bytes);
  if (text === undefined && bytes.length > constants.MAX_STRING_LENGTH)
    return { finding: "size", problem: "longer than 512 MB, the most that a text can be" };
  if (text === undefined)
    return bytes.subarray(0, 8192).includes(0)
      ? { finding: "binary", problem: "the content is binary" }
      : { finding: "encoding", problem: `not valid UTF-8 text (line ${invalidLine(bytes)})` };
  const nul = text.indexOf("\0");
  if (nul === -1) return undefined;
  const line = text.slice(0, nul).split("\n").length;
  const problem = `contains a NUL character (line ${line}), which servers delete or reject`;
  return { finding: "nul", problem };
}

/** The encoding with more than one byte for each character, by the mark of UTF-32 or by the NULs of its ASCII. */
function wideName(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 4)).toString("hex");
  if (start === "fffe0000" || start === "0000feff") return "UTF-32";
  return /^(00[1-7].|[1-7].00){2}$/.test(start) ? "UTF-16 without a byte order mark" : undefined;
}

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
