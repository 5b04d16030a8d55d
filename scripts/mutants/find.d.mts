/** A change of a file: what stands in place of what is between two places in its text. */
export interface Mutant {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** The line on which it begins. */
  readonly text: string;
  /** Is it evaluated once, when the file is imported? */
  readonly isStatic: boolean;
  readonly what: string;
  readonly from: string;
  readonly to: string;
}

export function mutantsOf(code: string): Mutant[];
export function isReasonFor(
  reason: { readonly in: string; readonly line?: string },
  mutant: Mutant & { readonly file: string },
): boolean;
export function mutated(mutant: Mutant, code: string): string;
export function watched(pairs: readonly (readonly [id: number, Mutant])[], code: string): string;
