import { isObject } from "../../../lib/json.ts";
import type { Detail } from "../../../output/report-model.ts";
import type { Span } from "../../../runs/spans.ts";
import { toneOf } from "./executions.ts";
import type { Executions } from "./executions.ts";

/** Executions of a node whose inputs and outputs a page shows. */
const MAX_EXECUTIONS = 5;

/**
 * The inputs, outputs and errors of the executions of a node, failed ones first if there are too many.
 * `side` begins each label.
 */
export function nodeDetails(node: Executions | undefined, side = ""): Detail[] {
  const { spans = [] } = node ?? {};
  const isFailed = ({ status }: Span) => toneOf(status) === "bad";
  const shown =
    spans.length <= MAX_EXECUTIONS
      ? spans
      : spans
          .toSorted((a, b) => Number(isFailed(b)) - Number(isFailed(a)))
          .slice(0, MAX_EXECUTIONS);
  const blocks = shown.flatMap((span) =>
    blocksOf(span, `${side}${spans.length > 1 ? `#${spans.indexOf(span) + 1} ` : ""}`),
  );
  if (blocks.length === 0 || shown.length === spans.length) return blocks;
  const value = `${shown.length} of ${spans.length} executions are shown, failed ones first.`;
  return [...blocks, { label: `${side}Executions`, value }];
}

function blocksOf({ error, inputs, outputs, status }: Span, lead: string): Detail[] {
  return [
    ...(error === undefined ? [] : [{ label: `${lead}error`, value: error, tone: toneOf(status) }]),
    ...(isBlank(inputs) ? [] : [{ label: `${lead}inputs`, value: inputs }]),
    ...(isBlank(outputs) ? [] : [{ label: `${lead}outputs`, value: outputs }]),
  ];
}

/** Whether there is nothing to show. */
const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0);
