import { isObject, valueAt } from "../lib/json.ts";

/** The fields of an event that contain text of the run. */
interface TextEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A piece of the text with its source, `<node>.<variable>`. */
export interface Piece {
  readonly source: string;
  readonly node: string;
  readonly text: string;
}

/** How an event changes the text of a run. */
export type TextChange =
  | { readonly kind: "piece"; readonly piece: Piece }
  /** The text of these sources since their node started is not part of the answer. */
  | { readonly kind: "void"; readonly node: string; readonly sources: ReadonlySet<string> }
  /** The whole text so far. */
  | { readonly kind: "all"; readonly text: string };

/** The pieces of a run's text, and which of them are still valid. */
export interface RunTexts {
  add(event: TextEvent): TextChange | undefined;
  /** Whether the node is running, so that its text may be revoked. */
  isRunning(node: string): boolean;
}

/**
 * Watches the text of a run. The server never revokes a text itself: a node that fails and is retried
 * sends it again from the beginning, and a node that falls back sends its default value after it
 * (server §15.5). In both cases the first text is not part of the answer.
 */
export const runTexts = (): RunTexts => new RunTextReader();

class RunTextReader implements RunTexts {
  /** Text of each source of a running node since the node was last started. */
  readonly #running = new Map<string, Map<string, GrowingString>>();
  /** The source of the last piece: pieces come in sequences, so its names are joined once. */
  #source: { selector: readonly unknown[]; source: string; node: string } | undefined;

  add({ event, data: envelope }: TextEvent): TextChange | undefined {
    const data = isObject(envelope["data"]) ? envelope["data"] : {};
    const node = String(data["node_id"]);
    switch (event) {
      case "text_chunk":
        return this.#piece(data["from_variable_selector"], data["text"]);
      case "message":
      case "agent_message":
        return this.#piece(envelope["from_variable_selector"], envelope["answer"]);
      case "text_replace":
      case "message_replace":
        return { kind: "all", text: String(data["text"] ?? envelope["answer"] ?? "") };
      case "node_started":
        this.#running.set(node, new Map());
        return undefined;
      case "node_retry": {
        const change = this.#revoked(node, undefined);
        this.#running.set(node, new Map());
        return change;
      }
      case "node_finished": {
        const failed = data["status"] === "exception" || data["status"] === "failed";
        const change = failed ? this.#revoked(node, data["outputs"]) : undefined;
        if (data["status"] !== "paused") this.#running.delete(node);
        return change;
      }
      default:
        return undefined;
    }
  }

  isRunning(node: string): boolean {
    return this.#running.has(node);
  }

  #piece(variable: unknown, text: unknown): TextChange | undefined {
    if (typeof text !== "string" || text === "") return undefined;
    const selector: readonly unknown[] = Array.isArray(variable) ? variable : [];
    if (this.#source === undefined || !sameItems(this.#source.selector, selector))
      this.#source = { selector, source: selector.join("."), node: String(selector[0] ?? "") };
    const { source, node } = this.#source;
    const sources = this.#running.get(node);
    if (sources) {
      const whole = sources.get(source) ?? new GrowingString();
      sources.set(source, whole);
      whole.add(text);
    }
    return { kind: "piece", piece: { source, node, text } };
  }

  /** Revokes the text of a node, except for sources whose text is in its outputs. */
  #revoked(node: string, outputs: unknown): TextChange | undefined {
    const sources = new Set<string>();
    for (const [source, text] of this.#running.get(node) ?? []) {
      const value = valueAt(outputs, source.slice(node.length + 1));
      if (printedValue(value) !== text.whole()) sources.add(source);
    }
    return sources.size === 0 ? undefined : { kind: "void", node, sources };
  }
}

/** The text of a run so far, without the parts that were revoked. */
export function textSoFar(): { add(event: TextEvent): void; text(): string } {
  const texts = runTexts();
  let parts: { readonly source: string; text: string }[] = [];
  return {
    add(event) {
      const change = texts.add(event);
      if (change?.kind === "void")
        parts = parts.filter(({ source }) => !change.sources.has(source));
      if (change?.kind === "all") parts = [{ source: "", text: change.text }];
      if (change?.kind !== "piece") return;
      const { source, text } = change.piece;
      const last = parts.at(-1);
      if (last?.source === source) last.text += text;
      else parts.push({ source, text });
    },
    text: () => parts.map(({ text }) => text).join(""),
  };
}

/** A growing string, joined in batches: with `+=`, V8 would keep a chain of a million pieces. */
class GrowingString {
  #joined = "";
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) >= MAX_PIECES) this.whole();
  }

  whole(): string {
    this.#joined += this.#pieces.join("");
    this.#pieces = [];
    return this.#joined;
  }
}

const MAX_PIECES = 1024;

const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

/**
 * A value of the outputs as the server prints it in the text (server §15.5): an object as indented
 * JSON, a list as lines, null as an empty string; undefined if the text cannot be predicted.
 */
export function printedValue(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (value === null) return "";
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const plain = items.every((item) => typeof item === "string" || typeof item === "number");
    return plain ? items.map((item) => `- ${String(item)}`).join("\n") : undefined;
  }
  return isObject(value) ? JSON.stringify(value, null, 2) : undefined;
}

/**
 * The whole text of a finished run from its outputs: the answer of a chatflow, or the outputs of a
 * workflow in their order, one per line (server §15.5).
 */
export function textOfOutputs({ data: whole }: TextEvent): string | undefined {
  const outputs = valueAt(whole, "data.outputs");
  if (!isObject(outputs)) return undefined;
  if (whole["conversation_id"] !== undefined) return printedValue(outputs["answer"]);
  const texts = Object.values(outputs).map(printedValue);
  return texts.every((text) => text !== undefined) ? texts.join("\n") : undefined;
}
