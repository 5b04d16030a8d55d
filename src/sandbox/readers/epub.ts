import { type Archive, linkedPath, openArchive, textAt } from "./archive.ts";
import { htmlText } from "./html.ts";
import { UnreadableFile } from "./limits.ts";
import { walkXml } from "./markup.ts";

/** The path of the file that lists the chapters. */
function packagePath(archive: Archive): string {
  let path: string | undefined;
  walkXml(textAt(archive, "META-INF/container.xml"), {
    open(name, attributes) {
      if (name === "rootfile") path ??= attributes["full-path"];
    },
  });
  if (path === undefined) throw new UnreadableFile("it names no list of its chapters");
  return path;
}

/** The paths of the chapters in their order, each once. */
function chapterPaths(archive: Archive): string[] {
  const list = packagePath(archive);
  const files = new Map<string | undefined, string>();
  const chapters = new Set<string>();
  walkXml(textAt(archive, list), {
    open(name, { id, href, idref }) {
      if (name === "item" && href !== undefined) files.set(id, linkedPath(list, href));
      if (name === "itemref") chapters.add(files.get(idref) ?? "");
    },
  });
  return [...chapters].filter(Boolean);
}

/** The paths of encrypted files; the text of a book can be readable though its fonts are not. */
function encryptedPaths(archive: Archive): ReadonlySet<string> {
  const paths = new Set<string>();
  walkXml(archive.get("META-INF/encryption.xml") ?? "", {
    open(name, { URI: path }) {
      if (name === "CipherReference" && path !== undefined) paths.add(linkedPath("", path));
    },
  });
  return paths;
}

/** Reads a book: a part for each chapter. */
export function readEpub(bytes: Uint8Array): readonly string[] {
  const archive = openArchive(bytes);
  const encrypted = encryptedPaths(archive);
  return chapterPaths(archive).map((path) => {
    if (encrypted.has(path)) throw new UnreadableFile("it is encrypted");
    return htmlText(textAt(archive, path));
  });
}
