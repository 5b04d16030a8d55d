import { openArchive, textAt } from "./archive.ts";
import { linkedParts, mainPath } from "./office.ts";
import { paragraphsOf } from "./paragraphs.ts";

/** Reads a presentation: a part for each slide, in the order of the presentation. */
export function readPptx(bytes: Uint8Array): readonly string[] {
  const archive = openArchive(bytes);
  const slides = linkedParts(archive, mainPath(archive), "sldId");
  return slides.map((path) => paragraphsOf(textAt(archive, path)));
}
