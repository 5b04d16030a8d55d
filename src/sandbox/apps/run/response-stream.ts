import type { StoredRun } from "../records/runs-store.ts";
import { atLeast } from "../../../lib/version.ts";
import {
  type Graph,
  isNodeDone,
  isSkipped,
  isTaken,
  outputText,
  templateParts,
  valueAtSelector,
} from "../records/run-events.ts";
import type { AnyNode, Edge, NodeOf, NodeType, Selector } from "../definitions/app-definitions.ts";

/** Sends a text; the selector tells which variable, or which node, it comes from. */
type Publish = (text: string, selector: Selector) => void;

type ResponseNode = NodeOf<"end" | "answer">;

/** A response node while its text is sent. */
interface Session {
  readonly node: ResponseNode;
  readonly parts: readonly (string | Selector)[];
  /** Index of the next part. */
  next: number;
}

/** The pieces of a growing output that were not sent yet. */
interface Buffer {
  readonly pieces: string[];
  closed: boolean;
}

/** Nodes whose outcome decides whether later nodes are reached. */
const DECIDING: ReadonlySet<NodeType> = new Set([
  "if-else",
  "question-classifier",
  "human-input",
  "loop",
  "iteration",
  "answer",
  "end",
]);

/**
 * The text of a run: that of its end or answer nodes, one node after the other, each with its parts in
 * the order of the definition. A part that grows is sent while it grows, and what other nodes say in
 * the meantime is held back (server §15.5). Before 1.16 each segment of a run begins anew (server §18).
 */
export class ResponseStream {
  readonly #graph: Graph;
  readonly #run: StoredRun;
  readonly #publish: Publish;
  /** Whether the server is 1.16 or newer. */
  readonly #isNew: boolean;
  /** Nodes whose text did not begin. */
  readonly #closed: Set<ResponseNode>;
  /** Sessions in the order in which they were opened; the first one is sent. */
  readonly #sessions: Session[] = [];
  readonly #buffers = new Map<string, Buffer>();
  /** Edges that were taken in this segment. */
  readonly #taken = new Set<Edge>();

  constructor(graph: Graph, run: StoredRun, version: string, publish: Publish) {
    this.#graph = graph;
    this.#run = run;
    this.#publish = publish;
    this.#isNew = atLeast(version, "1.16.0");
    const isSaid = ({ id }: AnyNode) => this.#isNew && isNodeDone(run, id);
    this.#closed = new Set(graph.nodes.filter(isResponse).filter((node) => !isSaid(node)));
    if (this.#isNew) this.#take(() => true);
  }

  /** Sends what is known before any node begins; before 1.16, only of nodes right after the start. */
  begin(): void {
    const isFirst = ({ id }: ResponseNode) =>
      this.#graph.edges.some(
        ({ source, target }) => target === id && this.#node(source)?.type === "start",
      );
    this.#open((node) => isFirst(node) || (this.#isNew && this.#isReachable(node)));
  }

  /** Takes a piece of an output. */
  put(selector: Selector, text: string, isLast: boolean): void {
    const key = JSON.stringify(selector);
    const buffer = this.#buffers.get(key) ?? { pieces: [], closed: false };
    this.#buffers.set(key, buffer);
    buffer.pieces.push(text);
    buffer.closed = isLast;
    this.#flush();
  }

  /** Sends what the outputs of a node that ended allow. */
  nodeEnded({ id }: AnyNode, succeeded: boolean): void {
    // Recorded: before 1.16 the outputs of an exception wait for the next node, unless it opens a text.
    if (succeeded || this.#isNew) this.#flush();
    this.#take(({ source }) => source === id);
    this.#open((node) => this.#isReachable(node));
  }

  #take(isOf: (edge: Edge) => boolean): void {
    for (const edge of this.#graph.edges)
      if (isOf(edge) && isTaken(this.#run, edge)) this.#taken.add(edge);
  }

  #open(mayOpen: (node: ResponseNode) => boolean): void {
    for (const node of [...this.#closed].filter(mayOpen)) {
      this.#closed.delete(node);
      this.#sessions.push({ node, parts: partsOf(node), next: 0 });
      if (this.#sessions.length === 1) this.#flush();
    }
  }

  /** Sends what is known of the first session, and then of the next ones. */
  #flush(): void {
    for (let [session] = this.#sessions; session; [session] = this.#sessions) {
      while (session.next < session.parts.length && this.#send(session)) session.next++;
      if (session.next < session.parts.length) return;
      this.#sessions.shift();
    }
  }

  /** Sends the next part of a session as far as it is known; reports whether it is complete. */
  #send({ node, parts, next }: Session): boolean {
    const part = parts[next];
    if (part === undefined) return true;
    if (typeof part === "string") {
      this.#publish(part, [node.id, "answer"]);
      return true;
    }
    const [source] = part;
    if (this.#node(source) && isSkipped(this.#graph, this.#run, source)) return true;
    const buffer = this.#buffers.get(JSON.stringify(part));
    for (const piece of buffer?.pieces.splice(0) ?? []) this.#publish(piece, part);
    // Since 1.16 the outputs of an exception do not follow what it has sent.
    if (buffer && (buffer.closed || (this.#isNew && isNodeDone(this.#run, source)))) return true;
    const value = valueAtSelector(this.#run.progress.variables, part);
    if (value === undefined) return false;
    this.#publish(outputText(value), part);
    return true;
  }

  /** Reports whether the edges that decide about a node were taken, on one of the ways to it. */
  #isReachable(wanted: ResponseNode): boolean {
    const sources = new Set(partsOf(wanted).map((part) => typeof part !== "string" && part[0]));
    const seen = new Set<string>();
    const isReached = (id: string): boolean => {
      if (this.#node(id)?.type === "start") return true;
      if (seen.has(id)) return false;
      seen.add(id);
      return this.#graph.edges.some(
        (edge) =>
          edge.target === id &&
          (this.#taken.has(edge) || !this.#decides(edge, sources)) &&
          isReached(edge.source),
      );
    };
    return isReached(wanted.id);
  }

  /** Whether a text waits for an edge: at branches, and where an output does not grow. */
  #decides({ source }: Edge, sources: ReadonlySet<unknown>): boolean {
    const node = this.#node(source);
    if (!node) return true;
    const branches = "error_strategy" in node && node.error_strategy === "fail-branch";
    return DECIDING.has(node.type) || branches || (node.type !== "llm" && sources.has(node.id));
  }

  #node(wanted: string): AnyNode | undefined {
    return this.#graph.nodes.find(({ id }) => id === wanted);
  }
}

const isResponse = (node: AnyNode): node is ResponseNode =>
  node.type === "end" || node.type === "answer";

/** The parts of a text: the outputs of an end node are joined by line breaks. */
function partsOf(node: ResponseNode): (string | Selector)[] {
  if (node.type === "answer") return templateParts(node.answer);
  return node.outputs.flatMap(({ value_selector }, index) =>
    index === 0 ? [value_selector] : ["\n", value_selector],
  );
}
