/** A number with its noun: `1 row`, `2 rows`; `plural` where it does not end in s. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** A text of at most `max` characters; `…` follows one that is cut. */
export function shortened(text: string, max: number): string {
  const start = Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join("");
  return start.length < text.length ? `${start}…` : text;
}

/** The first names of several: `a, b, c, d, e and 7 more`. */
export function firstNames(names: readonly string[], most = 5): string {
  const rest = names.length - most;
  // A last one alone takes no more room than its count.
  return rest > 1 ? `${names.slice(0, most).join(", ")} and ${rest} more` : names.join(", ");
}
