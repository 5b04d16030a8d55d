/** What all kinds of nodes share: the run they belong to, their results and executions. */
import type { Clock } from "../../protocol/handler.ts";
import type {
  Citation,
  Execution,
  RunStore,
  StoredForm,
  StoredRun,
} from "../records/runs-store.ts";
import type { Retrieve } from "../../knowledge/retrieval/retrieve.ts";
import type { TextModel } from "../../models/language-model.ts";
import type { ModelError } from "../../models/marks.ts";
import type { Usage } from "../../models/tokens.ts";
import type {
  AppDefinition,
  AnyNode,
  NodeOf,
  NodeType,
  Selector,
} from "../definitions/app-definitions.ts";
import type { RunEvent } from "../../protocol/fill.ts";

/** What all runs need. */
export interface RunBasics {
  readonly records: RunStore;
  readonly clock: Clock;
  readonly model: TextModel | undefined;
  readonly retrieve: Retrieve;
  /** Server version to imitate. */
  readonly version: string;
}

/** One segment of a run while it executes. */
export interface RunContext extends RunBasics {
  /** undefined if it no longer exists; then no node is executed. */
  readonly app: AppDefinition | undefined;
  readonly run: StoredRun;
  /** When the segment began, ms since 1970. */
  readonly startedAt: number;
  /** Aborted when the run is stopped or the sandbox closes. */
  readonly signal: AbortSignal;
  readonly publish: (event: RunEvent) => void;
  /** Expires the form when its time is over. */
  readonly watchForm: (form: StoredForm) => void;
}

/** A segment as its nodes see it. */
export interface NodeContext extends RunContext {
  /** Takes a piece of an output that grows; `isLast` ends it. */
  readonly stream: (selector: Selector, text: string, isLast: boolean) => void;
  /** Sends a piece of what a model thinks; `isLast` ends it. */
  readonly reason: (nodeId: string, text: string, isLast: boolean) => void;
  /** Executes an inner node. */
  readonly execute: Execute;
}

/** Executes a node; rejects if the run is stopped in the meantime. */
export type Execute = (
  context: NodeContext,
  node: AnyNode,
  execution: Execution,
) => Outcome | Promise<Outcome>;

/** Result of a node. */
export interface NodeResult {
  readonly status: "succeeded" | "failed" | "exception" | "retry";
  readonly inputs: object;
  readonly process: object;
  readonly outputs: Record<string, unknown>;
  readonly error: string | null;
  /** The server's class of the error; what else the outputs have if the run continues. */
  readonly failure?: { readonly type: string; readonly outputs?: object };
  readonly metadata: object | null;
  /** Tokens and prices of the model calls in it. */
  readonly usage?: Usage;
  /** The branch that the run takes. */
  readonly handle?: string;
  /** Passages that it found. */
  readonly citations?: readonly Citation[];
}

/** The end of a node, or the form that it waits for. */
export type Outcome = NodeResult | { readonly status: "paused"; readonly form: StoredForm };

/** Executes the nodes of one type. */
export type Executor<Type extends NodeType> = (
  context: NodeContext,
  node: NodeOf<Type>,
  execution: Execution,
) => Outcome | Promise<Outcome>;

export type Container = NodeOf<"loop" | "iteration">;

/** Live streams have no node events for loops and iterations (server §15.5). */
export const isContainer = (node: AnyNode): node is Container =>
  node.type === "loop" || node.type === "iteration";

/** Creates the execution of a node. */
export const newExecution = (
  records: RunStore,
  node: Pick<Execution, "type" | "title"> & Pick<AnyNode, "id">,
  parent?: AnyNode,
): Execution => ({
  id: records.newId(),
  nodeId: node.id,
  type: node.type,
  title: node.title,
  startedAt: records.now(),
  finishedAt: null,
  elapsed: 0,
  status: "running",
  handle: null,
  iteration: parent?.type === "iteration" ? parent.id : null,
  loop: parent?.type === "loop" ? parent.id : null,
});

/** Seconds since a time in ms. */
export const secondsSince = ({ records }: RunContext, ms: number): number =>
  (records.now() - ms) / 1000;

/** Records the end of an execution. */
export function completeNode(context: RunContext, execution: Execution, outcome: Outcome): void {
  execution.finishedAt = context.records.now();
  execution.elapsed = secondsSince(context, execution.startedAt);
  execution.status = outcome.status;
  if (outcome.status !== "paused") execution.handle = outcome.handle ?? null;
}

/** Sleeps; rejects if the run is stopped in the meantime. */
export const wait = ({ clock, signal }: RunContext, seconds: number): Promise<void> =>
  seconds > 0 ? clock.sleep(seconds * 1000, signal) : Promise.resolve();

/** A successful result without inputs and outputs, changed by `fields`. */
export const result = (fields: Partial<NodeResult>): NodeResult => ({
  status: "succeeded",
  inputs: {},
  process: {},
  outputs: {},
  error: null,
  metadata: null,
  ...fields,
});

/** The result of a node whose model failed. */
export const modelFailure = (error: ModelError, inputs: object): NodeResult =>
  result({ status: "failed", inputs, error: error.runText, failure: { type: error.type } });
