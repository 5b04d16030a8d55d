/** Age in ms from which an unfinished document is stuck, by default. */
export const defaultStuckAge = 3_600_000;

/** Statuses of chunks that no search finds. */
export const unindexed = ["waiting", "indexing", "error", "paused", "re_segment"] as const;
