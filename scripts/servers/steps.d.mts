import type { Refusal } from "./judge.ts";

export interface Step {
  readonly operation: string;
  readonly line: string;
  readonly learns: Readonly<Record<string, string | undefined>>;
}

export interface Scene {
  readonly modes?: readonly string[];
  readonly steps: readonly Step[];
}

export const scenes: readonly Scene[];
export const refusals: readonly Refusal[];
