import { decodeBytes } from "./decode.ts";
import { walkXml } from "./markup.ts";

/** Reads XML of any kind: the texts of its elements, one a line. */
export function readXml(bytes: Uint8Array): readonly string[] {
  const lines: string[] = [];
  walkXml(decodeBytes(bytes), {
    text(text) {
      const line = text.trim();
      if (line !== "") lines.push(line);
    },
  });
  return [lines.join("\n")];
}
