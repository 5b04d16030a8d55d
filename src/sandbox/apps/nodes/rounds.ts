/** What loops and iterations have in common: rounds of their inner nodes. */
import { addUsage, type Usage, zeroUsage } from "../../models/tokens.ts";
import { roundsEvent } from "../records/shapes.ts";
import { runEvent } from "../../protocol/fill.ts";
import {
  completeNode,
  newExecution,
  type NodeContext,
  type NodeResult,
  secondsSince,
} from "./node.ts";
import type { AnyNode, NodeOf } from "../definitions/node-types.ts";

type Container = NodeOf<"loop" | "iteration">;

/** The rounds of a loop or iteration, while they are played. */
export interface Rounds {
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

/** How a round ended: with the variables of its nodes, or the error of one. */
interface RoundEnd {
  readonly variables: NodeContext["run"]["progress"]["variables"];
  readonly error: string | null;
  readonly seconds: number;
}

/** Reports that a loop or iteration begins. */
export function beginRounds(
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

/** Reports that a round begins. */
export function beginRound({ context, node }: Rounds, index: number): void {
  const since = context.records.now();
  const pre_loop_output = node.type === "loop" ? {} : undefined;
  context.publish(roundsEvent(node.type, "next", { node, index, since, pre_loop_output }));
}

/**
 * Executes the inner nodes once, one after the other. Beside other rounds a node is reported when it
 * ends, and the variables that it changes are those of the round.
 */
export async function playRound(
  rounds: Rounds,
  index: number,
  besideOthers: { readonly item: unknown } | undefined,
): Promise<RoundEnd> {
  const { node: container } = rounds;
  const context = besideOthers ? ownVariables(rounds, besideOthers.item, index) : rounds.context;
  const { run, records, publish } = context;
  const since = records.now();
  const { variables } = run.progress;
  let error: string | null = null;
  for (const node of innerNodes(context, container)) {
    const execution = newExecution(records, node, container);
    const begin = () => {
      run.progress.executions.push(execution);
      publish(runEvent("node_started", { execution }));
    };
    if (!besideOthers) begin();
    const outcome = await context.execute(context, node, execution);
    if (outcome.status === "paused") throw new Error(`a form inside of the node ${container.id}`);
    completeNode(context, execution, outcome);
    if (besideOthers) begin();
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
export function endRounds(
  { context, node, since, inputs, length, durations, usage }: Rounds,
  end: {
    readonly outputs: Record<string, unknown>;
    readonly error: string | null;
    readonly metadata?: object;
  },
): NodeResult {
  const { outputs, error } = end;
  const { total_tokens, total_price, currency } = usage ?? zeroUsage;
  const status = error === null ? "succeeded" : "failed";
  const metadata = {
    total_tokens,
    total_price,
    currency,
    [`${node.type}_duration_map`]: durations,
    ...end.metadata,
  };
  const elapsed = secondsSince(context, since);
  const times = { since, elapsed, finished: context.records.now() };
  const values = { node, inputs, outputs, length, metadata, status, ...times };
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
