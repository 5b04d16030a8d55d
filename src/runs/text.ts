import { isObject, valueAt, stringifyJson } from "../lib/json.ts";
import type { ServerEvent } from "../lib/server-event.ts";
import { isNumeric } from "../lib/exact-number.ts";

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

/**
 * Recognizes the whole answer of an agent (since 1.16), which follows its pieces: they show progress,
 * and what it says before it uses a tool is not part of the answer (server §18).
 */
export class AgentAnswer {
  /** Whether pieces came that a whole answer may replace. */
  isOpen = false;

  /** Returns whether an event holds the whole answer. */
  add({ event, fields }: ServerEvent): boolean {
    const isWhole = this.isOpen && event === "message" && Boolean(fields.answer);
    if (isWhole || event === "agent_message") this.isOpen = !isWhole;
    return isWhole;
  }
}

/**
 * Watches the text of a run. The server never revokes a text itself: a node that fails and is retried
 * sends it again from the beginning, and a node that falls back sends its default value after it
 * (server §15.5). In both cases the first text is not part of the answer.
 */
export class RunTexts {
  /** Text of each source of a running node since the node was last started. */
  readonly #running = new Map<string, Map<string, TextDigest>>();
  readonly #agent = new AgentAnswer();
  /** Of the last piece: consecutive pieces often share their parsed selector. */
  #last: { selector?: readonly unknown[]; source: string; node: string } = { source: "", node: "" };

  /** Returns the change that an event makes. */
  add(received: ServerEvent): TextChange | undefined {
    const { event, fields } = received;
    if (event === "text_chunk") return this.#piece(fields.from_variable_selector, fields.text);
    if (this.#agent.add(received)) return { kind: "all", text: fields.answer ?? "" };
    const { node_id: node = "" } = fields;
    switch (event) {
      case "message":
      case "agent_message":
        return this.#piece(fields.from_variable_selector, fields.answer);
      case "text_replace":
      case "message_replace":
      case "_answer":
        return { kind: "all", text: fields.text ?? fields.answer ?? "" };
      case "node_started":
        this.#running.set(node, new Map());
        return undefined;
      case "node_retry": {
        const change = this.#revoked(node, undefined);
        this.#running.set(node, new Map());
        return change;
      }
      case "node_finished": {
        const failed = fields.status === "exception" || fields.status === "failed";
        const change = failed ? this.#revoked(node, fields.outputs) : undefined;
        if (fields.status !== "paused") this.#running.delete(node);
        return change;
      }
      default:
        return undefined;
    }
  }

  /** Whether the node, or an agent without one, is running, so that its text may be revoked. */
  isRunning(node: string): boolean {
    return this.#running.has(node) || (node === "" && this.#agent.isOpen);
  }

  #piece(selector: readonly unknown[] = [], text: string | undefined): TextChange | undefined {
    if (text === undefined) return undefined;
    if (selector !== this.#last.selector) {
      const node = String(selector[0] ?? "");
      this.#last = { selector, source: selector.join("."), node };
    }
    const { source, node } = this.#last;
    const sources = this.#running.get(node);
    if (sources) digestIn(sources, source).add(text);
    return { kind: "piece", piece: { source, node, text } };
  }

  /** Revokes the text of a node, except for sources whose text is in its outputs. */
  #revoked(node: string, outputs: unknown): TextChange | undefined {
    const sources = new Set<string>();
    for (const [source, text] of this.#running.get(node) ?? []) {
      const value = printedValue(valueAt(outputs, source.slice(node.length + 1)));
      if (value === undefined || !text.equals(value)) sources.add(source);
    }
    return sources.size === 0 ? undefined : { kind: "void", node, sources };
  }
}

/** The text of a run so far, without the parts that were revoked. */
export class TextSoFar {
  readonly #texts = new RunTexts();
  #parts: { readonly source: string; readonly text: TextBuffer }[] = [];

  add(event: ServerEvent): void {
    const change = this.#texts.add(event);
    if (change?.kind === "void")
      this.#parts = this.#parts.filter(({ source }) => !change.sources.has(source));
    if (change?.kind === "all") this.#parts = [{ source: "", text: new TextBuffer(change.text) }];
    if (change?.kind !== "piece") return;
    const { source, text } = change.piece;
    const last = this.#parts.at(-1);
    if (last?.source === source) last.text.add(text);
    else this.#parts.push({ source, text: new TextBuffer(text) });
  }

  text(): string {
    return this.#parts.map(({ text }) => text.whole()).join("");
  }
}

/** Length and hash of a growing text: all that comparing it takes, however long it is. */
export class TextDigest {
  /** UTF-16 units. */
  length = 0;
  /** Whether it has nothing but line ends. */
  isBlank = true;
  private first = 0;
  private second = 0;

  add(text: string): this {
    let { first, second } = this;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      first = Math.imul(first ^ unit, 2654435761);
      second = Math.imul(second ^ unit, 1597334677);
    }
    this.first = first;
    this.second = second;
    this.length += text.length;
    this.isBlank &&= /^\n*$/.test(text);
    return this;
  }

  copy(): TextDigest {
    return Object.assign(new TextDigest(), this);
  }

  equals(text: string): boolean {
    return text.length === this.length && this.isPrefixOf(text);
  }

  isPrefixOf(text: string): boolean {
    if (text.length < this.length) return false;
    const { first, second } = new TextDigest().add(text.slice(0, this.length));
    return first === this.first && second === this.second;
  }
}

/** The digest of a name, which begins empty. */
export function digestIn(digests: Map<string, TextDigest>, name: string): TextDigest {
  let digest = digests.get(name);
  if (digest === undefined) digests.set(name, (digest = new TextDigest()));
  return digest;
}

const MAX_PIECES = 1024;

/** A growing text, joined in batches: with `+=`, V8 would keep a chain of a million pieces. */
export class TextBuffer {
  /** UTF-16 units. */
  length: number;
  #joined: string;
  #pieces: string[] = [];

  constructor(text = "") {
    this.#joined = text;
    this.length = text.length;
  }

  add(piece: string): this {
    this.length += piece.length;
    if (this.#pieces.push(piece) >= MAX_PIECES) this.whole();
    return this;
  }

  whole(): string {
    this.#joined += this.#pieces.join("");
    this.#pieces = [];
    return this.#joined;
  }

  isPrefixOf(text: string): boolean {
    return text.length >= this.length && text.startsWith(this.whole());
  }
}

/**
 * A value of the outputs as the server prints it in the text (server §15.5): an object as indented
 * JSON, a list as lines, null as an empty string; undefined if the text cannot be predicted.
 */
export function printedValue(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (isNumeric(value)) return String(value);
  if (value === null) return "";
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const plain = items.every((item) => typeof item === "string" || isNumeric(item));
    return plain ? items.map((item) => `- ${String(item)}`).join("\n") : undefined;
  }
  return isObject(value) ? stringifyJson(value, 2) : undefined;
}

/**
 * The whole text of a finished run from its outputs: the answer of a chatflow, or the outputs of a
 * workflow in their order, one per line (server §15.5).
 */
export function textOfOutputs({ fields }: Pick<ServerEvent, "fields">): string | undefined {
  const { outputs, conversation_id } = fields;
  if (!isObject(outputs)) return undefined;
  if (conversation_id !== undefined) return printedValue(outputs["answer"]);
  const texts = Object.values(outputs).map(printedValue);
  return texts.every((text) => text !== undefined) ? texts.join("\n") : undefined;
}
