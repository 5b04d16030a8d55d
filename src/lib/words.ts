const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** The words of a text and what is between them, of one piece after the other. */
export function* segmentsOf(text: string): Generator<Intl.SegmentData> {
  for (let start = 0; start < text.length;) {
    const end = pieceEnd(text, start);
    for (const each of segmenter.segment(text.slice(start, end)))
      yield { ...each, index: start + each.index };
    start = end;
  }
}

/** Characters that are segmented at once: the time grows with the square of their number. */
const MIN_PIECE = 500;
const MAX_PIECE = 1000;

/** Where to cut a long text: after a blank or a sign that is in no word, if there is one. */
function pieceEnd(text: string, start: number): number {
  if (text.length <= start + MAX_PIECE) return text.length;
  const blank = text
    .slice(start + MIN_PIECE, start + MAX_PIECE)
    .search(/[\s\u3000-\u3003！，：；？]/);
  if (blank >= 0) return start + MIN_PIECE + blank + 1;
  const isInPair = (text.codePointAt(start + MAX_PIECE - 1) ?? 0) > 0xffff;
  return start + MAX_PIECE - Number(isInPair);
}
