/** A bug that can be planted. */
export interface PlantedBug {
  readonly name: string;
  /** What the program promises, in one sentence. */
  readonly promise: string;
  /** A name that the file exports, or the path of a file below src. */
  readonly in: string;
  readonly from: string;
  readonly to: string;
  /** Test files that see the bug. */
  readonly tests: readonly string[];
  /** Pattern of the names of the tests to run in them. */
  readonly only?: string;
  /** Too slow for `npm test`, which plants some of the others. */
  readonly slow?: true;
}

export const bugs: readonly PlantedBug[];
export function fileOf(bug: PlantedBug): string;
export function planted(bug: PlantedBug, code: string): string;
