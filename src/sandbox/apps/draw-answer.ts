import { isObject } from "../../lib/json.ts";
import { statusError } from "../protocol/errors.ts";
import type { RuleAnswer } from "../models/rule-answer.ts";
import { fixedId } from "../protocol/ids.ts";
import type { Citation } from "./records/runs-store.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import { type CitedPassage, citationsOf } from "./records/citations.ts";
import type { AppContext } from "./context.ts";
import { outputText } from "./records/templates.ts";

/** A request to an application. */
interface Asked {
  /** The message of a chat; undefined or empty where the inputs are the question. */
  readonly query: string | undefined;
  readonly inputs: unknown;
  /** Undefined for the first message. */
  readonly conversation_id?: string | undefined;
}

/**
 * Draws what an application with rules answers; undefined for any other application. Throws HttpError
 * if the answer is a status.
 */
export function drawAnswer(
  { draws, records }: AppContext,
  app: AppDefinition,
  { query, inputs: sent, conversation_id }: Asked,
): RuleAnswer | undefined {
  if (!app.rules) return undefined;
  const inputs = isObject(sent) ? sent : {};
  const values = app.inputs.map(({ variable }) => inputs[variable] ?? "");
  const earlier = conversation_id
    ? records.messages.list({ conversation_id }, "position").map((message) => message.query)
    : [];
  const question = query || values.map(outputText).join("\n");
  const drawn = draws.draw(app.rules, { app: app.name, question, earlier });
  if (drawn.status !== undefined) throw statusError(drawn.status);
  return drawn;
}

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
