import { listAnnotations } from "../../../operations/annotations.ts";
import type { Context } from "../../command-spec.ts";
import type { DraftOrReason } from "./draft.ts";
import { questionDraft } from "./question-draft.ts";

/** Annotations: questions with the answers that someone has written. */
export async function* annotationDrafts(
  keyword: string | undefined,
  context: Context,
): AsyncGenerator<DraftOrReason> {
  const filter = keyword === undefined ? {} : { keyword };
  for await (const { question, answer } of context.each(listAnnotations, filter))
    yield questionDraft({ query: question }, answer);
}
