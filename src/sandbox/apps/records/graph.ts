import type { StoredRun } from "./runs-store.ts";
import type { AnyNode, Edge } from "../definitions/app-definitions.ts";

/** The nodes and edges of an application. */
export interface Graph {
  readonly nodes: readonly AnyNode[];
  readonly edges: readonly Edge[];
}

/** Reports whether a node of a run has ended, so that the nodes after it may begin. */
export const isNodeDone = (run: StoredRun, nodeId: string): boolean =>
  endOf(run, nodeId) !== undefined;

const endOf = ({ progress }: StoredRun, nodeId: string) =>
  progress.executions.find(
    ({ nodeId: id, status }) => id === nodeId && ["succeeded", "exception"].includes(status),
  );

/** Reports whether a node that ended chose an edge; edges without a handle leave every node. */
export function isTaken(run: StoredRun, edge: Edge): boolean {
  const end = endOf(run, edge.source);
  return end !== undefined && handleOf(edge) === (end.handle ?? DEFAULT_HANDLE);
}

const DEFAULT_HANDLE = "source";

const handleOf = ({ sourceHandle }: Edge) => sourceHandle || DEFAULT_HANDLE;

/** Reports whether a node can no longer be reached, because branches led elsewhere. */
export function isSkipped(graph: Graph, run: StoredRun, nodeId: string): boolean {
  const incoming = graph.edges.filter(({ target }) => target === nodeId);
  return incoming.length > 0 && incoming.every((edge) => isAbandoned(graph, run, edge));
}

const isAbandoned = (graph: Graph, run: StoredRun, edge: Edge): boolean =>
  isNodeDone(run, edge.source) ? !isTaken(run, edge) : isSkipped(graph, run, edge.source);

/** The nodes that may begin: all edges to them are decided, and one is taken. */
export const readyNodes = (graph: Graph, run: StoredRun): AnyNode[] =>
  graph.nodes.filter(({ id, parentId }) => {
    if (parentId !== undefined || isNodeDone(run, id)) return false;
    const incoming = graph.edges.filter(({ target }) => target === id);
    if (incoming.length === 0) return true;
    return (
      incoming.some((edge) => isTaken(run, edge)) &&
      incoming.every((edge) => isNodeDone(run, edge.source) || isAbandoned(graph, run, edge))
    );
  });
