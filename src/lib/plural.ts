/** A number with its noun: `1 row`, `2 rows`; `plural` where it does not end in s. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;
