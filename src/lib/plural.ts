/** A number with its noun: `1 row`, `2 rows`; `plural` where it does not end in s. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** The first names of several: `a, b, c, d, e and 7 more`. */
export function firstNames(names: readonly string[], most = 5): string {
  const rest = names.length - most;
  // A last one alone takes no more room than its count.
  return rest > 1 ? `${names.slice(0, most).join(", ")} and ${rest} more` : names.join(", ");
}
