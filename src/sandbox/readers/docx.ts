import { openArchive, textAt } from "./archive.ts";
import { mainPath, relationsOf } from "./office.ts";
import { paragraphsOf } from "./paragraphs.ts";

const NOTES = ["footnotes", "endnotes"];

/** Reads a Word document: its text with the notes behind it. */
export function readDocx(bytes: Uint8Array): readonly string[] {
  const archive = openArchive(bytes);
  const main = mainPath(archive);
  const notes = relationsOf(archive, main).filter(({ kind }) => NOTES.includes(kind));
  const paths = new Set([main, ...notes.map(({ path }) => path)]);
  return [[...paths].map((path) => paragraphsOf(textAt(archive, path))).join("\n")];
}
