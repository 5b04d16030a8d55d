import type { Completion, TextModel, Prompt } from "../models/language-model.ts";
import type { ModelError } from "../models/model-error.ts";
import type { RuleAnswer } from "../models/rule-model.ts";
import { noUsage, type Usage } from "../models/tokens.ts";
import { account } from "../protocol/ids.ts";
import type { Citation, StoredAnnotation, StoredThought } from "./records/runs-store.ts";
import { fillShape, messageEvent } from "./records/shapes.ts";
import type { RunEvent } from "../protocol/fill.ts";
import type { Turn } from "./turn.ts";
import type { Passage } from "../knowledge/retrieval/retrieve.ts";
import { outputText } from "./records/templates.ts";
import type { ModelConfig } from "./definitions/app-features.ts";

/** The answer to a message while it is written. */
export interface Answer {
  text: string;
  usage: Usage | undefined;
  citations: readonly Citation[];
  readonly thoughts: StoredThought[];
  /** What answered in the place of the model. */
  annotation: StoredAnnotation | undefined;
  /** Why the model failed. */
  error: ModelError | undefined;
}

/** What writes an answer. */
export interface Writing {
  readonly turn: Turn;
  readonly answer: Answer;
  readonly model: TextModel;
  /** The answer of rules. */
  readonly drawn: RuleAnswer | undefined;
  /** Aborted when the message is stopped, or its reader has left. */
  readonly signal: AbortSignal;
}

export const newAnswer = (): Answer => ({
  text: "",
  usage: undefined,
  citations: [],
  thoughts: [],
  annotation: undefined,
  error: undefined,
});

/** The metadata of an answer; one that was stopped has used nothing (server §18). */
export const answerMetadata = (answer: Answer, seconds: number): object =>
  fillShape("answer metadata", {
    ...answer,
    annotation_reply: answer.annotation ? { id: answer.annotation.id, account } : null,
    usage: answer.usage ?? noUsage(seconds),
  });

/**
 * Sends the pieces of a reply, after `first` when the model does not fail at once, and an empty one
 * at its end. Returns the whole reply; throws ModelError.
 */
export async function* sendPieces(
  { turn: { message }, answer }: Writing,
  event: "message" | "agent_message",
  reply: AsyncGenerator<string, Completion>,
  first?: () => RunEvent,
): AsyncGenerator<RunEvent, Completion> {
  let piece = await reply.next();
  if (first) yield first();
  for (; !piece.done; piece = await reply.next()) {
    answer.text += piece.value;
    yield messageEvent(event, { message, text: piece.value });
  }
  yield messageEvent(event, { message, text: "" });
  return piece.value;
}

/** What the model of a basic application is asked: a completion has its text in the instructions. */
export function promptOf({ app, config, message }: Turn, passages: readonly Passage[]): Prompt {
  const instructions = config.pre_prompt.replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    outputText(message.inputs[name]),
  );
  const contents = passages.map(({ segment }) => segment.content);
  return app.mode === "completion"
    ? { user: instructions, passages: contents }
    : { system: instructions, user: message.query, passages: contents };
}

/** What the knowledge bases of an application are searched for. */
export const searchedText = (
  { dataset_query_variable: variable }: ModelConfig,
  { inputs, query }: Turn["message"],
): string => (variable ? outputText(inputs[variable]) : query);
