import stringWidth from "string-width";
import { widthOf } from "../../src/output/display-width.ts";

/** Widths of single characters that terminals and string-width disagree about. */
const fillers = /[\u115f-\u11ff\u3164\uffa0\u{1f1e6}-\u{1f1ff}]/u;

/** Every nth character whose width is not that of string-width, as hexadecimal code points. */
export function differentWidths(nth: number): string[] {
  const different: string[] = [];
  for (let code = 0x20; code < 0x20000; code += nth) {
    const character = String.fromCodePoint(code);
    if (/[\p{Cn}\p{Co}\p{Cc}\p{Cs}\p{Bidi_Control}]/u.test(character)) continue;
    if (widthOf(character) !== stringWidth(character) && !fillers.test(character))
      different.push(code.toString(16));
  }
  return different;
}
