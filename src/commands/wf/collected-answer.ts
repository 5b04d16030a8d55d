import type { ServerEvent } from "../../api/sse.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import type { AnswerMetadata, ChatResponse } from "../../operations/chats.ts";
import { textOfOutputs, textSoFar } from "../../runs/text.ts";
import { asText } from "../../operations/operation.ts";

/** What the events of an answer tell, in one piece. */
export interface CollectedAnswer {
  see(event: ServerEvent): void;
  text(): string;
  /** A field that every event carries, once one has. */
  id(name: "task_id" | "message_id" | "conversation_id" | "workflow_run_id"): string | undefined;
  /** The same as the server answers in one piece, as far as the events told it. */
  answer(): Partial<ChatResponse>;
}

/** Puts an answer together from its events; at the end of a chatflow its outputs hold it (server §18). */
export function collectedAnswer(): CollectedAnswer {
  const texts = textSoFar();
  const envelope: Record<string, unknown> = {};
  let whole: string | undefined;
  let metadata: AnswerMetadata | undefined;
  let paused: unknown;

  const text = () => whole ?? texts.text();
  const id: CollectedAnswer["id"] = (name) => {
    const value = envelope[name];
    return typeof value === "string" ? value : undefined;
  };
  return {
    see(event) {
      texts.see(event);
      const { event: kind, data } = event;
      for (const name of enveloped) envelope[name] ??= data[name];
      if (kind === "message_end" && isObject(data["metadata"]))
        metadata = data["metadata"] as unknown as AnswerMetadata; // as the server sends it
      if (kind === "workflow_finished") whole = textOfOutputs(event) ?? whole;
      if (kind === "workflow_paused") paused = data["data"];
      if (kind === "_answer") whole = String(data["answer"]);
    },
    text,
    id,
    answer: () => {
      const message = id("message_id");
      return {
        event: paused === undefined ? "message" : "workflow_paused",
        ...envelope,
        ...(message !== undefined && { id: message }),
        answer: text(),
        ...(metadata && { metadata }),
        ...(isObject(paused) && { data: { ...paused, answer: text() } as never }),
      };
    },
  };
}

const enveloped = [
  "task_id",
  "message_id",
  "conversation_id",
  "workflow_run_id",
  "created_at",
] as const;

/** The chunks of knowledge that an answer was made from, one line each. */
export const citations = (answer: Partial<ChatResponse>): readonly string[] => {
  const found: unknown = valueAt(answer, "metadata.retriever_resources");
  const sources: readonly unknown[] = Array.isArray(found) ? found : [];
  return sources.map((source, index) => {
    const score: unknown = valueAt(source, "score");
    const parts = [
      `source ${asText(valueAt(source, "position") ?? index + 1)}`,
      asText(valueAt(source, "document_name") ?? valueAt(source, "title") ?? "unnamed"),
      `(${asText(valueAt(source, "dataset_name") ?? "no knowledge base")})`,
      ...(typeof score === "number" ? [score.toFixed(2)] : []),
    ];
    return parts.join("  ");
  });
};
