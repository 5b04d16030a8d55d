import type { Case } from "./simulate.ts";

/** Cases that failed once, each with what was wrong. Their faults are named by what they strike. */
export const cases: readonly Case[] = [];
