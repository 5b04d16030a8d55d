import { CliError } from "../../../errors.ts";
import { withoutNulls } from "../../../lib/json.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Question } from "../eval/index.ts";

/** A question whose searches find other chunks. */
interface SearchRow {
  readonly what: "question";
  readonly name: string;
  readonly a: string;
  readonly b: string;
  readonly note: string;
}

/**
 * Asks questions in a restored knowledge base and in the original one, with the settings of the latter, and yields
 * those that find other chunks. Without the original, a document that a question expects must be found.
 */
export async function* compareSearches(
  given: {
    readonly id: string;
    readonly original: string;
    readonly questions: readonly Question[];
  },
  context: Context,
): AsyncGenerator<SearchRow> {
  const { id, original, questions } = given;
  if (questions.length === 0) return;
  const kb = await context.api
    .call(getKnowledgeBase, { dataset_id: original })
    .catch((error: unknown) => {
      if (error instanceof CliError && error.kind === "not-found") return undefined;
      throw error;
    });
  const settings = (kb ?? (await context.api.call(getKnowledgeBase, { dataset_id: id })))
    .retrieval_model_dict;
  const find = async (dataset_id: string, { question: query, filter }: Question) => {
    const retrieval_model = withoutNulls({
      ...settings,
      ...(filter && { metadata_filtering_conditions: filter }),
    });
    const records = await context.api.call(searchKnowledgeBase, {
      dataset_id,
      query,
      retrieval_model: retrieval_model as { search_method: "keyword_search" },
    });
    return records.map(({ segment }) => [segment.document?.name ?? "", segment.content] as const);
  };
  for (const [done, question] of questions.entries()) {
    context.progress({ verb: "Asking", done, total: questions.length, unit: "questions" });
    const restored = await find(id, question);
    const name = question.question;
    if (kb) {
      const before = await find(original, question);
      // Chunks of the same score come in any order.
      const [one, other] = [before, restored].map((found) => JSON.stringify(found.toSorted()));
      if (one === other) continue;
      const [a, b] = [`${before.length} chunks`, `${restored.length} chunks`];
      yield { what: "question", name, a, b, note: "finds other chunks than the knowledge base" };
    } else {
      const names = new Set(restored.map(([document]) => document));
      const missing = question.documents.filter((document) => !names.has(document));
      if (missing.length === 0) continue;
      yield {
        what: "question",
        name,
        a: missing.join(),
        b: "",
        note: "does not find the document",
      };
    }
  }
}
