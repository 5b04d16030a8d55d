/** Events, responses and error texts of applications, as recorded. */
import { errorsOf } from "../../protocol/response.ts";
import { fill, type RunEvent } from "../../protocol/fill.ts";
import events from "./events.json" with { type: "json" };
import texts from "./errors.json" with { type: "json" };
import shapes from "./shapes.json" with { type: "json" };
import type { Passage } from "../../knowledge/retrieval/retrieve.ts";
import { fixedId } from "../../protocol/ids.ts";
import type { Citation, StoredMessage } from "./runs-store.ts";
import type { RuleAnswer } from "../../models/language-model.ts";

type Values = Readonly<Record<string, unknown>>;

/** Returns an event of a loop or an iteration. */
export const roundsEvent = (
  type: "loop" | "iteration",
  event: keyof typeof events.rounds,
  values: Values,
): RunEvent => ({ event: `${type}_${event}`, data: fill(events.rounds[event], values) });

/** Returns an event of a message of a basic application. */
export const messageEvent = (event: keyof typeof events.basic, values: Values): RunEvent => ({
  event,
  fields: fill(events.basic[event], values),
});

/** Returns a response, or a part of one. */
export const fillShape = (name: keyof typeof shapes, values: Values) => fill(shapes[name], values);

/** Returns the error with that name. */
export const appError = errorsOf(texts);

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
  (citations ?? []).map((cited) => {
    const { segment_id } = cited;
    const shown = Object.entries(cited).filter(([name]) => !NOT_STORED.test(name));
    const ids = {
      id: fixedId("citation", id, segment_id),
      message_id: fixedId("cited", id, segment_id),
    };
    return { ...ids, ...Object.fromEntries(shown), created_at: null };
  });

const NOT_STORED = /^(retriever_from|page|doc_metadata|title|files)$/;

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
