import { readWordXml } from "./markup.ts";
import { officeParts } from "../../lib/formats/office-parts.ts";

/** The texts of a Word document: pictures and styles are not unpacked. */
const TEXTS = /^word\/(?:document|footnotes|endnotes)\d*\.xml$/;

/** Reads a Word document: a part for its text, and one for each kind of notes. Throws UnreadableFile. */
export const readDocx = (bytes: Uint8Array): readonly string[] =>
  officeParts(bytes, TEXTS).flatMap(({ content }) => readWordXml(content));
