import { variableAt } from "../records/templates.ts";
import { type NodeContext, type NodeResult, result } from "./node.ts";
import type { NodeOf } from "../definitions/node-types.ts";
import { beginRound, beginRounds, endRounds, playRound, type Rounds } from "./rounds.ts";
import { holds, joined } from "./if-else.ts";

/** The output of each round; a failed one has none. */
type Output = { readonly value: unknown } | { readonly error: string };

/** Runs the inner nodes for each item of a list, one after the other or side by side. */
export async function executeIteration(
  context: NodeContext,
  node: NodeOf<"iteration">,
): Promise<NodeResult> {
  const list = variableAt(context.run.progress.variables, node.iterator_selector);
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  // Nothing reports an iteration over an empty list (server §15.5).
  if (items.length === 0) return result({ outputs: { output: [] } });
  const rounds = beginRounds(context, node, { iterator_selector: items }, items.length);
  const play = node.is_parallel ? playSideBySide : playInTurn;
  const outputs = await play(rounds, node, items);
  const mode = modeOf(node);
  const kept = outputs.flatMap((output) => {
    if ("value" in output) return [output.value];
    return mode === "continue-on-error" ? [null] : [];
  });
  const isFlat = node.flatten_output && kept.every(Array.isArray);
  return endRounds(rounds, {
    outputs: { output: isFlat ? kept.flat() : kept },
    error: mode === "terminated" ? firstError(outputs) : null,
  });
}

/** What the failure of a round does. */
const modeOf = ({ error_handle_mode = "terminated" }: NodeOf<"iteration">) => error_handle_mode;

const firstError = (outputs: readonly Output[]): string | null => {
  for (const output of outputs) if ("error" in output) return output.error;
  return null;
};

async function playInTurn(
  rounds: Rounds,
  node: NodeOf<"iteration">,
  items: readonly unknown[],
): Promise<Output[]> {
  const { variables } = rounds.context.run.progress;
  const outputs: Output[] = [];
  for (const [index, item] of items.entries()) {
    beginRound(rounds, index);
    variables[node.id] = { item, index };
    const end = await playRound(rounds, index, undefined);
    outputs.push(outputOf(node, end));
    if (end.error !== null && modeOf(node) === "terminated") break;
    rounds.durations[index] = end.seconds;
  }
  return outputs;
}

/** All rounds are reported at once, though only `parallel_nums` run at a time (server §15.5). */
async function playSideBySide(
  rounds: Rounds,
  node: NodeOf<"iteration">,
  items: readonly unknown[],
): Promise<Output[]> {
  for (const index of items.keys()) beginRound(rounds, index);
  const outputs: Output[] = [];
  const queue = [...items.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, item] = next;
      const end = await playRound(rounds, index, { item });
      outputs[index] = outputOf(node, end);
      rounds.durations[index] = end.seconds;
      if (end.error !== null && modeOf(node) === "terminated") queue.length = 0;
    }
  };
  await Promise.all(Array.from({ length: node.parallel_nums ?? 10 }, work));
  return outputs.filter(Boolean);
}

const outputOf = (
  { output_selector }: NodeOf<"iteration">,
  { variables, error }: Awaited<ReturnType<typeof playRound>>,
): Output => (error === null ? { value: variableAt(variables, output_selector) } : { error });

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
