import { HttpError } from "../../protocol/handler.ts";
import { ModelError } from "../../models/model-error.ts";
import { zeroUsage } from "../../models/tokens.ts";
import { citationsOf } from "../records/citations.ts";
import { fillShape } from "../records/shapes.ts";
import { outputText, variableAt } from "../records/templates.ts";
import { type NodeContext, type NodeResult, result } from "./node.ts";
import type { NodeOf } from "../definitions/node-types.ts";

/** Passages that a node asks for if it does not say how many. */
const TOP_K = 4;

/** Searches knowledge bases. A search that fails leaves no trace but an empty result (server §13). */
export function executeKnowledge(
  context: NodeContext,
  node: NodeOf<"knowledge-retrieval">,
): NodeResult {
  const { variables } = context.run.progress;
  const query = outputText(variableAt(variables, node.query_variable_selector));
  const found = search(context, node, query);
  const { total_tokens, total_price, currency } = zeroUsage;
  return result({
    inputs: { query },
    process: { usage: zeroUsage },
    outputs: {
      result: found.map((passage, index) =>
        fillShape("passage", { ...passage, position: index + 1 }),
      ),
    },
    metadata: { total_tokens, total_price, currency },
    citations: citationsOf(found, "workflow"),
  });
}

function search(
  { retrieve }: NodeContext,
  { dataset_ids, multiple_retrieval_config }: NodeOf<"knowledge-retrieval">,
  query: string,
): ReturnType<NodeContext["retrieve"]> {
  try {
    return retrieve(dataset_ids, query, multiple_retrieval_config?.top_k ?? TOP_K);
  } catch (error) {
    if (error instanceof ModelError || error instanceof HttpError) return [];
    throw error;
  }
}
