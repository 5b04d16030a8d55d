import type { Case } from "./simulate.ts";

/** Cases that failed once, each with the bug that it found. Their faults are named by the step they strike. */
export const cases: readonly Case[] = [];
