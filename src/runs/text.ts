import { isObject, valueAt } from "../lib/json.ts";

/** What of an event of a stream tells about the text of the run. */
interface TextEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A piece of the text: where it comes from, as `<node>.<variable>`, and the node. */
export interface Piece {
  readonly source: string;
  readonly node: string;
  readonly text: string;
}

/** What an event does to the text of a run. */
export type TextChange =
  | { readonly kind: "piece"; readonly piece: Piece }
  /** What these sources said since their node began is no part of the answer. */
  | { readonly kind: "void"; readonly node: string; readonly sources: ReadonlySet<string> }
  /** The whole text so far. */
  | { readonly kind: "all"; readonly text: string };

/** The pieces of a run's text, and which of them still stand. */
export interface RunTexts {
  see(event: TextEvent): TextChange | undefined;
  /** Does this node still run, so that its text may be taken back? */
  runs(node: string): boolean;
}

/**
 * Watches the text of a run. The server never takes a text back: a node that breaks off and is tried
 * again says it once more from its beginning, and a node that falls back says its default value after
 * it (server §15.5). Neither belongs to the answer.
 */
export function runTexts(): RunTexts {
  /** What each source of a running node has said since the node began, or began again. */
  const running = new Map<string, Map<string, Growing>>();
  // Pieces of one source come in a row: its names are joined when another one speaks.
  let speaker: { selector: readonly unknown[]; source: string; node: string } | undefined;

  const piece = (from: unknown, said: unknown): TextChange | undefined => {
    if (typeof said !== "string" || said === "") return undefined;
    const selector: readonly unknown[] = Array.isArray(from) ? from : [];
    if (speaker === undefined || !sameItems(speaker.selector, selector))
      speaker = { selector, source: selector.join("."), node: String(selector[0] ?? "") };
    const { source, node } = speaker;
    const sources = running.get(node);
    if (sources) {
      const text = sources.get(source) ?? growing();
      sources.set(source, text);
      text.grow(said);
    }
    return { kind: "piece", piece: { source, node, text: said } };
  };

  /** Takes back what a node has said, but where it is what its outputs hold. */
  const taken = (node: string, outputs: unknown): TextChange | undefined => {
    const sources = new Set<string>();
    for (const [source, text] of running.get(node) ?? []) {
      const value = valueAt(outputs, source.slice(node.length + 1));
      if (printedValue(value) !== text.whole()) sources.add(source);
    }
    return sources.size === 0 ? undefined : { kind: "void", node, sources };
  };

  return {
    see({ event, data: whole }) {
      const data = isObject(whole["data"]) ? whole["data"] : {};
      const node = String(data["node_id"]);
      switch (event) {
        case "text_chunk":
          return piece(data["from_variable_selector"], data["text"]);
        case "message":
        case "agent_message":
          return piece(whole["from_variable_selector"], whole["answer"]);
        case "text_replace":
        case "message_replace":
          return { kind: "all", text: String(data["text"] ?? whole["answer"] ?? "") };
        case "node_started":
          running.set(node, new Map());
          return undefined;
        case "node_retry": {
          const change = taken(node, undefined);
          running.set(node, new Map());
          return change;
        }
        case "node_finished": {
          const failed = data["status"] === "exception" || data["status"] === "failed";
          const change = failed ? taken(node, data["outputs"]) : undefined;
          if (data["status"] !== "paused") running.delete(node);
          return change;
        }
        default:
          return undefined;
      }
    },
    runs: (node) => running.has(node),
  };
}

/** The text of a run so far, without what was taken back. */
export function textSoFar(): { see(event: TextEvent): void; text(): string } {
  const texts = runTexts();
  let said: { readonly source: string; text: string }[] = [];
  return {
    see(event) {
      const change = texts.see(event);
      if (change?.kind === "void") said = said.filter(({ source }) => !change.sources.has(source));
      if (change?.kind === "all") said = [{ source: "", text: change.text }];
      if (change?.kind !== "piece") return;
      const { source, text } = change.piece;
      const last = said.at(-1);
      if (last?.source === source) last.text += text;
      else said.push({ source, text });
    },
    text: () => said.map(({ text }) => text).join(""),
  };
}

/** A text that grows by small pieces: joined now and then, because a chain of a million is large. */
interface Growing {
  grow(piece: string): void;
  whole(): string;
}

const mostPieces = 1024;

function growing(): Growing {
  let joined = "";
  let pieces: string[] = [];
  const whole = () => {
    joined += pieces.join("");
    pieces = [];
    return joined;
  };
  return {
    grow(piece) {
      if (pieces.push(piece) >= mostPieces) whole();
    },
    whole,
  };
}

const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

/**
 * A value of the outputs as the server writes it into the text (server §15.5): an object as indented
 * JSON, a list as lines, null as nothing; undefined for what nobody can tell.
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
 * The whole text of a run that has ended, as its outputs hold it: of a chatflow its answer, of a
 * workflow its outputs in their order, one below the other (server §15.5).
 */
export function textOfOutputs({ data: whole }: TextEvent): string | undefined {
  const outputs = valueAt(whole, "data.outputs");
  if (!isObject(outputs)) return undefined;
  if (whole["conversation_id"] !== undefined) return printedValue(outputs["answer"]);
  const texts = Object.values(outputs).map(printedValue);
  return texts.every((text) => text !== undefined) ? texts.join("\n") : undefined;
}
