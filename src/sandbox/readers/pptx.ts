import { openArchive, textAt } from "./archive.ts";
import { walkXml } from "./markup.ts";
import { mainPath, relationId, relationsOf } from "./office.ts";
import { paragraphsOf } from "./paragraphs.ts";

/** Reads a presentation: a part for each slide, in the order of the presentation. */
export function readPptx(bytes: Uint8Array): readonly string[] {
  const archive = openArchive(bytes);
  const main = mainPath(archive);
  const relations = relationsOf(archive, main);
  const slides: string[] = [];
  walkXml(textAt(archive, main), {
    open(name, attributes) {
      if (name !== "sldId") return;
      const slide = relations.find(({ id }) => id === relationId(attributes));
      if (slide) slides.push(slide.path);
    },
  });
  return slides.map((path) => paragraphsOf(textAt(archive, path)));
}
