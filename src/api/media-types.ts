import { own } from "../lib/json.ts";

/** What each kind of file is called on the wire, with its extensions in lower case. */
const extensions: Readonly<Record<string, string>> = {
  "text/csv": "csv",
  "text/html": "htm html",
  "text/plain": "log properties txt",
  "text/markdown": "markdown md mdx",
  "text/vtt": "vtt",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "message/rfc822": "eml",
  "application/epub+zip": "epub",
  "application/json": "json",
  "application/vnd.ms-outlook": "msg",
  "application/pdf": "pdf",
  "application/vnd.ms-powerpoint": "ppt",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/xml": "xml",
  "application/yaml": "yaml yml",
  "application/zip": "zip",
  "image/bmp": "bmp",
  "image/gif": "gif",
  "image/jpeg": "jpeg jpg",
  "image/png": "png",
  "image/svg+xml": "svg",
  "image/tiff": "tif tiff",
  "image/webp": "webp",
  "audio/aac": "aac",
  "audio/amr": "amr",
  "audio/flac": "flac",
  "audio/mp4": "m4a",
  "audio/mpeg": "mp3 mpga",
  "audio/ogg": "ogg",
  "audio/wav": "wav",
  "video/quicktime": "mov",
  "video/mp4": "mp4",
  "video/mpeg": "mpeg",
  "video/webm": "webm",
};

const byExtension = new Map(
  Object.entries(extensions).flatMap(([type, names]) =>
    names.split(" ").map((name) => [name, type] as const),
  ),
);

/**
 * Media type of a file by the extension of its name, of `special` before the default table;
 * `application/octet-stream` if unknown.
 */
export function mediaTypeOf(name: string, special: Readonly<Record<string, string>> = {}): string {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return own(special, extension) ?? byExtension.get(extension) ?? "application/octet-stream";
}
