import type { Passage } from "../../knowledge/retrieval/retrieve.ts";
import { fixedId } from "../../protocol/ids.ts";
import type { Citation, StoredMessage } from "./runs-store.ts";
import { fillShape } from "./shapes.ts";
import type { RuleAnswer } from "../../models/rule-model.ts";

/** Basic applications report no counts (server §18). */
const NO_COUNTS = {
  hit_count: null,
  word_count: null,
  segment_position: null,
  index_node_hash: null,
};

/** The parts of a passage that a citation shows. */
export interface CitedPassage {
  readonly dataset: Pick<Passage["dataset"], "id" | "name">;
  readonly document: Pick<Passage["document"], "id" | "name">;
  readonly segment: Pick<Passage["segment"], "id" | "content" | "word_count" | "position">;
  readonly score: number;
}

/** The passages that a model was given, as `message_end` reports them; best first. */
export const citationsOf = (
  passages: readonly CitedPassage[],
  from: "api" | "workflow",
): readonly Citation[] =>
  passages.map((passage, index) => ({
    ...(fillShape("citation", { ...passage, position: index + 1, from }) as Citation), // as in the shape
    ...(from === "api" && NO_COUNTS),
  }));

/** The citations of a message in the history, whose IDs are those of no other message (server §18). */
export const storedCitations = ({ id, citations }: StoredMessage): object[] =>
  (citations ?? []).map(
    ({
      retriever_from: _from,
      page: _page,
      doc_metadata: _data,
      title: _t,
      files: _f,
      ...shown
    }) => ({
      id: fixedId("citation", id, shown.segment_id),
      message_id: fixedId("cited", id, shown.segment_id),
      ...shown,
      created_at: null,
    }),
  );

/** The documents of an answer as those that a search has found. */
export const citationsOfAnswer = (
  { cites }: RuleAnswer,
  from: Parameters<typeof citationsOf>[1],
): readonly Citation[] =>
  citationsOf(
    cites.map(({ knowledge_base, document, text, score }): CitedPassage => {
      const path = [knowledge_base, document];
      return {
        dataset: { id: fixedId("cited knowledge base", knowledge_base), name: knowledge_base },
        document: { id: fixedId("cited document", ...path), name: document },
        segment: {
          id: fixedId("cited segment", ...path, text),
          content: text,
          word_count: text.length,
          position: 1,
        },
        score,
      };
    }),
    from,
  );
