/** What each kind of file is called on the wire; extensions in lower case. */
const byExtension: Readonly<Record<string, string>> = {
  csv: "text/csv",
  htm: "text/html",
  html: "text/html",
  log: "text/plain",
  markdown: "text/markdown",
  md: "text/markdown",
  mdx: "text/markdown",
  properties: "text/plain",
  txt: "text/plain",
  vtt: "text/vtt",
  doc: "application/msword",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  eml: "message/rfc822",
  epub: "application/epub+zip",
  json: "application/json",
  msg: "application/vnd.ms-outlook",
  pdf: "application/pdf",
  ppt: "application/vnd.ms-powerpoint",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  xls: "application/vnd.ms-excel",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
  bmp: "image/bmp",
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  png: "image/png",
  svg: "image/svg+xml",
  tif: "image/tiff",
  tiff: "image/tiff",
  webp: "image/webp",
  aac: "audio/aac",
  amr: "audio/amr",
  flac: "audio/flac",
  m4a: "audio/mp4",
  mp3: "audio/mpeg",
  mpga: "audio/mpeg",
  ogg: "audio/ogg",
  wav: "audio/wav",
  mov: "video/quicktime",
  mp4: "video/mp4",
  mpeg: "video/mpeg",
  webm: "video/webm",
};

/**
 * Media type of a file by the extension of its name, of `special` before the default table;
 * `application/octet-stream` if unknown.
 */
export function mediaTypeOf(name: string, special: Readonly<Record<string, string>> = {}): string {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const known = [special, byExtension].find((table) => Object.hasOwn(table, extension));
  return known?.[extension] ?? "application/octet-stream";
}
