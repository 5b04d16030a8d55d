import { usage } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { readSearches } from "../../wf/test/file/index.ts";
import { questionOfTest } from "./question-search.ts";
import type { QuestionFile } from "./questions.ts";

/**
 * The questions of a suite: its tests with a search in this knowledge base, known by its name or ID.
 * Throws usage if there are none.
 */
export async function suiteQuestions(
  path: string,
  names: readonly string[],
  files: Files,
): Promise<QuestionFile> {
  const searches = await readSearches(path, files);
  const here = searches.filter(({ kb }) => names.includes(kb));
  if (here.length === 0)
    throw usage(
      `${path}: no test searches ${JSON.stringify(names[0])}`,
      "a test that is a question has the key search: { kb: NAME, documents: [NAME] }",
    );
  return { questions: here.map(questionOfTest), unused: [] };
}
