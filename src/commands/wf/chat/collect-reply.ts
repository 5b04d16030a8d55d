import type { ServerEvent } from "../../../lib/server-event.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import type { AnswerMetadata, ChatResponse } from "../../../operations/chats.ts";
import { textOfOutputs, TextSoFar } from "../../../runs/text.ts";
import { asText } from "../../../operations/operation.ts";

/** Fields that the events of a reply share. */
const sharedFields = [
  "task_id",
  "message_id",
  "conversation_id",
  "workflow_run_id",
  "created_at",
] as const;

/** Assembles a reply from its events. The outputs of a chatflow hold its full text (server §18). */
export class ReplyCollector {
  private readonly texts = new TextSoFar();
  private readonly shared: Record<string, unknown> = {};
  private fullText: string | undefined;
  private metadata: AnswerMetadata | undefined;
  private paused: unknown;

  add(event: ServerEvent): void {
    this.texts.add(event);
    const { event: kind, data, fields } = event;
    for (const name of sharedFields) this.shared[name] ??= data[name];
    if (kind === "message_end" && isObject(fields.metadata))
      this.metadata = fields.metadata as unknown as AnswerMetadata; // as the server sends it
    if (kind === "workflow_finished") this.fullText = textOfOutputs(event) ?? this.fullText;
    if (kind === "workflow_paused") this.paused = data["data"];
    if (kind === "_answer") this.fullText = fields.answer;
  }

  text(): string {
    return this.fullText ?? this.texts.text();
  }

  id(name: "task_id" | "message_id" | "conversation_id" | "workflow_run_id"): string | undefined {
    const value = this.shared[name];
    return typeof value === "string" ? value : undefined;
  }

  /** The reply in the format of a blocking response, as far as the events provide it. */
  response(): Partial<ChatResponse> {
    const { metadata, paused } = this;
    const answer = this.text();
    const message = this.id("message_id");
    return {
      event: paused === undefined ? "message" : "workflow_paused",
      ...this.shared,
      ...(message !== undefined && { id: message }),
      answer,
      ...(metadata && { metadata }),
      ...(isObject(paused) && { data: { ...paused, answer } as never }),
    };
  }
}

/** The chunks of knowledge that a reply is based on, one line each. */
export const citations = (reply: Partial<ChatResponse>): readonly string[] => {
  const resources: unknown = valueAt(reply, "metadata.retriever_resources");
  const sources: readonly unknown[] = Array.isArray(resources) ? resources : [];
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
