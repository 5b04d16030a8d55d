/** Loops and iterations: rounds of their inner nodes. */
import { atLeast } from "../../../lib/version.ts";
import { addUsage, costOf, type Usage, zeroUsage } from "../../models/tokens.ts";
import { runEvent } from "../../protocol/fill.ts";
import type { AnyNode, NodeOf, Condition } from "../definitions/app-definitions.ts";
import { roundsEvent } from "../records/shapes.ts";
import { variableAt } from "../records/run-events.ts";
import { completeNode, newExecution, result, secondsSince } from "./node.ts";
import type { Container, NodeContext, NodeResult } from "./node.ts";
import { compares } from "../../protocol/comparisons.ts";
import type { Variables } from "../records/runs-store.ts";

/** The output of each round; a failed one has none. */
type Output = { readonly value: unknown } | { readonly error: string };

/** Runs the inner nodes for each item of a list, one after the other or side by side. */
export async function executeIteration(
  context: NodeContext,
  node: NodeOf<"iteration">,
): Promise<NodeResult> {
  const list = variableAt(context.run.progress.variables, node.iterator_selector);
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  const isNew = atLeast(context.version, "1.16.0");
  // Nothing reports an iteration over an empty list before 1.16 (server §15.5).
  if (items.length === 0 && !isNew) return result({ outputs: { output: [] } });
  const rounds = beginRounds(context, node, { iterator_selector: items }, items.length);
  const outputs = await playRounds(rounds, node, items);
  const { error_handle_mode: mode = "terminated" } = node;
  const failed = outputs.filter((output) => "error" in output);
  if (mode !== "terminated" && isNew) context.run.progress.exceptions += failed.length;
  const kept = outputs.flatMap((output) => {
    if ("value" in output) return [output.value];
    return mode === "continue-on-error" ? [null] : [];
  });
  const isFlat = node.flatten_output && kept.every(Array.isArray);
  return endRounds(rounds, {
    outputs: { output: isFlat ? kept.flat() : kept },
    error: mode === "terminated" ? (failed[0]?.error ?? null) : null,
  });
}

/** Plays a round for each item; before 1.16 parallel ones are all reported at once (server §15.5). */
async function playRounds(
  rounds: Rounds,
  node: NodeOf<"iteration">,
  items: readonly unknown[],
): Promise<Output[]> {
  const { is_parallel = false, parallel_nums = 10, error_handle_mode = "terminated" } = node;
  const { run, version } = rounds.context;
  const { variables: shared } = run.progress;
  const isNew = atLeast(version, "1.16.0");
  if (is_parallel && !isNew) for (const index of items.keys()) beginRound(rounds, index);
  const outputs: Output[] = [];
  const queue = [...items.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, item] = next;
      if (!is_parallel || isNew) beginRound(rounds, index);
      if (!is_parallel) shared[node.id] = { item, index };
      const beside = is_parallel ? { item } : undefined;
      const { variables, error, seconds } = await playRound(rounds, index, beside);
      outputs[index] =
        error === null ? { value: variableAt(variables, node.output_selector) } : { error };
      const isLast = error !== null && error_handle_mode === "terminated";
      if (isLast) queue.length = 0;
      if (is_parallel || !isLast || isNew) rounds.durations[index] = seconds;
    }
  };
  await Promise.all(Array.from({ length: is_parallel ? parallel_nums : 1 }, work));
  return outputs.filter(Boolean);
}

/** Repeats the inner nodes until the conditions hold, or `loop_count` times; outputs its variables. */
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

/** The rounds of a loop or iteration, while they are played. */
interface Rounds {
  readonly context: NodeContext;
  readonly node: Container;
  readonly since: number;
  readonly inputs: object;
  /** The number of rounds that events report: of a loop, the limit. */
  readonly length: number;
  /** Seconds by round. */
  readonly durations: Record<string, number>;
  /** Tokens and prices so far; undefined without a model. */
  usage: Usage | undefined;
}

function beginRounds(
  context: NodeContext,
  node: Container,
  inputs: object,
  length: number,
): Rounds {
  const since = context.records.now();
  const metadata = { [`${node.type}_length`]: length };
  context.publish(roundsEvent(node.type, "started", { node, since, metadata, inputs }));
  return { context, node, since, inputs, length, durations: {}, usage: undefined };
}

function beginRound({ context, node }: Rounds, index: number): void {
  const since = context.records.now();
  const pre_loop_output = node.type === "loop" ? {} : undefined;
  context.publish(roundsEvent(node.type, "next", { node, index, since, pre_loop_output }));
}

/**
 * Executes the inner nodes once, one after the other. Beside other rounds the variables that a node changes
 * are those of the round, and before 1.16 it is reported when it ends.
 */
async function playRound(
  rounds: Rounds,
  index: number,
  besideOthers: { readonly item: unknown } | undefined,
) {
  const { node: container } = rounds;
  const context = besideOthers ? ownVariables(rounds, besideOthers.item, index) : rounds.context;
  const { run, records, version, publish } = context;
  const since = records.now();
  const { variables } = run.progress;
  const isLate = besideOthers !== undefined && !atLeast(version, "1.16.0");
  let error: string | null = null;
  for (const node of innerNodes(context, container)) {
    const execution = newExecution(records, node, container);
    const begin = () => {
      run.progress.executions.push(execution);
      publish(runEvent("node_started", { execution }));
    };
    if (!isLate) begin();
    const outcome = await context.execute(context, node, execution);
    if (outcome.status === "paused") throw new Error(`a form inside of the node ${container.id}`);
    completeNode(context, execution, outcome);
    if (isLate) begin();
    publish(runEvent("node_finished", { execution, result: inRound(outcome, container, index) }));
    variables[node.id] = outcome.outputs;
    const { usage } = outcome;
    if (usage) rounds.usage = rounds.usage ? addUsage(rounds.usage, usage) : usage;
    if (outcome.status !== "failed") continue;
    ({ error } = outcome);
    break;
  }
  return { variables, error, seconds: secondsSince(context, since) };
}

/** Reports the end of a loop or iteration; its result is a failure if there is an error. */
function endRounds(
  { context, node, since, inputs, length, durations, usage }: Rounds,
  end: {
    readonly outputs: Record<string, unknown>;
    readonly error: string | null;
    readonly metadata?: object;
  },
): NodeResult {
  const { outputs, error } = end;
  const used = costOf(usage ?? zeroUsage);
  const status = error === null ? "succeeded" : "failed";
  const map = { [`${node.type}_duration_map`]: durations };
  const metadata = length === 0 ? {} : { ...used, ...map, ...end.metadata };
  const elapsed = secondsSince(context, since);
  const times = { since, elapsed, finished: context.records.now() };
  const values = { node, inputs, outputs, length, ...used, metadata, status, ...times };
  context.publish(roundsEvent(node.type, "completed", values));
  return { status, inputs, process: {}, outputs, error, metadata: null, ...(usage && { usage }) };
}

/** The result of an inner node tells its round (server §15.5). */
const inRound = (outcome: NodeResult, { type, id }: Container, index: number): NodeResult => ({
  ...outcome,
  metadata: { ...outcome.metadata, [`${type}_id`]: id, [`${type}_index`]: index },
});

/** The context of a round that runs beside others: its variables are its own. */
function ownVariables({ context, node }: Rounds, item: unknown, index: number): NodeContext {
  const { run } = context;
  const variables = { ...run.progress.variables, [node.id]: { item, index } };
  return { ...context, run: { ...run, progress: { ...run.progress, variables } } };
}

/** The inner nodes in the order of the edges; without the node that marks the start. */
function innerNodes({ app }: NodeContext, { id }: Container): AnyNode[] {
  const { nodes = [], edges = [] } = app ?? {};
  const inner = nodes.filter(({ parentId }) => parentId === id);
  const ordered: AnyNode[] = [];
  let next = inner.find(({ id }) => !edges.some(({ target }) => target === id));
  while (next && !ordered.includes(next)) {
    ordered.push(next);
    const last = next.id;
    next = inner.find((node) => edges.some((e) => e.source === last && e.target === node.id));
  }
  return ordered.filter(({ type }) => type !== "loop-start" && type !== "iteration-start");
}

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
    const shown = conditions.map((condition) => ({ ...condition, sub_variable_condition: null }));
    const group = { case_id, logical_operator, conditions: shown };
    results.push({ group, results: held, final_result });
    for (const { variable_selector, comparison_operator, value: expected_value } of conditions) {
      const actual_value = variableAt(variables, variable_selector);
      inputs.push({ actual_value, expected_value, comparison_operator });
    }
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
