import type { Exchange } from "./judge.ts";
import type { Step } from "./steps.mjs";

/** What the steps gave that were played against the server of a profile. */
export interface PlayedServer {
  readonly profile: string;
  readonly version: string;
  readonly outcomes: readonly {
    readonly step: Step;
    readonly line: string;
    readonly values: object;
    readonly state: string;
    readonly exchanges: readonly Exchange[];
  }[];
}

export function saveDifferences(
  servers: readonly PlayedServer[],
  directory: string,
  redacted: (exchange: Exchange) => unknown,
): void;
