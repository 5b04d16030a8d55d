/** Kinds that are made from text: what is in the file is what is indexed. */
const texts: ReadonlySet<string> = new Set(["md", "markdown", "mdx", "txt"]);
/** Kinds that the server reads by itself (server §9.3); some only with a setting of it. */
const files: ReadonlySet<string> = new Set([
  "pdf",
  "html",
  "htm",
  "xlsx",
  "xls",
  "docx",
  "csv",
  "vtt",
  "properties",
  "doc",
  "pptx",
  "ppt",
  "eml",
  "msg",
  "xml",
  "epub",
]);

/** How a file becomes a document; undefined for kinds that no server takes. */
export function kindOf(path: string): "text" | "file" | undefined {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return texts.has(extension) ? "text" : files.has(extension) ? "file" : undefined;
}
