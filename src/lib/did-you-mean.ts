import { closestMatch } from "leven";

/** The word most like `typed`, for "did you mean"; undefined when none is near. */
export function didYouMean(typed: string, words: readonly string[]): string | undefined {
  if (typed.length > 2) {
    const longer = words.find((word) => word.startsWith(typed));
    if (longer !== undefined) return longer;
  }
  return closestMatch(typed, [...words], {
    // Two neighbours swapped are two edits: `tga` is near `tag`.
    maxDistance: typed.length < 3 ? 1 : Math.max(2, Math.floor(typed.length * 0.4)),
  });
}
