import { closestMatch } from "leven";

/** The word closest to `typed`, for "did you mean"; undefined if none is close. */
export function didYouMean(typed: string, words: readonly string[]): string | undefined {
  if (typed.length > 2) {
    const longer = words.find((word) => word.startsWith(typed));
    if (longer !== undefined) return longer;
  }
  return closestMatch(typed, [...words], {
    // Two swapped letters are two edits: `tga` is close to `tag`.
    maxDistance: typed.length < 3 ? 1 : Math.max(2, Math.floor(typed.length * 0.4)),
  });
}
