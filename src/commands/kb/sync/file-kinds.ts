/** Kinds that are made from text: what is in the file is what is indexed. */
export const textKinds: ReadonlySet<string> = new Set(["txt", "md", "markdown", "mdx"]);
/** Kinds that hold text and are read by the server (server §9.3). */
export const markupKinds: ReadonlySet<string> = new Set([
  "html",
  "htm",
  "csv",
  "vtt",
  "properties",
]);
/** Other kinds that every server takes (server §9.3). */
export const binaryKinds: ReadonlySet<string> = new Set(["pdf", "docx", "xlsx", "xls"]);
/** Kinds that need a setting of the server (server §9.3). */
export const extraKinds: ReadonlySet<string> = new Set([
  "doc",
  "pptx",
  "eml",
  "msg",
  "xml",
  "epub",
]);

/** Lower case, without its dot; "" where there is none. */
export const extensionOf = (path: string): string =>
  /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";

/** How a file becomes a document; undefined for kinds that no server takes. */
export function kindOf(path: string): "text" | "file" | undefined {
  const extension = extensionOf(path);
  if (textKinds.has(extension)) return "text";
  return [markupKinds, binaryKinds, extraKinds].some((kinds) => kinds.has(extension))
    ? "file"
    : undefined;
}
