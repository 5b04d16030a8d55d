import { openMetrics } from "../../../lib/formats/openmetrics.ts";
import type { ProblemCounts } from "./findings.ts";

/** The problems of a knowledge base. */
export interface KbCounts {
  readonly id: string;
  readonly name: string;
  readonly problems: ProblemCounts;
}

/** The numbers of problems as metrics, also those that are 0. */
export const checkMetrics = (counts: readonly KbCounts[]): string =>
  openMetrics([
    {
      name: "kb_problems",
      type: "gauge",
      help: "Problems of a knowledge base by kind; unchecked is what could not be checked.",
      samples: counts.flatMap(({ id, name, problems: { problems: _, ...kinds } }) =>
        Object.entries(kinds).map(([problem, value]) => ({
          labels: { knowledge_base: name, id, problem },
          value,
        })),
      ),
    },
  ]);
