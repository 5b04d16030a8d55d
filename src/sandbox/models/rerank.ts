import { Marks } from "./marks.ts";
import { errorKind, ModelError } from "./model-error.ts";
import { overlap } from "./text.ts";
import { tokenize } from "./words.ts";

/**
 * Scores texts for a query from 0 to 1: the share of its words that each contains. Throws ModelError
 * for the mark `rerank-error`.
 */
export function rerank(query: string, texts: readonly string[]): number[] {
  const marks = new Marks(query);
  const error = marks.text("rerank-error");
  if (error !== undefined) throw new ModelError(errorKind(error));
  const asked = tokenize(marks.rest);
  return texts.map((text) => overlap(asked, tokenize(text)));
}
