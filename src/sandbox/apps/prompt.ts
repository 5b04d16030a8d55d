import type { Passage } from "../knowledge/retrieval/retrieve.ts";
import type { Prompt } from "../models/language-model.ts";
import { outputText } from "./records/templates.ts";
import type { ModelConfig } from "./definitions/model-config.ts";
import type { Turn } from "./turn.ts";

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
