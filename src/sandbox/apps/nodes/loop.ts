import { holds, joined } from "./conditions.ts";
import type { NodeContext, NodeResult } from "./node.ts";
import type { NodeOf } from "../definitions/node-types.ts";
import { beginRound, beginRounds, endRounds, playRound } from "./rounds.ts";

/**
 * Repeats the inner nodes until the conditions hold, or `loop_count` times. Its variables are its
 * outputs.
 */
export async function executeLoop(context: NodeContext, node: NodeOf<"loop">): Promise<NodeResult> {
  const { loop_count, loop_variables, break_conditions } = node;
  const { variables } = context.run.progress;
  const initial = Object.fromEntries(loop_variables.map(({ label, value }) => [label, value]));
  variables[node.id] = initial;
  const rounds = beginRounds(context, node, { loop_count, ...initial }, loop_count);
  const values: Record<string, object> = {};
  let error: string | null = null;
  let broken = false;
  let round = 0;
  for (; round < loop_count && !broken && error === null; round++) {
    if (round > 0) beginRound(rounds, round);
    const end = await playRound(rounds, round, undefined);
    ({ error } = end);
    rounds.durations[round] = end.seconds;
    values[round] = { ...variables[node.id] };
    const held = break_conditions.map((condition) => holds(variables, condition));
    broken = joined(held, node.logical_operator);
  }
  return endRounds(rounds, {
    outputs: { ...variables[node.id], loop_round: round },
    error,
    metadata: {
      loop_variable_map: values,
      completed_reason: broken ? "loop_break" : "loop_completed",
    },
  });
}
