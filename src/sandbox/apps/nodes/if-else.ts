import { compares } from "../../protocol/comparisons.ts";
import { variableAt } from "../records/templates.ts";
import { type NodeContext, type NodeResult, result } from "./node.ts";
import type { NodeOf, Condition } from "../definitions/app-definitions.ts";
import type { Variables } from "../records/runs-store.ts";

/** Takes the branch of the first case that holds; otherwise the branch `false`. */
export function executeBranch(
  { run: { progress } }: NodeContext,
  { cases }: NodeOf<"if-else">,
): NodeResult {
  const { variables } = progress;
  const results = [];
  const inputs = [];
  let taken: string | undefined;
  for (const { case_id, logical_operator, conditions } of cases) {
    const held = conditions.map((condition) => holds(variables, condition));
    const final_result = joined(held, logical_operator);
    const group = {
      case_id,
      logical_operator,
      conditions: conditions.map((condition) => ({ ...condition, sub_variable_condition: null })),
    };
    results.push({ group, results: held, final_result });
    inputs.push(
      ...conditions.map(({ variable_selector, comparison_operator, value }) => ({
        actual_value: variableAt(variables, variable_selector),
        expected_value: value,
        comparison_operator,
      })),
    );
    if (!final_result) continue;
    taken = case_id;
    break;
  }
  return result({
    inputs: { conditions: inputs },
    process: { condition_results: results },
    outputs: { result: taken !== undefined, selected_case_id: taken ?? "false" },
    handle: taken ?? "false",
  });
}

/** Reports whether a condition holds. */
export const holds = (
  variables: Variables,
  { variable_selector, comparison_operator, value }: Condition,
): boolean => compares(comparison_operator, variableAt(variables, variable_selector), value);

/** Joins the results of conditions; there must be one. */
export const joined = (results: readonly boolean[], by: "and" | "or" = "and"): boolean =>
  results.length > 0 && (by === "and" ? results.every(Boolean) : results.some(Boolean));
