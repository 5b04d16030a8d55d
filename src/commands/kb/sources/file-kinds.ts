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

/** Is a file sent as text or uploaded? Undefined if no server accepts it. */
export function uploadKind(path: string): "text" | "file" | undefined {
  const extension = extensionOf(path);
  if (textKinds.has(extension)) return "text";
  return [markupKinds, binaryKinds, extraKinds].some((kinds) => kinds.has(extension))
    ? "file"
    : undefined;
}
