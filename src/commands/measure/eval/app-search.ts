import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { answerOrError, openApp, openInputs, retrievedChunks } from "../ask/index.ts";
import type { Question } from "./questions.ts";
import type { FoundRecords } from "./search.ts";

/**
 * Opens an application, which is asked a question as a search: what it found for its answer counts, with the names of
 * documents alone. An answer that fails is a result; throws any failure that every question would have.
 */
export async function openAppSearch(
  name: string,
  common: Context,
): Promise<(question: Question) => Promise<FoundRecords>> {
  const app = await openApp({ app: name }, common.with({ key: "app" }));
  const inputsFor = await openInputs(app);
  return async ({ question: query }) => {
    const { elapsed } = common.host;
    const start = elapsed();
    const inputs = inputsFor({ query, question: query });
    const { answer, error } = await answerOrError(() => app.send({ query, inputs }), common);
    if (!answer) return { records: [], seconds: null, error: error ?? null };
    const seconds = (elapsed() - start) / 1000;
    if (error !== undefined) return { records: [], seconds, error };
    return { records: retrievedChunks(answer).map(recordOf), seconds, error: null };
  };
}

/** A chunk as a search returns it; its document has its name as ID. */
function recordOf(chunk: ReturnType<typeof retrievedChunks>[number]): SearchRecord {
  const id = chunk.document ?? "";
  const segment = { content: chunk.content ?? "", document_id: id, document: { id, name: id } };
  return { segment, score: chunk.score, child_chunks: [] } as unknown as SearchRecord;
}
