import { CliError } from "../../../errors.ts";
import { groupBy, collect } from "../../../lib/collect.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted } from "../../../lib/text.ts";
import { requireField } from "../../../api/response.ts";
import { listAnnotations } from "../../../operations/annotations.ts";
import { getEndUser } from "../../../operations/apps.ts";
import { listFeedback, listMessages } from "../../../operations/chats.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { hashedPart, MAX_QUERY } from "../eval/index.ts";
import { changedSettings } from "../../kb/knowledge/index.ts";
import { MAX_PASSAGE, problemOf } from "./passages.ts";
import type { MadeQuestion } from "./passages.ts";

/** A question that people have asked, and the text that is searched for to propose a passage. */
interface RealQuestion {
  readonly question: string;
  readonly search: string;
}

/** Questions of people, each with the chunk that a search finds first as a proposal. Says on stderr what is skipped. */
export async function realQuestions(
  from: "annotations" | "dislikes",
  {
    dataset_id,
    app,
    count,
  }: { readonly dataset_id: string; readonly app: string; readonly count: number },
  context: Context,
): Promise<MadeQuestion[]> {
  const asked = context.with({ key: "app", app });
  const { questions, lost } = await (from === "annotations" ? annotated(asked) : disliked(asked));
  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  const stored = requireField(kb.retrieval_model_dict, "retrieval_model_dict");
  const retrieval_model = changedSettings({ ...stored }, { top_k: 1 }) as InputOf<
    typeof searchKnowledgeBase
  >["retrieval_model"];
  const made: MadeQuestion[] = [];
  let skipped = lost;
  for (const { question, search } of questions) {
    if (made.length === count) break;
    const others = made.map((each) => each.question);
    const query = [...search].slice(0, MAX_QUERY).join("");
    // People may use the words of a passage.
    const problem = problemOf(question, "", others);
    const [found] = problem
      ? []
      : await context.api.call(searchKnowledgeBase, { dataset_id, query, retrieval_model });
    const document = found?.segment.document?.name;
    if (!found || document === undefined) {
      skipped++;
      continue;
    }
    const text = found.segment.content.slice(0, MAX_PASSAGE).trim();
    const id = sha256(question).slice(0, 8);
    const part = hashedPart(document);
    made.push({ id: `${from}-${id}`, question, passages: [{ document, text }], part });
    context.progress({ verb: "Searching", done: made.length, unit: "questions" });
  }
  if (skipped > 0)
    await context.notice(
      `skipped ${counted(skipped, "question")} that no search answers, or that cannot be used`,
    );
  await context.notice("the passages are proposals: review them with --review");
  return made;
}

async function annotated({ api }: Context) {
  const all = await collect(api.rows(listAnnotations, {}));
  const questions = all.map(({ question, answer }): RealQuestion => ({ question, search: answer }));
  return { questions, lost: 0 };
}

/** The messages whose answers were disliked. Only their end users may read them, who are not always known. */
async function disliked({ api }: Context) {
  const feedback = await collect(api.rows(listFeedback, {}));
  const all = feedback.filter(({ rating }) => rating === "dislike");
  const questions: RealQuestion[] = [];
  for (const [conversation_id, rated] of groupBy(all, (each) => each.conversation_id)) {
    const end_user_id = rated.find((each) => each.from_end_user_id)?.from_end_user_id;
    try {
      const user = end_user_id
        ? { user: (await api.call(getEndUser, { end_user_id })).session_id }
        : {};
      const messages = await collect(api.rows(listMessages, { conversation_id, ...user }));
      for (const { id, query } of messages)
        if (rated.some(({ message_id }) => message_id === id))
          questions.push({ question: query, search: query });
    } catch (error) {
      if (!(error instanceof CliError) || !["not-found", "unsupported"].includes(error.kind))
        throw error;
    }
  }
  return { questions, lost: all.length - questions.length };
}
